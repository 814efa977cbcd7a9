"""How groups belong together: a tree over them, to be cut at any level, and the nearest others of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.clusterers.agglomerative import cut, merge_tree, pair_costs
from coterie.errors import ConfigError
from coterie.types import Labels, Matrix
from coterie.vectors import group_means, unit_rows

NEAREST_SHOWN = 3


@dataclass(frozen=True)
class Hierarchy:
    """The tree of the groups: each merge as (height, a, b), lowest first; a and b are groups that stand for their own.

    The height is the mean cosine distance between the texts on both sides.
    """

    merges: list[tuple[float, int, int]]

    @property
    def n_groups(self) -> int:
        return len(self.merges) + 1

    def cut(self, n_groups: int) -> Labels:
        """For each group the number of the larger group it is in when `n_groups` are left.

        They are numbered by the first of their groups, and groups are numbered by size.
        """
        if isinstance(n_groups, bool) or not 1 <= n_groups <= self.n_groups:
            raise ConfigError(f"n_groups={n_groups!r} is not usable: the tree has 1 to {self.n_groups} groups")
        parts = cut(self.merges, n_groups)
        _, first, which = np.unique(parts, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(first))[which], dtype=np.int64)


def group_hierarchy(vectors: Matrix, labels: Labels) -> Hierarchy:
    """Average linkage over the groups, on the cosine distance between their texts."""
    means, sizes = _group_means(vectors, labels)
    tree = merge_tree(pair_costs(means, sizes, "average"), sizes, "average")
    return Hierarchy([(round(height, 6), a, b) for height, a, b in tree])


def nearest_groups(vectors: Matrix, labels: Labels, wanted: int = NEAREST_SHOWN) -> list[list[tuple[int, float]]]:
    """For each group the most similar others with the cosine of their means, most similar first."""
    means = unit_rows(_group_means(vectors, labels)[0])
    similarity = means @ means.T
    np.fill_diagonal(similarity, -np.inf)
    order = np.argsort(-similarity, axis=1, kind="stable")[:, : min(wanted, len(means) - 1)]
    return [
        [(int(other), round(float(row[other]), 4)) for other in near]
        for row, near in zip(similarity, order, strict=True)
    ]


def _group_means(vectors: Matrix, labels: Labels) -> tuple[Matrix, NDArray[np.float64]]:
    """Means of unit vectors, so that their dot product is the mean cosine between two groups, and sizes."""
    rows = unit_rows(np.asarray(vectors))
    return group_means(rows, np.ones(len(rows)), labels)
