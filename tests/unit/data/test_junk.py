"""Texts that hold hardly anything to group by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.data.junk import find_junk, is_junk

EMPTY_ANSWERS = [
    *("-", "--", "...", "?", "!!!", "0", "12345", "+49 170 1234567", "24.12.2025", "100 %", "😀", "👍👍👍", "٣٤", "½"),
    *("https://example.org/a/b?c=d", "www.example.org", "https://example.org !"),
    *("n/a", "N/A", "N.A.", "n / a", "na", "None", "NONE.", "nothing", "Nothing!", "nil", "ok", "OK!", "Test", "idk"),
    *("test test test", "no no no", "(none)", '"no"', "don't know", "No comment."),
    *("x", "X", "xxxxxx", "aaaa aaa", "k.", "B12", "ааа", "ههههه"),
    *("asdf", "asdfgh", "ASDFGHJKL", "asdasd", "sdfsdf", "hjkl", "lkjh", "asdf asdf", "zxcvbnm", "qwerty"),
    *("nichts", "k. A.", "weiß nicht", "aucune", "ninguno", "não", "нет", "无", "没有。", "なし", "없음", "لا", "नहीं"),
]
ANSWERS = [
    *("退款", "很好", "谢谢", "看看", "好", "電池", "はい", "네네", "ㅋㅋ", "ไทย", "चाय", "שלום", "عربي"),
    *("ai", "IT", "HR", "TV", "wert", "tree", "were", "property", "salads", "flash", "html", "DHL", "good", "price"),
    *("no parking", "none of the staff helped", "nothing works", "test drive", "ok but slow", "no, yes", "n/a for me"),
    *("room 12", "5 stars", "😀 great", "see https://example.org", "asd", "dsa", "asdfgh app", "hello", "oh no"),
]


@pytest.mark.parametrize("text", EMPTY_ANSWERS)
def test_hardly_any_content(text: str) -> None:
    assert is_junk(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_something_to_group_by(text: str) -> None:
    assert not is_junk(text)


def test_each_row_by_itself() -> None:
    assert find_junk(["n/a", "the lamp broke", "n/a", "N/A"]).tolist() == [True, False, True, True]
    assert find_junk([]).tolist() == []


@given(st.text(st.characters(exclude_categories=["L", "Cs"])))
def test_without_a_letter_any_text_is_junk(text: str) -> None:
    assert is_junk(text)


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=2, max_size=2))
def test_two_chinese_signs_are_words(text: str) -> None:
    assert not is_junk(text) or text in ("没有", "沒有")


@given(st.text(max_size=30))
def test_case_punctuation_and_links_do_not_matter(text: str) -> None:
    assert is_junk(f"({text}) !! https://example.org/n ") == is_junk(text)
