"""UFT: masks, the head before it, targets of unmasked texts, and what the ablations leave out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from coterie import TextClusterer
from coterie.engine.batch import Batch
from coterie.engine.workers import Workers
from coterie.errors import ConfigError
from coterie.features.tokens import Tokens
from coterie.features.transformer import TransformerEncoder
from coterie.losses.student_t import kl_to_target, student_t, target_distribution
from coterie.methods import deep
from coterie.methods.deep_model import Task
from coterie.methods.uft import UFT, UFTSettings
from coterie.nn import masked_words
from coterie.nn.corpus_head import CorpusHead
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.masked_words import masked_view
from coterie.nn.texts import TrainingTexts
from coterie.types import silent

Make = Callable[..., Any]
GROUPS = np.arange(40) % 3
ROWS = np.array([3, 17, 0, 25, 8, 31])

# A head that has to be trained is said plainly; here it is expected.
pytestmark = pytest.mark.filterwarnings("ignore:encoder .* has no masked-language-model head")


@pytest.fixture(scope="module")
def texts() -> list[str]:
    known = "film movie actor lamp garden flower tree coffee cup water printer screen battery parcel invoice bank"
    nouns = known.split(" ")
    return [" ".join(nouns[(i * step + step) % 16] for step in range(1, 4 + i % 9)) for i in range(40)]


@pytest.fixture(scope="module")
def folders(make_masked_lm: Make) -> dict[str, Path]:
    return {
        "bert": make_masked_lm("bert"),
        "roberta": make_masked_lm("roberta"),
        "bare bert": make_masked_lm("bert", head=False),
        "bare roberta": make_masked_lm("roberta", head=False),
    }


def joined(folder: Path, texts: list[str], effort: str = "balanced", **own: Any) -> tuple[UFT, TrainingTexts]:
    settings = UFTSettings(**{"trainable_layers": 1, "masked_share": 0.3, "epochs": 4} | own)
    encoder = TransformerEncoder(str(folder), cache=False)
    trained = TrainableEncoder(encoder.checkpoint, trainable_layers=settings.trainable_layers or 0)
    read = TrainingTexts(trained, [encoder.tokens(texts)])
    torch.manual_seed(0)
    model = UFT(settings, Task(trained.width, 3, len(texts), effort, 5))
    model.begin(GROUPS)
    model.join(trained, read, silent)
    return model, read


# Masks


def test_a_tenth_of_the_tokens_is_masked_and_no_special_one() -> None:
    tokens = Tokens.of([np.array([2, *range(10, 110), 3], dtype=np.int32)] * 100)
    maskable = ~np.isin(tokens.ids, [2, 3])
    view = masked_view(tokens, maskable, 4, 0.1, [0, 0])
    masked = view.ids == 4
    assert not masked[~maskable].any()
    assert masked[maskable].mean() == pytest.approx(0.1, abs=0.01)
    np.testing.assert_array_equal(view.ids[~masked], tokens.ids[~masked])
    np.testing.assert_array_equal(masked_view(tokens, maskable, 4, 0.1, [0, 0]).ids, view.ids)
    assert (masked_view(tokens, maskable, 4, 0.1, [0, 1]).ids != view.ids).any()


@pytest.mark.parametrize(("layers", "views"), [(1, 3), ("all", 4)])
def test_masks_are_few_and_rotate_or_fresh_for_every_epoch(
    folders: dict[str, Path], texts: list[str], layers: Any, views: int
) -> None:
    model, read = joined(folders["bert"], texts, trainable_layers=layers)
    assert model.masked is not None
    assert len(model.masked.views) == views
    assert len(read.views) == 1 + views
    (joint,) = model.phases()
    turns = []
    for _ in range(5):
        model.refresh(read.encode_all(), joint)
        turns.append(model.rotated(views))
    assert turns == [turn % views for turn in range(5)]


def test_an_encoder_without_a_mask_token_is_refused(tiny_bert: Path, corpus: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"has no mask token such as \[MASK\]"):
        TextClusterer(3, method="uft", effort="balanced", encoder=str(tiny_bert)).fit(corpus)


# The head


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_checkpoint_with_a_head_is_used_with_it(folders: dict[str, Path], texts: list[str], family: str) -> None:
    model, _ = joined(folders[family], texts)
    (joint,) = model.phases()
    assert joint.name == "joint"
    # (1): both parts weigh the same, (2) as the sum over a batch of the published size.
    assert joint.weights == {"cluster": 16.0, "masked": 1.0}
    assert model.masked is not None
    assert model.masked.head.published


@pytest.mark.parametrize("family", ["bare bert", "bare roberta"])
def test_without_a_head_one_is_trained_first_and_the_encoder_stands_still(
    folders: dict[str, Path], texts: list[str], family: str
) -> None:
    settings = {"trainable_layers": 1, "epochs": 1, "masked_share": 0.3}
    # Of the 40 texts six are near duplicates of others.
    with pytest.warns(UserWarning, match="has no masked-language-model head, so one is trained on the 34 texts first"):
        fitted = TextClusterer(3, method="uft", effort="balanced", encoder=str(folders[family]), settings=settings).fit(
            texts
        )
    first = [entry for entry in fitted.history_ if entry["phase"] == "masked words"]
    assert len(first) == 5
    assert all(0 <= entry["held_out"] <= 1 for entry in first)
    assert first[-1]["losses"]["masked"] < first[0]["losses"]["masked"]
    assert "held_out" not in fitted.history_[-1]
    model, _ = joined(folders[family], texts)
    head, joint = model.phases()
    assert not head.trains_encoder
    assert not head.judged
    assert joint.trains_encoder


def test_held_out_texts_teach_the_head_nothing(folders: dict[str, Path], texts: list[str]) -> None:
    model, read = joined(folders["bare bert"], texts)
    assert model.masked is not None
    aside = np.flatnonzero(model.masked.held_out.numpy())
    assert len(aside) == 4
    model.refresh(read.encode_all(), model.phases()[0])
    marks = model.masked.marks[0]
    assert len(model.masked.held_out_ids) == marks.counts[aside].sum()
    rows = np.array([int(aside[0]), 0 if 0 not in aside else 1])
    found = model.masked.learnt(Batch(read, rows, Workers(), [0]), 0)
    assert found.tolist() == [False] * int(marks.counts[rows[0]]) + [True] * int(marks.counts[rows[1]])
    only_aside = model.losses(Batch(read, aside, Workers(), [0]), model.phases()[0])
    assert only_aside["masked"].item() == 0


def test_what_a_new_head_tells_is_counted_in_the_texts_held_out(folders: dict[str, Path], texts: list[str]) -> None:
    """A head that always says the same word is right as often as that word is hidden there."""
    model, read = joined(folders["bare bert"], texts)
    assert model.masked is not None
    marks, aside, head = model.masked.marks[0], model.masked.held_out.numpy(), model.masked.head
    hidden_there = marks.ids[np.repeat(aside, marks.counts)]
    hidden_elsewhere = marks.ids[np.repeat(~aside, marks.counts)]
    for column, word in enumerate(head.vocabulary.tolist()):
        torch.nn.init.zeros_(head.tied.bias)
        head.tied.bias.data[column] = 1e6
        assert model.masked.accuracy() == pytest.approx((hidden_there == word).mean())
    shares = [[(ids == word).mean() for word in head.vocabulary.tolist()] for ids in (hidden_there, hidden_elsewhere)]
    assert np.abs(np.subtract(*shares)).max() > 0.02, "or it would not matter where it is counted"
    survey = model.survey(read.encode_all(), model.phases()[0])
    assert survey == {"held_out": model.masked.accuracy()}


def test_a_new_head_begins_with_no_place_that_is_held_out(
    folders: dict[str, Path], texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[torch.Tensor] = []
    monkeypatch.setattr(CorpusHead, "begin", lambda self, states, ids: seen.append(states))
    model, _ = joined(folders["bare bert"], texts)
    assert model.masked is not None
    assert len(model.masked.held_out_states) > 0
    apart = torch.cdist(model.masked.held_out_states, seen[0]).min(dim=1).values
    assert apart.min() > 1e-4


def test_a_new_head_reads_so_many_places_at_once_whatever_the_length_of_the_texts(
    folders: dict[str, Path], texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masked_words, "PLACES_AT_ONCE", 20)
    model, _ = joined(folders["bare bert"], texts)
    assert model.masked is not None
    read = model.masked.marks[: model.masked.lessons]
    a_text = np.mean([marks.counts.mean() for marks in read])
    assert model.phases()[0].batch_size == round(20 / a_text)
    monkeypatch.setattr(masked_words, "PLACES_AT_ONCE", 10**6)
    assert model.phases()[0].batch_size == len(texts)


def test_a_new_head_begins_with_places_from_all_over_the_file(
    folders: dict[str, Path], texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[torch.Tensor] = []
    monkeypatch.setattr(masked_words, "ENOUGH_PLACES", 12)
    monkeypatch.setattr(CorpusHead, "begin", lambda self, states, ids: seen.append(ids))
    model, _ = joined(folders["bare bert"], texts)
    assert model.masked is not None
    marks, aside = model.masked.marks[0], model.masked.held_out.numpy()
    in_order = marks.ids[np.repeat(~aside, marks.counts)]
    assert len(seen[0]) == 12 < len(in_order)
    assert seen[0].tolist() != in_order[:12].tolist()
    assert set(seen[0].tolist()) <= set(in_order.tolist())


# Losses


def test_both_losses_come_from_the_masked_text_and_the_target_from_the_unmasked(
    folders: dict[str, Path], texts: list[str]
) -> None:
    from transformers import AutoModelForMaskedLM

    model, read = joined(folders["bert"], texts, alpha=2.0)
    (joint,) = model.phases()
    vectors = read.encode_all()
    model.refresh(vectors, joint)
    assigned = student_t(model.scale * vectors, model.centres, 2.0)
    assert_close(model.target, target_distribution(assigned))
    losses = model.losses(Batch(read, ROWS, Workers(), [0]), joint)
    masked = student_t(model.scale * read.encode(1, ROWS), model.centres, 2.0)
    assert_close(losses["cluster"], kl_to_target(masked, model.target[ROWS]), atol=0, rtol=1e-4)
    unmasked = kl_to_target(assigned[ROWS], model.target[ROWS])
    assert abs(losses["cluster"] - unmasked) > 1e-3 * unmasked
    later = read.encode_all(1)
    model.refresh(later, joint)
    again = target_distribution(student_t(model.scale * later, model.centres, 2.0))
    assert_close(model.target, again, msg="the target is that of the texts as they are in this epoch")

    theirs = AutoModelForMaskedLM.from_pretrained(str(folders["bert"])).eval()
    assert model.masked is not None
    marks, view = model.masked.marks[0], read.views[1]
    known = model.masked.head.vocabulary
    surprise = []
    for row in ROWS:
        ids = torch.from_numpy(view.tokens.rows(view.place[[row]], int(view.lengths[view.place[row]])))
        mine = marks.taken(np.array([row]))
        logits = theirs(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0, mine.at][:, known]
        columns = torch.searchsorted(known, torch.from_numpy(mine.ids))
        surprise.append(functional.cross_entropy(logits, columns, reduction="none"))
    assert_close(losses["masked"], torch.cat(surprise).mean(), atol=1e-4, rtol=1e-4)


def test_without_the_masked_lm_loss(folders: dict[str, Path], texts: list[str]) -> None:
    model, read = joined(folders["bare bert"], texts, masked_lm=False)
    (joint,) = model.phases()
    assert joint.weights == {"cluster": 16.0}
    model.refresh(read.encode_all(), joint)
    assert set(model.losses(Batch(read, ROWS, Workers(), [0]), joint)) == {"cluster"}
    assert "words" not in joint.rates


def test_with_an_encoder_that_is_not_trained_only_centres_learn(model_of: Make, batch_of: Make, points: Make) -> None:
    groups = np.arange(24) % 3
    model, vectors = model_of(UFT, UFTSettings(), groups, 3), points(24, groups)
    (joint,) = model.phases()
    assert joint.weights == {"cluster": 16.0}
    model.refresh(vectors, joint)
    assigned = student_t(vectors * 12**0.5, model.centres)
    loss = model.losses(batch_of([vectors], [1, 2, 5]), joint)["cluster"]
    assert_close(loss, kl_to_target(assigned[[1, 2, 5]], target_distribution(assigned)[[1, 2, 5]]))
    assert torch.equal(model.scores(vectors).argmax(dim=1), assigned.argmax(dim=1))


def test_the_papers_settings_at_full_effort() -> None:
    model = UFT(UFTSettings(), Task(8, 3, 5000, "full", 0))
    (joint,) = model.phases()
    assert (joint.epochs, joint.batch_size, set(joint.rates.values())) == (10, 16, {3e-5})
    assert joint.weights["cluster"] == joint.batch_size, "the sum over the published batch"
    assert (model.settings.masked_share, model.settings.alpha, model.settings.pooling) == (0.1, 1, None)
    assert joint.stop_below == 0.001
    swept = UFT(UFTSettings(batch_size=32, encoder_rate=1e-4, head_rate=1e-2), Task(8, 3, 5000, "full", 0)).phases()[0]
    assert (swept.batch_size, swept.rates) == (32, {"encoder": 1e-4, "centres": 1e-2})


@pytest.mark.parametrize(("rows", "size", "rate"), [(500, 64, 3e-5), (7680, 128, 4.2426e-5), (20_000, 256, 6e-5)])
def test_large_sets_are_read_in_large_batches_with_larger_steps(rows: int, size: int, rate: float) -> None:
    """Two epochs have 120 steps or batches of 64; the rate grows with the root of the batch."""
    joint = UFT(UFTSettings(), Task(8, 3, rows, "balanced", 0)).phases()[0]
    assert (joint.batch_size, joint.rates) == (size, {"encoder": pytest.approx(rate, rel=1e-4), "centres": 3e-4})

    asked = UFT(UFTSettings(encoder_rate=2e-5, batch_size=128), Task(8, 3, rows, "balanced", 0)).phases()[0]
    assert (asked.batch_size, asked.rates["encoder"]) == (128, 2e-5)
    huge = UFT(UFTSettings(batch_size=2000), Task(8, 3, rows, "balanced", 0)).phases()[0]
    assert huge.rates["encoder"] == 3e-5, "the rate follows the effort's own batches, not any that is asked for"


def test_pooling_reaches_the_encoder_and_the_saved_model(
    folders: dict[str, Path], texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = []

    def noted(*parts: Any, **options: Any) -> TrainableEncoder:
        trained.append(TrainableEncoder(*parts, **options))
        return trained[-1]

    monkeypatch.setattr(deep, "TrainableEncoder", noted)
    monkeypatch.setattr(deep, "_is_trained", lambda encoder: encoder in trained)
    settings = {"trainable_layers": 1, "epochs": 1, "pooling": "cls"}
    fitted = TextClusterer(3, method="uft", effort="balanced", encoder=str(folders["bert"]), settings=settings)
    fitted.fit(texts)
    fitted.save(tmp_path / "model")
    loaded = TextClusterer.load(tmp_path / "model")
    features = getattr(fitted.features_, "encoder", fitted.features_)
    assert [encoder.pooling for encoder in (features, *trained)] == ["cls", "cls"]
    np.testing.assert_array_equal(loaded.predict_proba(texts), fitted.predict_proba(texts))
    np.testing.assert_array_equal(fitted.predict(texts), fitted.labels_)


@pytest.mark.parametrize(
    ("method", "own", "kept_near"), [("uft", {}, True), ("uft", {"undo": False}, False), ("sccl", {}, False)]
)
def test_training_ends_where_its_groups_would_be_undone(
    method: str, own: dict[str, Any], kept_near: bool, folders: dict[str, Path], texts: list[str],
    own_folder: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A tenth below the start in the space before training; asked for the last state, and in other systems, nowhere."""
    floors, train = [], deep.train

    def noting(*args: Any, **options: Any) -> Any:
        floors.append(options.pop("floor"))
        return train(*args, **options, floor=None)

    monkeypatch.setattr(deep, "train", noting)
    settings = {"trainable_layers": 1, "init": "kmeans", **own} | ({"epochs": 1} if method == "uft" else {})
    model = TextClusterer(3, method=method, encoder=str(folders["bert"]), effort="balanced", settings=settings)
    evidence = model.fit(texts).evidence_
    (start,) = [entry["by_space"][0] for entry in evidence if entry.get("candidate") == "kmeans start"]
    assert floors == [pytest.approx(min(start, 0.9 * start), abs=1e-4) if kept_near else None]
