"""Texts that are there more than once."""

from __future__ import annotations

import tracemalloc
from itertools import combinations
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import TextClusterer
from coterie.data import duplicates
from coterie.data.duplicates import ALIKE, find_duplicates, training_rows
from coterie.methods import base

LONG = "the parcel was left with a neighbour on Monday and nobody told us, so we waited at home all day"
WORDS = ["invoice", "refund", "parcel", "password", "printer", "screen", "battery"]
WORDS += ["lamp", "coffee", "garden", "tulip", "router", "train", "ticket"]


def test_word_for_word() -> None:
    found = find_duplicates(["one parcel", "two lamps", "one parcel", "two lamps", "three trains"])
    assert found.first.tolist() == [0, 1, 0, 1, 4]
    assert found.exact.tolist() == [False, False, True, True, False]
    assert not found.near.any()
    assert found.kept.tolist() == [0, 1, 4]


@pytest.mark.parametrize(
    "other",
    [
        LONG.upper(),
        LONG + "!!!",
        LONG.replace(" ", "  ") + " https://example.org/a?b=1",
        LONG.replace("Monday", "Mondey"),
        "Hello, " + LONG,
    ],
)
def test_all_but_word_for_word(other: str) -> None:
    found = find_duplicates(["another text altogether", LONG, other])
    assert found.first.tolist() == [0, 1, 1]
    assert found.near.tolist() == [False, False, True]
    assert not found.exact.any()


@pytest.mark.parametrize(
    "other", [LONG.replace("parcel", "letter").replace("neighbour", "friend"), LONG[:60], LONG.replace("a", "o")]
)
def test_texts_that_differ_stand_for_themselves(other: str) -> None:
    assert find_duplicates([LONG, other]).first.tolist() == [0, 1]


def test_a_copy_of_a_near_duplicate_is_of_the_first() -> None:
    found = find_duplicates([LONG, LONG + "!", LONG + "!", LONG])
    assert found.first.tolist() == [0, 0, 0, 0]
    assert found.exact.tolist() == [False, False, True, True]
    assert found.near.tolist() == [False, True, False, False]
    assert found.same.tolist() == [0, 1, 1, 0]
    assert found.reworded.tolist() == [1, 2]


def test_texts_of_signs_only_are_not_all_alike() -> None:
    assert find_duplicates(["!!!", "???", "😀", "!!!"]).first.tolist() == [0, 1, 2, 0]


def test_nothing_chains() -> None:
    """Every text is like the one before, and the last is not like the first."""
    chain = [LONG[start : start + 60] for start in range(0, 30, 2)]
    found = find_duplicates(chain)
    assert 1 < len(found.kept) < len(chain)
    for row, first in enumerate(found.first):
        assert _shared(chain[row].casefold(), chain[first].casefold()) >= 0.7


def _shared(one: str, other: str) -> float:
    """Jaccard by counting, of texts without punctuation."""
    runs = [{text[place : place + 5] for place in range(len(text) - 4)} for text in (one, other)]
    return len(runs[0] & runs[1]) / len(runs[0] | runs[1])


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=4, max_size=9), min_size=2, max_size=40), st.integers(0, 99))
def test_against_every_pair(texts: list[list[str]], seed: int) -> None:
    """Whatever is put together is alike, and what is clearly alike is put together."""
    rows = [" ".join(words) for words in texts]
    rows += [row + " too" for row in rows[: seed % 5]]
    found = find_duplicates(rows)
    assert (found.first <= np.arange(len(rows))).all()
    assert (found.first[found.first] == found.first).all()
    for row, first in enumerate(found.first):
        assert _shared(rows[row], rows[first]) >= ALIKE
        assert found.exact[row] == (rows[row] in rows[:row])
    for one, other in combinations(found.kept, 2):
        assert _shared(rows[one], rows[other]) < 0.97


def test_signatures_estimate_the_jaccard_index() -> None:
    """MinHash: the share of equal entries is about the share of common runs, also across parts of the texts."""
    many = [f"filler {number} of the part" for number in range(duplicates.TEXTS_AT_ONCE - 1)]
    pair = [LONG, LONG[:70] + " and then we went away without it"]
    signatures = duplicates._signatures([*many, *pair])[-2:]
    assert np.mean(signatures[0] == signatures[1]) == pytest.approx(_shared(*pair), abs=0.15)
    assert (duplicates._signatures(pair) == signatures).all()


@given(st.text("ab c", max_size=40), st.text("ab c", max_size=40))
def test_the_jaccard_index_of_numbers_is_that_of_runs(one: str, other: str) -> None:
    runs = [{text[place : place + 5] for place in range(max(1, len(text) - 4))} for text in (one, other)]
    assert duplicates._jaccard(*map(duplicates._runs, (one, other))) == len(runs[0] & runs[1]) / len(runs[0] | runs[1])


def test_long_texts_that_share_most_of_their_words_need_little_memory() -> None:
    """Form letters, say. Each is compared with several others, and a set of its runs takes 0.2 MB."""
    chance = np.random.default_rng(0)
    words = ["".join(letters) for letters in chance.choice(list("abcdefghijklmnopqrstuvwxyz"), size=(3000, 6))]
    texts = [" ".join([*words[:250], *chance.choice(words, 40)]) for _ in range(400)]
    tracemalloc.start()
    try:
        find_duplicates(texts)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000


def test_too_few_texts_to_put_near_ones_together() -> None:
    texts = [LONG + end for end in ("", "!", "?", ".", "")]
    assert len(find_duplicates(texts).kept) == 1
    assert training_rows(find_duplicates(texts), 2).first.tolist() == [0, 1, 2, 3, 0]


def test_what_may_be_a_group_is_not_one_text() -> None:
    """Messages of a machine differ in a number only. A third of all rows, they are not to vanish."""
    others = [" ".join(words) for words in combinations(WORDS, 6)][::20]
    reminders = [f"please refund the invoice of month {number} to my account, thank you" for number in range(40)]
    found = find_duplicates([*others, *reminders, *reminders[:9]])
    assert len(set(found.first[len(others) :])) < 5
    repeated = training_rows(found, 3)
    assert len(set(repeated.first[len(others) : len(others) + 40])) == 40
    assert repeated.first[-9:].tolist() == list(range(len(others), len(others) + 9)), "copies are copies"
    assert training_rows(found, 1).first.tolist() == found.first.tolist(), "less than half of an average group"


def test_a_templated_group_is_found() -> None:
    refunds = [f"Please refund the invoice of month {number}" for number in range(30)]
    logins = [f"I cannot log in to account number {number} today" for number in range(30)]
    labels = TextClusterer(2).fit(refunds + logins).labels_
    assert len(set(labels[:30])) == len(set(labels[30:])) == 1
    assert labels[0] != labels[-1]


def test_repeated_texts_weigh_once() -> None:
    """However often some texts are repeated, the groups are those of the different texts."""
    corpus = [f"{a} {b} {c}" for a, b, c in combinations(WORDS, 3)]
    plain = TextClusterer(4, method="bow+kmeans").fit(corpus)
    copies = [corpus[0]] * 300 + [corpus[1].upper() + "!"] * 200
    repeated = TextClusterer(4, method="bow+kmeans").fit(corpus + copies)
    pairs = set(zip(plain.labels_.tolist(), repeated.labels_[: len(corpus)].tolist(), strict=True))
    assert len(pairs) == 4, "the same groups, numbered by their new sizes"
    assert len(repeated.labels_) == len(repeated.vectors_) == len(corpus) + 500
    assert set(repeated.labels_[len(corpus) : len(corpus) + 300]) == {repeated.labels_[0]}
    assert (repeated.predict(corpus + copies) == repeated.labels_).all()
    assert repeated.labels_[0] == 0, "sizes count every row"


def test_a_trained_fit_and_its_candidates_answer_for_every_row() -> None:
    """The fit is one of its own candidates: it must not be spread twice."""
    corpus = [f"{a} {b} {c}" for a, b, c in combinations(WORDS[:9], 3)]
    texts = [corpus[3], *corpus, corpus[5], corpus[5] + "!", *corpus[::7]]
    settings = {"features": "bow", "layers": [8, 4], "pair_epochs": 1, "pretraining_epochs": 2, "epochs": 2}
    model = TextClusterer(3, method="dec", settings=settings)
    fit = model.fitted(texts, [text.split()[0] for text in texts])
    assert len(fit.candidates) > 1
    for one in (fit, *fit.candidates.values()):
        assert len(one.vectors) == len(one.labels) == len(texts)
        again = one.assigner.probabilities(one.features.transform(texts))
        np.testing.assert_allclose(one.probabilities, again, atol=1e-5)


@pytest.mark.parametrize("truth_is_known", [False, True])
def test_near_duplicates_are_encoded_for_a_candidate_only_beside_a_truth(
    truth_is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = [" ".join(words) for words in combinations(WORDS, 6)][::20]
    texts = [*corpus, corpus[0] + " train"]
    spread = Mock(side_effect=base.spread_vectors)
    monkeypatch.setattr(base, "spread_vectors", spread)
    settings = {"features": "bow", "layers": [8, 4], "pair_epochs": 1, "pretraining_epochs": 2, "epochs": 2}
    model = TextClusterer(4, method="dec", settings=settings)
    fit = model.fitted(texts, [text.split()[0] for text in texts] if truth_is_known else None)
    assert spread.call_count == max(1, len(fit.candidates))
    assert bool(fit.candidates) == truth_is_known
    assert len(fit.labels) == len(texts)


def test_progress_is_told_of_near_duplicates() -> None:
    corpus = [" ".join(words) for words in combinations(WORDS, 6)][::20]
    told: list[tuple[str, int, int]] = []
    model = TextClusterer(4, method="minilm+kmeans")
    model.fit([*corpus, corpus[0] + " train"], progress=lambda *step: told.append(step))
    assert [done == total for stage, done, total in told if stage == "near duplicates (encoding)"] == [True]


def test_copies_of_a_near_duplicate_have_its_answer() -> None:
    """The near duplicate has an answer of its own, and its copies must have that one, not that of what it is like."""
    corpus = [" ".join(words) for words in combinations(WORDS, 6)][::20]
    near = corpus[0] + " train"
    assert training_rows(find_duplicates([*corpus, near]), 4).first[-1] == 0
    model = TextClusterer(4, method="bow+kmeans").fit([*corpus, near, near])
    assert (model.probabilities_[-1] == model.probabilities_[-2]).all()
    assert (model.vectors_[-1] == model.vectors_[-2]).all()
    np.testing.assert_array_equal(model.predict_proba([near])[0], model.probabilities_[-1])


def test_other_wordings_and_truth_go_with_their_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    import coterie.estimator as estimator

    seen = {}

    def build(method: str, settings: object) -> object:
        seen["settings"] = settings
        raise KeyboardInterrupt

    monkeypatch.setattr(estimator, "build", build)
    with pytest.raises(KeyboardInterrupt):
        TextClusterer(2).fit(["a", "b", "a", "c"], ["x", "y", "x", "z"], views=[["a1", "b1", "a2", "c1"]])
    assert seen["settings"].views == [["a1", "b1", "c1"]]  # type: ignore[attr-defined]
    assert seen["settings"].truth.tolist() == [0, 1, 2]  # type: ignore[attr-defined]
