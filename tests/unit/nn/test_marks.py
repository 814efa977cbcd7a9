"""Marked places: where views differ, what follows, and every so many of them."""

from __future__ import annotations

import numpy as np

from coterie.features.tokens import Tokens
from coterie.nn.marks import Marks


def tokens_of(*texts: list[int]) -> Tokens:
    return Tokens.of([np.array(text, dtype=np.int32) for text in texts])


TEXTS = tokens_of([2, 11, 12, 13, 3], [2, 3], [2, 21, 22, 3])


def as_lists(marks: Marks) -> list[list[tuple[int, int]]]:
    """(where, which token) of every text."""
    pairs = list(zip(marks.at.tolist(), marks.ids.tolist(), strict=True))
    return [pairs[start:stop] for start, stop in zip(marks.offsets[:-1], marks.offsets[1:], strict=True)]


def test_where_a_view_differs_the_texts_tokens_belong() -> None:
    view = tokens_of([2, 11, 4, 4, 3], [2, 3], [2, 4, 22, 3])
    marks = Marks.differing(view, TEXTS)
    assert as_lists(marks) == [[(2, 12), (3, 13)], [], [(1, 21)]]
    assert marks.counts.tolist() == [2, 0, 1]
    assert len(marks) == 3


def test_every_token_but_the_first_follows_another() -> None:
    marks = Marks.following(TEXTS)
    assert as_lists(marks) == [[(0, 11), (1, 12), (2, 13), (3, 3)], [(0, 3)], [(0, 21), (1, 22), (2, 3)]]


def test_marks_of_some_texts_in_another_order() -> None:
    marks = Marks.following(TEXTS).taken(np.array([2, 0, 2]))
    assert as_lists(marks) == [
        [(0, 21), (1, 22), (2, 3)],
        [(0, 11), (1, 12), (2, 13), (3, 3)],
        [(0, 21), (1, 22), (2, 3)],
    ]


def test_flags_are_true_where_texts_are_marked() -> None:
    marks = Marks.differing(tokens_of([2, 11, 4, 4, 3], [2, 3], [2, 4, 22, 3]), TEXTS).taken(np.array([2, 1, 0]))
    assert marks.flags(np.array([4, 2, 5])).tolist() == [
        *(False, True, False, False),
        *(False, False),
        *(False, False, True, True, False),
    ]


def test_every_third_mark_until_each_had_its_turn() -> None:
    whole = Marks.following(TEXTS)
    turns = [as_lists(whole.every(3, turn)) for turn in range(3)]
    for text, marks in enumerate(as_lists(whole)):
        assert sorted(mark for turn in turns for mark in turn[text]) == marks
    # Not the same place of every text at once.
    assert {marks[0][0] for marks in turns[0] if marks} == {0, 1}
    assert as_lists(whole.every(1, 0)) == as_lists(whole)


def test_every_third_text_until_each_had_its_turn() -> None:
    whole = Marks.following(TEXTS)
    turns = [as_lists(whole.of_texts(3, turn)) for turn in range(3)]
    assert [[bool(marks) for marks in turn] for turn in turns] == [
        [True, False, False],
        [False, False, True],
        [False, True, False],
    ]
    assert [marks for turn in turns for marks in turn if marks] == [as_lists(whole)[text] for text in (0, 2, 1)]


def test_no_marks_at_all() -> None:
    marks = Marks.differing(TEXTS, TEXTS)
    assert as_lists(marks) == [[], [], []]
    assert not marks.flags(TEXTS.lengths).any()
    assert as_lists(marks.taken(np.array([1]))) == [[]]
