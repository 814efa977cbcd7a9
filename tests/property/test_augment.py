"""Views of any texts: as many, none empty, the same alone and in any company."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coterie.augment import EDA, Augmenter, Deletion
from coterie.augment.pieces import Pieces, telling_form
from coterie.data.check import INVISIBLE


class Doubled:
    """Every word but those with an `e` has a synonym."""

    def describe(self) -> str:
        return "doubled"

    def prepare(self, words: Iterable[str]) -> None:
        pass

    def of(self, word: str) -> Sequence[str]:
        return [] if "e" in word else [word + word, word + "s"]


def is_text(text: str) -> bool:
    return bool(text.strip(INVISIBLE))


anything = st.text(st.characters(codec="utf-8"), min_size=1).filter(is_text)
wordy = st.lists(st.sampled_from(["film", "The", "e", "(a)", "你好", "c++", ",", "😀", "が", "it's", " "])).map(
    " ".join
)
texts_of_all_kinds = st.lists(anything | wordy.filter(is_text), min_size=1, max_size=8)
rates = st.sampled_from([0.0, 0.1, 0.5, 1.0])
edas = st.builds(
    EDA, st.just(Doubled()), replace=rates, insert=rates, swap=rates, delete=rates, random_state=st.integers(0, 3)
)
augmenters = edas | st.builds(Deletion, rates, st.integers(0, 3))


@given(augmenters, texts_of_all_kinds)
@example(EDA(Doubled()), ["\u200bword word"])
@example(Deletion(1.0), ["a、b"])
def test_as_many_none_empty_and_again_the_same(augmenter: Augmenter, texts: list[str]) -> None:
    views = augmenter.augment(texts)
    assert len(views) == len(texts)
    assert all(is_text(view) for view in views)
    assert augmenter.augment(texts) == views
    for view in views:
        view.encode()


@given(augmenters, texts_of_all_kinds)
def test_company_and_order_do_not_matter(augmenter: Augmenter, texts: list[str]) -> None:
    views = augmenter.augment(texts)
    assert augmenter.augment(texts[::-1]) == views[::-1]
    assert [augmenter.augment([text])[0] for text in texts] == views


@given(texts_of_all_kinds)
def test_what_cannot_change_does_not(texts: list[str]) -> None:
    off = EDA(Doubled(), replace=0, insert=0, swap=0, delete=0)
    assert off.augment(texts) == Deletion(0).augment(texts) == texts
    synonyms = Doubled()
    for text in texts:
        words = Pieces.of(text).words
        view = EDA(synonyms).augment([text])[0]
        if len(words) < 2:
            assert Deletion().augment([text]) == [text]
            forms = [telling_form(word) for word in words]
            assert (view == text) == (not any(form is not None and synonyms.of(form) for form in forms))


@given(texts_of_all_kinds)
def test_words_and_gaps_are_the_text(texts: list[str]) -> None:
    for text in texts:
        pieces = Pieces.of(text)
        assert pieces.text() == text
        assert len(pieces.gaps) == len(pieces.words) + 1
        assert all(any(char.isalnum() for char in word) for word in pieces.words)


@given(st.lists(st.sampled_from(["red", "green", "blue"]), min_size=2, max_size=12), st.integers(0, 50))
def test_deletion_keeps_the_order_of_words(words: list[str], seed: int) -> None:
    left = iter(words)
    view = Deletion(0.5, seed).augment([" ".join(words)])[0].split(" ")
    assert all(word in left for word in view)


@pytest.mark.parametrize("texts", [[], ["one"]])
def test_few_texts(texts: list[str]) -> None:
    assert Deletion().augment(texts) == texts
    assert EDA(Doubled(), replace=0, insert=0).augment(texts) == texts
