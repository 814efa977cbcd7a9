"""AECL: its losses by stage and ablation, its totals by hand, and scores that depend on no company."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score
from torch import Tensor
from torch.testing import assert_close

from coterie.engine.phase import Phase
from coterie.losses.contrastive import cluster_contrast, similarity_guided_contrast, unguided_contrast
from coterie.losses.entropy import missing_balance, row_entropy
from coterie.losses.pseudo_labels import confident_cross_entropy, pseudo_labels
from coterie.methods.aecl import AECL, AECLSettings
from coterie.methods.deep_model import Task
from coterie.nn.attention import SampleAttention

Make = Callable[..., Any]
GROUPS = np.arange(24) % 3
ROWS = [3, 17, 4, 22, 9, 0, 11]
EVERYTHING = {"cluster", "contrast", "pseudo", "row_entropy", "balance"}


def settings(**changes: Any) -> AECLSettings:
    """The published form, small."""
    return AECLSettings(**{"init": "kmeans", "dimensions": 8, "batch_size": 10} | changes)


@pytest.fixture
def views(points: Make) -> list[Tensor]:
    return [points(24, GROUPS, seed=1), points(24, GROUPS, seed=2)]


# Losses


@pytest.mark.parametrize(
    ("ablation", "guided", "joint"),
    [
        (None, {"contrast", "pseudo"}, EVERYTHING),
        ("no-ic", {"contrast", "pseudo"}, EVERYTHING),
        ("no-stage-1", {"contrast", "pseudo"}, EVERYTHING),
        ("no-stage-2", {"contrast", "pseudo"}, EVERYTHING),
        ("no-pg", {"contrast"}, EVERYTHING - {"pseudo"}),
        ("no-rc", {"contrast", "pseudo"}, EVERYTHING - {"row_entropy"}),
    ],
)
def test_which_losses_there_are(
    ablation: Any, guided: set[str], joint: set[str], model_of: Make, batch_of: Make, views: list[Tensor]
) -> None:
    model = model_of(AECL, settings(ablation=ablation), GROUPS, 3)
    phases = model.phases()
    assert [phase.epochs > 0 for phase in phases] == [ablation != "no-stage-1", ablation != "no-stage-2", True]
    for phase, expected in zip(phases, ({"contrast"}, guided, joint), strict=True):
        assert set(phase.weights) == expected
        assert set(model.losses(batch_of(views, ROWS), phase)) == expected
    assert [phase.judged for phase in phases] == [False, True, True]


def parts_by_hand(model: AECL, views: list[Tensor], rows: list[int]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for view in (0, 1):
        z = model.project(views[view][rows] * 12**0.5)
        h, s = model.attend(z)
        made |= {f"z{view}": z, f"h{view}": h, f"s{view}": s, f"p{view}": model.assign(h).softmax(dim=1)}
    return made


def total(model: AECL, phase: Any, batch: Any) -> Tensor:
    losses = model.losses(batch, phase)
    return torch.stack([phase.weights[name] * loss for name, loss in losses.items()]).sum()


def test_totals_of_the_stages(model_of: Make, batch_of: Make, views: list[Tensor]) -> None:
    numbers = {"lambda1": 3.0, "lambda2": 2.0, "lambda3": 0.5, "lambda4": 0.25, "tau_instance": 0.8, "tau_cluster": 0.7}
    model = model_of(AECL, settings(**numbers, threshold=0.34), GROUPS, 3).eval()
    made = parts_by_hand(model, views, ROWS)
    contrast = similarity_guided_contrast(
        made["z0"], made["z1"], made["h0"], made["h1"], made["s0"], made["s1"], made["p0"].argmax(dim=1), 0.8,
    )  # fmt: skip
    log_p1 = made["p1"].log()
    first = confident_cross_entropy(log_p1, torch.from_numpy(GROUPS)[ROWS], torch.ones(7, dtype=torch.bool))
    labels, keep = pseudo_labels(made["p0"], 0.34)
    own = confident_cross_entropy(log_p1, labels, keep)
    balance = missing_balance(made["p0"]) + missing_balance(made["p1"])
    stage_1 = 3 * contrast
    stage_2 = 3 * contrast + 2 * first
    stage_3 = (
        cluster_contrast(made["p0"], made["p1"], 0.7) + 3 * contrast + 2 * own - 0.5 * row_entropy(made["p0"])
        + 0.25 * balance
    )  # fmt: skip
    for phase, expected in zip(model.phases(), (stage_1, stage_2, stage_3), strict=True):
        assert_close(total(model, phase, batch_of(views, ROWS)), expected)
    assert first.item() != pytest.approx(own.item())


def test_without_guidance_only_the_other_view_is_a_positive(
    model_of: Make, batch_of: Make, views: list[Tensor]
) -> None:
    model = model_of(AECL, settings(ablation="no-ic", lambda1=1.0), GROUPS, 3).eval()
    made = parts_by_hand(model, views, ROWS)
    found = model.losses(batch_of(views, ROWS), model.phases()[0])["contrast"]
    assert_close(found, unguided_contrast(made["z0"], made["z1"], 1.0))


def test_only_confident_rows_teach_in_the_last_stage(model_of: Make, batch_of: Make, views: list[Tensor]) -> None:
    model = model_of(AECL, settings(threshold=0.999), GROUPS, 3).eval()
    losses = model.losses(batch_of(views, ROWS), model.phases()[2])
    assert losses["pseudo"].item() == 0
    assert model.losses(batch_of(views, ROWS), model.phases()[1])["pseudo"].item() > 0


def test_from_two_views_its_own_labels_teach_where_the_first_groups_agree(
    model_of: Make, batch_of: Make, views: list[Tensor]
) -> None:
    model = model_of(AECL, settings(init="two-view", threshold=0.0), GROUPS, 3).eval()
    made = parts_by_hand(model, views, ROWS)
    first, own = torch.from_numpy(GROUPS)[ROWS], made["p0"].argmax(dim=1)
    assert 0 < (first == own).sum() < len(ROWS)
    expected = -made["p1"].log()[first == own, own[first == own]].sum() / len(ROWS)
    assert_close(model.losses(batch_of(views, ROWS), model.phases()[2])["pseudo"], expected)


@pytest.mark.parametrize("without", [{"ablation": "no-stage-2"}, {"guided_epochs": 0}])
def test_a_head_that_has_not_learnt_the_first_groups_numbers_its_own_in_its_own_way(
    without: Any, model_of: Make, batch_of: Make, views: list[Tensor]
) -> None:
    pseudo = [
        model_of(AECL, settings(init=init, threshold=0.0, **without), GROUPS, 3)
        .eval()
        .losses(batch_of(views, ROWS), Phase("joint", 1, {}, {"pseudo": 1.0}, 10))["pseudo"]
        for init in ("two-view", "kmeans")
    ]
    assert_close(pseudo[0], pseudo[1])


# Attention and scores


@pytest.mark.parametrize("form", ["block", "bare"])
def test_towards_is_forward_with_the_reference_for_company(form: Any) -> None:
    torch.manual_seed(1)
    attend = SampleAttention(5, form)
    texts, reference = torch.randn(4, 5), torch.randn(6, 5)
    found = attend.towards(texts, reference)
    for text, one in zip(texts, found, strict=True):
        assert_close(attend(torch.cat([text[None], reference]))[0][0], one)


@pytest.mark.parametrize("form", ["block", "bare"])
def test_scores_depend_on_the_text_alone(form: Any, model_of: Make, views: list[Tensor], points: Make) -> None:
    model = model_of(AECL, settings(attention=form), GROUPS, 3).eval()
    new = points(9, np.arange(9) % 3, seed=5)
    with torch.no_grad():
        model.settle(views[0])
        together = model.scores(new)
        assert_close(model.scores(new.flip(0)).flip(0), together)
        assert_close(torch.cat([model.scores(row[None]) for row in new]), together)
        # They do depend on the reference, which is settled by all texts.
        model.settle(views[1])
        assert not torch.allclose(model.scores(new), together, atol=1e-6)


def test_the_reference_is_as_large_as_a_batch_and_of_different_rows(model_of: Make, points: Make) -> None:
    model = model_of(AECL, settings(batch_size=10), GROUPS, 3).eval()
    assert len(set(model.reference_rows.tolist())) == 10
    vectors = points(24, GROUPS)
    with torch.no_grad():
        model.settle(vectors)
        assert_close(model.reference, model.project(vectors[model.reference_rows] * 12**0.5))
    few = model_of(AECL, settings(batch_size=100), GROUPS, 3)
    assert sorted(few.reference_rows.tolist()) == list(range(24))


# Observations


def test_observations_by_a_double_loop(model_of: Make, batch_of: Make, views: list[Tensor]) -> None:
    model = model_of(AECL, settings(), GROUPS, 3).eval()
    groups = torch.tensor([0, 1, 0, 2, 2, 0, 1])
    with torch.no_grad():
        found = model.observations(batch_of(views, ROWS), groups)
        similarity = parts_by_hand(model, views, ROWS)["s0"]
    negative = positive = 0.0
    for i in range(7):
        for j in range(7):
            if groups[i] == groups[j]:
                positive += float(similarity[i, j]) / 7
            else:
                negative += float(similarity[i, j]) / 7
    assert found == pytest.approx({"negative_similarity": negative, "positive_similarity": positive}, abs=1e-5)
    assert 0 < negative < 1


# lambda 4


def pushed(model_of: Make, sizes: list[int], **changes: Any) -> float:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return float(model_of(AECL, settings(**changes), groups, len(sizes)).phases()[2].weights["balance"])


def test_the_more_equal_the_groups_the_harder_they_are_kept_so(model_of: Make) -> None:
    assert pushed(model_of, [20, 20, 20, 20]) == 10
    falling = [[20, 20, 20, 20], [30, 25, 15, 10], [50, 20, 8, 2], [74, 2, 2, 2]]
    found = [pushed(model_of, sizes) for sizes in falling]
    assert found == sorted(found, reverse=True)
    assert found[-1] < found[0]
    assert pushed(model_of, [74, 2, 2, 2], lambda4=7.5) == 7.5


@pytest.mark.parametrize(
    ("rows", "own", "epochs"),
    [
        (20_000, {}, (2, 5, 63)),  # 50 steps an epoch: 120 and 240 of them, then up to the published 70 epochs
        (20_000, {"guided_epochs": 1}, (2, 1, 67)),
        (20_000, {"ablation": "no-stage-1"}, (0, 5, 63)),
        (1_000, {}, (60, 120, 125)),  # 2 steps an epoch: at least 250 joint ones
        (1_000, {"joint_epochs": 5}, (60, 120, 5)),
    ],
)
def test_epochs_of_the_full_effort(rows: int, own: dict[str, Any], epochs: tuple[int, int, int]) -> None:
    model = AECL(AECLSettings(**own), Task(8, 3, rows, "full", 0))
    assert tuple(phase.epochs for phase in model.phases()) == epochs


def test_the_papers_settings_at_full_effort() -> None:
    model = AECL(AECLSettings(init="kmeans"), Task(384, 8, 12_340, "full", 0))
    contrast, guided, joint = model.phases()
    assert {phase.batch_size for phase in (contrast, guided, joint)} == {400}
    for phase in (contrast, guided, joint):
        assert phase.rates["encoder"] == 5e-6
        assert {rate for name, rate in phase.rates.items() if name != "encoder"} == {5e-4}
    assert guided.weights == {"contrast": 10.0, "pseudo": 5.0}
    weights = {name: weight for name, weight in joint.weights.items() if name != "balance"}
    assert weights == {"cluster": 1.0, "contrast": 10.0, "pseudo": 5.0, "row_entropy": -0.01}
    assert (model.settings.tau_instance, model.settings.tau_cluster, model.settings.threshold) == (1.0, 0.5, 0.95)
    assert (contrast.stop_below, guided.stop_below, joint.stop_below) == (None, 0.01, 0.001)
    assert (contrast.warmup, guided.warmup, joint.warmup) == (0, 0, 0.1)


def test_first_groups_are_found_anew_once_when_the_encoder_has_moved(model_of: Make, points: Make) -> None:
    """As published, stage 2 learns k-means of what stage 1 made, and always the same groups."""
    model = model_of(AECL, settings(trainable_layers="all"), np.zeros(24, dtype=np.int64), 3)
    contrast, guided, _ = AECL(settings(), Task(12, 3, 24, "full", 0)).phases()
    model.refresh(points(24, GROUPS, seed=1), contrast)
    assert not model.first_groups.any(), "not before stage 2"
    model.refresh(points(24, GROUPS, seed=1), guided)
    found = model.first_groups.clone()
    assert adjusted_rand_score(GROUPS, found) > 0.8
    model.refresh(points(24, np.roll(GROUPS, 5) // 2, seed=2), guided)
    assert_close(model.first_groups, found)


def test_first_groups_stay_where_the_encoder_stands_still_or_they_know_the_words(model_of: Make, points: Make) -> None:
    _, guided, _ = AECL(settings(), Task(12, 3, 24, "full", 0)).phases()
    for init, phase in (("kmeans", guided.with_encoder_still()), ("two-view", guided)):
        model = model_of(AECL, settings(init=init), np.zeros(24, dtype=np.int64), 3)
        model.refresh(points(24, GROUPS, seed=1), phase)
        assert not model.first_groups.any()


def test_all_texts_are_seen_in_parts(model_of: Make) -> None:
    vectors = torch.randn(5000, 12, generator=torch.Generator().manual_seed(0))
    model = model_of(AECL, AECLSettings(), np.arange(5000) % 4, 12).eval()
    with torch.no_grad():
        z = model.project(model.scale * vectors)
        torch.testing.assert_close(model.represented(vectors), model.attend.towards(z, z[model.reference_rows]))
