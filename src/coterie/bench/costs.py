"""Cells line by line: how every read-out of a way of running scored on a data set, and what it cost."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from coterie.bench.plan import READ_OUTS, SECOND_STEPS
from coterie.bench.table import METRICS, MISSING, WITHOUT, Entry, Table, by_row, check_names, of_several_versions

COSTS = ("was kept", "minutes", "peak MB", "seeds")
MINUTES = COSTS.index("minutes") - len(COSTS)
MADE, STOPPED, UNLIKE = "*", "†", "‡"
NOTE = (
    "Percent, {scores}: mean over the seeds, ± the standard deviation of the first. kept: what fit gives; "
    "head: the trained head; kmeans: k-means on the vectors that the model reads in the end; "
    "untrained: k-means on the encoder as it was. "
    "Minutes are the mean, peak memory is the largest."
)
STEPS_NOTE = f"{', '.join(SECOND_STEPS)}: what these make of the vectors that the model reads in the end."
MARKS = {
    MADE: f"{MADE} Vectors had to be made that the cache has the next time.",
    STOPPED: f"{STOPPED} A run was stopped and went on later: only the minutes since then are counted.",
    UNLIKE: f"{UNLIKE} The seeds were run on different processors, or with different numbers of threads.",
}


def cost_table(results: Sequence[dict[str, Any]], metrics: Sequence[str]) -> Table:
    """One row for each way of running and data set."""
    check_names(metrics, METRICS, "score")
    entries = by_row(results)
    run = {where: found for where, found in entries.items() if any(result["status"] != MISSING for result in found)}
    scored = {readout for found in run.values() for result in found for readout in result.get("scores", ())}
    readouts = [*READ_OUTS, *(readout for readout in SECOND_STEPS if readout in scored)]
    rows = [(name, [Entry(data), *_entries(found, metrics, readouts)]) for (name, data), found in run.items()]
    missing = sum(result["status"] == MISSING for result in results)
    waiting = [f"Not run yet: {missing:,} of {len(results):,} cells."] if missing else []
    marks = [text for mark, text in MARKS.items() if any(mark in entries[MINUTES].text for _, entries in rows)]
    steps = [STEPS_NOTE] if len(readouts) > len(READ_OUTS) else []
    notes = [NOTE.format(scores=" / ".join(metrics)), *steps, *marks, *of_several_versions(run), *waiting]
    return Table(["data", *readouts, *COSTS], rows, [], notes)


def _entries(results: Sequence[dict[str, Any]], metrics: Sequence[str], readouts: Sequence[str]) -> list[Entry]:
    done = [result for result in results if result["status"] == "done"]
    lost = [status for status in ("failed", MISSING) if any(result["status"] == status for result in results)]
    if not done:
        return [Entry(lost[0]), *(Entry("") for _ in (*readouts[1:], *COSTS))]
    minutes = statistics.mean(result["seconds"] for result in done) / 60
    counted = ", ".join([str(len(done)), *(f"others {status}" for status in lost)])
    return [
        *(Entry(_scores([result["scores"].get(readout) for result in done], metrics)) for readout in readouts),
        Entry(", ".join(dict.fromkeys(filter(None, map(_kept, done))))),
        Entry(f"{minutes:.1f}{''.join(_marks(done))}"),
        Entry(f"{max(result['peak_memory_mb'] for result in done):,}"),
        Entry(counted),
    ]


def _marks(done: Sequence[dict[str, Any]]) -> list[str]:
    """What is to be said of the minutes."""
    machines = {tuple(result["machine"].get(part) for part in ("processor", "threads")) for result in done}
    marked = {
        MADE: any(result["encoded"] for result in done),
        STOPPED: any(result.get("resumed") for result in done),
        UNLIKE: len(machines) > 1,
    }
    return [mark for mark, so in marked.items() if so]


def _scores(found: Sequence[dict[str, float] | None], metrics: Sequence[str]) -> str:
    scores = [entry for entry in found if entry is not None]
    if not scores:
        return ""
    values = {metric: [100 * entry[metric] for entry in scores] for metric in metrics}
    text = " / ".join(f"{statistics.mean(values[metric]):.1f}" for metric in metrics)
    if len(scores) > 1:
        text += f" ± {statistics.stdev(values[metrics[0]]):.1f}"
    without = len(found) - len(scores)
    return f"{text} ({without} {WITHOUT})" if without else text


def _kept(result: dict[str, Any]) -> str | None:
    return next((entry["candidate"] for entry in result["evidence"] if entry.get("kept")), None)
