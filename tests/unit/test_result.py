"""What a `Clustering` tells of repeated texts, of time and of values."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

import coterie
from coterie import InputError

TEXTS = ["bread and yeast", "bread and flour", "a bank loan", "the bank of loans", "n/a", "bread and yeast"]


@pytest.fixture(scope="module")
def result() -> coterie.Clustering:
    return coterie.cluster(TEXTS, n_clusters=2, method="bow+kmeans")


def test_repeated_and_empty_texts(result: coterie.Clustering) -> None:
    assert result.duplicates.first.tolist() == [0, 1, 2, 3, 4, 0]
    assert result.duplicates is result.duplicates, "found once"
    assert result.junk.tolist() == [False, False, False, False, True, False]


def test_over_time(result: coterie.Clustering) -> None:
    table = result.over_time([date(2026, 1, 1), "2026-01-02", None, 1767312000, "2026-01-01T23:00+05:00", "2026-01-02"])
    assert table["period"].unique().sort().to_list() == [None, "2026-01-01", "2026-01-02"]
    assert table["count"].sum() == 6
    group = result.labels[0]
    own = table.filter(pl.col("cluster") == group)
    assert own["name"].unique().to_list() == [result.groups[group].name]
    first = own.row(0, named=True)
    assert first["count"] == sum(int(label == group) for label in result.labels[[0, 4]])
    assert first["share_of_period"] == first["count"] / 2
    with pytest.raises(InputError, match="values: row 2, column 'time' holds 'soon'"):
        result.over_time(["2026", "soon", *["2026"] * 4])


def test_by_value(result: coterie.Clustering) -> None:
    table = result.by(["a", "a", "b", "b", "b", "a"])
    bread = table.filter((pl.col("cluster") == result.labels[0]) & (pl.col("value") == "a")).row(0, named=True)
    assert bread["count"] == sum(int(result.labels[row] == result.labels[0]) for row in (0, 1, 5))
    with pytest.raises(InputError, match="values: 2 were given for 6 texts"):
        result.by(["a", "b"])
