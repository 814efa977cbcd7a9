"""Groups over time and by value, with numbers worked out by hand."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data.times import days_of
from coterie.describe.shares import Change, OverTime, Peak, Shares, by_value, over_time, steepest
from coterie.errors import InputError

GROUPS = [0, 3, 7]  # with gaps, as after groups were joined
NAMES = ["bread", "trains", "banks"]


def labels(*groups: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(groups, dtype=np.int64)


def test_over_the_end_of_a_year() -> None:
    """Three months of one group each, and a December with two; a month without rows, a row without a date."""
    cells = ["2024-11-30", "2024-12-01", "2024-12-31", "2025-02-28", "", "2025-02-01"]
    over = over_time(labels(0, 0, 7, 7, 3, 7), days_of([*cells[:4], "", cells[5]]), GROUPS)
    assert (over.period, over.empty) == ("week", 1)
    monthly = over_time(labels(0, 0, 7, 7, 3, 7), days_of(["2024-11", *cells[1:]]), GROUPS)
    assert monthly.period == "month"
    assert monthly.values == ["2024-11", "2024-12", "2025-01", "2025-02", None]
    assert monthly.counts.tolist() == [[1, 0, 0], [1, 0, 1], [0, 0, 0], [0, 0, 2], [0, 1, 0]]
    table = monthly.table(NAMES)
    assert table.columns == ["cluster", "name", "period", "count", "share_of_period", "share_of_group"]
    assert table.height == 15, "every group in every period"
    assert table.filter(pl.col("cluster") == 7).rows() == [
        (7, "banks", "2024-11", 0, 0.0, 0.0),
        (7, "banks", "2024-12", 1, 0.5, 1 / 3),
        (7, "banks", "2025-01", 0, 0.0, 0.0),
        (7, "banks", "2025-02", 2, 1.0, 2 / 3),
        (7, "banks", None, 0, 0.0, 0.0),
    ]


def test_by_value_the_most_frequent_first() -> None:
    by = by_value(labels(0, 3, 3, 0, 7, 3), ["chat", "mail", "mail", None, "app", " "], GROUPS)
    assert by.values == ["mail", "app", "chat", None]
    assert by.counts.tolist() == [[0, 2, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0]]
    assert by.empty == 2
    assert by.table(NAMES).rows() == [
        (0, "bread", "chat", 1, 1.0, 0.5),
        (0, "bread", None, 1, 0.5, 0.5),
        (3, "trains", "mail", 2, 1.0, 2 / 3),
        (3, "trains", None, 1, 0.5, 1 / 3),
        (7, "banks", "app", 1, 1.0, 1.0),
    ]


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([1, 2], ["1", "2"]),
        (pl.Series([True, False]), ["false", "true"]),
        (pl.Series([[1], [2]]), ["[1]", "[2]"]),
        (pl.Series([date(2026, 1, 2), date(2026, 1, 1)]), ["2026-01-01", "2026-01-02"]),
        (pl.Series(["b", "a"], dtype=pl.Categorical), ["a", "b"]),
        (np.array(["b", "a"]), ["a", "b"]),
    ],
)
def test_values_of_every_type_as_text(values: Any, written: list[str]) -> None:
    assert by_value(labels(0, 3), values, GROUPS).values == written


@pytest.mark.parametrize("values", [[1.5, float("nan")], pl.Series([1.5, float("nan")]), pl.Series([1.5, None])])
def test_nan_is_no_value(values: Any) -> None:
    found = by_value(labels(0, 3), values, GROUPS)
    assert (found.values, found.empty) == (["1.5", None], 1)


def test_as_many_values_as_texts() -> None:
    with pytest.raises(InputError, match="3 were given for 2 texts"):
        by_value(labels(0, 3), ["a", "b", "c"], GROUPS)
    with pytest.raises(InputError, match="1 were given for 2 texts"):
        over_time(labels(0, 3), days_of(["2026"]), GROUPS)


def test_rare_values_together() -> None:
    by = by_value(labels(0, 0, 3, 7, 0, 3), ["a", "a", "a", "b", "c", None], GROUPS)
    joined = by.joined(1)
    assert joined.values == ["a", "all others", None]
    assert joined.counts.tolist() == [[2, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert by.joined(3) is by


def test_what_stands_out() -> None:
    """Of 100 app rows 30 are in group 0, of 300 others 30: p = 60/400, error = sqrt(.15*.85*(1/100+1/300)) = .0412."""
    counts = np.array([[30, 70], [30, 270]])
    by = Shares("value", ["app", "mail"], [4, 2], counts)
    assert (0.3 - 0.1) / 0.0412 > 3
    assert by.standing_out().tolist() == [[1, -1], [-1, 1]]
    assert by.peak() == Peak("app", 4, 0.3, 0.15)
    # 20 and 40 of the same rows: (0.2 - 0.1333) / 0.0412 = 1.6
    assert not Shares("value", ["app", "mail"], [4, 2], np.array([[20, 80], [40, 260]])).standing_out().any()


def test_too_few_rows_say_nothing() -> None:
    """All 4 rows of one value in a group that is rare elsewhere: expected were 4 * 14/104 rows, far below 5."""
    assert Shares("value", ["a", "b"], [0, 1], np.array([[4, 0], [10, 90]])).peak() is None


def test_rows_without_a_value_are_no_peak() -> None:
    counts = np.array([[30, 270], [50, 50]])
    assert Shares("value", ["mail", None], [0, 1], counts).peak() == Peak("mail", 1, 0.9, 0.8)


def test_rising_and_falling() -> None:
    """Seven months: thirds are two months long, the middle three are left out, as are rows without a date."""
    counts = np.array(
        [[30, 60, 10], [30, 60, 10], [0, 0, 99], [0, 0, 99], [0, 0, 99], [60, 30, 10], [60, 30, 10], [9, 9, 9]]
    )
    values = [f"2026-0{month}" for month in range(1, 8)]
    changes = OverTime("period", [*values, None], [5, 6, 9], counts, "month").changes()
    assert changes == [Change(5, 0.3, 0.6, True), Change(6, 0.6, 0.3, True), Change(9, 0.1, 0.1, False)]
    assert steepest(changes) == (changes[0], changes[1])
    assert steepest(changes[2:]) == (None, None)
    assert steepest(changes[:1]) == (changes[0], None)
    assert steepest(changes[1:2]) == (None, changes[1])


def test_two_periods_have_no_thirds() -> None:
    assert OverTime("period", ["2025", "2026"], [0], np.array([[9], [9]]), "year").changes() == []


def test_a_third_without_rows_changes_nothing() -> None:
    counts = np.array([[50, 50], [9, 9], [0, 0]])
    changes = OverTime("period", ["2024", "2025", "2026"], [0, 1], counts, "year").changes()
    assert [change.is_clear for change in changes] == [False, False]


ROWS = st.lists(
    st.tuples(st.sampled_from(GROUPS), st.none() | st.dates(date(1990, 1, 1), date(2030, 1, 1)), st.text(max_size=2)),
    min_size=1,
    max_size=60,
).filter(lambda rows: any(day for _, day, _ in rows))


@settings(deadline=None)
@given(ROWS)
def test_counts_are_of_all_rows_and_shares_sum_to_one(rows: list[tuple[int, date | None, str]]) -> None:
    groups = labels(*(group for group, _, _ in rows))
    over = over_time(groups, days_of([day for _, day, _ in rows]), GROUPS)
    by = by_value(groups, [value for _, _, value in rows], GROUPS)
    sizes = Counter(groups.tolist())
    for shares in (over, by):
        of_value: Counter[str | None] = Counter()
        of_group: Counter[int] = Counter()
        counts: Counter[Any] = Counter()
        for group, _, value, count, share_of_value, share_of_group in shares.table(NAMES).rows():
            of_value[value] += share_of_value
            of_group[group] += share_of_group
            for key in (group, ("value", value), "all"):
                counts[key] += count
        assert counts["all"] == len(rows)
        assert {group: counts[group] for group in sizes} == sizes
        assert all(of_group[group] == pytest.approx(1 if sizes[group] else 0) for group in GROUPS)
        assert all(share == pytest.approx(1 if counts["value", value] else 0) for value, share in of_value.items())
    assert over.empty == sum(day is None for _, day, _ in rows)
    assert [name for name in over.values if name] == sorted(name for name in over.values if name)
