"""Texts as words and gaps: nothing is lost, and what is left out takes its spaces and brackets along."""

from __future__ import annotations

import pytest

from coterie.augment.pieces import Pieces, telling_form, written_like


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("How do I fill a DataSet?", ["How", "do", "I", "fill", "a", "DataSet"]),
        ("node.js (v8) & c++!", ["node.js", "v8", "c++"]),
        ("你好，world世界", ["你", "好", "world", "世", "界"]),
        ("カメラ가방", ["カ", "メ", "ラ", "가방"]),
        ("が が", ["が", "が"]),
        ("你.好", ["你", "好"]),
        ("कैसे हो", ["कैसे", "हो"]),
        ("?!... 😀", []),
    ],
)
def test_words_of_a_text(text: str, words: list[str]) -> None:
    pieces = Pieces.of(text)
    assert pieces.words == words
    assert pieces.text() == text


@pytest.mark.parametrize(
    ("text", "kept", "left"),
    [
        ("one two three", {0, 2}, "one three"),
        ("one two three", {1, 2}, "two three"),
        ("one two three", {0, 1}, "one two"),
        ("one two, three.", {0, 2}, "one, three."),
        ("one, two, three.", {0, 2}, "one, three."),
        ("one, two. Three", {0, 2}, "one. Three"),
        ("one two three?", {0, 1}, "one two?"),
        ("one (two) three", {0, 2}, "one three"),
        ("(one) two", {1}, "two"),
        ("one(two)three", {0, 2}, "one three"),
        ('say "one two" now', {0, 2, 3}, 'say "two" now'),
        ('say "one two" now', {0, 1, 3}, 'say "one" now'),
        ("one\n\ntwo\nthree", {0, 2}, "one\nthree"),
        ("one two three four five", {4}, "five"),
        ("你好世界", {0, 3}, "你界"),
        ("  one two  ", {1}, "two"),
    ],
)
def test_only_some_words_stay(text: str, kept: set[int], left: str) -> None:
    assert Pieces.of(text).only(kept).text() == left


def test_inserted_words_stand_before_their_place_and_before_the_full_stop() -> None:
    pieces = Pieces.of("“One, two.")
    assert pieces.with_inserted([(0, "new")]).text() == "“new One, two."
    assert pieces.with_inserted([(1, "new")]).text() == "“One, new two."
    assert pieces.with_inserted([(2, "new")]).text() == "“One, two new."
    assert pieces.with_inserted([(2, "a"), (0, "b"), (2, "c")]).text() == "“b One, two a c."


@pytest.mark.parametrize(
    ("new", "old", "written"),
    [
        ("movie", "film", "movie"),
        ("movie", "Film", "Movie"),
        ("movie", "Film's", "Movie's"),
        ("movie", "FILM’S", "Movie’S"),
        ("Paris", "london", "Paris"),
    ],
)
def test_new_words_are_written_like_the_old(new: str, old: str, written: str) -> None:
    assert written_like(new, old) == written


@pytest.mark.parametrize(
    ("word", "form"), [("Film's", "film"), ("The", None), ("don't", None), ("x", None), ("Café", "café")]
)
def test_form_that_is_looked_up(word: str, form: str | None) -> None:
    assert telling_form(word) == form
