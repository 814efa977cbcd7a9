"""The groups over time and by the values of a column: counts and shares, and what stands out in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie.data.cells import text_cells
from coterie.data.check import as_cells, is_missing
from coterie.describe.periods import Period, choose_period, period_name, period_number
from coterie.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from coterie.data.times import Days
    from coterie.types import Labels

CLEAR = 3.0
"""A difference of two shares is clear from this many standard errors on ..."""
FEWEST_EXPECTED = 5
"""... where at least so many rows were to be expected in each of the two."""

OTHERS = "all others"
MOST_VALUES = 10_000

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Peak:
    """A value that has clearly more of a group than all rows have."""

    value: str
    group: int
    share: float
    overall: float


@dataclass(frozen=True)
class Shares:
    """How many rows of each group have each value: a line of `counts` for each value, a column for each group.

    The value None, which comes last, stands for rows whose cell is empty.
    """

    kind: Literal["period", "value"]
    values: list[str | None]
    groups: list[int]
    counts: Counts

    @property
    def empty(self) -> int:
        """How many rows have no value."""
        return int(self.counts[-1].sum()) if self.values[-1] is None else 0

    def joined(self, most: int) -> Shares:
        """At most so many values and, where there are more, the others as one line before that of empty cells."""
        known = len(self.values) - (self.values[-1] is None)
        if known <= most:
            return self
        counts = [*self.counts[:most], self.counts[most:known].sum(axis=0), *self.counts[known:]]
        values = [*self.values[:most], OTHERS, *self.values[known:]]
        return Shares(self.kind, values, self.groups, np.array(counts))

    def table(self, names: Sequence[str]) -> pl.DataFrame:
        """One line for each group and value: its count, and what share of the value's and of the group's rows it is.

        Periods without rows are there with 0; of other values only what occurs.
        """
        import polars as pl

        of_value = self.counts / np.maximum(1, self.counts.sum(axis=1, keepdims=True))
        of_group = self.counts / np.maximum(1, self.counts.sum(axis=0, keepdims=True))
        columns, lines = np.nonzero(self.counts.T if self.kind == "value" else np.ones_like(self.counts.T))
        return pl.DataFrame(
            {
                "cluster": np.array(self.groups)[columns],
                "name": pl.Series(names, dtype=pl.String).gather(columns),
                self.kind: pl.Series(self.values, dtype=pl.String).gather(lines),
                "count": self.counts[lines, columns],
                f"share_of_{self.kind}": of_value[lines, columns],
                "share_of_group": of_group[lines, columns],
            }
        )

    def standing_out(self) -> NDArray[np.int8]:
        """Of every count whether it is clearly more (1) or less (-1) than the rows of the other values let expect."""
        of_value, of_group = self.counts.sum(axis=1, keepdims=True), self.counts.sum(axis=0, keepdims=True)
        others = of_value.sum() - of_value
        errors = _standard_errors(self.counts, of_value, of_group - self.counts, others)
        return np.where(np.abs(errors) >= CLEAR, np.sign(errors), 0).astype(np.int8)

    def peak(self) -> Peak | None:
        """Where a value's share of a group is furthest above that of all rows; None if it nowhere clearly is."""
        rows = np.maximum(1, self.counts.sum(axis=1, keepdims=True))
        share, overall = self.counts / rows, self.counts.sum(axis=0) / self.counts.sum()
        above = np.where(self.standing_out() > 0, share - overall, 0.0)
        above[[value is None for value in self.values]] = 0.0
        line, column = np.unravel_index(int(above.argmax()), above.shape)
        if not above[line, column]:
            return None
        return Peak(str(self.values[line]), self.groups[column], float(share[line, column]), float(overall[column]))


@dataclass(frozen=True)
class Change:
    """A group's share of the first and of the last third of the time, and whether they clearly differ."""

    group: int
    before: float
    after: float
    is_clear: bool

    @property
    def rise(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class OverTime(Shares):
    """As `Shares`, for periods in their order and without gaps."""

    period: Period

    def changes(self) -> list[Change]:
        """For each group; empty where there are fewer than three periods."""
        counts = self.counts[:-1] if self.values[-1] is None else self.counts
        third = len(counts) // 3
        if not third:
            return []
        first, last = counts[:third].sum(axis=0), counts[-third:].sum(axis=0)
        rows = first.sum(), last.sum()
        errors = _standard_errors(last, rows[1], first, rows[0])
        before, after = first / max(1, rows[0]), last / max(1, rows[1])
        return [
            Change(group, float(before[at]), float(after[at]), bool(abs(errors[at]) >= CLEAR))
            for at, group in enumerate(self.groups)
        ]


def steepest(changes: Sequence[Change]) -> tuple[Change | None, Change | None]:
    """The group that clearly rises most and the one that clearly falls most, where there are such."""
    clear = [change for change in changes if change.is_clear]
    up, down = (max(clear, key=lambda change: sign * change.rise, default=None) for sign in (1, -1))
    return up if up and up.rise > 0 else None, down if down and down.rise < 0 else None


def over_time(labels: Labels, days: Days, groups: Sequence[int]) -> OverTime:
    """Counts by period, which is chosen by how long a time the days span."""
    _check_rows(len(days.days), len(labels))
    known = [day for day in days.days if day is not None]
    first, last = min(known), max(known)
    period = choose_period(first, last, days.precision)
    start, count = period_number(first, period), period_number(last, period) - period_number(first, period) + 1
    codes = [count if day is None else period_number(day, period) - start for day in days.days]
    names: list[str | None] = [period_name(start + at, period) for at in range(count)]
    values = [*names, None] if len(known) < len(days.days) else names
    return OverTime("period", values, list(groups), _counts(codes, labels, len(values), groups), period)


def by_value(labels: Labels, values: Any, groups: Sequence[int]) -> Shares:
    """Counts by the values of a column as text, the most frequent first."""
    texts = _as_texts(values)
    _check_rows(len(texts), len(labels))
    found = Counter(texts)
    _check_few(len(found), "values")
    order: list[str | None] = sorted(
        (text for text in found if text is not None), key=lambda text: (-found[text], text)
    )
    if None in found:
        order.append(None)
    code = {text: at for at, text in enumerate(order)}
    return Shares("value", order, list(groups), _counts([code[text] for text in texts], labels, len(order), groups))


def check_values(values: Any, name: str) -> None:
    """Before any work: whether a column has few enough different values."""
    _check_few(len(set(_as_texts(values))), name)


def _check_few(different: int, name: str) -> None:
    """A column in which hardly a value comes twice tells nothing of the groups, and has a count for each of them."""
    if different > MOST_VALUES:
        raise InputError(
            f"{name}: there are {different:,} different values. Give a column with at most {MOST_VALUES:,}, such as a "
            "product, a country or a team."
        )


def _as_texts(values: Any) -> list[str | None]:
    import polars as pl

    if isinstance(values, pl.Series):  # as in a file that polars writes
        if values.dtype.is_float():
            values = values.fill_nan(None)
        values = text_cells(values.to_frame()).to_series().cast(pl.String)
    cells = as_cells(values, "values")
    return [None if is_missing(cell) or not str(cell).strip() else str(cell) for cell in cells]


def _check_rows(given: int, rows: int) -> None:
    if given != rows:
        raise InputError(f"values: {given:,} were given for {rows:,} texts. Give one for each text.")


def _counts(codes: Sequence[int], labels: Labels, lines: int, groups: Sequence[int]) -> Counts:
    column = {group: at for at, group in enumerate(groups)}
    counts = np.zeros((lines, len(groups)), dtype=np.int64)
    np.add.at(counts, (np.array(codes), np.array([column[label] for label in labels.tolist()])), 1)
    return counts


def _standard_errors(one: Any, of_one: Any, other: Any, of_other: Any) -> NDArray[np.float64]:
    """By how many standard errors the share one/of_one is above other/of_other; 0 where too few rows are expected."""
    rows = np.maximum(1, of_one + of_other)
    pooled = (one + other) / rows
    difference = one / np.maximum(1, of_one) - other / np.maximum(1, of_other)
    error = np.sqrt(pooled * (1 - pooled) * (1 / np.maximum(1, of_one) + 1 / np.maximum(1, of_other)))
    enough = (pooled * np.minimum(of_one, of_other) >= FEWEST_EXPECTED) & (error > 0)
    return np.where(enough, difference / np.where(error > 0, error, 1), 0.0)
