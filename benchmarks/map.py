"""The map of texts: ours against UMAP, openTSNE and PaCMAP, each behind the same 50 directions.

COTERIE_DATA=folder python benchmarks/map.py    (needs umap-learn, openTSNE and pacmap beside the dev tools)

Local: trustworthiness at 15 neighbours. Global: rank correlation of the distances between the means of the true groups,
before and after. Groups: how often the 15 nearest on the map vote for the true group. Seconds of the processor are
those of all threads: on a busy machine they tell more than the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from common import bench_set, record
from coterie.describe.map import text_map
from coterie.features.graph import SEARCH_DIMENSIONS, main_part
from coterie.features.transformer import TransformerEncoder
from coterie.features.two_views import TwoViews
from coterie.vectors import unit_rows

SETS = ["stackoverflow"]
ASKED_ROWS = 2000
NEIGHBOURS = 15
THREADS = 2


def umap(space: np.ndarray) -> np.ndarray:
    from umap import UMAP

    return UMAP(n_neighbors=15, min_dist=0.1, random_state=0).fit_transform(space)


def opentsne(space: np.ndarray) -> np.ndarray:
    from openTSNE import TSNE

    return np.asarray(TSNE(random_state=0, n_jobs=THREADS).fit(space))


def pacmap(space: np.ndarray) -> np.ndarray:
    from pacmap import PaCMAP

    return PaCMAP(n_components=2, random_state=0).fit_transform(space, init="pca")


CONTENDERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "umap": umap,
    "opentsne": opentsne,
    "pacmap": pacmap,
}


def scores(vectors: np.ndarray, points: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    from scipy.spatial.distance import pdist
    from scipy.stats import spearmanr

    asked = np.sort(np.random.default_rng(0).permutation(len(vectors))[:ASKED_ROWS])
    itself = np.arange(len(asked)), asked
    distances = -(unit_rows(vectors[asked]) @ unit_rows(vectors).T)
    distances[itself] = -np.inf
    ranks = np.argsort(np.argsort(distances, axis=1, kind="stable"), axis=1)
    on_map = ((points[asked, None, :] - points[None]) ** 2).sum(axis=2)
    on_map[itself] = np.inf
    near = np.argpartition(on_map, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    surplus = np.maximum(np.take_along_axis(ranks, near, axis=1) - NEIGHBOURS, 0).sum()
    worst = len(asked) * NEIGHBOURS * (2 * len(vectors) - 3 * NEIGHBOURS - 1) / 2
    votes = np.array([np.bincount(groups).argmax() for groups in truth[near]])
    before, after = (
        pdist(np.array([rows[truth == group].mean(axis=0) for group in np.unique(truth)])) for rows in (vectors, points)
    )
    return {
        "trustworthiness": round(float(1 - surplus / worst), 4),
        "global_correlation": round(float(spearmanr(before, after)[0]), 3),
        "neighbours_vote": round(float((votes == truth[asked]).mean()), 4),
    }


def measured(run: Callable[[], np.ndarray], vectors: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    clock, processor = time.perf_counter(), time.process_time()
    points = run()
    seconds, work = time.perf_counter() - clock, time.process_time() - processor
    return {
        **scores(vectors, np.asarray(points, dtype=np.float64), truth),
        "seconds": round(seconds, 1),
        "processor_seconds": round(work, 1),
    }


def main() -> None:
    result: dict[str, Any] = {}
    for name in SETS:
        labels, texts = bench_set(name)
        truth = np.unique(labels, return_inverse=True)[1]
        vectors = TwoViews(TransformerEncoder()).fit_transform(texts)
        space = unit_rows(main_part(vectors, SEARCH_DIMENSIONS))
        rows: dict[str, Any] = {"ours": measured(lambda v=vectors: text_map(v), vectors, truth)}
        for contender, run in CONTENDERS.items():
            run(space[:1000])  # numba compiles at the first call
            rows[contender] = measured(lambda run=run, space=space: run(space), vectors, truth)
            print(name, contender, rows[contender], flush=True)
        ours = rows["ours"]["processor_seconds"]
        for row in rows.values():
            row["times_our_processor_seconds"] = round(row["processor_seconds"] / ours, 2)
        result[name] = {"texts": len(texts), "maps": rows}
    record("map", result)


if __name__ == "__main__":
    main()
