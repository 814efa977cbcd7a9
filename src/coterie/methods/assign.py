"""The nearest centre, and how sure that is."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from coterie.clusterers.agglomerative import group_means
from coterie.clusterers.kmeans import nearest_centres
from coterie.errors import InputError
from coterie.types import Labels, Matrix, State

ROWS_AT_ONCE = 8192


class NearestCentre:
    """p(group | x) for equal, round groups: softmax of -|x - c|^2 / 2 s^2.

    s^2 is the mean squared distance of rows from their centre per dimension, counted only in the directions that tell
    centres apart: in the hundreds of others all groups look alike, and counting them would make every answer a guess.
    """

    kind: ClassVar[str] = "nearest-centre"

    def __init__(self, centres: Matrix, variance: float) -> None:
        self.centres, self.variance = centres, variance

    @classmethod
    def of_groups(cls, vectors: Matrix, labels: Labels, n_clusters: int) -> Self:
        """Centres at the group means, every group with at least one row of `vectors` nearest to it."""
        means, _ = group_means(vectors, np.ones(len(vectors)), labels)
        centres = _all_in_use(vectors, means, n_clusters)
        return cls(centres, _spread(vectors, centres))

    def probabilities(self, vectors: Matrix) -> Matrix:
        answer = np.empty((len(vectors), len(self.centres)), dtype=np.float32)
        half_norms = (self.centres**2).sum(axis=1) / 2
        for start in range(0, len(vectors), ROWS_AT_ONCE):
            part = np.asarray(vectors[start : start + ROWS_AT_ONCE])
            answer[start : start + ROWS_AT_ONCE] = softmax((part @ self.centres.T - half_norms) / self.variance)
        return answer

    def renumber(self, order: Labels) -> None:
        self.centres = np.ascontiguousarray(self.centres[order])

    def state(self) -> State:
        return State({"variance": self.variance}, {"centres": self.centres})

    @classmethod
    def from_state(cls, state: State) -> Self:
        return cls(state.arrays["centres"], float(state.config["variance"]))


def softmax(scores: Matrix) -> Matrix:
    scores = scores - scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    return np.asarray(scores / scores.sum(axis=1, keepdims=True), dtype=np.float32)


def _spread(vectors: Matrix, centres: Matrix) -> float:
    if len(centres) == 1:
        return 1.0
    directions = np.linalg.svd(centres - centres.mean(axis=0), full_matrices=False)[2][: len(centres) - 1]
    labels, _ = nearest_centres(vectors, centres)
    along = (vectors - centres[labels]) @ directions.T
    return max(float((along**2).mean()), 1e-12)


def _all_in_use(vectors: Matrix, centres: Matrix, n_clusters: int) -> Matrix:
    """Moves centres that no row is nearest to onto far-off rows, so that exactly `n_clusters` groups come out."""
    centres = np.vstack([centres, np.zeros((n_clusters - len(centres), vectors.shape[1]), dtype=vectors.dtype)])
    used = np.ones(n_clusters, dtype=bool)
    for _ in range(n_clusters):
        labels, distances = nearest_centres(vectors, centres)
        used = np.bincount(labels, minlength=n_clusters) > 0
        if used.all():
            return centres
        centres[np.flatnonzero(~used)[0]] = vectors[distances.argmax()]
    return _farthest_rows(vectors, n_clusters)


def _farthest_rows(vectors: Matrix, n_clusters: int) -> Matrix:
    """Rows that are all different, each as far as possible from those before it."""
    chosen = [0]
    closest = ((vectors - vectors[0]) ** 2).sum(axis=1)
    while len(chosen) < n_clusters:
        row = int(closest.argmax())
        if closest[row] <= 0:
            raise InputError(
                f"texts: {n_clusters:,} groups were asked for, but this method sees only {len(chosen):,} different "
                f"texts (others have the same words). Ask for at most {len(chosen):,}, or use the method 'auto'."
            )
        chosen.append(row)
        closest = np.minimum(closest, ((vectors - vectors[row]) ** 2).sum(axis=1))
    return np.asarray(vectors[chosen])
