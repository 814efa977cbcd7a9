"""k-means on sentence vectors: ours against scikit-learn's, same rows, same number of restarts.

COTERIE_DATA=folder python benchmarks/kmeans.py
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
from sklearn.cluster import KMeans as SklearnKMeans

from common import bench_set, record, side_by_side
from coterie.clusterers import KMeans
from coterie.features.transformer import TransformerEncoder

CASES = {"stackoverflow": 20, "googlenews_t": 152}
ROUNDS = 5


def main() -> None:
    result: dict[str, Any] = {}
    for name, k in CASES.items():
        vectors = np.array(TransformerEncoder().encode(bench_set(name)[1]))
        inertia: dict[str, list[float]] = {"ours": [], "scikit-learn": []}

        def run(who: str, kmeans: type, vectors: np.ndarray = vectors, k: int = k, inertia: Any = inertia) -> None:
            seed = len(inertia[who])
            fitted = kmeans(k, n_init=3, max_iter=100, random_state=seed).fit(vectors)
            inertia[who].append(float(fitted.inertia_))

        KMeans(k, n_init=1, max_iter=2, random_state=0).fit(vectors)
        SklearnKMeans(k, n_init=1, max_iter=2, random_state=0).fit(vectors)
        seconds = side_by_side(
            {"ours": lambda: run("ours", KMeans), "scikit-learn": lambda: run("scikit-learn", SklearnKMeans)}, ROUNDS
        )
        ratios = [a / b for a, b in zip(seconds["scikit-learn"], seconds["ours"], strict=True)]
        result[f"{len(vectors)} x {vectors.shape[1]}, k = {k}"] = {
            "seconds": seconds,
            "times_faster": round(statistics.median(ratios), 2),
            "inertia": inertia,
            "inertia_over_sklearns": round(
                statistics.mean(inertia["ours"]) / statistics.mean(inertia["scikit-learn"]), 5
            ),
        }
    record("kmeans", result)


if __name__ == "__main__":
    main()
