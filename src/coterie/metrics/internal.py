"""Scores of a grouping by its own shape, in the space it was made in; no truth is needed.

Both need all pairwise distances, so they look at no more than SAMPLE_ROWS rows, drawn with a fixed seed.
"""

from __future__ import annotations

import numpy as np

from coterie.types import Labels, Matrix

SAMPLE_ROWS = 4000


def silhouette(vectors: Matrix, labels: Labels, sample_rows: int = SAMPLE_ROWS) -> float:
    """Mean cosine silhouette: 1 far from other groups, 0 on the border, below 0 in the wrong group."""
    from sklearn.metrics import silhouette_score

    vectors, labels = _sample(vectors, labels, sample_rows)
    groups = len(np.unique(labels))
    if not 2 <= groups < len(labels):
        return float("nan")
    return float(silhouette_score(vectors, labels, metric="cosine"))


def dunn_index(vectors: Matrix, labels: Labels, sample_rows: int = SAMPLE_ROWS) -> float:
    """Smallest distance between two groups over the largest diameter of one (Dunn 1974), Euclidean."""
    from sklearn.metrics import pairwise_distances

    vectors, labels = _sample(vectors, labels, sample_rows)
    if len(np.unique(labels)) < 2:
        return float("nan")
    distances = pairwise_distances(vectors)
    same_group = labels[:, None] == labels[None, :]
    diameter = float(distances[same_group].max())
    return float(distances[~same_group].min()) / diameter if diameter > 0 else float("inf")


def internal_scores(vectors: Matrix, labels: Labels) -> dict[str, float]:
    return {"silhouette": silhouette(vectors, labels), "dunn": dunn_index(vectors, labels)}


def _sample(vectors: Matrix, labels: Labels, rows: int) -> tuple[Matrix, Labels]:
    if len(labels) <= rows:
        return vectors, labels
    chosen = np.sort(np.random.default_rng(0).choice(len(labels), rows, replace=False))
    return vectors[chosen], labels[chosen]
