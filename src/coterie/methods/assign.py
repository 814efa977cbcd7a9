"""From vectors to probabilities: the nearest centre, and what makes a confidence worth its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np

from coterie.clusterers.agglomerative import group_means
from coterie.clusterers.kmeans import nearest_centres
from coterie.errors import InputError
from coterie.features.graph import NEIGHBOURS, nearest_neighbours
from coterie.methods.base import Assigner
from coterie.types import Labels, Matrix, State

ROWS_AT_ONCE = 8192
ASKED_ROWS = 2000
SEARCHED_ROWS = 20_000


class NearestCentre:
    """p(group | x) = softmax((x c - |c|^2 / 2) / temperature): the nearer the centre, the likelier."""

    kind: ClassVar[str] = "nearest-centre"

    def __init__(self, centres: Matrix, temperature: float = 1.0) -> None:
        self.centres, self.temperature = centres, temperature

    @classmethod
    def of_groups(cls, vectors: Matrix, labels: Labels, n_clusters: int) -> Self:
        """Centres at the group means, every group with at least one row of `vectors` nearest to it."""
        means, _ = group_means(vectors, np.ones(len(vectors)), labels)
        assigner = cls(_all_in_use(vectors, means, n_clusters))
        assigner.temperature = fitting_temperature(vectors, assigner._scores)
        return assigner

    def probabilities(self, vectors: Matrix) -> Matrix:
        return softmax_in_parts(vectors, self._scores, self.temperature)

    def renumber(self, order: Labels) -> None:
        self.centres = np.ascontiguousarray(self.centres[order])

    def state(self) -> State:
        return State({"temperature": self.temperature}, {"centres": self.centres})

    @classmethod
    def from_state(cls, state: State) -> Self:
        return cls(state.arrays["centres"], float(state.config["temperature"]))

    def _scores(self, vectors: Matrix) -> Matrix:
        return np.asarray(vectors @ self.centres.T - (self.centres**2).sum(axis=1) / 2)


def learnt_groups(vectors: Matrix, labels: Labels, n_clusters: int) -> Assigner:
    """An assigner for groups that were not made by centres: a linear classifier, or centres where it loses a group."""
    from coterie.methods.linear import LinearClassifier

    return LinearClassifier.of_groups(vectors, labels, n_clusters) or NearestCentre.of_groups(
        vectors, labels, n_clusters
    )


def softmax_in_parts(vectors: Matrix, scores: Callable[[Matrix], Matrix], temperature: float) -> Matrix:
    """softmax(scores / temperature), so many rows at once that memory does not grow with their number."""
    parts = [
        softmax(scores(np.asarray(vectors[start : start + ROWS_AT_ONCE])) / temperature)
        for start in range(0, len(vectors), ROWS_AT_ONCE)
    ]
    return np.concatenate(parts)


def softmax(scores: Matrix) -> Matrix:
    scores = scores - scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    return np.asarray(scores / scores.sum(axis=1, keepdims=True), dtype=np.float32)


def fitting_temperature(vectors: Matrix, scores: Callable[[Matrix], Matrix]) -> float:
    """The temperature at which a text's probabilities best foretell the groups of the 15 texts most like it.

    So a confidence of 0.8 means that about 8 in 10 of the most similar texts are in the same group. A classifier's own
    probabilities say only how well it has learnt the groups, which is nearly always very well.
    """
    from scipy.optimize import minimize_scalar

    random = np.random.default_rng(0)
    searched = vectors[np.sort(random.permutation(len(vectors))[:SEARCHED_ROWS])]
    asked = np.sort(random.permutation(len(searched))[:ASKED_ROWS])
    neighbours, _ = nearest_neighbours(searched, min(NEIGHBOURS, len(searched) - 1), asked)
    groups_nearby = scores(searched).argmax(axis=1)[neighbours]
    own_scores = scores(searched[asked]).astype(np.float64)

    def surprise(log_temperature: float) -> float:
        scaled = own_scores / np.exp(log_temperature)
        highest = scaled.max(axis=1, keepdims=True)
        log_total = highest + np.log(np.exp(scaled - highest).sum(axis=1, keepdims=True))
        return float((log_total - np.take_along_axis(scaled, groups_nearby, axis=1)).mean())

    spread = max(float(own_scores.std()), 1e-6)
    bounds = (np.log(spread) - 6, np.log(spread) + 3)
    return float(np.exp(minimize_scalar(surprise, bounds=bounds, method="bounded").x))


def _all_in_use(vectors: Matrix, centres: Matrix, n_clusters: int) -> Matrix:
    """Moves centres that no row is nearest to onto far-off rows, so that exactly `n_clusters` groups come out."""
    centres = np.vstack([centres, np.zeros((n_clusters - len(centres), vectors.shape[1]), dtype=vectors.dtype)])
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
