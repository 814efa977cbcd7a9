"""HDBSCAN that gives every row a group, and exactly k groups when k is given."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie.clusterers.agglomerative import cut, merge_tree, pair_costs
from coterie.clusterers.kmeans import KMeans, check_group_count, nearest_centres
from coterie.vectors import group_means


class Density(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's HDBSCAN; rows that it calls noise join the nearest group mean.

    With `n_clusters` given, too many groups are merged (Ward on their means, weighted by size) and too few are split
    (the largest in two by k-means) until the number is right; with None the number is HDBSCAN's own.
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        min_cluster_size: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.min_cluster_size = min_cluster_size
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        from sklearn.cluster import HDBSCAN

        rows = validate_data(self, X, dtype=[np.float32, np.float64], ensure_min_samples=2)
        if self.n_clusters is not None:
            check_group_count(self.n_clusters, len(rows))
        smallest = max(2, min(self.min_cluster_size, len(rows) // 2))
        found = HDBSCAN(min_cluster_size=smallest, copy=True).fit(rows).labels_.astype(np.int64)
        self.n_noise_ = int((found < 0).sum())
        labels = _attach_noise(rows, found)
        if self.n_clusters is not None:
            labels = _merge_down(rows, labels, self.n_clusters)
            labels = _split_up(rows, labels, self.n_clusters, self.random_state)
        self.labels_ = labels
        self.cluster_centers_ = group_means(rows, labels)[0]
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The nearest group mean: for rows of the fit this can differ from `labels_`."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=[np.float32, np.float64], reset=False)
        return nearest_centres(rows, self.cluster_centers_)[0]


def _attach_noise(rows: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    noise = labels < 0
    if noise.all():
        return np.zeros(len(rows), dtype=np.int64)
    if noise.any():
        means, _ = group_means(rows[~noise], labels[~noise])
        labels = labels.copy()
        labels[noise] = nearest_centres(rows[noise], means)[0]
    return labels


def _merge_down(rows: NDArray[np.float32], labels: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    if labels.max() + 1 <= k:
        return labels
    means, sizes = group_means(rows, labels)
    return cut(merge_tree(pair_costs(means, sizes, "ward"), sizes, "ward"), k)[labels]


def _split_up(
    rows: NDArray[np.float32], labels: NDArray[np.int64], k: int, seed: int | np.random.RandomState | None
) -> NDArray[np.int64]:
    labels = labels.copy()
    while (count := int(labels.max()) + 1) < k:
        members = np.flatnonzero(labels == np.bincount(labels).argmax())
        halves = KMeans(2, random_state=seed).fit(rows[members]).labels_
        if halves.max() == 0:
            # Equal rows cannot be told apart by distance; the number of groups was still promised.
            halves = (np.arange(len(members)) >= len(members) // 2).astype(np.int64)
        labels[members[halves == 1]] = count
    return labels
