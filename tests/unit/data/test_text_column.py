"""Which column holds the texts."""

from __future__ import annotations

import polars as pl
import pytest

from coterie.data.columns import check_column, choose_text_column, text_score
from coterie.errors import InputError

TEXTS = ["how to parse json", "sort a list in place", "what is a closure", "centre a div"]
TABLE = pl.DataFrame(
    {
        "id": ["007", "008", "009", "010"],
        "date": ["2024-01-01 10:00", "2024-01-02 11:00", "2024-01-03 12:00", "2024-01-04 13:00"],
        "url": ["https://a.org/b/c", "https://a.org/b/d", "https://a.org/b/e", "https://a.org/b/f"],
        "label": ["data science", "data science", "web pages", "web pages"],
        "title": TEXTS,
        "score": [1, 2, 3, 4],
    }
)


def test_asked_for() -> None:
    assert choose_text_column(TABLE, "label", "t.csv") == "label"


@pytest.mark.parametrize("asked", ["titel", "Title"])
def test_asked_for_but_absent(asked: str) -> None:
    with pytest.raises(InputError) as caught:
        choose_text_column(TABLE, asked, "t.csv")
    message = str(caught.value)
    assert f"t.csv: there is no column '{asked}'; did you mean 'title'?" in message
    assert "'id', 'date', 'url', 'label', 'title', 'score'" in message
    assert "`--text`" in message


def test_absent_with_nothing_near() -> None:
    with pytest.raises(InputError) as caught:
        check_column(TABLE, "qqqq", "t.csv")
    assert "did you mean" not in str(caught.value)
    assert "`--truth`" in str(caught.value)


def test_check_column_finds_it() -> None:
    assert check_column(TABLE, "label", "t.csv") == "label"


def test_many_columns_are_cut_off() -> None:
    wide = pl.DataFrame({f"c{n}": ["x"] for n in range(100)})
    with pytest.raises(InputError, match="and 88 more"):
        check_column(wide, "zzz", "t.csv")
    with pytest.raises(InputError, match="and 88 more"):
        choose_text_column(wide, None, "t.csv")


def test_only_column_is_chosen_whatever_it_holds() -> None:
    assert choose_text_column(pl.DataFrame({"n": ["1", "2"]}), None, "t.csv") == "n"


def test_clear_case() -> None:
    assert choose_text_column(TABLE.drop("label"), None, "t.csv") == "title"


def test_column_of_other_script_is_text() -> None:
    table = pl.DataFrame({"id": ["1", "2"], "标题": ["如何解析数据文件", "怎样排序一个列表"]})
    assert choose_text_column(table, None, "t.csv") == "标题"


def test_dictionary_column_is_text() -> None:
    table = pl.DataFrame({"id": [1, 2, 3, 4], "t": pl.Series(TEXTS, dtype=pl.Categorical)})
    assert choose_text_column(table, None, "t.parquet") == "t"


def test_two_columns_of_text_ask() -> None:
    table = TABLE.select("id", "title", (pl.col("title") + " please").alias("the body"))
    with pytest.raises(InputError) as caught:
        choose_text_column(table.select("id", "the body", "title"), None, "t.csv")
    message = str(caught.value)
    assert "2 columns look like text" in message
    assert "'id', for example '007'" in message
    assert "'title', for example 'how to parse json'" in message
    assert "type `--text 'the body'`" in message


def test_no_column_of_text_asks_and_names_the_likeliest() -> None:
    table = pl.DataFrame({"n": [1, 2, 3], "word": ["x", "two words", "y"], "empty": [None, None, None]})
    with pytest.raises(InputError) as caught:
        choose_text_column(table, None, "t.csv")
    message = str(caught.value)
    assert "no column clearly looks like text" in message
    assert "'empty', for example (no value)" in message
    assert "'word' looks most like text: type `--text word`" in message


def test_only_numbers() -> None:
    with pytest.raises(InputError, match="--text NAME"):
        choose_text_column(pl.DataFrame({"a": [1], "b": [2]}), None, "t.csv")


def test_no_columns() -> None:
    with pytest.raises(InputError, match="no columns"):
        choose_text_column(pl.DataFrame(), None, "t.csv")


@pytest.mark.parametrize(
    ("cells", "score"),
    [
        (TEXTS, 1.0),
        ([*TEXTS, None, "", " ", "word"], 0.5),
        (["same text", "same text"], 0.5),
        ([1, 2], 0.0),
        ([None, None], 0.0),
        ([], 0.0),
        (["2024-01-01 10:00"], 0.0),
    ],
)
def test_score(cells: list[object], score: float) -> None:
    assert text_score(pl.Series("c", cells)) == pytest.approx(score)
