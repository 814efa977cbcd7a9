"""How groups belong together: a tree over them, to be cut at any level, and the nearest others of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.clusterers.agglomerative import cut, merge_tree, pair_costs
from coterie.data.messages import shown
from coterie.data.whole_number import whole_number
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
        """For each group, in the order of their numbers, that of the larger group it is in when `n_groups` are left.

        They are numbered by the first of their groups, and groups are numbered by size.
        """
        wanted = whole_number(n_groups)
        if wanted is None or not 1 <= wanted <= self.n_groups:
            raise ConfigError(f"n_groups={shown(n_groups)} is not usable: the tree has 1 to {self.n_groups} groups")
        groups = sorted({group for _, *pair in self.merges for group in pair})
        place = {group: at for at, group in enumerate(groups)}
        parts = cut([(height, place[a], place[b]) for height, a, b in self.merges], wanted)
        _, first, which = np.unique(parts, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(first))[which], dtype=np.int64)


def group_hierarchy(vectors: Matrix, labels: Labels) -> Hierarchy:
    """Average linkage over the groups, on the cosine distance between their texts."""
    ids, means, sizes = _group_means(vectors, labels)
    tree = merge_tree(pair_costs(means, sizes, "average"), sizes, "average")
    return Hierarchy([(round(height, 6), ids[a], ids[b]) for height, a, b in tree])


def nearest_groups(vectors: Matrix, labels: Labels) -> list[list[tuple[int, float]]]:
    """For each group, in the order of their numbers, the most similar others with the cosine of their means."""
    ids, means, _ = _group_means(vectors, labels)
    means = unit_rows(means)
    similarity = means @ means.T
    np.fill_diagonal(similarity, -np.inf)
    order = np.argsort(-similarity, axis=1, kind="stable")[:, : min(NEAREST_SHOWN, len(means) - 1)]
    return [
        [(ids[other], round(float(row[other]), 4)) for other in near]
        for row, near in zip(similarity, order, strict=True)
    ]


def _group_means(vectors: Matrix, labels: Labels) -> tuple[list[int], Matrix, NDArray[np.float64]]:
    """The groups' numbers, means of unit vectors (their dot product is the mean cosine of two groups), and sizes."""
    rows = unit_rows(np.asarray(vectors))
    ids, codes = np.unique(labels, return_inverse=True)
    means, sizes = group_means(rows, codes)
    return ids.tolist(), means, sizes
