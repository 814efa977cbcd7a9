"""Days, weeks, months, quarters and years, each numbered through and with a name that sorts by time."""

from __future__ import annotations

from datetime import date
from typing import Literal

from coterie.data.times import Precision

Period = Literal["day", "week", "month", "quarter", "year"]
PERIODS: tuple[Period, ...] = ("day", "week", "month", "quarter", "year")
MOST_PERIODS = 50
"""The finest period that gives no more is taken. From 51 of one kind on there are at least 8 of the next: 51 days reach
into 8 weeks, 51 weeks into 12 months, 51 months into 17 quarters, 51 quarters into 13 years."""


def choose_period(first: date, last: date, finest: Precision = "day") -> Period:
    """The period for rows from one day to another, none finer than the days are exact."""
    for period in PERIODS[PERIODS.index(finest) :]:
        if period_number(last, period) - period_number(first, period) < MOST_PERIODS:
            return period
    return "year"


def period_number(day: date, period: Period) -> int:
    """Counted from the year 0 or 1 on, without gaps. Weeks are ISO 8601's: they begin on Monday."""
    if period == "day":
        return day.toordinal()
    if period == "week":
        return (day.toordinal() - 1) // 7
    months = 12 * day.year + day.month - 1
    return months // {"month": 1, "quarter": 3, "year": 12}[period]


def period_name(number: int, period: Period) -> str:
    """2026-03-31, 2026-W14, 2026-03, 2026-Q1 or 2026."""
    if period == "day":
        return date.fromordinal(number).isoformat()
    if period == "week":
        year, week, _ = date.fromordinal(7 * number + 1).isocalendar()
        return f"{year:04}-W{week:02}"
    if period == "month":
        return f"{number // 12:04}-{number % 12 + 1:02}"
    if period == "quarter":
        return f"{number // 4:04}-Q{number % 4 + 1}"
    return f"{number:04}"
