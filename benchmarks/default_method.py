"""The default method against k-means on the encoder's vectors, seeds 0 to 2, true k.

COTERIE_DATA=folder python benchmarks/default_method.py [NAME ...]   (default: the eight sets of the AECL paper)
Labels are used for the scores only. Results are written after every set. The first fit of a set may have to encode it;
the others find its vectors in the cache, so only the seconds of seeds 1 and 2 are always without encoding.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

from common import EIGHT, bench_set, record
from coterie import TextClusterer
from coterie.metrics.external import external_scores
from coterie.persist.environment import peak_memory_mb

SEEDS = (0, 1, 2)
METHODS = {"duet": "auto", "minilm+kmeans": "minilm+kmeans"}


def main() -> None:
    names = sys.argv[1:] or EIGHT
    sets: dict[str, Any] = {}
    for name in names:
        truth, texts = bench_set(name)
        k = len(set(truth))
        sets[name] = {"rows": len(texts), "k": k} | {
            label: _cells(texts, truth, k, method) for label, method in METHODS.items()
        }
        record("default_method" if names == EIGHT else "default_method_holdout", {"sets": sets, "mean": _means(sets)})


def _cells(texts: list[str], truth: list[str], k: int, method: str) -> dict[str, Any]:
    runs = []
    for seed in SEEDS:
        started = time.perf_counter()
        fitted = TextClusterer(k, method=method, random_state=seed).fit(texts)
        seconds = time.perf_counter() - started
        scores = external_scores(truth, fitted.labels_.tolist())
        runs.append(
            {name: round(100 * scores[name], 2) for name in ("acc", "nmi", "ari")}
            | {
                "seed": seed,
                "seconds": round(seconds, 1),
                "peak_memory_mb": round(peak_memory_mb()),
                "groups": len(set(fitted.labels_.tolist())),
            }
            | {"mean_confidence": round(float(fitted.probabilities_.max(axis=1).mean()), 3)}
            | {"evidence": fitted.evidence_}
        )
    return {
        "acc": _mean_and_spread([run["acc"] for run in runs]),
        "nmi": _mean_and_spread([run["nmi"] for run in runs]),
        "runs": runs,
    }


def _mean_and_spread(values: list[float]) -> dict[str, float]:
    return {"mean": round(statistics.mean(values), 2), "sd": round(statistics.stdev(values), 2)}


def _means(sets: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {
        label: {
            score: round(statistics.mean(cell[label][score]["mean"] for cell in sets.values()), 2)
            for score in ("acc", "nmi")
        }
        for label in METHODS
    }


if __name__ == "__main__":
    main()
