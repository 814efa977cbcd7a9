"""The words of groups: the score by hand, stop words, forms of one word."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from coterie.describe.words import class_tfidf, group_words, near_duplicates


def test_score_by_hand() -> None:
    """Groups of 3 and 4 words, 3.5 on average; the words occur 2, 2 and 3 times."""
    scores = class_tfidf(csr_matrix([[2, 1, 0], [0, 1, 3]])).toarray()
    rare, common = np.log(1 + 3.5 / 2), np.log(1 + 3.5 / 3)
    np.testing.assert_allclose(scores, [[2 / 3 * rare, 1 / 3 * rare, 0], [0, 1 / 4 * rare, 3 / 4 * common]], rtol=1e-6)


def test_score_of_a_group_without_words_is_zero() -> None:
    assert class_tfidf(csr_matrix([[2, 1], [0, 0]])).toarray()[1].tolist() == [0, 0]


def test_words_of_groups() -> None:
    texts = ["The lamp, the lamp, the lamp!", "a lamp and a sofa", "my invoice", "the invoice of the sofa"]
    words = group_words(texts, np.array([1, 1, 0, 0]), 2)
    # A word counts once a text: group 1 has lamp 2 and sofa 1, group 0 invoice 2 and sofa 1, which tells neither apart.
    score = round(2 / 3 * np.log(1 + 3 / 2), 5)
    assert words == [[("invoice", pytest.approx(score))], [("lamp", pytest.approx(score))]]


def test_words_of_a_group_are_twice_as_frequent_there() -> None:
    # Of four words each: "da" is in every text, "und" in two of group 0 and one of group 1, "der" in two and none.
    texts = ["da und der Zug", "da und der Bus", "da und das Brot", "da kein Korn mehr"]
    first, second = group_words(texts, np.array([0, 0, 1, 1]), 2)
    assert {word for word, _ in first} == {"und", "der", "zug", "bus"}
    assert {word for word, _ in second} == {"das", "brot", "kein", "korn", "mehr"}


def test_keys_and_addresses_tell_nothing() -> None:
    key = "eyJ" + "hbGciOi" * 20
    (words,) = group_words([f"token {key} rejected", f"{key} rejected again"], np.array([0, 0]), 1)
    assert {word for word, _ in words} == {"token", "rejected"}


def test_a_group_of_nothing_but_shared_words_keeps_them() -> None:
    texts = ["lamp sofa", "lamp sofa", "lamp sofa garden"]
    shared, other = group_words(texts, np.array([0, 0, 1]), 2)
    assert [word for word, _ in shared] == ["lamp", "sofa"]
    assert [word for word, _ in other] == ["garden"]


def test_no_stop_words() -> None:
    texts = ["I don't know what it's about, you've seen the lamp", "they can't be where we'll find a sofa"]
    found = {word for group in group_words(texts, np.array([0, 1]), 2) for word, _ in group}
    assert found == {"know", "seen", "lamp", "sofa"}


def test_best_first_no_more_than_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.describe.words.WORDS_PER_GROUP", 2)
    texts = ["lamp sofa chair", "lamp sofa", "lamp", "garden"]
    (words, garden) = group_words(texts, np.array([0, 0, 0, 1]), 2)
    assert [word for word, _ in words] == ["lamp", "sofa"]
    assert [word for word, _ in garden] == ["garden"]
    scores = [score for _, score in words]
    assert scores == sorted(scores, reverse=True)


def test_forms_of_a_word_are_shown_once() -> None:
    texts = ["invoice invoices invoiced", "invoice", "invoice crash", "crashes crashing"]
    (words,) = group_words(texts, np.zeros(4, dtype=np.int64), 1)
    assert [word for word, _ in words] == ["invoice", "crash"]


def test_group_without_words() -> None:
    # One word in four groups: log(1 + 1/4).
    expected = [[("lamp", pytest.approx(0.22314))], [], [], []]
    assert group_words(["lamp", "the", "!!"], np.array([0, 1, 2]), 4) == expected
    assert group_words(["the", "of"], np.array([0, 1]), 2) == [[], []]


@pytest.mark.parametrize(
    "forms",
    [
        ("invoice", "invoices", "invoiced", "invoicing"),
        ("crash", "crashes", "crashed", "crashing"),
        ("reply", "replies", "replied"),
        ("charge", "charges", "charged", "charging"),
        ("stop", "stops", "stopped", "stopping"),
        ("cancel", "cancelled", "canceled", "cancelling"),
        ("box", "boxes"),
        ("class", "classes"),
        ("bug", "bugs"),
        ("movie", "movies"),
        ("print", "printer", "printers", "printing"),
        ("quick", "quickly"),
        ("e-mail", "email", "emails"),
    ],
)
def test_near_duplicates(forms: tuple[str, ...]) -> None:
    for first in forms:
        for second in forms:
            assert near_duplicates(first, second), (first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("new", "news"),
        ("test", "texts"),
        ("card", "car"),
        ("card", "cars"),
        ("fee", "feed"),
        ("app", "apply"),
        ("note", "not"),
        ("plan", "planes"),
        ("let", "letter"),
        ("mat", "matter"),
        ("ear", "early"),
        ("pas", "pass"),
        ("win", "wind"),
        ("java", "javascript"),
        ("string", "strong"),
        ("c++", "c#"),
        ("order", "ordinal"),
        ("king", "ks"),
    ],
)
def test_different_words_stay(first: str, second: str) -> None:
    assert not near_duplicates(first, second)
    assert not near_duplicates(second, first)
