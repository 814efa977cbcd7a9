"""TSDAE and ClusterBERT: reconstruction, rounds, hardening, read-outs and what the ablation leaves out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from coterie import TextClusterer
from coterie.augment.deletion import Deletion
from coterie.clusterers import KMeans
from coterie.engine.batch import Batch
from coterie.engine.loop import Training
from coterie.engine.workers import Workers
from coterie.errors import ConfigError
from coterie.features.transformer import TransformerEncoder
from coterie.losses.student_t import target_distribution
from coterie.methods.clusterbert import RESTARTS, ClusterBERT, ClusterBERTSettings, continued, numbered_like
from coterie.methods.deep_model import Task
from coterie.methods.tsdae import TSDAE, TSDAEFeatures, TSDAESettings
from coterie.metrics.internal import dunn_index, silhouette
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.marks import Marks
from coterie.nn.texts import TrainingTexts
from coterie.types import silent

Make = Callable[..., Any]
GROUPS = np.repeat([0, 1, 2], [14, 7, 3])
ROWS = np.array([0, 3, 15, 22, 8])


def joined(folder: Path, corpus: list[str], model_class: Any = ClusterBERT, **own: Any) -> tuple[Any, TrainingTexts]:
    settings = model_class.settings_class(**{"trainable_layers": 1} | own)
    encoder = TransformerEncoder(str(folder), cache=False)
    trained = TrainableEncoder(encoder.checkpoint, trainable_layers=settings.trainable_layers)
    views = [corpus, *(Deletion(random_state=seed).augment(corpus) for seed in range(3))]
    read = TrainingTexts(trained, [encoder.tokens(view) for view in views])
    torch.manual_seed(0)
    model = model_class(settings, Task(trained.width, 3, len(corpus), "balanced", 5))
    model.begin(np.arange(len(corpus)) % 3)
    model.join(trained, read, silent)
    return model, read


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))


# Reconstruction


@pytest.mark.parametrize("told_every", [1, 3])
def test_the_reconstruction_is_the_mean_over_the_texts_tokens_given_the_noised_vector(
    tiny_bert: Path, corpus: list[str], told_every: int
) -> None:
    model, read = joined(tiny_bert, corpus, TSDAE, told_every=told_every)
    (phase,) = model.phases()
    assert phase.weights == {"reconstruction": 1.0}
    for turn in range(2):
        model.refresh(read.encode_all(), phase)
        loss = model.losses(Batch(read, ROWS, Workers(), [0]), phase)["reconstruction"]
        vectors = model.scale * read.encode(1 + turn, ROWS)
        marks = Marks.following(read.tokens).every(told_every, turn).taken(ROWS)
        whole = Marks(marks.at, marks.ids, marks.offsets)
        surprise = []
        for place, row in enumerate(ROWS):
            one = read.decode(model.decoder, vectors[place : place + 1], np.array([row]), Marks.following(read.tokens))
            mine = whole.taken(np.array([place]))
            surprise.append(model.decoder.head.surprise(one[mine.at], torch.from_numpy(mine.ids)))
        assert_close(loss, torch.cat(surprise).mean(), atol=1e-5, rtol=1e-5)


def test_beside_the_groups_one_text_in_so_many_is_rebuilt(tiny_bert: Path, corpus: list[str]) -> None:
    model, read = joined(tiny_bert, corpus, ClusterBERT, told_every=3, adaptation_epochs=0)
    phase = next(phase for phase in model.phases() if phase.name == "clustering")
    marks, met, views = Marks.following(read.tokens), [], set()
    for epoch in range(9):
        model.refresh(read.encode_all(), phase)
        loss = model.losses(Batch(read, ROWS, Workers(), [0]), phase)["reconstruction"]
        rows = np.array([row for row in ROWS if (row + epoch + epoch // 3) % 3 == 0])
        met.extend(rows.tolist())
        views.update((row, model.rotated(3)) for row in rows)
        vectors = model.scale * read.encode(1 + model.rotated(3), rows)
        surprise = model.decoder.head.surprise(
            read.decode(model.decoder, vectors, rows, marks), torch.from_numpy(marks.taken(rows).ids)
        )
        assert_close(loss, surprise.mean(), atol=1e-5, rtol=1e-5)
        assert sorted(met) == sorted([*(epoch // 3 * ROWS.tolist()), *met[epoch // 3 * len(ROWS) :]])
    assert sorted(met) == sorted(3 * ROWS.tolist())
    assert len(views) == 3 * len(ROWS)  # each from every view


def test_every_view_meets_every_place(tiny_bert: Path, corpus: list[str]) -> None:
    model, read = joined(tiny_bert, corpus, TSDAE, told_every=3, adaptation_epochs=9)
    (phase,) = model.phases()
    met = []
    for _ in range(9):
        model.refresh(read.encode_all(), phase)
        met.append((model.rotated(3), model.places_turn(int(model.turn) - 1)))
    assert len(set(met)) == 9


def test_the_decoder_learns_to_read_the_vector(tiny_bert: Path) -> None:
    """Thirty texts by heart, of words that do not tell the next: with its own vector a text is told."""
    words = ["invoice", "refund", "parcel", "password", "printer", "screen", "battery", "lamp", "coffee", "garden"]
    chosen = np.random.default_rng(0).integers(10, size=(30, 3))
    texts = [" ".join(words[place] for place in row) for row in chosen]
    own = {"adaptation_epochs": 100, "told_every": 1, "encoder_rate": 1e-3, "head_rate": 1e-2}
    model, read = joined(tiny_bert, texts, TSDAE, **own)
    Training(model, read.encoder, read, judge=lambda labels: 0.0, keep_best=False).run()
    marks, rows = Marks.following(read.tokens), np.arange(30)
    with torch.no_grad():
        vectors = model.scale * read.encode_all()
        ids = torch.from_numpy(marks.ids)
        shares = [
            float(model.decoder.head.told(read.decode(model.decoder, given, rows, marks), ids).double().mean())
            for given in (vectors, vectors.roll(1, dims=0))
        ]
    assert shares[0] > 0.7
    assert shares[1] < shares[0] - 0.2


def test_tsdae_is_a_feature_that_is_saved_with_the_model(tiny_bert: Path, corpus: list[str], tmp_path: Path) -> None:
    settings = {"encoder_rate": 1e-3, "adaptation_epochs": 3}

    def fitted(method: str, **own: Any) -> TextClusterer:
        return TextClusterer(3, method=method, encoder=str(tiny_bert), settings=own or None).fit(corpus)

    model = fitted("tsdae+kmeans", **settings)
    assert [entry["phase"] for entry in model.history_] == ["adaptation"] * 3
    assert model.history_[-1]["losses"]["reconstruction"] < model.history_[0]["losses"]["reconstruction"]
    plain = fitted("minilm+kmeans")
    assert np.abs(model.transform(corpus) - plain.transform(corpus)).max() > 0.01
    np.testing.assert_allclose(model.transform(corpus), model.vectors_, atol=1e-5)
    np.testing.assert_array_equal(model.predict(corpus), model.labels_)
    model.save(tmp_path / "model")
    loaded = TextClusterer.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(corpus), model.predict_proba(corpus))
    again = fitted("tsdae+kmeans", **settings)
    np.testing.assert_array_equal(again.vectors_, model.vectors_)
    assert again.history_ == model.history_, "to the second: it was not trained again"
    other = fitted("tsdae+ward", **settings)
    assert other.history_ == model.history_


def test_settings_of_tsdae_are_checked(corpus: list[str]) -> None:
    with pytest.raises(ConfigError, match="setting 'lambda1' is not known to the method 'tsdae'"):
        TextClusterer(3, method="tsdae+kmeans", settings={"lambda1": 1}).fit(corpus)
    with pytest.raises(ConfigError, match=r"told_every=0 .* give a whole number from 1 on or none"):
        TextClusterer(3, method="tsdae+kmeans", settings={"told_every": 0}).fit(corpus)
    with pytest.raises(ConfigError, match="setting 'adaptation_epochs' is not known to the method 'minilm'"):
        TextClusterer(3, method="minilm+kmeans", settings={"adaptation_epochs": 1}).fit(corpus)


def test_the_untrained_encoder_is_pooled_as_told(corpus: list[str]) -> None:
    plain, mean, first = (
        TextClusterer(3, method="minilm+kmeans", settings=settings).fit(corpus).vectors_
        for settings in (None, {"pooling": "mean"}, {"pooling": "cls"})
    )
    np.testing.assert_array_equal(mean, plain)
    assert not np.allclose(first, plain, atol=0.01)


# Stages


def test_the_three_stages_as_published() -> None:
    full = ClusterBERT(ClusterBERTSettings(), Task(8, 3, 20000, "full", 0))
    full.decoder = torch.nn.Module()  # type: ignore[assignment]
    first, second, third = full.phases()
    assert [phase.name for phase in (first, second, third)] == ["adaptation", "clustering", "hardening"]
    assert [phase.epochs for phase in (first, second, third)] == [2, 4, 2]
    assert {phase.batch_size for phase in (first, second, third)} == {8}
    assert set(first.rates.values()) == {2e-5}
    assert first.weights == {"reconstruction": 1.0}
    assert second.weights == pytest.approx({"cluster": 0.8, "reconstruction": 0.2})
    assert third.weights == pytest.approx({"cluster": 0.75, "reconstruction": 0.25})
    assert (first.judged, second.judged, third.judged) == (False, True, True)
    assert ClusterBERT.views_wanted(full.settings, "full") == 8, "fresh noise in every epoch"
    assert ClusterBERT.views_wanted(full.settings, "balanced") == 3


def test_without_reconstruction_there_is_no_first_stage() -> None:
    model = ClusterBERT(ClusterBERTSettings(ablation="no-reconstruction"), Task(8, 3, 20000, "full", 0))
    model.decoder = torch.nn.Module()  # type: ignore[assignment]
    first, second, third = model.phases()
    assert first.epochs == 0
    assert (second.weights, third.weights) == ({"cluster": 0.8}, {"cluster": 0.75})


def test_small_sets_have_more_epochs_but_not_at_full_effort() -> None:
    def epochs(rows: int, effort: str, **own: Any) -> list[int]:
        model = ClusterBERT(ClusterBERTSettings(**own), Task(8, 3, rows, effort, 0))
        return [phase.epochs for phase in model.phases()]

    assert epochs(20000, "balanced") == [0, 4, 2]
    assert epochs(640, "balanced") == [0, 24, 12]
    assert epochs(640, "full") == [0, 4, 2]
    assert epochs(640, "balanced", round_epochs=1, hardening_epochs=0) == [0, 2, 0]


@pytest.mark.parametrize(("rows", "size"), [(40, 40), (640, 64), (3_840, 64), (12_000, 200), (20_000, 256)])
def test_batches_are_as_large_as_leaves_a_round_steps_enough(rows: int, size: int) -> None:
    model = ClusterBERT(ClusterBERTSettings(), Task(8, 3, rows, "balanced", 0))
    _, clustering, hardening = model.phases()
    assert {clustering.batch_size, hardening.batch_size} == {size}
    assert hardening.epochs * (rows / size) >= 120 or hardening.epochs > 2
    asked = ClusterBERT(ClusterBERTSettings(batch_size=32), Task(8, 3, rows, "balanced", 0))
    assert asked.phases()[1].batch_size == 32


def test_the_head_learns_the_noised_text_and_hardens_on_clean_predictions(
    model_of: Make, batch_of: Make, points: Make
) -> None:
    settings = ClusterBERTSettings(rounds=1, round_epochs=1)
    model = model_of(ClusterBERT, settings, GROUPS, 3)
    clean, *noised = (points(24, GROUPS, seed=seed, noise=0.6) for seed in range(4))
    _, second, third = model.phases()
    model.refresh(clean, second)
    assert torch.equal(model.target.argmax(dim=1), torch.from_numpy(GROUPS))
    assert set(model.target.flatten().tolist()) == {0.0, 1.0}
    loss = model.losses(batch_of([clean, *noised], ROWS), second)
    p = (noised[0][ROWS] * 12**0.5 @ model.head.weight.T + model.head.bias).softmax(dim=1)
    assert set(loss) == {"cluster"}
    assert_close(loss["cluster"], -p[range(5), GROUPS[ROWS]].log().mean())
    model.refresh(clean, third)
    q = target_distribution(model.scores(clean).softmax(dim=1)).detach()
    assert_close(model.target, q)
    loss = model.losses(batch_of([clean, *noised], ROWS), third)["cluster"]
    p = (noised[1][ROWS] * 12**0.5 @ model.head.weight.T + model.head.bias).softmax(dim=1)
    assert_close(loss, -(q[ROWS] * p.log()).sum(dim=1).mean())


@pytest.mark.parametrize("numbers", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
@pytest.mark.parametrize("init", ["kmeans", "two-view"])
def test_groups_are_found_anew_in_every_round_and_keep_their_numbers(
    model_of: Make, points: Make, init: Any, numbers: tuple[int, ...]
) -> None:
    settings = ClusterBERTSettings(init=init, rounds=2, round_epochs=2)
    true = np.array(numbers)[GROUPS]
    started = np.where(np.arange(24) == 0, numbers[1], true)  # one text in a wrong group
    model = model_of(ClusterBERT, settings, started, 3)
    second = model.phases()[1]
    vectors, moved = points(24, GROUPS, noise=0.1), points(24, np.roll(GROUPS, 5), noise=0.1)
    model.refresh(vectors, second)
    first = started if init == "two-view" else true
    np.testing.assert_array_equal(model.first_groups.numpy(), first)
    model.refresh(moved, second)
    np.testing.assert_array_equal(model.first_groups.numpy(), first, err_msg="within a round they stay")
    model.refresh(moved, second)
    found = model.first_groups.numpy()
    pairs = set(zip(found.tolist(), np.roll(GROUPS, 5).tolist(), strict=True))
    assert len(pairs) == 3, "the groups of the vectors as they are now"
    assert torch.equal(model.target.argmax(dim=1), model.first_groups)


def test_numbers_are_kept_by_what_groups_have_in_common() -> None:
    before = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    labels = np.array([2, 2, 1, 0, 0, 1, 1, 1])
    assert numbered_like(labels, before, 3).tolist() == [0, 0, 2, 1, 1, 2, 2, 2]


def test_k_means_goes_on_from_the_groups_there_are() -> None:
    points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], dtype=np.float32)
    assert continued(points, np.array([1, 1, 1, 1, 0, 0]), 2).tolist() == [1, 1, 1, 0, 0, 0]


def test_silhouette_and_dunn_index_of_the_start_and_of_every_stage_and_round(
    tiny_bert: Path, corpus: list[str], different: Callable[[list[str]], list[str]]
) -> None:
    corpus = different(corpus)
    settings = {"trainable_layers": 1, "round_epochs": 2, "hardening_epochs": 2, "encoder_rate": 1e-4, "init": "kmeans"}
    options: dict[str, Any] = {"method": "clusterbert", "effort": "balanced", "encoder": str(tiny_bert)}
    fitted = TextClusterer(3, settings=settings, **options).fit(corpus, [text.split()[0] for text in corpus])
    stages = [(entry["phase"], entry["epoch"]) for entry in fitted.history_]
    rounds = [("clustering", epoch) for epoch in range(1, 5)]
    hardening = [("hardening", 1), ("hardening", 2)]
    assert stages == [("start", 0), ("adaptation", 1), ("adaptation", 2), *rounds, *hardening]
    vectors = TransformerEncoder(str(tiny_bert)).encode(corpus)
    labels = KMeans(3, n_init=RESTARTS, random_state=0).fit(vectors).labels_
    start = fitted.history_[0]
    assert start["silhouette"] == pytest.approx(silhouette(vectors, labels), abs=1e-3)
    assert start["dunn"] == pytest.approx(dunn_index(vectors, labels), abs=1e-3)
    seen = [(entry["phase"], entry["epoch"]) for entry in fitted.history_ if "silhouette" in entry]
    assert seen == [("start", 0), ("adaptation", 2), ("clustering", 2), ("clustering", 4), *hardening]
    figures = [entry["silhouette"] for entry in fitted.history_ if "silhouette" in entry]
    assert len(set(figures)) == len(figures), "the encoder moved every time"
    assert set(fitted.history_[-1]["losses"]) == {"cluster", "reconstruction", "total", "gradient"}


@pytest.mark.parametrize("init", ["kmeans", "two-view"])
def test_both_read_outs_are_compared_and_stand_by_the_truth(tiny_bert: Path, corpus: list[str], init: str) -> None:
    settings = {"trainable_layers": 1, "round_epochs": 1, "hardening_epochs": 1, "init": init}
    options: dict[str, Any] = {"method": "clusterbert", "effort": "balanced", "encoder": str(tiny_bert)}
    truth = [text.split()[-2] for text in corpus]
    fitted = TextClusterer(3, settings=settings, **options).fit(corpus, truth)
    names = {entry["candidate"] for entry in fitted.evidence_ if "candidate" in entry}
    assert names == {f"{init} start", "trained head", f"{init}, trained encoder", "kmeans, trained encoder"}
    scores = fitted.history_[-1]["candidates"]
    assert set(scores) == names
    kept = next(entry["candidate"] for entry in fitted.evidence_ if entry.get("kept"))
    from coterie.metrics.external import external_scores

    assert scores[kept] == pytest.approx(external_scores(truth, fitted.labels_.tolist()))
    blind = TextClusterer(3, settings=settings, **options).fit(corpus)
    np.testing.assert_array_equal(blind.labels_, fitted.labels_)
    assert "candidates" not in blind.history_[-1]


def shortly(folder: Path, **own: Any) -> TextClusterer:
    settings = {"trainable_layers": 1, "round_epochs": 1, "hardening_epochs": 1, "encoder_rate": 1e-3, **own}
    return TextClusterer(3, method="clusterbert", effort="balanced", encoder=str(folder), settings=settings)


def test_the_published_read_out_is_kept_if_wanted(
    tiny_bert: Path, corpus: list[str], different: Callable[[list[str]], list[str]]
) -> None:
    """k-means on the trained encoder, whatever the start was."""
    corpus = different(corpus)
    fitted = shortly(tiny_bert, undo=False).fit(corpus)
    assert [entry["candidate"] for entry in fitted.evidence_ if entry.get("kept")] == ["kmeans, trained encoder"]
    assert fitted.features_.tuned
    vectors = fitted.features_.encode(corpus)
    assert np.abs(vectors - TransformerEncoder(str(tiny_bert)).encode(corpus)).max() > 0.01
    theirs = KMeans(3, n_init=10, random_state=0).fit(vectors).labels_
    assert len(set(zip(fitted.labels_.tolist(), theirs.tolist(), strict=True))) == 3, "the same groups"


def test_a_head_that_learnt_too_little_is_left_out_and_the_other_read_outs_are_not(
    tiny_bert: Path, corpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Training, "_is_whole", lambda training, found: False)
    fitted = shortly(tiny_bert).fit(corpus)
    names = [entry["candidate"] for entry in fitted.evidence_ if "candidate" in entry]
    assert names == ["two-view start", "two-view, trained encoder", "kmeans, trained encoder"]
    notes = [entry["note"] for entry in fitted.evidence_ if "note" in entry]
    assert "the trained head never told half of the groups apart, and is left out" in notes


def test_the_ablation_trains_without_a_first_stage(
    tiny_bert: Path, corpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrainingTexts, "read_causally", lambda *_: pytest.fail("nothing is decoded"))
    fitted = shortly(tiny_bert, ablation="no-reconstruction", encoder_rate=1e-4).fit(corpus)
    assert [entry["phase"] for entry in fitted.history_] == ["start", "clustering", "clustering", "hardening"]
    assert all(set(entry["losses"]) == {"cluster", "total", "gradient"} for entry in fitted.history_[1:])


@pytest.mark.parametrize(
    ("method", "settings", "said"),
    [
        ("clusterbert", {"rounds": 0}, "rounds=0 .* give a whole number from 1 on"),
        ("clusterbert", {"lambda_clustering": 3}, "lambda_clustering=3 .* give a number above 0 and at most 1"),
        ("clusterbert", {"lambda_hardening": 0}, "lambda_hardening=0 .* give a number above 0 and at most 1"),
        ("clusterbert", {"augment_rate": 2}, "augment_rate=2 .* give a number from 0 to 1 or none"),
        ("uft", {"masked_share": 7}, "masked_share=7 .* give a number above 0 and at most 1"),
        ("uft", {"alpha": 0}, "alpha=0 .* give a number above 0"),
        ("tsdae+kmeans", {"init": "kmeans"}, "setting 'init' is not known to the method 'tsdae'"),
        ("tsdae+kmeans", {"trainable_layers": 0}, "trainable_layers=0 of 'tsdae' leaves nothing to train"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    corpus: list[str], method: str, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        TextClusterer(3, method=method, settings=settings).fit(corpus)


def test_two_groups_never_get_one_number() -> None:
    labels, before = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 0, 0, 0, 1])
    assert numbered_like(labels, before, 3).tolist() == [0, 0, 0, 2, 2, 1]


def test_tsdae_reads_new_texts_as_the_encoder_that_it_was_given(tiny_bert: Path) -> None:
    given = TransformerEncoder(tiny_bert, pooling="cls", max_length=16, precision="int8", cache=False)
    tuned = TSDAEFeatures(given, TSDAESettings(), "fast", 0)
    for name in ("name", "pooling", "max_length", "precision", "cache"):
        assert getattr(tuned, name) == getattr(given, name), name
