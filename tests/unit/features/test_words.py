"""The words of a text, and how they are counted."""

from __future__ import annotations

import unicodedata

import pytest

from coterie.errors import InputError
from coterie.features.words import (
    count_words,
    english_stop_words,
    learn_words,
    some_words,
    telling_words_of,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("C++ and C# and F#", ["c++", "and", "c#", "and", "f#"]),
        ("node.js, vue.js.", ["node.js", "vue.js"]),
        (".NET end.", ["net", "end"]),
        ("E-mail e-mails", ["e-mail", "e-mails"]),
        ("I don't, I don’t", ["don't", "don’t"]),
        ("the customer's bill and James' car", ["the", "customer", "bill", "and", "james", "car"]),
        ("the customer’s bill", ["the", "customer", "bill"]),
        ("'quoted' \"words\" (here)", ["quoted", "words", "here"]),
        ("error 404, version 3.5, 7", ["error", "404", "version", "3.5"]),
        ("snake_case __init__", ["snake_case", "init"]),
        ("Über die Straße läuft ein Mädchen", ["über", "die", "straße", "läuft", "ein", "mädchen"]),
        ("naïve café", ["naïve", "café"]),
        ("我忘记了密码 中文", ["我忘", "忘记", "记了", "了密", "密码", "中文"]),
        ("iPhone手机，水", ["iphone", "手机", "水"]),
        ("日本語のテキスト", ["日本", "本語", "テキスト"]),
        ("パスワードを忘れて、ありがとう", ["パスワード", "忘", "ありがとう"]),
        ("비밀번호를 잊었어요", ["비밀번호를", "잊었어요"]),
        ("привет, МИР", ["привет", "мир"]),
        ("👍🏽 great 🎉", ["great"]),
        ("wait -- what?!", ["wait", "what"]),
        ("a b c", []),
        ("", []),
        ("!!! ... 👍", []),
    ],
)
def test_words_of(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize("text", ["Müller über café", "Ångström Zürich"])
def test_accents_of_their_own_are_part_of_the_letter(text: str) -> None:
    """macOS writes ü as u and two dots."""
    assert words_of(unicodedata.normalize("NFD", text)) == words_of(text)


def test_stop_words_and_contractions_are_not_telling() -> None:
    assert telling_words_of("I don't think you've got the refund, it's what we'll need; can't wait") == [
        "think",
        "got",
        "refund",
        "need",
        "wait",
    ]
    assert {"the", "don't", "don’t", "i'm"} <= english_stop_words()


def test_words_are_learnt_and_counted() -> None:
    counts, vocabulary = learn_words(["Refund, refund the lamp", "the lamp's lamp", "and the"])
    assert vocabulary == ["lamp", "refund"]
    assert counts.toarray().tolist() == [[1, 2], [2, 0], [0, 0]]


def test_counts_of_a_given_vocabulary_keep_its_order_and_skip_other_words() -> None:
    assert count_words(["refund lamp sofa"], ["refund", "garden", "lamp"]).toarray().tolist() == [[1, 0, 1]]
    assert count_words(["lamp sofa", "garden"], []).shape == (2, 0)
    assert count_words([], ["lamp"]).shape == (0, 1)


@pytest.mark.parametrize(
    ("texts", "limits"),
    [
        (["the", "and of"], {}),
        (["lamp sofa", "garden chair"], {"min_df": 3}),
        (["lamp sofa", "garden chair", "other words", "again others"], {"min_df": 3}),
    ],
)
def test_no_words_no_columns(texts: list[str], limits: dict[str, int]) -> None:
    counts, found = learn_words(texts, **limits)
    assert counts.shape == (len(texts), 0)
    assert found == []
    with pytest.raises(InputError, match="no words were found"):
        some_words(texts, **limits)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("مَرْحَبًا بالعالم", ["مَرْحَبًا", "بالعالم"]),
        ("Здравствуйте, мир", ["здравствуйте", "мир"]),
    ],
)
def test_marks_belong_to_their_letters(text: str, words: list[str]) -> None:
    assert words_of(text) == words
