"""Scores of a grouping by its own shape, in the space it was made in; no truth is needed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from coterie.types import Labels, Matrix
from coterie.vectors import group_means, unit_rows

ROUNDING = 1e-6
"""Equal rows may be as far apart."""
DUNN_ROWS = 4000
"""The Dunn index needs all pairs of rows: beyond this many it looks at a sample drawn with a fixed seed."""

ROWS_AT_ONCE = 8192


def silhouette(vectors: Matrix, labels: Labels) -> float:
    """Mean cosine silhouette: 1 far from other groups, 0 on the border, below 0 in the wrong group."""
    return float(silhouettes(vectors, labels).mean())


def silhouettes(vectors: Matrix, labels: Labels) -> NDArray[np.float64]:
    """The cosine silhouette of every row; no numbers where there are not 2 groups, or as many groups as rows.

    Exact: the mean cosine distance from a unit vector to a group is 1 minus its dot product with the group's mean, so
    no pairs are needed.
    """
    labels = np.unique(labels, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(labels)
    if not 2 <= len(sizes) < len(labels):
        return np.full(len(labels), np.nan)
    rows = unit_rows(np.asarray(vectors))
    means, _ = group_means(rows, labels)
    parts = [slice(start, start + ROWS_AT_ONCE) for start in range(0, len(rows), ROWS_AT_ONCE)]
    return np.concatenate([_silhouettes(rows[part], labels[part], means, sizes) for part in parts])


def dunn_index(vectors: Matrix, labels: Labels) -> float:
    """Smallest distance between two groups over the largest diameter of one (Dunn 1974), Euclidean."""
    from sklearn.metrics import pairwise_distances

    if len(labels) > DUNN_ROWS:
        chosen = np.sort(np.random.default_rng(0).choice(len(labels), DUNN_ROWS, replace=False))
        vectors, labels = vectors[chosen], labels[chosen]
    if len(np.unique(labels)) < 2:
        return float("nan")
    distances = pairwise_distances(vectors)
    same_group = labels[:, None] == labels[None, :]
    diameter = float(distances[same_group].max())
    is_point = diameter <= ROUNDING * float(distances.max())
    return float("inf") if is_point else float(distances[~same_group].min()) / diameter


def evenness(sizes: NDArray[np.int64]) -> float:
    """How many groups of one size would have the entropy of these, over their number: 1 where all are of one size."""
    shares = sizes[sizes > 0] / sizes.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()) / len(sizes))


def internal_scores(vectors: Matrix, labels: Labels) -> dict[str, float]:
    return {"silhouette": silhouette(vectors, labels), "dunn": dunn_index(vectors, labels)}


def _silhouettes(rows: Matrix, labels: Labels, means: Matrix, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    similarity = (rows @ means.T).astype(np.float64)
    index = np.arange(len(rows))
    own_size = sizes[labels]
    # The group's mean holds the row itself, which its own mean distance must leave out.
    itself = np.einsum("ij,ij->i", rows, rows)
    within = 1 - (similarity[index, labels] * own_size - itself) / np.maximum(own_size - 1, 1)
    similarity[index, labels] = -np.inf
    nearest_other = 1 - similarity.max(axis=1)
    # Equal rows in two groups are a rounding error apart, and of either sign.
    within, nearest_other = np.maximum(within, 0), np.maximum(nearest_other, 0)
    scores = (nearest_other - within) / np.maximum(np.maximum(within, nearest_other), ROUNDING)
    return np.where(own_size > 1, scores, 0.0)


def finite(scores: dict[str, float]) -> dict[str, float | None]:
    """Scores that are not defined become null: NaN is no JSON."""
    return {name: value if math.isfinite(value) else None for name, value in scores.items()}
