"""DEC, IDEC, DCN and Self-Train: phases, first centres, targets, losses, and when they end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss
from torch.testing import assert_close

from coterie.clusterers import KMeans
from coterie.engine.batch import Batch, batch_count
from coterie.engine.checkpoint import Checkpoints
from coterie.engine.loop import SETTLING_STEPS, Training
from coterie.engine.workers import Workers
from coterie.losses.student_t import kl_to_target, student_t, target_distribution
from coterie.methods.autoencoding import AutoencoderSettings
from coterie.methods.dcn import DCN, DCNSettings
from coterie.methods.dec import DEC
from coterie.methods.deep_model import Task
from coterie.methods.head import Head
from coterie.methods.idec import IDEC, IDECSettings
from coterie.methods.self_train import SelfTrain, SelfTrainSettings
from coterie.nn.texts import StillTexts

Make = Callable[..., Any]
LAYERS = (9, 7, 4)
GROUPS = np.repeat([0, 1, 2], [14, 7, 3])
ROWS = [0, 3, 15, 22, 8]
SCALE = 12**0.5
SMALL = {"layers": LAYERS, "batch_size": 6}
ALL = [
    (DEC, AutoencoderSettings(**SMALL)),
    (IDEC, IDECSettings(**SMALL)),
    (DCN, DCNSettings(**SMALL)),
    (SelfTrain, SelfTrainSettings(**SMALL)),
]


def begun(model_of: Make, points: Make, model: Any, settings: Any, **options: Any) -> tuple[Any, torch.Tensor, Any]:
    """A model whose first centres are in place, the vectors, and the phase that comes next."""
    made, vectors = model_of(model, settings, GROUPS, 3, **options), points(24, GROUPS, noise=0.6)
    phase = made.phases()[-1]
    made.refresh(vectors, phase)
    return made.eval(), vectors, phase


def train(model: Any, vectors: torch.Tensor, **options: Any) -> tuple[Training, Any]:
    texts = StillTexts([vectors.numpy()], Workers().device)
    training = Training(model, nn.Module(), texts, judge=lambda labels: 0.0, keep_best=False, **options)
    return training, training.run()


# What is published


@pytest.mark.parametrize(
    ("settings", "features", "layers", "pretraining", "batch"),
    [
        (AutoencoderSettings(), "minilm", (500, 500, 2000, 10), "greedy", 256),
        (IDECSettings(), "minilm", (500, 500, 2000, 10), "greedy", 256),
        (DCNSettings(), "minilm", (500, 500, 2000, 10), "greedy", 256),
        (SelfTrainSettings(), "sif", (500, 500, 2000, 20), "joint", 64),
    ],
)
def test_defaults(settings: Any, features: str, layers: tuple[int, ...], pretraining: str, batch: int) -> None:
    assert (settings.features, settings.layers, settings.pretraining) == (features, layers, pretraining)
    assert (settings.batch_size, settings.rate) == (batch, 1e-3)


@pytest.mark.parametrize(("model", "settings"), ALL)
def test_greedy_is_a_phase_for_every_pair_and_joint_is_one_for_all(model_of: Make, model: Any, settings: Any) -> None:
    def phases(pretraining: str) -> list[Any]:
        chosen = replace(settings, pretraining=pretraining, pair_epochs=3, pretraining_epochs=4, epochs=5)
        return [phase for phase in model_of(model, chosen, GROUPS, 3).phases() if phase.epochs]

    greedy, joint = phases("greedy"), phases("joint")
    assert [phase.name for phase in greedy] == ["layer 1", "layer 2", "layer 3", "autoencoder", "clustering"]
    assert [phase.epochs for phase in greedy] == [3, 3, 3, 4, 5]
    assert [list(phase.rates) for phase in greedy[:3]] == [["layer 1"], ["layer 2"], ["layer 3"]]
    assert [phase.name for phase in joint] == ["autoencoder", "clustering"]
    for phase in greedy[:4]:
        assert phase.weights == {"reconstruction": 1.0}
        assert not phase.judged
    assert list(greedy[3].rates) == ["layer 1", "layer 2", "layer 3"]
    assert greedy[4].stop_below == 0.001
    assert ("centres" in greedy[4].rates) == (model is not DCN), "no gradient moves DCN's centres"


@pytest.mark.parametrize("effort", ["fast", "balanced", "full"])
def test_steps_are_counted_rather_than_epochs(effort: str, model_of: Make) -> None:
    few, many = (
        model_of(DEC, AutoencoderSettings(layers=LAYERS), np.arange(rows) % 3, 3, effort=effort).phases()
        for rows in (512, 5120)
    )
    for small, large in zip(few, many, strict=True):
        assert small.epochs == pytest.approx(10 * large.epochs, rel=0.1)


def test_groups_of_many_texts_are_renewed_all_the_same() -> None:
    for rows, epochs in ((20_000, 4), (1_000_000, 3)):
        *pretraining, clustering = DEC(AutoencoderSettings(), Task(12, 3, rows, "fast", 0)).phases()
        assert clustering.epochs == epochs
        assert pretraining[-1].epochs == (4 if rows == 20_000 else 1)


# Before there are groups


@pytest.mark.parametrize(("model", "settings"), ALL)
def test_pretraining_reconstructs(model_of: Make, batch_of: Make, points: Make, model: Any, settings: Any) -> None:
    made, vectors = model_of(model, settings, GROUPS, 3).eval(), points(24, GROUPS)
    *pairs, whole, _ = made.phases()
    batch, x = batch_of([vectors], ROWS), vectors[ROWS] * SCALE
    assert_close(made.losses(batch, whole), {"reconstruction": mse_loss(made.autoencoder(x), x)})
    for pair, phase in enumerate(pairs):
        given, back = made.autoencoder.one_pair(x, pair, 0.0)
        assert_close(made.losses(batch, phase), {"reconstruction": mse_loss(back, given)})
    made.refresh(vectors, whole)
    assert not made.placed


def test_pretraining_is_under_dropout_only_pair_by_pair(model_of: Make, batch_of: Make, points: Make) -> None:
    made, vectors = model_of(DEC, AutoencoderSettings(**SMALL), GROUPS, 3).train(), points(24, GROUPS)
    pair, *_, whole, _ = made.phases()

    def values(phase: Any) -> set[float]:
        losses = set()
        for seed in range(3):
            batch = Batch(StillTexts([vectors.numpy()], Workers().device), np.array(ROWS), Workers(), [seed])
            losses.add(float(made.losses(batch, phase)["reconstruction"].detach()))
        return losses

    assert len(values(pair)) == 3
    assert len(values(whole)) == 1


def test_every_phase_trains_what_it_names(model_of: Make, points: Make) -> None:
    short = {"pair_epochs": 1, "pretraining_epochs": 1, "epochs": 1, "layers": LAYERS, "batch_size": 24}
    for model, settings, moved in [(DEC, AutoencoderSettings, False), (IDEC, IDECSettings, True)]:
        made, vectors = model_of(model, settings(**short), GROUPS, 3), points(24, GROUPS)
        seen: list[tuple[str, dict[str, torch.Tensor]]] = []
        losses = made.losses

        def noting(batch: Any, phase: Any, made: Any = made, losses: Any = losses, seen: Any = seen) -> Any:
            seen.append((phase.name, {name: value.clone() for name, value in made.state_dict().items()}))
            return losses(batch, phase)

        made.losses = noting
        train(made, vectors)
        states = [*seen, ("end", made.state_dict())]
        changed = {
            name: {
                key.split(".weight")[0]
                for key, value in after.items()
                if "weight" in key and (value != before[key]).any()
            }
            for (name, before), (_, after) in pairwise(states)
        }
        for number in range(3):
            assert changed[f"layer {number + 1}"] == {f"autoencoder.encoder.{number}", f"autoencoder.decoder.{number}"}
        assert len(changed["autoencoder"]) == 6
        assert len(changed["clustering"]) == (6 if moved else 3), "DEC puts its decoder away"


# First centres


@pytest.mark.parametrize(("model", "settings"), ALL)
def test_two_view_centres_are_the_means_of_the_first_groups_codes(
    model_of: Make, points: Make, model: Any, settings: Any
) -> None:
    made, vectors, phase = begun(model_of, points, model, settings)
    codes = made.autoencoder.encode(vectors * SCALE).detach()
    means = torch.stack([codes[torch.from_numpy(group == GROUPS)].mean(dim=0) for group in range(3)])
    assert_close(made.centres.detach(), means)
    made.refresh(points(24, GROUPS, seed=9), phase)
    assert_close(made.centres.detach(), means, msg="only once")


@pytest.mark.parametrize(("model", "settings"), ALL)
def test_k_means_works_on_the_codes(model_of: Make, points: Make, model: Any, settings: Any) -> None:
    made, vectors, _ = begun(model_of, points, model, replace(settings, init="kmeans"))
    codes = made.autoencoder.encode(vectors * SCALE).detach().numpy()
    found = KMeans(3, n_init=20, random_state=0).fit(codes)
    assert_close(made.centres.detach().numpy(), found.cluster_centers_, rtol=1e-4, atol=1e-5)
    assert (found.labels_ != KMeans(3, n_init=20, random_state=0).fit(vectors.numpy()).labels_).any(), "not the vectors"


# What is learnt


@pytest.mark.parametrize("model", [DEC, IDEC, SelfTrain])
def test_the_target_is_that_of_all_texts_and_renewed(model_of: Make, batch_of: Make, points: Make, model: Any) -> None:
    """Not of the batch, which is a different method."""
    made, vectors, phase = begun(model_of, points, model, model.settings_class(**SMALL))
    assigned = student_t(made.autoencoder.encode(vectors * SCALE), made.centres, 1.0)
    assert_close(made.target, target_distribution(assigned))
    loss = made.losses(batch_of([vectors], ROWS), phase)["cluster"].detach()
    assert_close(loss, kl_to_target(assigned[ROWS], target_distribution(assigned)[ROWS]).detach())
    of_the_batch = kl_to_target(assigned[ROWS], target_distribution(assigned[ROWS])).detach()
    assert abs(float(loss - of_the_batch)) > 1e-3 * float(of_the_batch)
    before = made.target.clone()
    with torch.no_grad():
        made.centres += torch.randn_like(made.centres)
    made.refresh(vectors, phase)
    assert not torch.allclose(made.target, before)


def test_idec_is_reconstruction_and_gamma_times_clustering(model_of: Make, points: Make, batch_of: Make) -> None:
    made, vectors, phase = begun(model_of, points, IDEC, IDECSettings(**SMALL, gamma=0.3))
    assert phase.weights == {"reconstruction": 1.0, "cluster": 0.3}
    losses = made.losses(batch_of([vectors], ROWS), phase)
    x = vectors[ROWS] * SCALE
    assert_close(losses["reconstruction"], mse_loss(made.autoencoder(x), x))
    assert losses.keys() == phase.weights.keys()


def test_the_reconstruction_of_unit_vectors_is_the_papers_sum(model_of: Make, points: Make, batch_of: Make) -> None:
    """The mean over coordinates of about 1 is |x - g(f(x))|^2 of vectors of length 1."""
    made, vectors, phase = begun(model_of, points, IDEC, IDECSettings(**SMALL))
    loss = made.losses(batch_of([vectors], ROWS), phase)["reconstruction"]
    back = made.autoencoder(vectors[ROWS] * SCALE) / SCALE
    assert_close(loss, ((back - vectors[ROWS]) ** 2).sum(dim=1).mean())


def test_dcn_draws_codes_to_the_centres_they_were_assigned_to(model_of: Make, points: Make, batch_of: Make) -> None:
    made, vectors, phase = begun(model_of, points, DCN, DCNSettings(**SMALL, penalty=0.4))
    assert phase.weights == {"reconstruction": 1.0, "distance": 0.2}, "lambda / 2"
    made.assigned.copy_(torch.arange(24) % 3)
    losses = made.losses(batch_of([vectors], ROWS), phase)
    x = vectors[ROWS] * SCALE
    codes = made.autoencoder.encode(x).detach().numpy()
    expected = np.mean(
        [((code - made.centres[row % 3].detach().numpy()) ** 2).sum() for code, row in zip(codes, ROWS, strict=True)]
    )
    assert losses["distance"].item() == pytest.approx(expected, rel=1e-5)
    assert_close(losses["reconstruction"], mse_loss(made.autoencoder(x), x))


def test_dcn_assigns_and_then_moves_its_centres_after_the_step(model_of: Make, points: Make, batch_of: Make) -> None:
    made, vectors, phase = begun(model_of, points, DCN, DCNSettings(**SMALL))
    assert made.assigned.tolist() == GROUPS.tolist()
    assert made.counts.tolist() == [14, 7, 3]
    with torch.no_grad():
        for parameter in made.autoencoder.parameters():  # the network's step
            parameter += 0.3 * torch.randn_like(parameter)
        codes = made.autoencoder.encode(vectors * SCALE)
        centres, counts = made.centres.detach().clone().double(), made.counts.tolist()
        made.after_step(batch_of([vectors], ROWS), phase)
    nearest = torch.cdist(codes[ROWS].double(), centres).argmin(dim=1)
    for row, group in zip(ROWS, nearest.tolist(), strict=True):
        counts[group] += 1
        centres[group] += (codes[row] - centres[group]) / counts[group]
    assert_close(made.centres.detach().double(), centres, rtol=1e-5, atol=1e-5)
    assert made.counts.tolist() == counts
    assert made.assigned[ROWS].tolist() == nearest.tolist()
    others = [row for row in range(24) if row not in ROWS]
    assert made.assigned[others].tolist() == GROUPS[others].tolist()
    made.after_step(batch_of([vectors], ROWS), made.phases()[0])
    assert made.counts.tolist() == counts, "there are no groups yet"


@pytest.mark.parametrize(("model", "settings"), ALL)
def test_the_nearest_centre_has_the_highest_score(model_of: Make, points: Make, model: Any, settings: Any) -> None:
    made, vectors, _ = begun(model_of, points, model, settings)
    distances = torch.cdist(made.autoencoder.encode(vectors * SCALE), made.centres)
    assert torch.equal(made.scores(vectors).argmax(dim=1), distances.argmin(dim=1))


# When it ends, and what is kept of it


@pytest.mark.parametrize(("model", "settings"), ALL)
def test_it_ends_when_groups_no_longer_change(model_of: Make, points: Make, model: Any, settings: Any) -> None:
    chosen = replace(settings, pair_epochs=5, pretraining_epochs=20, epochs=500)
    made = model_of(model, chosen, np.arange(60) % 3, 3)
    _, outcome = train(made, points(60, np.arange(60) % 3, noise=0.25))
    changed = [entry["changed"] for entry in outcome.history if entry["phase"] == "clustering"]
    assert 1 < len(changed) < 500, "by what changes, not by a count"
    epochs = math.ceil(SETTLING_STEPS / batch_count(60, made.batch_size))
    assert not any(changed[-epochs:]), "in the last twenty steps no text changes group"


def test_dcn_goes_on_where_it_was_killed(model_of: Make, points: Make, dying_after: Make, tmp_path: Any) -> None:
    """Its counts and assignments move with every step, so a checkpoint has to have them."""

    settings = DCNSettings(**SMALL, pair_epochs=1, pretraining_epochs=1, epochs=4)
    vectors = points(24, GROUPS, noise=0.6)

    def model() -> Any:
        return model_of(DCN, settings, GROUPS, 3)

    whole, _ = train(model(), vectors)
    in_the_second_epoch_of_clustering = 22
    with pytest.raises(SystemExit):
        train(model(), vectors, checkpoints=dying_after(tmp_path, in_the_second_epoch_of_clustering))
    resumed, _ = train(model(), vectors, checkpoints=Checkpoints(tmp_path))
    for name, value in whole.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], value), name


@pytest.mark.parametrize(("model", "settings"), ALL)
def test_a_finished_model_has_no_decoder(model_of: Make, points: Make, model: Any, settings: Any) -> None:
    made, vectors, _ = begun(model_of, points, model, settings)
    name = {DEC: "dec", IDEC: "idec", DCN: "dcn", SelfTrain: "self-train"}[model]
    head = Head.of(made, name, vectors.numpy())
    state = head.state()
    weights = {key for key in state.arrays if key != "order"}
    expected = {f"autoencoder.encoder.{layer}.{part}" for layer in range(3) for part in ("weight", "bias")}
    assert weights == {"centres", *expected}
    np.testing.assert_array_equal(
        Head.from_state(state).probabilities(vectors.numpy()), head.probabilities(vectors.numpy())
    )
