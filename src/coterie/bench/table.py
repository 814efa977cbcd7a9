"""Cells into one table: mean and spread over the seeds, the papers' rows below, and who is ahead beyond the spread."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coterie.bench.papers import PaperTable, paper_table
from coterie.bench.plan import READABLE, Cell, Result, check_rows
from coterie.data.messages import nearest
from coterie.errors import ConfigError

METRICS = ("acc", "nmi", "ari", "purity", "ami", "nmi_arithmetic")
MISSING = "missing"
WITHOUT = "without"
"""What seeds are called that were run and have no such read-out where others have: a head that never learnt."""


@dataclass(frozen=True)
class Entry:
    """What stands in a cell of the table, and whether it is ahead of all others in its column by more than spread."""

    text: str
    ahead: bool = False


@dataclass(frozen=True)
class Table:
    columns: list[str]
    rows: list[tuple[str, list[Entry]]]
    paper_rows: list[tuple[str, list[Entry]]]
    notes: list[str]


@dataclass(frozen=True)
class _Measured:
    """The results of one row and data set, over the seeds."""

    scores: Sequence[dict[str, float]] = ()
    lost: Mapping[str, int] = field(default_factory=dict)

    def mean(self, metric: str) -> float:
        return statistics.mean(100 * entry[metric] for entry in self.scores)

    def spread(self, metric: str) -> float | None:
        """The standard deviation; of a single seed there is none."""
        values = [100 * entry[metric] for entry in self.scores]
        return statistics.stdev(values) if len(values) > 1 else None

    @property
    def is_whole(self) -> bool:
        """Several seeds, and none of them lost."""
        return len(self.scores) > 1 and not self.lost


def build_table(results: Sequence[dict[str, Any]], metrics: Sequence[str], readout: str | None = None) -> Table:
    """One row for each way of running, one column for each data set and score.

    `readout` is the one to show; where left open, that of each cell's plan.
    """
    check_names(metrics, METRICS, "score")
    check_names([readout] if readout else [], READABLE, "read-out")
    entries = by_row(results)
    measured = {where: _measured(own, readout) for where, own in entries.items()}
    names, sets = (dict.fromkeys(where[part] for where in entries) for part in (0, 1))
    asked = dict.fromkeys(paper for result in results if (paper := result["cell"].get("paper")))
    papers = {paper: paper_table(paper) for paper in asked}
    columns = [(name, metric) for name in sets for metric in metrics]
    ahead = {column: _ahead(measured, names, *column) for column in columns}
    return Table(
        [f"{name} {metric}" for name, metric in columns],
        [
            (row, [Entry(_text(measured, row, *column), ahead=ahead[column] == row) for column in columns])
            for row in names
        ],
        [
            (f"{row} ({table.paper}, Table {table.table})", [Entry(number) for number in numbers])
            for table in papers.values()
            for row in table.rows
            if any(numbers := [_published(table, row, *column) for column in columns])
        ],
        [*_notes(measured, papers.values(), sets), *of_several_versions(entries)],
    )


def by_row(results: Sequence[Result]) -> dict[tuple[str, str], list[Result]]:
    """The results by row and data, every seed once; what is called the same must be the same way of running."""
    cells = [Cell(**result["cell"]) for result in results]
    check_rows(cells)
    entries: dict[tuple[str, str], dict[int, Result]] = defaultdict(dict)
    for cell, result in zip(cells, results, strict=True):
        own = entries[cell.row, cell.data_name]
        # The same fit may be there with its stages or second steps kept and without.
        if cell.seed not in own or len(result.get("scores", ())) > len(own[cell.seed].get("scores", ())):
            own[cell.seed] = result
    return {where: list(own.values()) for where, own in entries.items()}


def of_several_versions(entries: dict[tuple[str, str], list[Result]]) -> list[str]:
    """Cells that are done are not run again, so the code may have changed between the seeds of an entry."""
    codes = [
        {result["versions"].get("code") for result in own if result["status"] == "done"} for own in entries.values()
    ]
    mixed, several = sum(len(own) > 1 for own in codes), sum(len(own) > 0 for own in codes)
    if not mixed:
        return []
    return [f"In {mixed:,} of {several:,} entries not all seeds were run with the same version of this project."]


def check_names(asked: Sequence[str], known: Sequence[str], what: str) -> None:
    for name in asked:
        if name not in known:
            guess = nearest(name, known)
            hint = f"did you mean {guess!r}?" if guess else f"there are {', '.join(known)}"
            raise ConfigError(f"{what} {name!r} is not known: {hint}")
    if not asked and what == "score":
        raise ConfigError(f"no score to show: name some of {', '.join(known)}")


def _measured(results: Sequence[Result], readout: str | None) -> _Measured:
    done = [result for result in results if result["status"] == "done"]
    read = [score_of(result, readout or Cell(**result["cell"]).readout) for result in done]
    scores = [own for own in read if own is not None]
    counts = Counter(result["status"] for result in results)
    lost = {"failed": counts["failed"], MISSING: counts[MISSING], WITHOUT: len(read) - len(scores) if scores else 0}
    return _Measured(scores, {what: count for what, count in lost.items() if count})


def score_of(result: dict[str, Any], readout: str) -> dict[str, float] | None:
    """The scores of a cell that was run, as the plan wants them read; None where it has no such read-out."""
    scores: dict[str, dict[str, float]] = result["scores"]
    if readout in scores:
        return scores[readout]
    # A method without training has one read-out: its labels.
    return scores["kept"] if set(scores) == {"kept"} and readout != "head" else None


def _text(measured: dict[tuple[str, str], _Measured], row: str, name: str, metric: str) -> str:
    """Empty where nothing was planned, or where the method has no such read-out."""
    found = measured.get((row, name), _Measured())
    if not found.scores:
        return next(iter(found.lost), "")
    spread = found.spread(metric)
    text = f"{found.mean(metric):.1f}" + (f" ± {spread:.1f}" if spread is not None else "")
    lost = ", ".join(f"{count} {what}" for what, count in found.lost.items())
    return f"{text} ({lost})" if lost else text


def _ahead(measured: dict[tuple[str, str], _Measured], rows: dict[str, None], name: str, metric: str) -> str | None:
    """The row whose mean less its spread is above every other's mean plus spread.

    One seed has no spread, and seeds that were lost may have been the worse ones: such a row is never it. As a rival,
    a row of one seed is taken to spread as far as the row that spreads most.
    """
    found = {row: own for row in rows if (own := measured.get((row, name))) is not None and own.scores}
    known = [spread for own in found.values() if (spread := own.spread(metric)) is not None]
    if len(found) < 2 or not known:
        return None
    spans = [
        (own.mean(metric), max(known) if (spread := own.spread(metric)) is None else spread, row)
        for row, own in found.items()
    ]
    best, *others = sorted(spans, reverse=True)
    if not found[best[2]].is_whole:
        return None
    return best[2] if all(best[0] - best[1] > mean + spread for mean, spread, _ in others) else None


def _published(table: PaperTable, row: str, name: str, metric: str) -> str:
    value = table.rows[row].get(name, {}).get(metric)
    return "" if value is None else f"{value:.{table.decimals}f}"


def _notes(
    measured: dict[tuple[str, str], _Measured], papers: Iterable[PaperTable], sets: dict[str, None]
) -> list[str]:
    counts = sorted({len(found.scores) for found in measured.values() if found.scores})
    seeds = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else "0"
    notes = [
        f"Percent. Ours: mean ± standard deviation over {seeds} {'seed' if seeds == '1' else 'seeds'}; "
        "bold where ahead of all other rows of ours "
        "by more than both spreads; a row of one seed, or with seeds lost, never is. "
        "Published rows as printed; they have no spread and are not marked."
    ]
    for table in papers:
        others = [f"{name}: {sample}" for name, sample in table.sets.items() if name in sets]
        said = [
            *(["the paper's own samples (" + "; ".join(others) + ")"] if others else []),
            *filter(None, [table.note]),
        ]
        if said:
            notes.append(f"{table.paper}, Table {table.table}: {'. '.join(said)}")
    return notes
