"""Days out of a column of dates: ISO 8601, years, months, Unix time, and the date types of tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from coterie.data.check import as_cells, is_missing
from coterie.data.messages import place, shown
from coterie.errors import InputError

Precision = Literal["day", "week", "month", "year"]
PRECISIONS: tuple[Precision, ...] = ("day", "week", "month", "year")
UNDERSTOOD = (
    "Dates are written with the year first: 2026-03-31, 2026/3/31, 2026-03-31T18:30 (also with a time zone), 2026-03, "
    "2026-W14 or 2026, or are Unix time in whole seconds or milliseconds; an empty cell is no date. In a spreadsheet, "
    "give the column the format yyyy-mm-dd."
)
MOST_YEARS = 1_000

_ISO = re.compile(r"[\dW-]{7,10}([Tt ]\S+)?")
_AS_FORMS_WRITE = re.compile(
    r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[Tt ](\d{1,2})(:\d{2}\S*)(?: [AaPp][Mm])?(?: GMT\S*)?)?"
)
_ZONE_APART = re.compile(r" ?UTC$| (?=(Z|[+-]\d{2}:?\d{2})$)")
_MONTH = re.compile(r"\d{4}-\d{2}")
_WEEK = re.compile(r"\d{4}-?W\d{2}")
_YEAR = re.compile(r"[12]\d{3}")
_SECONDS = re.compile(r"\d{9,10}")
_MILLISECONDS = re.compile(r"\d{12,13}")


@dataclass(frozen=True)
class Days:
    """The day of every row, None where the cell is empty; `precision` is that of the least exact cell."""

    days: list[date | None]
    precision: Precision


def days_of(values: Any, *, column: str = "time", name: str = "values") -> Days:
    """Reads a column of dates, or names the first row that is none.

    The day is the one that is written, whatever the time zone beside it; Unix time is UTC's.
    """
    cells = as_cells(_as_written(values), name)
    read = [None if _is_empty(cell) else _read(cell) for cell in cells]
    bad = [row for row, (cell, found) in enumerate(zip(cells, read, strict=True)) if not found and not _is_empty(cell)]
    if bad:
        others = len(bad) - 1
        more = f" ({others:,} more {'row is' if others == 1 else 'rows are'} not usable either)" if others else ""
        raise InputError(
            f"{name}: {place(bad[0] + 1)}, column {shown(column)} holds {shown(cells[bad[0]])}, which is no date that "
            f"is understood{more}. {UNDERSTOOD}"
        )
    found = [one for one in read if one is not None]
    if not found:
        raise InputError(f"{name}: column {shown(column)} has no date in any row. Name a column with dates.")
    days = [None if one is None else one[0] for one in read]
    _check_span(days, column, name)
    return Days(days, max((precision for _, precision in found), key=PRECISIONS.index))


def _as_written(values: Any) -> Any:
    """Date types of other libraries whose values Python cannot always hold."""
    import numpy as np

    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        if np.datetime_data(dtype)[0] in ("Y", "M"):  # which as days would be more exact than they are
            return np.where(np.isnat(values), None, np.datetime_as_string(values))
        return np.asarray(values).astype("datetime64[us]")  # nanoseconds would become numbers
    if str(dtype).startswith("Date") and hasattr(values, "dt"):  # polars: Python knows no year 10000
        return values.dt.date().dt.to_string("iso")
    return values


def _check_span(days: list[date | None], column: str, name: str) -> None:
    known = [day for day in days if day is not None]
    first, last = min(known), max(known)
    if last.year - first.year >= MOST_YEARS:
        raise InputError(
            f"{name}: column {shown(column)} reaches from {first} ({place(days.index(first) + 1)}) to {last} "
            f"({place(days.index(last) + 1)}). If one of them stands for an unknown date, empty such cells."
        )


def _is_empty(cell: Any) -> bool:
    return is_missing(cell) or (isinstance(cell, str) and not cell.strip())


def _read(cell: Any) -> tuple[date, Precision] | None:
    if isinstance(cell, datetime):
        return cell.date(), "day"
    if isinstance(cell, date):
        return cell, "day"
    if isinstance(cell, float) and cell.is_integer():  # a column of whole numbers with gaps
        cell = int(cell)
    if not isinstance(cell, int | str):
        return None
    try:
        return _read_text(str(cell).strip())
    except (ValueError, OverflowError):
        return None


def _read_text(text: str) -> tuple[date, Precision] | None:
    if not text.isascii():
        return None
    if _YEAR.fullmatch(text):
        return date(int(text), 1, 1), "year"
    if _MONTH.fullmatch(text):
        return date.fromisoformat(text + "-01"), "month"
    if _SECONDS.fullmatch(text):
        return datetime.fromtimestamp(int(text), UTC).date(), "day"
    if _MILLISECONDS.fullmatch(text):
        return datetime.fromtimestamp(int(text) // 1000, UTC).date(), "day"
    text = _as_iso(_ZONE_APART.sub("", text))
    if not _ISO.fullmatch(text):
        return None
    day = datetime.fromisoformat(text).date()
    # ISO 8601 counts a week to the year that its Thursday is in; months and quarters follow.
    return (day + timedelta(days=3), "week") if _WEEK.fullmatch(text) else (day, "day")


def _as_iso(text: str) -> str:
    """Year first, but with slashes, single digits or a clock of twelve hours, which the day does not depend on."""
    written = _AS_FORMS_WRITE.fullmatch(text)
    if written is None:
        return text
    year, _, month, day, hour, minutes = written.groups()
    return f"{year}-{month:0>2}-{day:0>2}" + (f"T{hour:0>2}{minutes}" if hour else "")
