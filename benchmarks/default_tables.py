"""The tables of the default method's results that the pages show, by the name that a page asks for them under."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from coterie.bench.papers import paper_table, paper_tables

RESULTS = Path(__file__).parent / "results"
OURS, BASELINE = "duet", "minilm+kmeans"
SCORES = ("acc", "nmi")


def table(name: str) -> str:
    return "\n".join(TABLES[name]())


def _read(file: str) -> tuple[dict[str, Any], dict[str, Any]]:
    found = json.loads((RESULTS / f"{file}.json").read_text(encoding="utf-8"))
    return found["sets"], found["mean"]


def _eight_sets() -> Iterable[str]:
    sets, mean = _read("default_method")
    paper = paper_table("aecl:2").rows["AECL"]
    yield "| set | texts | k | Duet | spread of ACC | MiniLM + k-means | AECL, as published | kept |"
    yield "|---|--:|--:|--:|--:|--:|--:|---|"
    for name, cells in sets.items():
        yield f"{_row(name, cells)} {_pair(paper[name])} | {_kept(cells)} |"
    of_paper = _mean([paper[name] for name in sets])
    yield f"| **mean** | | | {_marked(mean[OURS], mean[BASELINE])} | | {_pair(mean[BASELINE])} | {_pair(of_paper)} | |"


def _other_sets() -> Iterable[str]:
    sets, mean = _read("default_method_holdout")
    yield "| set | texts | k | Duet | spread of ACC | MiniLM + k-means |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, cells in sets.items():
        yield _row(name, cells)
    yield f"| **mean** | | | {_marked(mean[OURS], mean[BASELINE])} | | {_pair(mean[BASELINE])} |"


def _best_published() -> Iterable[str]:
    sets, mean = _read("default_method")
    best = {name: {score: _highest(name, score) for score in SCORES} for name in sets}
    yield "| | Coterie, default | MiniLM + k-means | best published |"
    yield "|---|--:|--:|--:|"
    for name, cells in sets.items():
        ours, baseline = (_means(cells[method]) for method in (OURS, BASELINE))
        yield f"| {name} | {_marked(ours, best[name])} | {_pair(baseline)} | {_pair(best[name])} |"
    of_papers = _mean(list(best.values()))
    yield f"| **mean** | {_marked(mean[OURS], of_papers)} | {_pair(mean[BASELINE])} | {_pair(of_papers)} |"


def _highest(name: str, score: str) -> float:
    rows = (row for table in paper_tables().values() for row in table.rows.values())
    return max(row[name][score] for row in rows if score in row.get(name, {}))


def _tenths() -> Iterable[str]:
    sets, _ = _read("default_method")
    yield "| set | ACC of the tenths of the rows, from the least to the most confident | largest fall between two |"
    yield "|---|---|--:|"
    for name, cells in sets.items():
        runs = [run["deciles"] for run in cells[OURS]["runs"]]
        means = [sum(tenth) / len(tenth) for tenth in zip(*runs, strict=True)]
        fall = max(0.0, *(before - after for before, after in pairwise(means)))
        yield f"| {name} | {', '.join(f'{value:.0f}' for value in means)} | {f'{fall:.1f}' if fall else 'none'} |"


def _row(name: str, cells: dict[str, Any]) -> str:
    ours, baseline = (_means(cells[method]) for method in (OURS, BASELINE))
    spread = cells[OURS]["acc"]["sd"]
    scores = f"{_marked(ours, baseline)} | {spread:.1f} | {_pair(baseline)}"
    return f"| {name} | {cells['rows']:,} | {cells['k']} | {scores} |"


def _means(found: dict[str, Any]) -> dict[str, float]:
    return {score: found[score]["mean"] for score in SCORES}


def _mean(of: list[dict[str, float]]) -> dict[str, float]:
    return {score: sum(scores[score] for scores in of) / len(of) for score in SCORES}


def _kept(cells: dict[str, Any]) -> str:
    kept = {entry["candidate"] for run in cells[OURS]["runs"] for entry in run["evidence"] if entry["kept"]}
    return " or ".join(sorted(kept))


def _marked(scores: dict[str, float], others: dict[str, float]) -> str:
    """Bold where it is above the other's."""
    return " / ".join(
        f"**{value:.1f}**" if value > others[score] else f"{value:.1f}" for score, value in scores.items()
    )


def _pair(scores: dict[str, float]) -> str:
    return f"{scores['acc']:.1f} / {scores['nmi']:.1f}"


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "eight sets": _eight_sets,
    "other sets": _other_sets,
    "best published": _best_published,
    "tenths": _tenths,
}
