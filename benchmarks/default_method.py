"""The default method against k-means on the encoder's vectors, seeds 0 to 2, true k.

COTERIE_DATA=folder python benchmarks/default_method.py [NAME ...]   (default: the eight sets of the AECL paper, in one
file; others in another, all that it is to hold at once)
Labels are used for the scores only. `deciles` are the ACC of the tenth of the rows with the least confidence, of the
next tenth and so on, under the matching of groups to classes that is best for all rows. Results are written after every
set. The first fit of a set may have to encode it; the others find its vectors in the cache, so only the seconds of
seeds 1 and 2 are always without encoding.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from common import EIGHT, bench_set, record
from coterie import TextClusterer
from coterie.memory import peak_memory_mb
from coterie.metrics.external import contingency, external_scores

SEEDS = (0, 1, 2)
METHODS = {"duet": "auto", "minilm+kmeans": "minilm+kmeans"}


def main() -> None:
    names = sys.argv[1:] or EIGHT
    if names != EIGHT and set(names) & set(EIGHT):
        sys.exit("the eight sets are measured together, by no name at all; name others, or none")
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
            | {"deciles": _deciles(truth, fitted)}
            | {"evidence": fitted.evidence_}
        )
    return {
        "acc": _mean_and_spread([run["acc"] for run in runs]),
        "nmi": _mean_and_spread([run["nmi"] for run in runs]),
        "runs": runs,
    }


def _deciles(truth: list[str], fitted: TextClusterer) -> list[float]:
    classes, codes = np.unique(truth, return_inverse=True)
    rows, groups = linear_sum_assignment(contingency(truth, fitted.labels_.tolist()), maximize=True)
    class_of = np.full(len(classes), -1)
    class_of[groups] = rows
    right = class_of[fitted.labels_] == codes
    order = np.argsort(fitted.probabilities_.max(axis=1), kind="stable")
    return [round(100 * float(right[part].mean()), 2) for part in np.array_split(order, 10)]


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
