"""ACC/NMI, minutes and peak memory of the trained methods, beside where they began and k-means on the encoder.

    COTERIE_DATA=FOLDER python benchmarks/deep_methods.py PLAN [SET ...]

Plans are below. Every cell is a process of its own, written to `results/deep_methods.json` as it ends; a cell that is
there already is not run again. Labels are read for scoring only: the fit is given them for its history, where every
grouping that it compared is scored, and learns nothing from them. Vectors that an earlier cell has
computed are used again (`encoded` says which cells had to encode), so minutes of the others are those of the rest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from common import RESULTS, bench_set, processor
from coterie.persist.environment import machine, peak_memory_mb, versions

SIX = ["tweet", "stackoverflow", "searchsnippets", "agnews", "biomedical", "googlenews_t"]
THREE = SIX[:3]
UFT_SETS = ["trec6", "dbpedia14", "yelp5"]
CLUSTERBERT_SETS = [
    "stackoverflow",
    "biomedical",
    "searchsnippets",
    "bbc_sentences",
    "agnews_desc",
    "googlenews_ts_orig",
]
INITS = ("two-view", "kmeans")
PATH = RESULTS / "deep_methods.json"

Cell = dict[str, Any]


def _cells(method: str, effort: str, sets: list[str], seeds: tuple[int, ...], **own: Any) -> list[Cell]:
    inits = INITS if "+" not in method and method != "duet" else (None,)
    return [
        {
            "set": name,
            "method": method,
            "effort": effort,
            "seed": seed,
            "settings": own | ({"init": init} if init else {}),
        }
        for name in sets
        for init in inits
        for seed in seeds
    ]


PLANS = {
    "baselines": [*_cells("minilm+kmeans", "fast", SIX, (0, 1, 2)), *_cells("duet", "fast", SIX, (0, 1, 2))],
    "aecl-fast": _cells("aecl", "fast", SIX, (0, 1, 2)),
    "aecl-balanced": _cells("aecl", "balanced", SIX, (0,)),
    "aecl-full": _cells("aecl", "full", ["tweet"], (0,)),
    "others": [cell for method in ("sccl", "rstc", "vascl") for cell in _cells(method, "balanced", THREE, (0,))],
    "uft": [*_cells("minilm+kmeans", "fast", UFT_SETS, (0,)), *_cells("uft", "balanced", UFT_SETS, (0,))],
    "clusterbert": [
        *_cells("minilm+kmeans", "fast", CLUSTERBERT_SETS, (0,)),
        *_cells("tsdae+kmeans", "balanced", CLUSTERBERT_SETS, (0,)),
        *_cells("clusterbert", "balanced", CLUSTERBERT_SETS, (0,)),
    ],
}


def main() -> None:
    plan, chosen = sys.argv[1], sys.argv[2:]
    for cell in PLANS[plan]:
        if (chosen and cell["set"] not in chosen) or any(_same(cell, done) for done in _read()):
            continue
        command = [sys.executable, __file__, "--cell", json.dumps(cell)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        # A cell that fails is a result too.
        result = json.loads(done.stdout) if done.returncode == 0 else {**cell, "failed": done.stderr.strip()[-500:]}
        PATH.write_text(json.dumps({"cells": [*_read(), result]}, indent=1) + "\n", encoding="utf-8")
        shown = {
            name: result.get(name) for name in ("acc", "nmi", "purity", "kept", "minutes", "peak_memory_mb", "failed")
        }
        print(cell["set"], cell["method"], cell["effort"], cell["settings"], cell["seed"], shown, flush=True)


def run_cell(cell: Cell) -> Cell:
    from coterie import TextClusterer
    from coterie.metrics.external import external_scores

    truth, texts = bench_set(cell["set"])
    seen: set[str] = set()
    started = time.monotonic()
    model = TextClusterer(
        len(set(truth)),
        method=cell["method"],
        effort=cell["effort"],
        settings=cell["settings"] or None,
        random_state=cell["seed"],
    ).fit(texts, truth, progress=lambda stage, done, total: seen.add(stage))
    minutes = (time.monotonic() - started) / 60
    scores = external_scores(truth, model.labels_.tolist())
    return {
        **cell,
        **{name: round(100 * scores[name], 2) for name in ("acc", "nmi", "ari", "purity")},
        "minutes": round(minutes, 2),
        "peak_memory_mb": round(peak_memory_mb()),
        "encoded": "encoding" in seen,
        "kept": next((entry["candidate"] for entry in model.evidence_ if entry.get("kept")), None),
        "evidence": model.evidence_,
        "history": model.history_,
        "machine": machine() | {"processor": processor(), "threads": os.environ.get("OMP_NUM_THREADS", "default")},
        "versions": versions(),
    }


def _read() -> list[Cell]:
    return list(json.loads(PATH.read_text(encoding="utf-8"))["cells"]) if PATH.exists() else []


def _same(cell: Cell, done: Cell) -> bool:
    return all(done[name] == value for name, value in cell.items())


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if sys.argv[1] == "--cell":
        print(json.dumps(run_cell(json.loads(sys.argv[2]))))
    else:
        main()
