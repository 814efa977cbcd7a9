"""Days out of cells that hold dates in many forms."""

from __future__ import annotations

import contextlib
from datetime import UTC, date, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.data.times import Days, days_of
from coterie.errors import InputError

LAST_DAY = date(2026, 3, 31)


@pytest.mark.parametrize(
    "cell",
    [
        *("2026-03-31", " 2026-03-31 ", "20260331", "2026-03-31T18:30", "2026-03-31 18:30:05.123", "2026-03-31T18:30Z"),
        *("2026-03-31T23:59:59+02:00", "2026-03-31T00:00:01-11:00", "2026-03-31 00:30+0530", "20260331T183000"),
        *("2026-03-31 18:30:00 UTC", "2026-03-31 18:30:00 +0000", "2026-03-31 18:30:00.5 -07:00", "2026-03-31 18:30 Z"),
        *("2026/03/31", "2026-3-31", "2026.03.31", "2026-03-31 9:05", "2026/3/31 11:05 am"),
        "2026/03/31 2:00:22 PM GMT+1",
        *("1774915200", "1775001599", 1774915200, 1774915200.0, "1774915200000", 1775001599999),
        *(LAST_DAY, datetime(2026, 3, 31, 23, 59), datetime(2026, 3, 31, 0, 1, tzinfo=timezone(timedelta(hours=9)))),
    ],
)  # fmt: skip
def test_the_same_day(cell: Any) -> None:
    """What is written is the day, whatever the time zone; 1774915200 is the first second of that day in UTC."""
    assert days_of([cell]).days == [LAST_DAY]
    assert days_of([cell]).precision == "day"


def test_unix_time_by_another_way() -> None:
    assert datetime(2026, 3, 31, tzinfo=UTC).timestamp() == 1774915200
    assert days_of(["1774915199"]).days == [date(2026, 3, 30)]
    assert days_of(["100000000"]).days == [date(1973, 3, 3)], "nine digits are seconds too"


@pytest.mark.parametrize(
    ("cell", "day", "precision"),
    [
        ("2026", date(2026, 1, 1), "year"),
        (1999, date(1999, 1, 1), "year"),
        ("2026-03", date(2026, 3, 1), "month"),
        # The Thursday, which says whose year, quarter and month a week is.
        ("2026-W01", date(2026, 1, 1), "week"),
        ("2025W01", date(2025, 1, 2), "week"),
        ("2020-W53", date(2020, 12, 31), "week"),
    ],
)
def test_less_exact_ones(cell: Any, day: date, precision: str) -> None:
    assert days_of([cell]).days == [day]
    assert days_of([cell, "2026-03-31"]).precision == precision


@pytest.mark.parametrize("empty", [None, "", "  ", float("nan")])
def test_an_empty_cell_is_no_date(empty: Any) -> None:
    assert days_of(["2026-03-31", empty]).days == [LAST_DAY, None]


@pytest.mark.parametrize(
    "cell",
    [
        *("31.03.2026", "03/31/2026", "31 March 2026", "soon", "2026-02-30", "2026-13", "202603", "45000"),
        *("2026/3-1", "2026/2/30", "2026-3-1 at noon", "2026/3/1 9:75", "1/2026/3"),
        *("12345678901", "20261331", "2026-03-31x18:30", "2026-03-31T25:00", "-86400", "4711", "0", "2٠٢٦"),
        *(True, 2026.5, b"2026", ["2026-03-31"], 10**30, float("inf"), "1" * 5000),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_named(cell: Any) -> None:
    with pytest.raises(
        InputError, match=r"^in\.csv: row 3, column 'day' holds .* no date that is understood\. Dates are"
    ) as error:
        days_of(["2026-03-31", None, cell], column="day", name="in.csv")
    assert len(str(error.value)) < 400


def test_the_number_of_other_bad_rows() -> None:
    with pytest.raises(InputError, match=r"row 1, .*understood \(1 more row is not usable either\)"):
        days_of(["soon", "later"])
    with pytest.raises(InputError, match=r"row 2, .*understood \(2 more rows are not usable either\)"):
        days_of(["2026", "soon", "later", "never"])


def test_no_date_at_all() -> None:
    with pytest.raises(InputError, match="column 'day' has no date in any row"):
        days_of([None, ""], column="day")


def test_a_placeholder_far_away() -> None:
    with pytest.raises(
        InputError, match=r"from 2026-03-31 \(row 1\) to 9999-12-31 \(row 2\)\. If one of them stands for"
    ):
        days_of(["2026-03-31", "9999-12-31"])
    assert len(days_of(["1026-01-01", "2025-12-31"]).days) == 2
    with pytest.raises(InputError, match="reaches from 1026-12-31"):
        days_of(["1026-12-31", "2026-01-01"])


def test_columns_of_tables() -> None:
    """Local time counts where a column has a time zone: 23:30 in UTC is the next day in Berlin."""
    late = pl.Series("day", [datetime(2026, 3, 30, 23, 30), None]).dt.replace_time_zone("UTC")
    assert days_of(late).days == [date(2026, 3, 30), None]
    assert days_of(late.dt.convert_time_zone("Europe/Berlin")).days == [LAST_DAY, None]
    assert days_of(pl.Series([LAST_DAY, None])).days == [LAST_DAY, None]
    assert days_of(pl.Series([datetime(2026, 3, 31, 5)], dtype=pl.Datetime("ns"))).days == [LAST_DAY]
    assert days_of(np.array(["2026-03-31T05", "NaT"], dtype="datetime64[ns]")).days == [LAST_DAY, None]
    assert days_of(pl.Series([1774915200, None])).days == [LAST_DAY, None]

    class ZonedIndex(list[datetime]):
        """As pandas has it: it looks like NumPy's dates, and cannot be made into them."""

        dtype = SimpleNamespace(kind="M")
        ravel = list.copy

    assert days_of(ZonedIndex([datetime(2026, 3, 31, 5, tzinfo=UTC)])).days == [LAST_DAY]
    with pytest.raises(InputError, match=r"row 1, column 'time' holds '\+15659"):
        days_of(pl.Series([5_000_000]).cast(pl.Date))


@given(st.datetimes(datetime(1700, 1, 1), datetime(2600, 1, 1), timezones=st.one_of(st.none(), st.timezones())))
def test_every_time_as_python_writes_it(when: datetime) -> None:
    assert days_of([when, when.isoformat(), when.isoformat(" ")]).days == [when.date()] * 3


@given(st.text(max_size=20))
def test_any_text_is_a_date_or_named(text: str) -> None:
    with contextlib.suppress(InputError):
        assert days_of(["2026", text]).days[0] == date(2026, 1, 1)


def test_a_day_of_a_week_is_a_day() -> None:
    assert days_of(["2020-W53-7"]) == Days([date(2021, 1, 3)], "day")


def test_months_and_years_of_numpy_are_no_days() -> None:
    assert days_of(np.array(["2024-05", "NaT"], dtype="datetime64[M]")) == Days([date(2024, 5, 1), None], "month")
    assert days_of(np.array(["2024"], dtype="datetime64[Y]")) == Days([date(2024, 1, 1)], "year")
    assert days_of(np.array(["2024-05"], dtype="datetime64[D]")).precision == "day"
