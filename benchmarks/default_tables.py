"""The tables of the default method's results that the pages show, by the name that a page asks for them under."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from coterie.bench.papers import paper_table, paper_tables
from coterie.bench.plan import Cell
from coterie.bench.runner import read_cells
from coterie.bench.table import score_of

RESULTS = Path(__file__).parent / "results"
OURS, BASELINE = "duet", "minilm+kmeans"
SCORES = ("acc", "nmi")
SHOWN = 0.1
"""The least difference that a table shows."""


def table(name: str) -> str:
    return "\n".join(TABLES[name]())


class Score(NamedTuple):
    """In percent; published ones have no spread."""

    mean: float
    spread: float = 0.0


Scores = dict[str, Score]


def _read(file: str, part: str = "sets") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{file}.json").read_text(encoding="utf-8"))[part]
    return found


def _eight_sets() -> Iterable[str]:
    sets = _read("default_method")
    paper = paper_table("aecl:2").rows["AECL"]
    yield "| set | texts | k | Duet | spread of ACC | MiniLM + k-means | AECL, as published | kept |"
    yield "|---|--:|--:|--:|--:|--:|--:|---|"
    for name, cells in sets.items():
        yield f"{_row(name, cells)} {_pair(_published(paper[name]))} | {_kept(cells)} |"
    ours, baseline = (_over_sets(sets, method) for method in (OURS, BASELINE))
    of_paper = _mean([_published(paper[name]) for name in sets])
    yield f"| **mean** | | | {_marked(ours, baseline)} | | {_pair(baseline)} | {_pair(of_paper)} | |"


def _other_sets() -> Iterable[str]:
    sets = _read("default_method_holdout")
    yield "| set | texts | k | Duet | spread of ACC | MiniLM + k-means |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, cells in sets.items():
        yield _row(name, cells)
    ours, baseline = (_over_sets(sets, method) for method in (OURS, BASELINE))
    yield f"| **mean** | | | {_marked(ours, baseline)} | | {_pair(baseline)} |"


def _best_published() -> Iterable[str]:
    sets = _read("default_method")
    best = {name: _published({score: _highest(name, score) for score in SCORES}) for name in sets}
    ways = _ways()
    yield "| | Coterie, default | best of all methods here | MiniLM + k-means | best published |"
    yield "|---|--:|--:|--:|--:|"
    for name, cells in sets.items():
        ours, baseline = (_scores(cells[method]) for method in (OURS, BASELINE))
        way, of_way = _best_way(ours, ways.get(name, {}))
        others = f"{_pair(of_way)} ({way}) | {_pair(baseline)} | {_pair(best[name])}"
        yield f"| {name} | {_marked(ours, best[name])} | {others} |"
    ours, baseline = (_over_sets(sets, method) for method in (OURS, BASELINE))
    of_papers = _mean(list(best.values()))
    yield f"| **mean** | {_marked(ours, of_papers)} | | {_pair(baseline)} | {_pair(of_papers)} |"


def _ceilings() -> Iterable[str]:
    """Beside what the default finds and the papers report: what true labels teach a classifier of the same vectors."""
    ways = _ways()
    yield "| set | Duet | taught the labels, encoder | taught the labels, two views | best published |"
    yield "|---|--:|--:|--:|--:|"
    for name, found in _read("ceilings").items():
        taught = " | ".join(_pair(_published(found[space])) for space in ("encoder", "two views"))
        papers = {score: _highest(name, score) for score in SCORES}
        best = _pair(_published(papers)) if all(papers.values()) else "purity only"
        yield f"| {name} | {_pair(ways[name][OURS])} | {taught} | {best} |"


def _highest(name: str, score: str) -> float:
    """Of all that the papers print and mean; 0 where they have no such score."""
    meant = (scores for table in paper_tables().values() for scores in table.meant(name))
    return max((scores[score] for scores in meant if score in scores), default=0.0)


def _best_way(ours: Scores, ways: dict[str, Scores]) -> tuple[str, Scores]:
    """The default's own, unless another is above it in ACC by more than it spreads, and by more than what is shown, and
    in NMI not as much below it."""
    margin = {score: max(ours[score].spread, SHOWN) for score in SCORES}
    no_worse = [item for item in ways.items() if item[1]["nmi"].mean > ours["nmi"].mean - margin["nmi"]]
    way, found = max(no_worse, key=lambda item: item[1]["acc"].mean, default=(OURS, ours))
    return (way, found) if found["acc"].mean > ours["acc"].mean + margin["acc"] else (OURS, ours)


def _ways() -> dict[str, dict[str, Scores]]:
    """By set and by method with its effort and start: the scores of every way in which all of a set was grouped into
    its true number of groups, of several ways with the same name (settings, views) those of the best. One of which a
    planned seed is missing is left out: the lucky seed may have come first."""
    runs: dict[tuple[str, str, str], list[dict[str, float] | None]] = {}
    for result in read_cells([plan.parent for plan in sorted(RESULTS.glob("*/plan.json"))]):
        cell = Cell(**result["cell"])
        scores = score_of(result, cell.readout) if result["status"] == "done" else None
        if (cell.k, cell.rows, cell.encoder) == (None, None, Cell.encoder):
            effort = "" if cell.effort == Cell.effort else f", {cell.effort}"
            start = ", from k-means" if cell.settings.get("init") == "kmeans" else ""
            name = f"{cell.method}{effort}{start}"
            runs.setdefault((cell.data_name, name, cell.row), []).append(scores)
    best: dict[str, dict[str, Scores]] = {}
    for (data, name, _), seeds in runs.items():
        measured = [run for run in seeds if run]
        if len(measured) < len(seeds):
            continue
        found = {score: Score(100 * statistics.mean(run[score] for run in measured)) for score in SCORES}
        known = best.setdefault(data, {}).get(name)
        if known is None or found["acc"].mean > known["acc"].mean:
            best[data][name] = found
    return best


def _tenths() -> Iterable[str]:
    sets = _read("default_method")
    yield "| set | ACC of the tenths of the rows, from the least to the most confident | largest fall between two |"
    yield "|---|---|--:|"
    for name, cells in sets.items():
        runs = [run["deciles"] for run in cells[OURS]["runs"]]
        means = [sum(tenth) / len(tenth) for tenth in zip(*runs, strict=True)]
        fall = max(0.0, *(before - after for before, after in pairwise(means)))
        yield f"| {name} | {', '.join(f'{value:.0f}' for value in means)} | {f'{fall:.1f}' if fall else 'none'} |"


def _unequal_groups() -> Iterable[str]:
    ways = {
        OURS: "Duet",
        "higher silhouette": "by the silhouette alone",
        "k-means": "its k-means",
        "average linkage": "its linkage",
        "better of the two": "the better of the two",
        BASELINE: "MiniLM + k-means",
    }
    yield f"| largest / smallest group | samples | {' | '.join(ways.values())} |"
    yield f"|--:|--:|{'--:|' * len(ways)}"
    for ratio, found in _read("unequal_groups", "by_ratio").items():
        scores = " | ".join(_pair(_published(found[way])) for way in ways)
        yield f"| {ratio} | {found['samples']} | {scores} |"


def _row(name: str, cells: dict[str, Any]) -> str:
    ours, baseline = (_scores(cells[method]) for method in (OURS, BASELINE))
    scores = f"{_marked(ours, baseline)} | {_rounded(ours['acc'].spread)} | {_pair(baseline)}"
    return f"| {name} | {cells['rows']:,} | {cells['k']} | {scores} |"


def _scores(found: dict[str, Any]) -> Scores:
    return {score: Score(found[score]["mean"], found[score]["sd"]) for score in SCORES}


def _published(row: dict[str, float]) -> Scores:
    return {score: Score(row[score]) for score in SCORES}


def _over_sets(sets: dict[str, Any], method: str) -> Scores:
    """The mean over the sets, and how it spreads over the seeds."""
    found = {}
    for score in SCORES:
        runs = [[run[score] for run in cells[method]["runs"]] for cells in sets.values()]
        means = [statistics.mean(of_seed) for of_seed in zip(*runs, strict=True)]
        found[score] = Score(statistics.mean(means), statistics.stdev(means))
    return found


def _mean(of: list[Scores]) -> Scores:
    return {score: Score(statistics.mean(scores[score].mean for scores in of)) for score in SCORES}


def _kept(cells: dict[str, Any]) -> str:
    kept = {entry["candidate"] for run in cells[OURS]["runs"] for entry in run["evidence"] if entry["kept"]}
    return " or ".join(sorted(kept))


def _marked(scores: Scores, others: Scores) -> str:
    """Bold where it is above the other's by more than both spreads."""
    return " / ".join(
        f"**{_rounded(own.mean)}**"
        if own.mean - own.spread > others[score].mean + others[score].spread
        else _rounded(own.mean)
        for score, own in scores.items()
    )


def _pair(scores: Scores) -> str:
    return " / ".join(_rounded(scores[score].mean) for score in SCORES)


def _rounded(value: float) -> str:
    """Half a tenth goes up, as people round: a paper's 74.25 is 74.3."""
    exact = Decimal(f"{value:.6f}")  # without what binary numbers add
    return str(exact.quantize(Decimal("0.1"), ROUND_HALF_UP))


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "eight sets": _eight_sets,
    "other sets": _other_sets,
    "best published": _best_published,
    "tenths": _tenths,
    "ceilings": _ceilings,
    "unequal groups": _unequal_groups,
}
