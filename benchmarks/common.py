"""What the benchmarks share: texts, timing side by side, and results with versions and machine."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coterie.bench.data import LabelledTexts, load
from coterie.errors import CoterieError
from coterie.persist.environment import machine, processor, versions

RESULTS = Path(os.environ.get("COTERIE_RESULTS", Path(__file__).parent / "results"))
EIGHT = [
    "agnews",
    "searchsnippets",
    "stackoverflow",
    "biomedical",
    "googlenews_ts",
    "googlenews_t",
    "googlenews_s",
    "tweet",
]


def bench_set(name: str) -> tuple[list[str], list[str]]:
    """Labels and texts of a known data set, in an order that does not follow the labels.

    To try a script out, COTERIE_ROWS says how many of them are enough.
    """
    loaded = _loaded(name)
    rows = _rows_wanted(loaded)
    return loaded.labels[:rows], loaded.texts[:rows]


def augmented_views(name: str, kind: str) -> list[list[str]]:
    """Others' augmentations of a set in the order of `bench_set`."""
    loaded = _loaded(f"{name}_{kind}")
    return [view[: _rows_wanted(loaded)] for view in loaded.views]


def _loaded(name: str) -> LabelledTexts:
    try:
        return load(name)
    except CoterieError as error:
        sys.exit(str(error))


def _rows_wanted(loaded: LabelledTexts) -> int:
    return int(os.environ.get("COTERIE_ROWS", len(loaded.texts)))


def side_by_side(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contender, taken in turns so that a busy machine is busy for all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            started = time.perf_counter()
            run()
            seconds[name].append(round(time.perf_counter() - started, 3))
    return seconds


def record(name: str, result: dict[str, Any]) -> None:
    """Writes `results/NAME.json` and prints it."""
    print(keep(name, result))


def keep(name: str, result: dict[str, Any]) -> str:
    """Writes `results/NAME.json`; gives what stands in it."""
    document = {
        "benchmark": name,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine() | {"processor": processor(), "threads": os.environ.get("OMP_NUM_THREADS", "default")},
        "versions": versions(),
        **result,
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(document, indent=2, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return text
