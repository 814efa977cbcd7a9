"""Cells line by line: how every read-out of a way of running scored on a data set, and what it cost."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from coterie.bench.plan import READ_OUTS, Cell
from coterie.bench.table import METRICS, MISSING, Entry, Table, check_names

COLUMNS = ("data", *READ_OUTS, "was kept", "minutes", "peak MB", "seeds")
NOTE = (
    "Percent, {scores}: mean over the seeds, ± the standard deviation of the first. kept: what fit gives; "
    "head: the trained head; kmeans: k-means on the vectors that the model reads in the end; "
    "untrained: k-means on the encoder as it was. "
    "Minutes are the mean, peak memory is the largest; * where vectors had to be made that the cache has the next time."
)


def cost_table(results: Sequence[dict[str, Any]], metrics: Sequence[str]) -> Table:
    """One row for each way of running and data set."""
    check_names(metrics, METRICS, "score")
    cells: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for result in results:
        cell = Cell(**result["cell"])
        cells[cell.row, cell.data_name].append(result)
    run = {where: found for where, found in cells.items() if any(result["status"] != MISSING for result in found)}
    rows = [(name, [Entry(data), *_entries(found, metrics)]) for (name, data), found in run.items()]
    missing = sum(result["status"] == MISSING for result in results)
    waiting = [f"Not run yet: {missing:,} of {len(results):,} cells."] if missing else []
    return Table(list(COLUMNS), rows, [], [NOTE.format(scores=" / ".join(metrics)), *waiting])


def _entries(results: Sequence[dict[str, Any]], metrics: Sequence[str]) -> list[Entry]:
    done = [result for result in results if result["status"] == "done"]
    lost = [status for status in ("failed", MISSING) if any(result["status"] == status for result in results)]
    if not done:
        return [Entry(lost[0]), *(Entry("") for _ in COLUMNS[2:])]
    encoded = "*" if any(result["encoded"] for result in done) else ""
    minutes = statistics.mean(result["seconds"] for result in done) / 60
    counted = ", ".join([str(len(done)), *(f"others {status}" for status in lost)])
    return [
        *(Entry(_scores([result["scores"].get(readout) for result in done], metrics)) for readout in READ_OUTS),
        Entry(", ".join(dict.fromkeys(filter(None, map(_kept, done))))),
        Entry(f"{minutes:.1f}{encoded}"),
        Entry(f"{max(result['peak_memory_mb'] for result in done):,}"),
        Entry(counted),
    ]


def _scores(found: Sequence[dict[str, float] | None], metrics: Sequence[str]) -> str:
    scores = [entry for entry in found if entry is not None]
    if not scores:
        return ""
    values = {metric: [100 * entry[metric] for entry in scores] for metric in metrics}
    means = " / ".join(f"{statistics.mean(values[metric]):.1f}" for metric in metrics)
    return means + (f" ± {statistics.stdev(values[metrics[0]]):.1f}" if len(scores) > 1 else "")


def _kept(result: dict[str, Any]) -> str | None:
    return next((entry["candidate"] for entry in result["evidence"] if entry.get("kept")), None)
