"""Texts and the number of groups are checked before any work."""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pytest

from coterie.data.check import INVISIBLE, check_n_clusters, check_texts, texts_of, written_n_clusters
from coterie.errors import ConfigError, InputError


class FakePandasSeries:
    """What is used of a pandas Series; pandas itself is no dependency."""

    shape = (2,)

    def __init__(self, cells: list[Any]) -> None:
        self._cells = cells

    def to_list(self) -> list[Any]:
        return self._cells

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("not to be iterated")


class NAType:
    """Named as the missing value of pandas is."""


def generated() -> Iterator[str]:
    yield from ("a", "b")


@pytest.mark.parametrize(
    "texts",
    [
        ["a", "b"],
        ("a", "b"),
        generated(),
        iter(["a", "b"]),
        np.array(["a", "b"]),
        np.array(["a", "b"], dtype=object),
        np.array([["a"], ["b"]]),
        np.array([np.str_("a"), np.str_("b")], dtype=object),
        pl.Series(["a", "b"]),
        pl.Series(["a", "b"], dtype=pl.Categorical),
        pa.array(["a", "b"]),
        pa.chunked_array([["a"], ["b"]]),
        FakePandasSeries(["a", "b"]),
    ],
)
def test_what_is_taken(texts: Any) -> None:
    checked = check_texts(texts)
    assert checked == ["a", "b"]
    assert {type(text) for text in checked} == {str}


def test_texts_are_not_changed() -> None:
    texts = ["  padded ", "é", "e\u0301", "a\0b", "😀", "x\u200b"]
    assert check_texts(texts) == texts


def test_no_texts_are_left_to_the_next_check() -> None:
    assert check_texts([]) == []


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ("one text", "one string was given ('one text')"),
        (b"bytes", "bytes was given"),
        (None, "None (NoneType) was given"),
        (5, "5 (int) was given"),
        ({"a", "b"}, "a set was given"),
        ({"a": 1}, "a dict was given"),
        (pl.DataFrame({"a": ["x"]}), "a whole table was given"),
        (np.array([["a", "b"]]), "an array of shape (1, 2) was given"),
        (np.array("a"), "an array of shape () was given"),
    ],
)
def test_what_is_not_taken(texts: Any, found: str) -> None:
    with pytest.raises(InputError) as caught:
        check_texts(texts, name="input")
    assert str(caught.value).startswith(f"input: {found}")


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        (None, "no text (a missing value: None)"),
        (float("nan"), "no text (a missing value: nan)"),
        (np.float64("nan"), "no text (a missing value: "),
        (NAType(), "no text (a missing value: "),
        (5, "a number (5)"),
        (2.5, "a number (2.5)"),
        (np.int64(5), "a number ("),
        (True, "a number (True)"),
        (b"raw", "bytes (b'raw')"),
        ("", "an empty text"),
        (" \t\n\u3000", "only white space"),
        ("\u200b \ufeff", "only white space"),
        ("ab\ud800", "invalid text (unpaired surrogate U+D800, character 3)"),
        (["a"], "a list (['a'])"),
        (datetime.date(2024, 1, 2), "a date ("),
    ],
)
def test_bad_cell_is_named_by_row_and_column(cell: Any, found: str) -> None:
    with pytest.raises(InputError) as caught:
        check_texts(["fine", cell, "é", None, ""], column="title", name="t.csv", first_row=100)
    message = str(caught.value)
    assert f"t.csv: row 101, column 'title' holds {found}" in message
    assert "(2 more rows are not usable either)" in message


def test_one_bad_cell_has_no_more() -> None:
    with pytest.raises(InputError) as caught:
        check_texts(["", "a"])
    assert str(caught.value) == ("texts: row 1, column 'text' holds an empty text. Remove such rows, or fill them in.")
    with pytest.raises(InputError, match=r"\(1 more row is not usable either\)"):
        check_texts(["", "\ud800"])


def test_long_cells_are_cut_in_messages() -> None:
    with pytest.raises(InputError) as caught:
        check_texts([b"x" * 10_000])
    assert len(str(caught.value)) < 300


def test_invisible_holds_all_white_space() -> None:
    assert {chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()} <= set(INVISIBLE)


def test_texts_of_a_frame() -> None:
    frame = pl.DataFrame({"t": ["a", "b"], "c": pl.Series(["x", "y"], dtype=pl.Categorical)})
    assert texts_of(frame, "t", "t.csv") == ["a", "b"]
    assert texts_of(frame, "c", "t.csv") == ["x", "y"]
    with pytest.raises(InputError, match="did you mean 't'"):
        texts_of(frame, "T", "t.csv")


def test_nulls_of_a_frame_are_named_by_row() -> None:
    frame = pl.DataFrame({"t": ["a", None], "n": [None, None]})
    with pytest.raises(InputError, match="row 12, column 't' holds no text"):
        texts_of(frame, "t", "t.csv", first_row=11)
    with pytest.raises(InputError, match="row 1, column 'n' holds no text"):
        texts_of(frame, "n", "t.csv")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, 2], "numbers (Int64)"),
        ([0.5], "numbers (Float64)"),
        ([True], "true or false (Boolean)"),
        ([b"x"], "bytes (Binary)"),
        ([["x"]], "lists or nested values (List(String))"),
        ([datetime.date(2024, 1, 2)], "dates or times (Date)"),
    ],
)
def test_columns_that_are_not_text_are_named_by_their_type(cells: list[Any], kind: str) -> None:
    frame = pl.DataFrame({"v": cells, "title": ["x"] * len(cells)})
    with pytest.raises(InputError) as caught:
        texts_of(frame, "v", "t.parquet", first_row=9)
    message = str(caught.value)
    assert f"t.parquet: column 'v' holds {kind} from row 9 on, not texts" in message
    assert "Columns of text: 'title'." in message


@pytest.mark.parametrize("k", [1, 2, 3, np.int64(2), np.uint8(3)])
def test_n_clusters_is_taken(k: Any) -> None:
    checked = check_n_clusters(["a", "b", "c", "a"], k)
    assert checked == k
    assert type(checked) is int


@pytest.mark.parametrize("k", [True, False, 2.0, np.float64(2), np.bool_(True), "2", None, [2]])
def test_n_clusters_of_another_type(k: Any) -> None:
    with pytest.raises(ConfigError, match="must be a whole number"):
        check_n_clusters(["a", "b"], k)


@pytest.mark.parametrize("k", [0, -3, np.int64(-1)])
def test_n_clusters_below_one(k: Any) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        check_n_clusters(["a", "b"], k)


@pytest.mark.parametrize(("texts", "found"), [([], "no rows"), (["a"], "only 1 row")])
@pytest.mark.parametrize("k", [1, 2])
def test_too_few_rows(texts: list[str], found: str, k: int) -> None:
    with pytest.raises(InputError, match=found):
        check_n_clusters(texts, k)


def test_more_groups_than_distinct_texts() -> None:
    with pytest.raises(InputError) as caught:
        check_n_clusters(["a", "b", "a", "b"], 3)
    assert "3 groups were asked for, but there are only 2 distinct texts in 4 rows" in str(caught.value)
    assert "at most 2" in str(caught.value)


TWENTY = [f"text {row}" for row in range(20)]


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [("auto", (2, None)), ((2, 5), (2, 5)), ([3, 4], (3, 4)), ((np.int64(2), np.int64(4)), (2, 4))],
)
def test_numbers_to_choose_from(asked: Any, numbers: tuple[int, int | None]) -> None:
    assert check_n_clusters(TWENTY, asked) == numbers


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ((5, 4), "--k: the range from 5 to 4 does not go up. Write the smaller number first, or one alone."),
        ((5, 5), "--k: the range from 5 to 5 does not go up"),
        ((1, 3), "--k: a range of groups begins at 2 or more, not at 1"),
        ((0, 3), "--k must be at least 1, not 0"),
        ((5, 2500), "--k: a range of groups ends at 1,250 or below, not at 2,500"),
        ((2, 3, 4), "must be a whole number such as 20, 'auto', or a range such as (5, 40), not (2, 3, 4) (tuple)"),
        ((2, 3.5), "must be a whole number"),
        ("5-40", "must be a whole number"),
        ("AUTO", "must be a whole number"),
    ],
)
def test_ranges_that_are_none(asked: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        check_n_clusters(TWENTY, asked, option="--k")


@pytest.mark.parametrize(
    ("texts", "asked", "says"),
    [
        (TWENTY[1:] * 2, "auto", "t.csv: there are only 19 distinct texts in 38 rows, too few to choose a number of "),
        (TWENTY[1:], "auto", "Give 20 or more, or the number."),
        (TWENTY, (2, 6), "t.csv: a range up to 6 groups needs 4 texts a group to compare, but there are only 20 "),
        (TWENTY, (2, 6), "Let the range end at 5 or below, or give more texts."),
        (TWENTY, (5, 6), "Give one number, or give more texts."),
        (["a"], "auto", "only 1 row"),
        (["a", "a"], 1, "t.csv: all 2 rows have the same text. Give at least 2 different ones."),
        (["a", "a"], "auto", "the same text"),
        ([], (2, 3), "no rows"),
    ],
)
def test_too_few_texts_to_choose_by(texts: list[str], asked: Any, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        check_n_clusters(texts, asked, name="t.csv")


@pytest.mark.parametrize(
    ("written", "n_clusters"),
    [("20", 20), (" 7 ", 7), ("-3", -3), ("auto", "auto"), ("Auto", "auto"), ("5-40", (5, 40)), ("5 - 40", (5, 40))],
)
def test_numbers_as_people_write_them(written: str, n_clusters: Any) -> None:
    assert written_n_clusters(written, "--k") == n_clusters


@pytest.mark.parametrize("written", ["many", "2.5", "", "5-", "-5-40", "5-4-3", "5..40", "automatic", "9" * 5000])
def test_what_is_no_number_of_groups(written: str) -> None:
    with pytest.raises(ConfigError, match="--k must be a whole number such as 20, auto, or a range such as 5-40, not "):
        written_n_clusters(written, "--k")
