"""ADSL, STCC and Consensus: what is learnt, when labels change, who is believed, and what is kept in the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from coterie import TextClusterer
from coterie.clusterers import Agglomerative, agglomerative
from coterie.engine import checkpoint
from coterie.engine.loop import RESUMED
from coterie.engine.resumable import training_key
from coterie.errors import ConfigError, InputError
from coterie.losses.soft_labels import document_attention, soft_labels, updated_labels
from coterie.methods.adsl import ADSL, ADSLSettings
from coterie.methods.base import labels_of
from coterie.methods.consensus import Consensus, ConsensusSettings, agreement
from coterie.methods.nearest_centre import TooFewDifferentError
from coterie.methods.self_taught import Learner, Lesson, PreClustering, SelfTaught, linked
from coterie.methods.stcc import STCC, STCCSettings, binary_codes
from coterie.metrics.external import accuracy
from coterie.registry import SELF_TAUGHT
from coterie.types import State

THEMES = [
    "bread oven flour baker dough crust yeast rolls",
    "train ticket platform station delay carriage rails conductor",
    "garden roses spade weeds lawn hedge bulbs shears",
    "bank loan account interest payment cheque cashier deposit",
]
ROWS = 160
TRUTH = np.arange(ROWS) % 4
TEXTS = [" ".join(np.random.default_rng(row).permutation(THEMES[theme].split())[:5]) for row, theme in enumerate(TRUTH)]


class Given:
    """Features that are given: a text's vector is near the axis of its theme, or of the group it is said to have."""

    kind = "given"

    def __init__(self, groups: np.ndarray, noise: float = 0.2) -> None:
        random = np.random.default_rng(0)
        self.rows = (np.eye(6)[groups] + noise * random.normal(size=(len(groups), 6))).astype(np.float32)

    def fit_transform(self, texts: Sequence[str], progress: Any = None) -> np.ndarray:
        return self.rows

    def state(self) -> State:
        return State({})


def method_of(learner: type[Learner], features: Any, **settings: Any) -> SelfTaught:
    chosen = learner.settings_class(**{"epochs": 12, "batch_size": 32} | settings)
    return SelfTaught("adsl", learner, chosen, lambda name: features, word_vectors=None, effort="fast", random_state=0)


def adsl_of(groups: np.ndarray = TRUTH, n_groups: int = 4, **settings: Any) -> ADSL:
    torch.manual_seed(0)
    model = ADSL(ADSLSettings(**settings), Lesson(3, n_groups, 6, len(groups), "fast"))
    model.begin([PreClustering(Given(groups), Given(groups).rows, groups)])  # type: ignore[arg-type]
    return model


def watched(learner: type[Learner]) -> tuple[type[Learner], list[Any]]:
    """The same learner, and a list in which the one that was trained will stand."""
    made: list[Any] = []

    class Watched(learner):  # type: ignore[misc, valid-type]
        def begin(self, found: Sequence[PreClustering]) -> None:
            super().begin(found)
            made.append(self)

    return Watched, made


@pytest.fixture(autouse=True)
def own_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# ADSL's labels


def test_the_first_labels_are_soft_or_hard() -> None:
    z = torch.from_numpy(Given(TRUTH).rows)
    centroids = torch.stack([z[group == TRUTH].mean(dim=0) for group in range(4)])
    soft = adsl_of()
    assert_close(soft.labels, soft_labels(z, centroids, 10.0))
    hard = adsl_of(variant="one")
    assert set(hard.labels.unique().tolist()) == {0.0, 1.0}
    assert torch.equal(hard.labels.argmax(dim=1), soft.labels.argmax(dim=1))


@pytest.mark.parametrize(
    ("variant", "epochs_with_new_labels"), [("one", []), ("sl", []), ("dsl", [3, 6]), ("adsl", [3, 6])]
)
def test_labels_are_corrected_every_few_epochs(variant: Any, epochs_with_new_labels: list[int]) -> None:
    # Labels so soft that the network's answers change which group is the first.
    model = adsl_of(variant=variant, interval=3, epochs=8, alpha=0.01)
    vectors, phase = torch.randn(ROWS, 3), model.phases()[0]
    changed = []
    for epoch in range(8):
        before = model.labels.clone()
        with torch.no_grad():
            model.v.fill_(0.5)
        model.refresh(vectors, phase)
        if not torch.equal(model.labels, before):
            changed.append(epoch)
            share = 0.85 ** ((8 - epoch) / 3)
            p = model.scores(vectors).softmax(dim=1)
            assert_close(model.labels, updated_labels(model.original, p, share, "softmax"))
            assert torch.equal(model.taught(), model.labels.argmax(dim=1))
            assert not torch.equal(model.taught(), model.original.argmax(dim=1))
        assert model.v[0].item() == (1.0 if changed[-1:] == [epoch] else 0.5), "v starts again with new labels"
    assert changed == epochs_with_new_labels


@pytest.mark.parametrize("variant", ["one", "sl", "dsl", "adsl"])
def test_the_loss_is_that_of_the_paper(variant: Any, batch_of: Callable[..., Any]) -> None:
    groups = np.where(np.arange(ROWS) < 60, 0, TRUTH)
    model = adsl_of(groups, variant=variant)
    with torch.no_grad():
        model.v.copy_(torch.rand(ROWS) + 0.5)
    vectors, rows = torch.randn(ROWS, 3), [3, 0, 77]
    beta = document_attention(model.v, model.labels.argmax(dim=1), 4).detach()
    if variant != "adsl":
        beta = torch.ones(ROWS)
    p = model.scores(vectors[rows]).softmax(dim=1)
    by_hand = sum(-float(beta[row]) * (model.labels[row] * p[place].log()).sum() for place, row in enumerate(rows)) / 3
    assert beta.mean().item() == pytest.approx(1)
    assert_close(model.losses(batch_of([vectors], rows), model.phases()[0])["labels"], by_hand)


def test_only_adsl_learns_whom_to_believe() -> None:
    for variant in ("one", "sl", "dsl"):
        assert "attention" not in adsl_of(variant=variant).phases()[0].rates
    assert "attention" in adsl_of().phases()[0].rates


def test_texts_with_wrong_labels_are_believed_less() -> None:
    """One text in eight is told to be of the next theme; its words say otherwise."""
    wrong = np.arange(ROWS) % 8 == 5
    told = np.where(wrong, (TRUTH + 1) % 4, TRUTH)
    learner, made = watched(ADSL)
    # Never corrected, so that the labels stay wrong and the attention is not begun anew.
    method_of(learner, Given(told), interval=100, epochs=18).fit(TEXTS, 4)
    model = made[0]
    assert accuracy(told.tolist(), model.labels.argmax(dim=1).tolist()) == 1
    beta = document_attention(model.v, model.labels.argmax(dim=1), 4).detach().numpy()
    assert beta[wrong].mean() < beta[~wrong].mean() - 0.01
    assert (beta[wrong] < np.quantile(beta[~wrong], 0.1)).mean() > 0.9


def test_only_a_long_h_is_shortened_before_it_is_classified() -> None:
    model = adsl_of()
    plain = model.classify
    short, long = torch.tensor([[0.5, -1.0, 1.0]]), torch.tensor([[6.0, 0.0, 0.0]])
    assert_close(model.scores(short), plain(short))
    assert_close(model.scores(long), plain(long / 6 * 3**0.5))
    assert_close(model.scores(1e6 * long), model.scores(long))
    nothing = torch.zeros(1, 3, requires_grad=True)
    model.scores(nothing).sum().backward()  # type: ignore[no-untyped-call]
    assert nothing.grad is not None
    assert nothing.grad.isfinite().all()


def test_corrected_labels_are_better_than_the_first_ones() -> None:
    learner, made = watched(ADSL)
    method_of(learner, Given(TRUTH, noise=0.4), alpha=1.0).fit(TEXTS, 4)
    first, last = (labels.argmax(dim=1).tolist() for labels in (made[0].original, made[0].labels))
    assert accuracy(TRUTH.tolist(), last) > accuracy(TRUTH.tolist(), first) + 0.03


def test_other_numbers_of_groups_beforehand() -> None:
    learner, made = watched(ADSL)
    fit = method_of(learner, Given(TRUTH), r=7, undo=False).fit(TEXTS, 4)
    assert made[0].labels.shape == (ROWS, 7)
    assert sorted(set(fit.labels.tolist())) == [0, 1, 2, 3]
    assert accuracy(TRUTH.tolist(), fit.labels.tolist()) > 0.95


# STCC and Consensus


def test_codes_by_hand() -> None:
    z = torch.tensor([[1.0, 5.0], [2.0, 1.0], [3.0, 4.0]])
    assert binary_codes(z).tolist() == [[0, 1], [0, 0], [1, 0]]


def test_stcc_learns_the_codes() -> None:
    learner, made = watched(STCC)
    fit = method_of(learner, Given(TRUTH), undo=False, epochs=25).fit(TEXTS, 4)
    assert fit.history[-1]["losses"]["codes"] < 0.8 * fit.history[0]["losses"]["codes"]
    assert_close(made[0].codes, binary_codes(torch.from_numpy(Given(TRUTH).rows)))
    assert accuracy(TRUTH.tolist(), fit.labels.tolist()) > 0.95


def test_agreement_by_hand() -> None:
    first = np.array([0, 0, 0, 1, 1, 2])
    renamed = np.array([2, 2, 0, 0, 0, 1])
    other = np.array([0, 0, 0, 1, 1, 1])
    assert agreement([first, renamed], 3).tolist() == [True, True, False, True, True, True]
    assert agreement([first, renamed, other], 3).tolist() == [True, True, False, True, True, False]
    assert agreement([first], 3).all()


def test_consensus_learns_only_where_all_agree(batch_of: Callable[..., Any]) -> None:
    model = Consensus(ConsensusSettings(), Lesson(3, 2, 6, 4, "fast"))
    rows = np.zeros((4, 6), dtype=np.float32)
    groups = [np.array(found) for found in ([0, 0, 1, 1], [1, 1, 0, 1], [0, 0, 1, 1])]
    model.begin([PreClustering(None, rows, found) for found in groups])  # type: ignore[arg-type]
    assert model.agreed.tolist() == [True, True, True, False]
    vectors = torch.randn(4, 3)
    log_p = model.scores(vectors).log_softmax(dim=1)
    by_hand = -(log_p[0, 0] + log_p[1, 0] + log_p[2, 1]) / 4
    assert_close(model.losses(batch_of([vectors], [0, 1, 2, 3]), model.phases()[0])["agreed"], by_hand)


def test_consensus_tells_how_far_it_goes() -> None:
    rows = np.zeros((4, 6), dtype=np.float32)

    def begun(*groups: list[int]) -> Consensus:
        model = Consensus(ConsensusSettings(), Lesson(3, 3, 6, 4, "fast"))
        model.begin([PreClustering(None, rows, np.array(found)) for found in groups])  # type: ignore[arg-type]
        return model

    assert begun([0, 0, 1, 2], [1, 1, 2, 0]).remarks() == ["the pre-clusterings agree on 100% of the texts"]
    partly = begun([0, 0, 1, 2], [0, 0, 2, 2]).remarks()
    assert partly == ["the pre-clusterings agree on 75% of the texts; 1 of 3 groups have none of these"]
    with pytest.raises(InputError, match="no text on which all pre-clusterings agree"):
        begun([0, 0, 1, 1], [0, 1, 0, 1], [1, 0, 1, 0])


# What is kept


def test_texts_that_are_the_same_are_told_of_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SelfTaught, "_teach", lambda *args: pytest.fail("it was trained"))
    same = Given(np.zeros(ROWS, dtype=np.int64))
    same.rows = np.zeros_like(same.rows)
    with pytest.raises(TooFewDifferentError):
        method_of(ADSL, same, undo=False).fit(TEXTS, 4)


def test_fewer_groups_than_asked_for_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit equal rows are one cell, and there may be fewer cells than groups."""
    monkeypatch.setattr(Agglomerative, "fit", lambda self, rows: SimpleNamespace(labels_=np.array([0, 1, 1])))
    with pytest.raises(TooFewDifferentError, match="3 groups were asked for, but this method sees only 2"):
        linked(np.zeros((3, 2), dtype=np.float32), 3, 0, [])


class Misled(ADSL):
    """Learns groups that have nothing to do with the texts."""

    def begin(self, found: Sequence[PreClustering]) -> None:
        order = np.random.default_rng(1).permutation(ROWS)
        super().begin([PreClustering(found[0].features, found[0].vectors[order], found[0].groups[order])])


def test_training_that_makes_it_worse_is_undone() -> None:
    kept = method_of(Misled, Given(TRUTH, noise=0.1), rate=1e-2).fit(TEXTS, 4)
    assert [entry["kept"] for entry in kept.evidence] == [True, False]
    assert accuracy(TRUTH.tolist(), kept.labels.tolist()) == 1
    trained = method_of(Misled, Given(TRUTH, noise=0.1), rate=1e-2, undo=False).fit(TEXTS, 4)
    assert {entry["candidate"]: entry["kept"] for entry in trained.evidence} == {
        "ward on ae": False,
        "ward on trained network": True,
    }
    assert accuracy(TRUTH.tolist(), trained.labels.tolist()) < 0.9
    assert len(kept.history) == len(trained.history) == 12, "what was undone is told all the same"


def test_training_that_makes_it_better_is_kept() -> None:
    """Features in which groups overlap, and words that tell them apart."""
    fit = method_of(ADSL, Given(TRUTH, noise=0.4), alpha=1.0).fit(TEXTS, 4)
    assert [entry["kept"] for entry in fit.evidence] == [False, True]
    assert accuracy(TRUTH.tolist(), fit.labels.tolist()) > 0.97
    np.testing.assert_array_equal(labels_of(fit.assigner.probabilities(fit.features.transform(TEXTS))), fit.labels)


@pytest.mark.parametrize("learner", [ADSL, STCC, Consensus])
def test_texts_of_one_word_can_be_told_apart(learner: type[Learner]) -> None:
    words = [f"word{number}" for number in range(24)]
    groups = np.arange(24) % 4
    fit = method_of(learner, Given(groups, noise=0.1), undo=False, epochs=60).fit(words, 4)
    # STCC learns the noise among the codes too.
    assert accuracy(groups.tolist(), fit.labels.tolist()) > 0.7


def test_a_network_that_sees_too_few_texts_drops_out() -> None:
    """Every text has a word of its own, which the network does not read, and one of four that it does."""
    texts = [f"{THEMES[row % 4].split()[0]} only{row}" for row in range(24)]
    features = Given(np.arange(24) % 6)
    fit = method_of(ADSL, features, epochs=1).fit(texts, 24)
    assert sorted(fit.labels.tolist()) == list(range(24))
    assert [entry["candidate"] for entry in fit.evidence if "candidate" in entry] == ["ward on ae"]
    assert fit.evidence[-1]["note"] == (
        "the trained network tells only 4 texts apart, and 24 groups were asked for: "
        "the groups from before training were kept"
    )
    with pytest.raises(InputError, match=r"tells only 4 texts apart, .*ask for at most 4, or leave undo on"):
        method_of(ADSL, features, epochs=1, undo=False).fit(texts, 24)


@pytest.mark.parametrize("learner", [ADSL, STCC, Consensus])
def test_a_network_whose_numbers_overflow_has_failed(learner: type[Learner]) -> None:
    options: dict[str, Any] = {"rate": 1e20, "epochs": 2}
    fit = method_of(learner, Given(TRUTH), **options).fit(TEXTS, 4)
    assert [entry["kept"] for entry in fit.evidence if "kept" in entry] == [True]
    notes = [entry.get("note", "") for entry in fit.evidence]
    assert (
        "the trained network's numbers are too large, or none at all: the groups from before training were kept"
        in notes
    )
    assert accuracy(TRUTH.tolist(), fit.labels.tolist()) == 1
    with pytest.raises(InputError, match=r"too large, .* give a rate below 1e\+20, or leave undo on"):
        method_of(learner, Given(TRUTH), undo=False, **options).fit(TEXTS, 4)


def test_it_is_told_when_memory_was_too_short_for_single_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agglomerative, "available_memory", lambda: 3 * 4 * 100**2)
    fit = method_of(ADSL, Given(TRUTH), epochs=1).fit(TEXTS, 4)
    notes = [entry["note"] for entry in fit.evidence if "note" in entry]
    assert notes == ["linkage of 25 micro-clusters instead of 160 texts, to save memory"]
    assert accuracy(TRUTH.tolist(), fit.labels.tolist()) == 1


def test_killed_it_goes_on_and_ends_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels, attention and the number of epochs done are in the checkpoint, or the second half would differ."""
    monkeypatch.setattr(checkpoint, "LEAST_SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(checkpoint, "LARGEST_SHARE_OF_TIME", 1e9)
    options: dict[str, Any] = {"interval": 2, "epochs": 6, "undo": False, "attention_rate": 0.01}
    whole = method_of(ADSL, Given(TRUTH, noise=0.4), **options).fit(TEXTS, 4)
    steps: list[int] = []

    def killed_at(step: int) -> Callable[[str, int, int], None]:
        def progress(stage: str, done: int, total: int) -> None:
            steps.extend([done] if stage != RESUMED else [])
            if done == step:
                raise RuntimeError("killed")

        return progress

    with pytest.raises(RuntimeError, match="killed"):
        method_of(ADSL, Given(TRUTH, noise=0.4), **options).fit(TEXTS, 4, killed_at(13))
    del steps[:]
    again = method_of(ADSL, Given(TRUTH, noise=0.4), **options).fit(TEXTS, 4, killed_at(-1))
    assert min(steps) > 10, "it went on where it was"
    np.testing.assert_array_equal(again.vectors, whole.vectors)
    assert [entry["losses"] for entry in again.history] == [entry["losses"] for entry in whole.history]


# As users see them


@pytest.mark.parametrize("name", SELF_TAUGHT)
def test_no_encoder_is_ever_touched(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from coterie.features import compressed, transformer

    def never(*args: Any, **options: Any) -> None:
        raise AssertionError("an encoder was built")

    monkeypatch.setattr(transformer.TransformerEncoder, "__init__", never)
    monkeypatch.setattr(compressed.Autoencoded, "most_epochs", 5)
    fitted = TextClusterer(4, method=name, settings={"epochs": 2}).fit(TEXTS)
    assert len(set(fitted.labels_.tolist())) == 4


def test_options_of_no_use_are_refused() -> None:
    with pytest.raises(ConfigError, match="'adsl' uses no encoder"):
        TextClusterer(4, method="adsl", encoder="bert-base-uncased").fit(TEXTS)
    with pytest.raises(ConfigError, match="augmented columns are of no use to the method 'stcc'"):
        TextClusterer(4, method="stcc").fit(TEXTS, views=[TEXTS])
    with pytest.raises(ConfigError, match="variant='best' of the method 'adsl' does not fit"):
        TextClusterer(4, method="adsl", settings={"variant": "best"}).fit(TEXTS)
    with pytest.raises(ConfigError, match="word vectors are of no use to the method 'hac-sd'"):
        TextClusterer(4, method="hac-sd", word_vectors="file.txt").fit(TEXTS)


def test_what_cannot_be_used_is_told_before_anything_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from coterie.features import compressed

    def never(*args: Any, **options: Any) -> None:
        raise AssertionError("an autoencoder was trained")

    monkeypatch.setattr(compressed.Autoencoded, "fit_transform", never)
    foreign = tmp_path / "foreign.txt"
    foreign.write_text("brot 1 2\nzug 3 4\n", encoding="utf-8")
    for name in SELF_TAUGHT:
        with pytest.raises(InputError, match=r"missing.bin: word vectors could not be read"):
            TextClusterer(4, method=name, word_vectors=str(tmp_path / "missing.bin")).fit(TEXTS)
        with pytest.raises(InputError, match=r"none of the \d+ words of the texts is in it"):
            TextClusterer(4, method=name, word_vectors=str(foreign)).fit(TEXTS)
    with pytest.raises(ConfigError, match=r"setting r=161 for 158 different texts: give at most 158"):
        TextClusterer(4, method="adsl", settings={"r": 161}).fit(TEXTS)


def test_every_training_has_a_place_of_its_own() -> None:
    def key(texts: list[str] = TEXTS, groups: np.ndarray = TRUTH, **changes: Any) -> list[str]:
        method = method_of(ADSL, Given(groups), **changes)
        found = method._found(texts, 4, lambda *told: None)
        from coterie.features.word_network import WordNetwork

        network = WordNetwork.untrained(texts, word_vectors=None, longest=9, bf16=False, random_state=0)
        return method._key(texts, found, network)

    assert key() == key()
    others = [key([*TEXTS[:-1], "bread"]), key(groups=(TRUTH + 1) % 4), key(alpha=3.0)]
    assert len({tuple(found) for found in [key(), *others]}) == 4


def test_who_looks_makes_another_place() -> None:
    others: list[dict[str, Any]] = [{}, {"truth": TRUTH}, {"truth": TRUTH[::-1].copy()}, {"watch": lambda vectors: {}}]
    assert len({tuple(training_key(**who)) for who in others}) == 4


def test_settings_are_the_papers() -> None:
    chosen = ADSLSettings()
    assert (chosen.alpha, chosen.delta, chosen.interval, chosen.batch_size, chosen.rate) == (10, 0.85, 6, 64, 1e-3)
    assert (STCCSettings().batch_size, STCCSettings().features) == (200, "ae")
