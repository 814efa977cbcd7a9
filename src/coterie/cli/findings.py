"""What a fit says beyond the groups: repeated and empty texts, groups over time and by a column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.cli.console import shortened
from coterie.data.messages import shown
from coterie.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from coterie.describe.shares import Change, OverTime, Shares
    from coterie.result import Clustering

LONGEST_NAME = 40


def check_shown_columns(frame: pl.DataFrame, text: str, name: str, time: str | None, by: str | None) -> None:
    """Before any work: the columns are there, are not the texts, one has dates and the other few enough values."""
    from coterie.data.columns import check_column
    from coterie.data.times import days_of
    from coterie.describe.shares import check_values

    for option, column in (("--time", time), ("--by", by)):
        if column is not None and check_column(frame, column, name, option) == text:
            raise InputError(f"{name}: {option} {shown(column)} is the column with the texts. Name another one.")
    if time is not None:
        days_of(frame.get_column(time), column=time, name=name)
    if by is not None:
        check_values(frame.get_column(by), f"{name}: --by {shown(by)}")


def print_content(metrics: dict[str, Any], clustering: Clustering) -> None:
    """A line on repeated rows and one on rows with hardly any content, where there are any."""
    exact, near, junk = (metrics[name] for name in ("exact_duplicates", "near_duplicates", "junk"))
    if exact or near:
        parts = [f"{exact:,} {_rows_repeat(exact)} another word for word"] if exact else []
        parts.append(f"{near:,} nearly" if exact else f"{near:,} {_rows_repeat(near)} another nearly word for word")
        print(f"{', '.join(parts if near else parts[:1])}: {_how_they_weigh(clustering)}")
    if junk:
        rows = "row holds" if junk == 1 else "rows hold"
        print(f'{junk:,} {rows} hardly anything to group by, such as "{_commonest_junk(clustering)}"')


def print_shares(folder: Path) -> None:
    """A line or two on what stands out over time and by a column."""
    from coterie.persist.derived import run_by, run_over_time
    from coterie.persist.run import Run

    run = Run.open(folder)
    columns, names = run.config["input"], {group["id"]: group["name"] for group in run.groups()}
    over = run_over_time(run)
    if over is not None:
        print(f"Over time ({shortened(columns['time_column'], LONGEST_NAME)}): {_span(over)}")
        print(f"  {_trend(over.changes(), names)}")
    by = run_by(run)
    if by is not None:
        print(f"By {shortened(columns['by_column'], LONGEST_NAME)}: {_peak(by, names)}")


def _how_they_weigh(clustering: Clustering) -> str:
    from coterie.data.duplicates import how_near_ones_weigh

    near = how_near_ones_weigh(clustering.duplicates, len(clustering.groups))
    if not near.one_by_one:
        return "each text counts once"
    if near.too_few_texts:
        return "equal texts count once, near ones one by one (too few texts)"
    return f"each text counts once, but {near.one_by_one:,} near ones count one by one: they could be a group"


def _rows_repeat(count: int) -> str:
    return "row repeats" if count == 1 else "rows repeat"


def _commonest_junk(clustering: Clustering) -> str:
    from collections import Counter

    texts = [text for text, junk in zip(clustering.texts, clustering.junk.tolist(), strict=True) if junk]
    return shortened(Counter(texts).most_common(1)[0][0], LONGEST_NAME)


def _span(over: OverTime) -> str:
    periods = [name for name in over.values if name is not None]
    many = f"{len(periods):,} {over.period}{'' if len(periods) == 1 else 's'}"
    where = periods[0] if len(periods) == 1 else f"{periods[0]} to {periods[-1]}"
    without = f"; {over.empty:,} {'row has' if over.empty == 1 else 'rows have'} no date" if over.empty else ""
    return f"{many}, {where}{without}"


def _trend(changes: list[Change], names: dict[int, str]) -> str:
    from coterie.describe.shares import steepest

    if not changes:
        return "too few periods to compare the first third with the last"
    parts = [
        f"{word} most: {_named(change.group, names)} ({change.before:.0%} -> {change.after:.0%})"
        for word, change in zip(("rising", "falling"), steepest(changes), strict=True)
        if change is not None
    ]
    if not parts:
        return "no group's share clearly changes between the first and the last third"
    return f"{', '.join(parts)} between the first and the last third"


def _peak(by: Shares, names: dict[int, str]) -> str:
    known = len(by.values) - (by.values[-1] is None)
    many = f"{known:,} value{'' if known == 1 else 's'}"
    if by.empty:
        many += f"; {by.empty:,} {'row has' if by.empty == 1 else 'rows have'} none"
    peak = by.peak()
    if peak is None:
        return f"{many}; no group is clearly more frequent in one of them"
    most = f'of "{shortened(peak.value, LONGEST_NAME)}" {peak.share:.0%} are in {_named(peak.group, names)}'
    return f"{many}; {most} ({peak.overall:.0%} of all rows)"


def _named(group: int, names: dict[int, str]) -> str:
    return f'group {group}, "{shortened(names[group], LONGEST_NAME)}"'
