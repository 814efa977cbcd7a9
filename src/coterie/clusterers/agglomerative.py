"""Agglomerative clustering: average linkage on cosine, or Ward.

Our own nearest-neighbour chain rather than scipy's or scikit-learn's because rows can have weights (micro-clusters
and repeated texts count as many) and the distances stay in float32: 12,000 rows need 0.6 GB instead of 1.2.
"""

from __future__ import annotations

from math import isqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from coterie.clusterers.kmeans import KMeans, check_group_count, nearest_centres, refill_empty
from coterie.errors import ConfigError, InputError
from coterie.memory import available_memory
from coterie.vectors import group_means, squares_overflow, unit_rows

LINKAGES = ("average", "ward")
BYTES_A_PAIR = 4


class Agglomerative(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Merges the two closest groups until `n_clusters` are left.

    `linkage="average"`: mean cosine distance between the rows of two groups. `linkage="ward"`: least growth of the
    squared Euclidean error. Distances take rows^2 x 4 bytes, a third more for a while. Beyond `max_rows` rows (0.6 GB
    as set), or where less than three times that is free (`fitting_rows`), k-means cells are merged instead of single
    rows: a quarter of the limit, or `n_clusters` where that is more. Finding them takes four times the memory of the
    rows. New rows go to the nearest group mean. After `fit`, `n_cells_` were merged, and `short_of_memory_` says
    whether they are fewer than with more free memory.
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        linkage: str = "average",
        max_rows: int = 12_000,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.max_rows = max_rows
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        rows = validate_data(self, X, dtype=[np.float32, np.float64], order="C", ensure_min_samples=2)
        if self.linkage not in LINKAGES:
            raise ConfigError(f"linkage={self.linkage!r} is not known: use one of {', '.join(LINKAGES)}")
        check_group_count(self.n_clusters, len(rows))
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        if not (weights > 0).all():
            raise ConfigError("sample_weight must be above 0: a row without weight has no place in a tree")
        if squares_overflow(rows, weights.sum()):
            raise InputError(
                f"rows: with numbers as large as {np.abs(rows).max():.3g} distances overflow: divide all rows by that"
            )
        rows = self._prepare(rows)
        limit = fitting_rows(self.max_rows)
        cells = micro_clusters(rows, weights, self.n_clusters, limit, self.random_state)
        means, masses = group_means(rows, cells, weights)
        self.n_cells_ = len(means)
        self.short_of_memory_ = limit < min(self.max_rows, len(rows))
        self.merges_ = merge_tree(pair_costs(means, masses, self.linkage), masses, self.linkage)
        self.labels_ = cut(self.merges_, self.n_clusters)[cells]
        self.cluster_centers_ = group_means(rows, self.labels_, weights)[0]
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The nearest group mean: for rows of the fit this can differ from `labels_`."""
        check_is_fitted(self)
        rows = self._prepare(validate_data(self, X, dtype=[np.float32, np.float64], reset=False))
        return nearest_centres(rows, self.cluster_centers_)[0]

    def _prepare(self, rows: NDArray[Any]) -> NDArray[Any]:
        return unit_rows(rows) if self.linkage == "average" else rows


def fitting_rows(most: int) -> int:
    """At most this many rows, or as many as have their distances in a third of the free memory."""
    return max(2, min(most, isqrt(available_memory() // (3 * BYTES_A_PAIR))))


def micro_clusters(
    rows: NDArray[Any],
    weights: NDArray[np.float64],
    least: int,
    max_rows: int,
    random_state: int | np.random.RandomState | None,
) -> NDArray[np.int64]:
    """The cell of each row: its own, or beyond `max_rows` a k-means cell, which equal rows always share.

    At least `least` cells where so many rows differ.
    """
    if len(rows) <= max_rows:
        return np.arange(len(rows))
    distinct, cells = np.unique(rows, axis=0, return_inverse=True)
    cells = cells.reshape(-1)
    if len(distinct) > max_rows:
        # Thousands of small cells need no careful seeds, which would take longer than all the rest.
        count = min(max(least, max_rows // 4), len(distinct))
        kmeans = KMeans(count, init="random", n_init=1, max_iter=5, random_state=random_state)
        mass = np.bincount(cells, weights=weights)
        kmeans.fit(distinct, sample_weight=mass)
        found, distances = nearest_centres(distinct, kmeans.cluster_centers_)
        # Its last step may leave cells empty; and rows that differ may round to the same distance of 0.
        refill_empty(found, np.maximum(distances, np.finfo(distances.dtype).tiny), mass, count)
        cells = found[cells]
    return cells


def about_cells(cells: int, rows: int) -> list[str]:
    """A note where fewer cells than texts were linked."""
    return [f"linkage of {cells:,} micro-clusters instead of {rows:,} texts, to save memory"] if cells < rows else []


def merge_tree(costs: NDArray[np.float32], masses: NDArray[np.float64], linkage: str) -> list[tuple[float, int, int]]:
    """Every merge as (height, a, b), lowest first; a and b are rows that stand for their groups.

    `costs` of merging each pair, finite but for the diagonal, which is infinite, are used up. Follows chains of nearest
    neighbours until two groups are each other's nearest; for these two linkages merging such pairs at once gives the
    same tree as always merging the closest pair, in quadratic time.
    """
    masses = masses.astype(np.float64).copy()
    alive = np.ones(len(costs), dtype=bool)
    merges: list[tuple[float, int, int]] = []
    chain: list[int] = []
    while len(merges) < len(costs) - 1:
        if not chain:
            chain.append(int(alive.argmax()))
        here = chain[-1]
        nearest = int(costs[here].argmin())
        if len(chain) > 1 and costs[here, chain[-2]] <= costs[here, nearest]:
            nearest = chain[-2]
            del chain[-2:]
            merges.append((float(costs[here, nearest]), here, nearest))
            _merge(costs, masses, alive, here, nearest, linkage)
        elif len(chain) < len(costs):
            chain.append(nearest)
        else:
            # Along a chain distances shrink, so no row comes twice, unless they cannot be compared.
            raise InputError("linkage: some distances are no numbers: give rows that are finite and not very large")
    # The chain finds merges out of order; the sort is stable, so a group is still made before it is used.
    return sorted(merges, key=lambda merge: merge[0])


def cut(merges: list[tuple[float, int, int]], n_clusters: int) -> NDArray[np.int64]:
    """Labels of the rows when only the lowest merges are done and `n_clusters` groups are left."""
    leader = np.arange(len(merges) + 1)

    def find(row: int) -> int:
        while leader[row] != row:
            leader[row] = leader[leader[row]]
            row = int(leader[row])
        return row

    for _, a, b in merges[: max(0, len(leader) - n_clusters)]:
        leader[find(a)] = find(b)
    roots = [find(row) for row in range(len(leader))]
    return np.unique(roots, return_inverse=True)[1].reshape(-1)


def pair_costs(rows: NDArray[Any], masses: NDArray[np.float64], linkage: str) -> NDArray[np.float32]:
    rows = rows.astype(np.float32)
    costs = rows @ rows.T
    if linkage == "average":
        # The rows are means of unit vectors, so their dot product is the mean cosine between the two cells.
        np.subtract(1, costs, out=costs)
    else:
        norms = np.einsum("ij,ij->i", rows, rows)
        costs *= -2
        for row in range(len(rows)):
            # The sum of the two norms first: rounded one after the other, a cost would depend on which row is first.
            costs[row] += norms[row] + norms
        by_ward(costs, masses)
    np.fill_diagonal(costs, np.inf)
    return np.asarray(costs)


def by_ward(squares: NDArray[np.float32], masses: NDArray[np.float64]) -> None:
    """Makes Ward's cost of every pair of its squared distance: times m m' / (m + m')."""
    mass = masses.astype(np.float32)
    for row in range(len(squares)):
        squares[row] *= mass[row] * mass / (mass[row] + mass)


def _merge(
    costs: NDArray[np.float32],
    masses: NDArray[np.float64],
    alive: NDArray[np.bool_],
    a: int,
    b: int,
    linkage: str,
) -> None:
    """Puts the union of a and b in b's place (Lance and Williams' update)."""
    if linkage == "average":
        merged = (masses[a] * costs[a] + masses[b] * costs[b]) / (masses[a] + masses[b])
    else:
        merged = ((masses[a] + masses) * costs[a] + (masses[b] + masses) * costs[b] - masses * costs[a, b]) / (
            masses[a] + masses[b] + masses
        )
    merged[~alive] = np.inf
    merged[[a, b]] = np.inf
    costs[b], costs[:, b] = merged, merged
    costs[a], costs[:, a] = np.inf, np.inf
    masses[b] += masses[a]
    alive[a] = False
