"""What the benchmarks share: texts, timing side by side, and results with versions and machine."""

from __future__ import annotations

import gzip
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coterie.persist.environment import machine, versions

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
    """Labels and texts of a benchmark file, in an order that does not follow the labels.

    To try a script out, COTERIE_ROWS says how many of them are enough.
    """
    rows = _rows(_data_folder() / f"{name}.tsv.gz", cells=2)
    return [label for label, _ in rows], [text for _, text in rows]


def augmented_views(name: str, kind: str) -> list[list[str]]:
    """Others' augmentations of a set in the order of `bench_set`: the columns after label and text.

    They are read from NAME_KIND.tsv.gz in the folder `augmented` beside that of the texts.
    """
    rows = _rows(_data_folder().parent / "augmented" / f"{name}_{kind}.tsv.gz", cells=4)
    return [list(view) for view in zip(*(row[2:] for row in rows), strict=True)]


def _data_folder() -> Path:
    folder = os.environ.get("COTERIE_DATA")
    if not folder:
        sys.exit("Set COTERIE_DATA to the folder with the benchmark texts (NAME.tsv.gz: label, tab, text).")
    return Path(folder)


def _rows(path: Path, cells: int) -> list[list[str]]:
    import numpy as np

    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        next(file)
        rows = [line.rstrip("\n").split("\t", cells - 1) for line in file]
    order = np.random.default_rng(12345).permutation(len(rows))
    return [rows[index] for index in order[: int(os.environ.get("COTERIE_ROWS", len(rows)))]]


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
    print(text)


def processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
