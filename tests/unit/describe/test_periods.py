"""Periods: their names, their numbers, and which is chosen."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.describe.periods import PERIODS, Period, choose_period, period_name, period_number

DAYS = st.dates(date(1600, 1, 1), date(2500, 12, 31))


@pytest.mark.parametrize(
    ("day", "period", "name"),
    [
        (date(2026, 3, 31), "day", "2026-03-31"),
        (date(2024, 12, 30), "week", "2025-W01"),
        (date(2024, 12, 29), "week", "2024-W52"),
        (date(2021, 1, 3), "week", "2020-W53"),
        (date(2021, 1, 4), "week", "2021-W01"),
        (date(2025, 12, 31), "month", "2025-12"),
        (date(2026, 1, 1), "month", "2026-01"),
        (date(2025, 12, 31), "quarter", "2025-Q4"),
        (date(2026, 4, 1), "quarter", "2026-Q2"),
        (date(999, 12, 31), "year", "0999"),
    ],
)
def test_names(day: date, period: Period, name: str) -> None:
    assert period_name(period_number(day, period), period) == name


@pytest.mark.parametrize(
    ("first", "last", "period"),
    [
        (date(2026, 1, 1), date(2026, 1, 1), "day"),
        (date(2026, 1, 1), date(2026, 2, 19), "day"),  # 50 days
        (date(2026, 1, 1), date(2026, 2, 20), "week"),  # 51 days
        (date(2026, 3, 1), date(2026, 6, 30), "week"),
        (date(2025, 1, 1), date(2025, 12, 31), "month"),  # a year touches 53 weeks
        (date(2022, 1, 1), date(2026, 2, 28), "month"),  # 50 months
        (date(2022, 1, 1), date(2026, 3, 1), "quarter"),
        (date(2014, 1, 1), date(2026, 12, 31), "year"),
    ],
)
def test_the_choice(first: date, last: date, period: str) -> None:
    assert choose_period(first, last) == period


def test_never_finer_than_the_days_are_exact() -> None:
    assert choose_period(date(2024, 1, 1), date(2026, 1, 1), "year") == "year"
    assert choose_period(date(2026, 1, 1), date(2026, 3, 1), "month") == "month"
    assert choose_period(date(2000, 1, 1), date(2026, 3, 1), "month") == "year"


@given(DAYS, DAYS)
def test_about_8_to_50_periods(one: date, other: date) -> None:
    first, last = min(one, other), max(one, other)
    period = choose_period(first, last)
    count = period_number(last, period) - period_number(first, period) + 1
    assert count >= min(8, (last - first).days + 1)
    assert count <= 50 or period == "year"


@given(DAYS, st.sampled_from(PERIODS))
def test_numbers_have_no_gaps_and_names_sort_by_time(day: date, period: Period) -> None:
    """The next day is in the same period or in the next one, whose name comes later."""
    number, following = period_number(day, period), period_number(day + timedelta(days=1), period)
    assert following in (number, number + 1)
    assert (period_name(following, period) > period_name(number, period)) == (following > number)


@given(DAYS)
def test_weeks_are_those_of_the_calendar(day: date) -> None:
    year, week, _ = day.isocalendar()
    assert period_name(period_number(day, "week"), "week") == f"{year}-W{week:02}"
