"""What trained methods share: what is kept, exactly k groups, views, true groups, and the place of a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from coterie import TextClusterer
from coterie.clusterers import agglomerative
from coterie.engine import resumable
from coterie.engine.loop import indifferent
from coterie.engine.phase import Phase
from coterie.engine.workers import Workers
from coterie.errors import ConfigError, InputError
from coterie.features.counted import CountedWords
from coterie.features.transformer import TransformerEncoder
from coterie.methods.aecl import AECL, AECLSettings
from coterie.methods.base import Fit, labels_of
from coterie.methods.deccrl import DECCRL
from coterie.methods.deep import Deep, filled_up
from coterie.methods.deep_model import DeepModel, DeepSettings
from coterie.methods.duet import Duet
from coterie.methods.head import Head
from coterie.methods.nearest_centre import NearestCentre, TooFewDifferentError
from coterie.methods.sccl import SCCLSettings
from coterie.metrics.external import accuracy
from coterie.nn.layers import has_bfloat16
from coterie.registry import DEEP, model_class
from coterie.types import silent

Make = Callable[..., Any]

SHORT: dict[str, dict[str, Any]] = {
    "tandem": {"epochs": 2},
    "aecl": {"contrast_epochs": 1, "guided_epochs": 3, "joint_epochs": 2},
    "sccl": {"epochs": 2},
    "rstc": {"epochs": 2},
    "deccrl": {"epochs": 2, "topic_epochs": 2},
    "vascl": {"epochs": 2},
    **{
        name: {"layers": [32, 8], "pair_epochs": 5, "pretraining_epochs": 20, "epochs": 3}
        for name in ("dec", "idec", "dcn")
    },
    "self-train": {"layers": [32, 8], "pretraining_epochs": 20, "epochs": 3},
    "uft": {"epochs": 2},
    "clusterbert": {"adaptation_epochs": 1, "round_epochs": 5, "hardening_epochs": 1},
}
NO_DELETION = {"vascl": "dropout", "uft": "none"}


@dataclass(frozen=True)
class StubSettings(DeepSettings):
    augment: Any = "dropout"


class Stub(DeepModel):
    """A model whose groups are those of the nearest of these directions."""

    settings_class: ClassVar[type[DeepSettings]] = StubSettings
    directions: ClassVar[Tensor]

    def __init__(self, settings: Any, task: Any) -> None:
        super().__init__(settings, task)
        self.weight = nn.Parameter(torch.zeros(()))

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"heads": [self.weight]}

    def phases(self) -> list[Phase]:
        return [Phase("stub", 3, {"heads": 0.01}, {"loss": 1.0}, self.batch_size)]

    def losses(self, batch: Any, phase: Phase) -> dict[str, Tensor]:
        return {"loss": batch.vectors(0).mean() + self.weight**2}

    def scores(self, vectors: Tensor) -> Tensor:
        return vectors @ self.directions.T.to(vectors.dtype)


def stub_with(directions: np.ndarray) -> type[Stub]:
    class Made(Stub):
        pass

    Made.directions = torch.from_numpy(np.asarray(directions, dtype=np.float32))
    return Made


def means(vectors: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return np.stack([vectors[truth == group].mean(axis=0) for group in range(truth.max() + 1)])


def method_of(model: type[DeepModel], encoder: Any, settings: Any = None, **options: Any) -> Deep:
    options = {"effort": "fast", "random_state": 0} | options
    return Deep("aecl", model, settings or model.settings_class(), encoder, **options)


@pytest.fixture
def poor_start(monkeypatch: pytest.MonkeyPatch, themed: Any) -> None:
    """First groups that have little to do with the texts."""

    def start(self: Deep, encoder: Any, texts: Any, n_clusters: int, progress: Any) -> tuple[Fit, np.ndarray]:
        vectors = encoder.encode(texts)
        groups = np.arange(len(texts)) // (len(texts) // n_clusters)
        mixed = means(vectors, groups) + 0.3 * np.random.default_rng(0).normal(size=(n_clusters, vectors.shape[1]))
        return Fit(encoder, NearestCentre(mixed.astype(np.float32)), vectors), vectors

    monkeypatch.setattr(Deep, "_groups_by", start)


def start_and_head(fit: Fit) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is told of the first groups and of the trained head."""
    by_name = {entry["candidate"]: entry for entry in fit.evidence if "candidate" in entry}
    assert sum(entry["kept"] for entry in by_name.values()) == 1
    return by_name["two-view start"], by_name["trained head"]


# What is kept


def test_training_that_makes_it_worse_is_undone(fake_encoder: Any, themed: Any, own_folder: Path) -> None:
    texts, truth = themed
    rubbish = np.random.default_rng(3).normal(size=(4, 12))
    fit = method_of(stub_with(rubbish), fake_encoder).fit(texts, 4)
    start = Duet(fake_encoder, random_state=0).fit(texts, 4)
    np.testing.assert_array_equal(fit.labels, start.labels)
    np.testing.assert_array_equal(fit.probabilities, start.probabilities)
    assert accuracy(truth.tolist(), fit.labels.tolist()) == 1
    begun, trained = start_and_head(fit)
    assert (begun["kept"], trained["kept"]) == (True, False)
    assert begun["score"] > trained["score"]
    assert len(fit.history) == 3, "what was undone is told all the same"


def test_training_without_a_single_whole_state_is_undone(fake_encoder: Any, themed: Any, own_folder: Path) -> None:
    fit = method_of(stub_with(np.zeros((4, 12))), fake_encoder).fit(themed[0], 4)
    assert accuracy(themed[1].tolist(), fit.labels.tolist()) == 1
    assert [entry["candidate"] for entry in fit.evidence if entry.get("kept")] == ["two-view start"]


def test_training_that_makes_it_better_is_kept(
    fake_encoder: Any, themed: Any, own_folder: Path, poor_start: None
) -> None:
    texts, truth = themed
    good = stub_with(means(fake_encoder.encode(texts), truth))
    fit = method_of(good, fake_encoder).fit(texts, 4)
    assert accuracy(truth.tolist(), fit.labels.tolist()) == 1
    begun, trained = start_and_head(fit)
    assert (begun["kept"], trained["kept"]) == (False, True)
    assert begun["score"] < trained["score"]
    assert fit.assigner.kind == "head"


@pytest.mark.parametrize(("undo", "epoch"), [(True, 1), (False, 3)])
def test_with_undo_off_the_last_state_is_kept(
    undo: bool, epoch: int, fake_encoder: Any, themed: Any, own_folder: Path
) -> None:
    """The first epoch finds the true groups, and every later one fewer of them."""
    texts, truth = themed

    class Worsening(stub_with(means(fake_encoder.encode(texts), truth))):  # type: ignore[misc]
        epoch: Tensor

        def __init__(self, settings: Any, task: Any) -> None:
            super().__init__(settings, task)
            self.register_buffer("epoch", torch.zeros(()))

        def refresh(self, vectors: Tensor, phase: Phase) -> None:
            self.epoch += 1

        def scores(self, vectors: Tensor) -> Tensor:
            return torch.as_tensor(super().scores(vectors.roll(1, dims=1) * (self.epoch - 1) + vectors))

    fit = method_of(Worsening, fake_encoder, StubSettings(undo=undo)).fit(texts, 4)
    scores = [entry["score"] for entry in fit.history]
    assert scores[0] == max(scores) > scores[2]
    head = fit.candidates["trained head"].assigner
    assert isinstance(head, Head)
    assert float(head.model.epoch) == epoch


def test_notes_of_the_start_are_evidence(
    fake_encoder: Any, themed: Any, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agglomerative, "available_memory", lambda: 3 * 4 * 20**2)
    fit = method_of(stub_with(np.eye(4, 12)), fake_encoder).fit(themed[0], 4)
    notes = [entry["note"] for entry in fit.evidence if "note" in entry]
    assert [note for note in notes if "micro-clusters instead of" in note] == notes[:1]


def test_notes_of_the_training_are_evidence(fake_encoder: Any, themed: Any, own_folder: Path) -> None:
    class Broken(stub_with(np.eye(4, 12))):  # type: ignore[misc]
        def losses(self, batch: Any, phase: Phase) -> dict[str, Tensor]:
            return {"loss": self.weight * np.inf - self.weight * np.inf}

    fit = method_of(Broken, fake_encoder).fit(themed[0], 4)
    assert "no number" in fit.evidence[-1]["note"]
    assert accuracy(themed[1].tolist(), fit.labels.tolist()) == 1


@pytest.mark.parametrize(
    ("model", "init", "alike"),
    [
        (AECL, "two-view", "two-view, trained encoder"),
        (AECL, "kmeans", "kmeans, trained encoder"),
        (model_class("sccl"), "two-view", None),
        (model_class("deccrl"), "two-view", None),
        (model_class("uft"), "two-view", None),
        (model_class("sccl"), "kmeans", "kmeans, trained encoder"),
        (model_class("vascl"), "two-view", "two-view, trained encoder"),
        (model_class("clusterbert"), "two-view", "two-view, trained encoder"),
    ],
)
def test_what_is_compared_with_the_start_like_with_like(
    model: type[DeepModel], init: Any, alike: str | None, fake_encoder: Any
) -> None:
    """Texts that were drawn together by the model's own assignments praise whatever those are like."""
    assert method_of(model, fake_encoder, model.settings_class(init=init))._made_as_the_start == alike


# Exactly k groups


def test_groups_that_the_head_lost_are_filled_up(
    fake_encoder: Any, themed: Any, own_folder: Path, poor_start: None
) -> None:
    texts, truth = themed
    three = means(fake_encoder.encode(texts), np.minimum(truth, 2))
    fit = method_of(stub_with(np.vstack([three, -three.sum(axis=0)])), fake_encoder).fit(texts, 4)
    assert start_and_head(fit)[1]["kept"]
    assert sorted(set(fit.labels.tolist())) == [0, 1, 2, 3]
    again = labels_of(fit.assigner.probabilities(fit.features.transform(texts)))
    np.testing.assert_array_equal(again, fit.labels)
    assert accuracy(truth.tolist(), fit.labels.tolist()) > 0.9, "the group of two themes was the widest"
    assert "tells 3 groups apart" in fit.evidence[-1]["note"]


@pytest.mark.parametrize("k", [3, 4, 7, 12])
def test_the_widest_group_is_cut_until_there_are_enough(k: int) -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(60, 5)).astype(np.float32)
    vectors[20:40] += 10 * (np.arange(20)[:, None] % 2)  # two clumps under one name
    labels = np.repeat([0, 4, 9], 20)  # with gaps between the numbers
    filled = filled_up(labels, vectors, k)
    assert sorted(set(filled.tolist())) == list(range(k))
    for old in (0, 4, 9):
        others = set(filled[labels != old].tolist())
        assert not others & set(filled[labels == old].tolist()), "groups are cut, never joined or moved"
    if k == 4:
        assert len(set(filled[20:40].tolist())) == 2
        assert len(set(filled[20:40:2].tolist())) == 1
    np.testing.assert_array_equal(labels, np.repeat([0, 4, 9], 20))


def test_nothing_is_cut_where_all_are_alike() -> None:
    vectors = np.repeat(np.eye(2, dtype=np.float32), 5, axis=0)
    with pytest.raises(TooFewDifferentError) as error:
        filled_up(np.repeat([0, 1], 5), vectors, 3)
    assert error.value.found == 2


def test_what_cannot_tell_texts_apart_after_training_is_left_out(
    fake_encoder: Any, themed: Any, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collapsed(self: Deep, *args: Any) -> tuple[Fit, int]:
        raise TooFewDifferentError(4, 2)

    monkeypatch.setattr(Deep, "_head", collapsed)
    fit = method_of(stub_with(means(fake_encoder.encode(themed[0]), themed[1])), fake_encoder).fit(themed[0], 4)
    assert [entry["candidate"] for entry in fit.evidence if entry.get("kept")] == ["two-view start"]
    assert fit.evidence[-1]["note"].startswith("after training only 2 texts can be told apart")


def test_a_head_that_no_epoch_has_trained(fake_encoder: Any, themed: Any, own_folder: Path) -> None:
    fit = method_of(model_class("sccl"), fake_encoder, SCCLSettings(epochs=0, augment="dropout")).fit(themed[0], 4)
    assert fit.evidence[-1]["note"] == "nothing was trained whose groups could be kept, so there is no trained head"


# Refused before anything is encoded


def test_layers_that_the_encoder_has_not(fake_encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = TransformerEncoder("minilm")
    monkeypatch.setattr(TransformerEncoder, "encode", lambda *args: pytest.fail("it was encoded"))
    with pytest.raises(ConfigError, match="trainable_layers=9: this encoder has 6"):
        method_of(AECL, encoder, AECLSettings(trainable_layers=9)).fit(["one text", "two texts"], 2)


# Every trained method, its own head kept


@pytest.mark.filterwarnings("ignore:encoder .* has no masked-language-model head")
@pytest.mark.parametrize("name", DEEP)
def test_a_trained_head_passes_the_contract(
    name: str, themed: Any, own_folder: Path, head_kept: None, tmp_path: Path
) -> None:
    """With the bundled encoder: the tiny ones have another tokenizer in every session, and what is learnt differs."""
    texts = themed[0]
    learning = {"guided_epochs": 40} if name == "aecl" else {}  # until a head that begins from nothing knows all groups
    reads_texts = issubclass(model_class(name).settings_class, DeepSettings)
    trained = {"trainable_layers": 1, "augment": NO_DELETION.get(name, "deletion")} if reads_texts else {}
    settings = {**SHORT[name], **learning, **trained}

    def fit() -> TextClusterer:
        return TextClusterer(4, method=name, settings=settings, random_state=2).fit(texts)

    fitted = fit()
    assert fitted.assigner_.kind == "head"
    assert sorted(set(fitted.labels_.tolist())) == [0, 1, 2, 3]
    assert (np.diff(np.bincount(fitted.labels_)) <= 0).all()
    np.testing.assert_array_equal(fitted.predict(texts), fitted.labels_)
    np.testing.assert_allclose(fitted.probabilities_.sum(axis=1), 1, rtol=1e-4)
    some = [texts[5], "something nobody has written yet", texts[17]]
    together = fitted.predict_proba(some)
    np.testing.assert_array_equal(fitted.predict_proba(some[::-1])[::-1], together)
    np.testing.assert_array_equal(np.vstack([fitted.predict_proba([text]) for text in some]), together)
    np.testing.assert_array_equal(fit().labels_, fitted.labels_)
    fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(TextClusterer.load(tmp_path / "model").predict_proba(some), together)


# True groups


def test_true_groups_change_the_history_and_nothing_else(tiny_bert: Path, corpus: list[str], own_folder: Path) -> None:
    def fitted(truth: Any) -> TextClusterer:
        options: dict[str, Any] = {"method": "aecl", "encoder": str(tiny_bert), "settings": SHORT["aecl"]}
        return TextClusterer(3, **options).fit(corpus, truth)

    blind, seeing = fitted(None), fitted([f"group {row % 7}" for row in range(60)])
    np.testing.assert_array_equal(seeing.labels_, blind.labels_)
    np.testing.assert_array_equal(seeing.probabilities_, blind.probabilities_)
    assert seeing.evidence_ == blind.evidence_
    first, other = seeing.history_[-1], blind.history_[-1]
    assert first["losses"] == other["losses"]
    assert first["negative_similarity"] != other["negative_similarity"]
    with pytest.raises(InputError, match="y: 59 true groups for 60 rows"):
        fitted(["a"] * 59)


def test_the_history_is_json(tiny_bert: Path, corpus: list[str], own_folder: Path) -> None:
    fitted = TextClusterer(3, method="aecl", encoder=str(tiny_bert), settings=SHORT["aecl"]).fit(corpus)
    assert json.loads(json.dumps(fitted.history_, allow_nan=False)) == fitted.history_
    assert json.loads(json.dumps(fitted.evidence_, allow_nan=False)) == fitted.evidence_
    stages = [entry["phase"] for entry in fitted.history_]
    assert list(dict.fromkeys(stages)) == ["contrast", "pseudo-labels", "joint"]


# Views


def test_views_of_the_user_are_what_is_learnt_from(fake_encoder: Any, themed: Any, own_folder: Path) -> None:
    texts = themed[0]
    view = [text + " indeed" for text in texts]
    settings = AECLSettings(**SHORT["aecl"])
    own = method_of(AECL, fake_encoder, settings, views=[view]).fit(texts, 4)
    assert {tuple(seen) for seen in fake_encoder.encoded} == {tuple(texts), tuple(view)}
    other = method_of(AECL, fake_encoder, settings, views=[view[::-1]]).fit(texts, 4)
    assert own.history[0]["losses"] != other.history[0]["losses"]


def test_views_that_do_not_fit_are_refused(tiny_bert: Path, corpus: list[str]) -> None:
    def fit(method: str, views: Any, **settings: Any) -> None:
        TextClusterer(3, method=method, encoder=str(tiny_bert), settings=settings or None).fit(corpus, views=views)

    with pytest.raises(InputError, match=r"view: 59 texts for 60 rows\. Give one for each row\."):
        fit("aecl", [corpus[:-1]])
    with pytest.raises(ConfigError, match="method 'aecl' learns from 1 augmented columns, and 2 were given"):
        fit("aecl", [corpus, corpus])
    with pytest.raises(ConfigError, match="method 'sccl' learns from 2 augmented columns, and 1 were given"):
        fit("sccl", [corpus])
    with pytest.raises(ConfigError, match="method 'vascl' learns from 0 augmented columns, and 1 were given"):
        fit("vascl", [corpus])
    with pytest.raises(InputError, match=r"view: row 3, .*an empty text"):
        fit("aecl", [[*corpus[:2], "", *corpus[3:]]])
    with pytest.raises(ConfigError, match="augmented columns are of no use to the method 'minilm\\+kmeans'"):
        fit("minilm+kmeans", [corpus])


# The place of a checkpoint


def test_every_training_has_a_place_of_its_own(fake_encoder: Any, themed: Any, own_folder: Path) -> None:
    texts = themed[0]
    view = [text + " indeed" for text in texts]

    def places(given: list[str] = texts, k: int = 4, **options: Any) -> set[str]:
        changes = options.pop("settings", {})
        settings = AECLSettings(**SHORT["aecl"] | changes)
        options = {"views": [view]} | options
        method_of(AECL, fake_encoder, settings, **options).fit(given, k)
        return {path.name for path in (own_folder / "training").iterdir()}

    seen = places()
    assert len(seen) == 1
    assert places() == seen
    changes: list[dict[str, Any]] = [
        {"random_state": 1},
        {"settings": {"lambda1": 3.0}},
        {"settings": {"init": "kmeans"}},
        {"effort": "balanced", "settings": {"trainable_layers": 0}},
        {"given": [*texts[:-1], texts[-1] + " too"]},
        {"views": [[*view[:-1], view[-1] + " too"]]},
        {"k": 3},
        {"truth": themed[1]},
    ]
    for change in changes:
        before, seen = seen, places(**change)
        assert len(seen - before) == 1, change


def test_one_method_does_not_go_on_from_another(fake_encoder: Any, themed: Any, own_folder: Path) -> None:
    model = stub_with(np.eye(4, 12))
    for name in ("one", "other"):
        Deep(name, model, StubSettings(), fake_encoder, effort="fast", random_state=0).fit(themed[0], 4)
    assert len(list((own_folder / "training").iterdir())) == 2


def test_the_seed_alone_makes_another_place(fake_encoder: Any, themed: Any) -> None:
    keys = [
        method_of(AECL, fake_encoder, AECLSettings(), random_state=seed)._key(4, [themed[0]], themed[1])
        for seed in (0, 0, 1)
    ]
    assert keys[0] == keys[1] != keys[2]


def test_words_and_versions_make_another_place(fake_encoder: Any, themed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def key(value: float) -> list[str]:
        words = CountedWords(["a"], csr_matrix((48, 1)), np.full((1, 4), value, dtype=np.float32))
        return method_of(DECCRL, fake_encoder)._key(4, [themed[0]], themed[1], words)

    first = key(1)
    assert key(1) == first != key(2)
    monkeypatch.setattr(resumable, "code_digest", lambda: "of other code")
    assert key(1) != first


def test_processes_begin_with_the_groups_of_the_first(
    fake_encoder: Any, themed: Any, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, truth = themed
    monkeypatch.setattr(Workers, "from_main", lambda self, data: truth[::-1].astype(np.int64).tobytes())
    method = method_of(stub_with(np.eye(4, 12)), fake_encoder)
    model, *_ = method._train([texts], 4, truth, None, indifferent, ["key"], silent)
    assert model.first_groups.tolist() == truth[::-1].tolist() != truth.tolist()


def test_who_looks_makes_another_place(fake_encoder: Any, themed: Any) -> None:
    """What a history has of the stages and of the true groups cannot be added in the middle."""
    texts, truth = themed
    others: list[dict[str, Any]] = [{}, {"truth": truth}, {"truth": truth[::-1].copy()}, {"watch": lambda vectors: {}}]
    keys = [method_of(AECL, fake_encoder, **own)._key(4, [texts], truth) for own in others]
    assert len({tuple(key) for key in keys}) == 4


def test_what_rounds_otherwise_makes_another_place(themed: Any) -> None:
    def key(precision: Any, **own: Any) -> list[str]:
        return method_of(AECL, TransformerEncoder(precision=precision), AECLSettings(**own))._key(
            4, [themed[0]], themed[1]
        )

    plain = key("fp32", trainable_layers=2, bf16=has_bfloat16())
    assert key("int8", trainable_layers=2, bf16=has_bfloat16())[2] != plain[2]
    assert key("fp32", trainable_layers=2, bf16=not has_bfloat16())[2] != plain[2]
    assert key("fp32", trainable_layers=2)[2] == plain[2]


def test_a_head_that_is_renumbered_again_and_again(fake_encoder: Any, themed: Any, model_of: Make) -> None:
    vectors = fake_encoder.encode(themed[0])
    head = Head.of(model_of(stub_with(means(vectors, themed[1])), StubSettings(), themed[1], 4), "aecl", vectors)
    columns = head.probabilities(vectors)
    for order in ([2, 0, 3, 1], [1, 3, 0, 2], [3, 1, 0, 2]):
        head.renumber(np.array(order))
        columns = columns[:, order]
        np.testing.assert_allclose(head.probabilities(vectors), columns, atol=1e-6)
