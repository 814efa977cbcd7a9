"""k-means, Euclidean and spherical.

Our own rather than scikit-learn's because its threads add up the centres in whatever order they finish, so
two runs can differ; here sums are always taken in row order. Only rows that changed group move the sums, which
also makes it faster.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from coterie.errors import ConfigError
from coterie.vectors import group_sums, unit_rows

CHUNK_CELLS = 1 << 23
"""Distances held at once: rows are taken in chunks so that memory does not grow with n x k."""
COLUMNS_AT_ONCE = 32


class KMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Lloyd's k-means, best of `n_init` restarts from greedy k-means++ seeds, or from random rows (`init="random"`).

    Where `init` is a matrix, its rows are the first centres, and there is one run. A group that loses its last row on
    the way starts again at the row that is farthest from its centre.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Literal["k-means++", "random"] | NDArray[Any] = "k-means++",
        n_init: int = 5,
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        rows = self._prepare(validate_data(self, X, dtype=[np.float32, np.float64], order="C"))
        check_group_count(self.n_clusters, len(rows))
        self._check_init(rows.shape[1])
        weights = _check_sample_weight(sample_weight, rows, dtype=rows.dtype)
        random = check_random_state(self.random_state)
        tolerance = self.tol * float(_variances(rows).mean())
        runs = self.n_init if isinstance(self.init, str) else 1
        best = min((self._run(rows, weights, random, tolerance) for _ in range(runs)), key=lambda result: result[2])
        self.cluster_centers_, self.labels_, self.inertia_, self.n_iter_ = best
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        check_is_fitted(self)
        rows = self._prepare(validate_data(self, X, dtype=[np.float32, np.float64], reset=False))
        labels, _ = nearest_centres(rows, self.cluster_centers_)
        return labels

    def _check_init(self, width: int) -> None:
        if isinstance(self.init, str):
            if self.init not in ("k-means++", "random"):
                raise ConfigError(f"init={self.init!r} is not known: use 'k-means++', 'random' or a matrix of centres")
        elif self.init.shape != (self.n_clusters, width):
            raise ConfigError(
                f"init has the shape {self.init.shape}, and the first centres of {self.n_clusters} groups "
                f"would have {(self.n_clusters, width)}"
            )

    def _first_centres(self, rows: NDArray[Any], weights: NDArray[Any], random: np.random.RandomState) -> NDArray[Any]:
        if not isinstance(self.init, str):
            return self._prepare(self.init.astype(rows.dtype))
        if self.init == "random":
            return _random_seeds(rows, self.n_clusters, random)
        return _greedy_seeds(rows, weights, self.n_clusters, random)

    def _prepare(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows

    def _centres(self, sums: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(sums / np.maximum(sizes, np.finfo(sums.dtype).tiny)[:, None])

    def _run(
        self, rows: NDArray[Any], weights: NDArray[Any], random: np.random.RandomState, tolerance: float
    ) -> tuple[NDArray[Any], NDArray[np.int64], float, int]:
        k = self.n_clusters
        centres = self._first_centres(rows, weights, random)
        labels = np.full(len(rows), -1, dtype=np.int64)
        sums = np.zeros((k, rows.shape[1]), dtype=np.float64)
        sizes = np.zeros(k, dtype=np.float64)
        iterations = 0
        while iterations < self.max_iter:
            iterations += 1
            new_labels, distances = nearest_centres(rows, centres)
            refill_empty(new_labels, distances, weights, k)
            changed = np.flatnonzero(new_labels != labels)
            if len(changed) == 0:
                break
            _move(rows, weights, labels, new_labels, changed, sums, sizes)
            labels = new_labels
            # Of a group that has lost its last row only rounding is left. Its centre stays where it was.
            empty = np.bincount(labels[weights > 0], minlength=k) == 0
            sums[empty], sizes[empty] = 0, 0
            moved = self._centres(sums, sizes).astype(rows.dtype)
            moved[empty] = centres[empty]
            shift = float(((moved - centres) ** 2).sum())
            centres = moved
            if shift <= tolerance:
                break
        labels, distances = nearest_centres(rows, centres)
        return centres, labels, float((weights * distances).sum()), iterations


class SphericalKMeans(KMeans):
    """k-means on the unit sphere: rows and centres have length 1, so nearest means most similar by cosine."""

    def _prepare(self, rows: NDArray[Any]) -> NDArray[Any]:
        return unit_rows(rows)

    def _centres(self, sums: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
        return unit_rows(sums)


def check_group_count(n_clusters: int, rows: int) -> None:
    if not 1 <= n_clusters <= rows:
        raise ConfigError(f"n_clusters={n_clusters} for n_samples={rows}: ask for 1 to {rows}")


def nearest_centres(rows: NDArray[Any], centres: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """For each row the nearest centre (the first of equals) and the squared distance to it."""
    labels = np.empty(len(rows), dtype=np.int64)
    distances = np.empty(len(rows), dtype=rows.dtype)
    half_norms = (centres**2).sum(axis=1) / 2
    step = max(1, CHUNK_CELLS // max(len(centres), rows.shape[1]))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        scores = part @ centres.T
        scores -= half_norms
        nearest = scores.argmax(axis=1)
        labels[start : start + step] = nearest
        best = np.take_along_axis(scores, nearest[:, None], axis=1)[:, 0]
        distances[start : start + step] = np.maximum(np.einsum("ij,ij->i", part, part) - 2 * best, 0)
    return labels, distances


def _variances(rows: NDArray[Any]) -> NDArray[Any]:
    """Of every column; a few columns at a time, because NumPy's makes a copy of what it is given."""
    parts = np.array_split(rows, max(1, rows.shape[1] // COLUMNS_AT_ONCE), axis=1)
    return np.concatenate([part.var(axis=0) for part in parts])


def _random_seeds(rows: NDArray[Any], k: int, random: np.random.RandomState) -> NDArray[Any]:
    return np.array(rows[random.choice(len(rows), k, replace=False)])


def _greedy_seeds(rows: NDArray[Any], weights: NDArray[Any], k: int, random: np.random.RandomState) -> NDArray[Any]:
    """k-means++ that tries 2 + log k candidates for every seed and keeps the best."""
    tries = 2 + int(np.log(k))
    norms = np.einsum("ij,ij->i", rows, rows)
    seeds = np.empty((k, rows.shape[1]), dtype=rows.dtype)
    first = _draw(weights, random.uniform(size=1))
    seeds[0] = rows[first[0]]
    closest = _squared_distances(rows, norms, first)[0]
    for index in range(1, k):
        candidates = _draw(weights * closest, random.uniform(size=tries))
        distances = np.minimum(_squared_distances(rows, norms, candidates), closest)
        best = int((distances @ weights).argmin())
        closest = distances[best]
        seeds[index] = rows[candidates[best]]
    return seeds


def _draw(mass: NDArray[Any], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    cumulative = np.cumsum(mass, dtype=np.float64)
    # All rows equal to a seed leave no mass: any row is as good as another.
    if cumulative[-1] <= 0:
        cumulative = np.arange(1.0, len(mass) + 1)
    found = np.searchsorted(cumulative, uniforms * cumulative[-1], side="right")
    return np.asarray(np.minimum(found, len(mass) - 1), dtype=np.int64)


def _squared_distances(rows: NDArray[Any], norms: NDArray[Any], chosen: NDArray[np.int64]) -> NDArray[Any]:
    distances = rows[chosen] @ rows.T
    distances *= -2
    distances += norms
    distances += norms[chosen, None]
    np.maximum(distances, 0, out=distances)
    distances[np.arange(len(chosen)), chosen] = 0
    return np.asarray(distances)


def _move(
    rows: NDArray[Any],
    weights: NDArray[Any],
    old: NDArray[np.int64],
    new: NDArray[np.int64],
    changed: NDArray[np.int64],
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> None:
    """Takes the changed rows out of their old groups' sums and adds them to their new ones'."""
    mass = weights[changed].astype(np.float64)
    leaving = old[changed] >= 0
    moves = np.concatenate([changed, changed[leaving]])
    groups = np.concatenate([new[changed], old[changed][leaving]])
    signed = np.concatenate([mass, -mass[leaving]])
    order = np.argsort(moves, kind="stable")
    sums += group_sums(rows, moves[order], groups[order], signed[order], len(sums))
    sizes += np.bincount(groups[order], weights=signed[order], minlength=len(sizes))


def refill_empty(labels: NDArray[np.int64], distances: NDArray[Any], weights: NDArray[Any], k: int) -> None:
    """Gives empty groups the rows that are farthest from their centres, of groups that have others."""
    sizes = np.bincount(labels, minlength=k)
    empty = np.flatnonzero(sizes == 0)
    if len(empty) == 0:
        return
    for row in np.argsort(-distances * (weights > 0), kind="stable"):
        if len(empty) == 0:
            break
        if sizes[labels[row]] > 1 and distances[row] > 0:
            sizes[labels[row]] -= 1
            labels[row], empty = empty[0], empty[1:]
