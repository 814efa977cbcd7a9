"""ACC/NMI, minutes and peak memory of the trained methods, beside where they began and k-means on the encoder.

    COTERIE_DATA=FOLDER python benchmarks/deep_methods.py PLAN [SET ...]

Plans are below. Every cell is a process of its own, written to `results/deep_methods.json` as it ends; a cell that is
there already is not run again. Labels are read for scoring only, after the fit. Vectors that an earlier cell has
computed are used again (`encoded` says which cells had to encode), so minutes of the others are those of the rest. To
try a plan out: COTERIE_ROWS=1000 COTERIE_RESULTS=FOLDER, and the results go there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from common import RESULTS, augmented_views, bench_set
from coterie.persist.environment import machine, peak_memory_mb, processor, versions
from coterie.registry import DEEP

SIX = ["tweet", "stackoverflow", "searchsnippets", "agnews", "biomedical", "googlenews_t"]
THREE = SIX[:3]
DECCRL_SETS = ["agnews", "stackoverflow", "biomedical", "tweet"]
DECCRL_WITH_VIEWS = ["agnews", "stackoverflow", "tweet"]
"""Those of which the authors' augmented texts are at hand."""
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
LONG = ["stackoverflow", "reuters_r8", "newsgroups20", "bbc"]
"""Of ADSL's own three sets two are licensed corpora, for which the others stand in under their own names."""
FEWER_AND_MORE = {"stackoverflow": (15, 25), "newsgroups20": (15, 25), "reuters_r8": (6, 10), "bbc": (4, 6)}
"""Three quarters and five quarters of the true number of groups."""
PATH = RESULTS / "deep_methods.json"

Cell = dict[str, Any]


def _cells(method: str, effort: str, sets: list[str], seeds: tuple[int, ...], **own: Any) -> list[Cell]:
    inits = INITS if method in DEEP else (None,)
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


def _adsl(sets: list[str], seeds: tuple[int, ...] = (0,), **own: Any) -> list[Cell]:
    """As trained: what is kept of it in the end is another question."""
    return _cells("adsl", "fast", sets, seeds, undo=False, **own)


def _with_k(cells: list[Cell]) -> list[Cell]:
    return [{**cell, "k": k} for cell in cells for k in FEWER_AND_MORE[cell["set"]]]


ADSL_TABLE_1 = [
    cell for feature in ("stems", "lda", "kate", "ae") for cell in _cells(f"{feature}+ward", "fast", LONG, (0,))
]
ADSL_TABLE_2 = [
    *(cell for variant in ("one", "sl", "dsl", "adsl") for cell in _adsl(LONG, (0, 1, 2), variant=variant)),
    *_adsl(LONG, update="normalised"),
    *_cells("adsl", "fast", LONG, (0, 1, 2)),
    *(cell for method in ("stcc", "consensus") for cell in _cells(method, "fast", LONG, (0,), undo=False)),
    *_cells("hac-sd", "fast", LONG, (0,)),
]


def _with_views(kind: str, cells: list[Cell]) -> list[Cell]:
    """The same, learning from others' augmented texts."""
    return [cell | {"views": kind} for cell in cells]


PLANS = {
    "adsl-table-1": ADSL_TABLE_1,
    "adsl-table-2": ADSL_TABLE_2,
    "adsl-table-3": _with_k(
        [
            *ADSL_TABLE_1,
            *_cells("consensus", "fast", LONG, (0,), undo=False),
            *_adsl(LONG, variant="one"),
            *_adsl(LONG, variant="adsl"),
        ]
    ),
    "baselines": [*_cells("minilm+kmeans", "fast", SIX, (0, 1, 2)), *_cells("duet", "fast", SIX, (0, 1, 2))],
    "aecl-fast": _cells("aecl", "fast", SIX, (0, 1, 2)),
    "aecl-balanced": _cells("aecl", "balanced", SIX, (0,)),
    "aecl-full": _cells("aecl", "full", ["tweet"], (0,)),
    # As published first, then from the two-view start.
    "others": sorted(
        (cell for method in ("sccl", "rstc", "vascl") for cell in _cells(method, "balanced", THREE, (0,))),
        key=lambda cell: str(cell["settings"]["init"]),
    ),
    "autoencoders": [
        cell for method in ("dec", "idec", "dcn", "self-train") for cell in _cells(method, "balanced", THREE, (0,))
    ],
    "deccrl": [
        *_cells("deccrl", "fast", DECCRL_SETS, (0, 1, 2)),
        *_cells("deccrl", "balanced", DECCRL_SETS, (0,)),
        *_cells("deccrl", "fast", ["biomedical"], (0, 1, 2), alpha=10.0, topics=20),  # as published for it
    ],
    "deccrl-crl": [
        cell for crl in ("latent", None) for cell in _cells("deccrl", "fast", DECCRL_SETS[:3], (0, 1, 2), crl=crl)
    ],
    "deccrl-views": [
        *_with_views("context10", _cells("deccrl", "fast", DECCRL_WITH_VIEWS, (0, 1, 2))),
        *_with_views("context10", _cells("deccrl", "balanced", DECCRL_WITH_VIEWS, (0,))),
        *_cells("deccrl", "fast", DECCRL_SETS, (0, 1, 2), augment="contextual"),
        *_cells("deccrl", "balanced", DECCRL_SETS, (0,), augment="contextual"),
    ],
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
        PATH.parent.mkdir(exist_ok=True)
        PATH.write_text(json.dumps({"cells": [*_read(), result]}, indent=1) + "\n", encoding="utf-8")
        shown = {
            name: result.get(name) for name in ("acc", "nmi", "purity", "kept", "minutes", "peak_memory_mb", "failed")
        }
        print(cell["set"], cell["method"], cell["effort"], cell["settings"], cell["seed"], shown, flush=True)


def run_cell(cell: Cell) -> Cell:
    from coterie import TextClusterer

    truth, texts = bench_set(cell["set"])
    views = augmented_views(cell["set"], cell["views"]) if "views" in cell else []
    seen: set[str] = set()
    started = time.monotonic()
    fit = TextClusterer(
        cell.get("k", len(set(truth))),
        method=cell["method"],
        effort=cell["effort"],
        settings=cell["settings"] or None,
        random_state=cell["seed"],
    ).fitted(texts, views=views, progress=lambda stage, done, total: seen.add(stage))
    minutes = (time.monotonic() - started) / 60
    return {
        **cell,
        **_scores(truth, fit.labels, ("acc", "nmi", "ari", "purity")),
        "minutes": round(minutes, 2),
        "peak_memory_mb": round(peak_memory_mb()),
        "encoded": "encoding" in seen,
        "kept": next((entry["candidate"] for entry in fit.evidence if entry.get("kept")), None),
        "candidates": {name: _scores(truth, one.labels, ("acc", "nmi")) for name, one in fit.candidates.items()},
        "evidence": fit.evidence,
        "history": fit.history,
        "machine": machine() | {"processor": processor(), "threads": os.environ.get("OMP_NUM_THREADS", "default")},
        "versions": versions(),
    }


def _scores(truth: list[str], labels: Any, names: tuple[str, ...]) -> dict[str, float]:
    from coterie.metrics.external import external_scores

    scores = external_scores(truth, labels.tolist())
    return {name: round(100 * scores[name], 2) for name in names}


def _read() -> list[Cell]:
    return list(json.loads(PATH.read_text(encoding="utf-8"))["cells"]) if PATH.exists() else []


def _same(cell: Cell, done: Cell) -> bool:
    return all(done.get(name) == cell.get(name) for name in {*cell, "views", "k"})


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if sys.argv[1] == "--cell":
        print(json.dumps(run_cell(json.loads(sys.argv[2]))))
    else:
        main()
