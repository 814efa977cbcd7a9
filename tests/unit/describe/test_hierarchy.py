"""The tree of the groups, its cuts, and the nearest groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from coterie.describe import hierarchy
from coterie.describe.hierarchy import Hierarchy, group_hierarchy, nearest_groups
from coterie.errors import ConfigError

# Four groups of two equal texts each, by the angle of their vectors: 0 and 1 are 10 degrees apart, 2 is 60 away, 3 180.
ANGLES = np.radians([0, 10, 70, 190])
VECTORS = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]).astype(np.float32).repeat(2, axis=0)
LABELS = np.arange(4).repeat(2)


def test_heights_worked_out_by_hand() -> None:
    (first, *one), (second, *two), (third, *_) = group_hierarchy(VECTORS, LABELS).merges
    assert sorted(one) == [0, 1]
    assert first == pytest.approx(1 - np.cos(np.radians(10)), abs=1e-5)
    assert 2 in two
    assert second == pytest.approx(1 - (np.cos(np.radians(70)) + np.cos(np.radians(60))) / 2, abs=1e-5)
    # 3 is 190 (so 170), 180 and 120 degrees from the others
    assert third == pytest.approx(1 - np.cos(np.radians([170, 180, 120])).mean(), abs=1e-5)


def test_every_cut() -> None:
    tree = group_hierarchy(VECTORS, LABELS)
    assert [tree.cut(n).tolist() for n in (1, 2, 3, 4)] == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 3]]


def test_larger_groups_are_numbered_by_the_first_of_their_groups() -> None:
    tree = Hierarchy([(0.1, 0, 3), (0.2, 0, 2), (0.5, 1, 0)])
    assert [tree.cut(n).tolist() for n in (2, 3)] == [[0, 1, 0, 0], [0, 1, 2, 0]]


def test_cuts_are_those_of_scipy() -> None:
    """With groups of one text each, ours is plain average linkage on the cosine."""
    vectors = np.random.default_rng(0).normal(size=(25, 6)).astype(np.float32)
    tree = group_hierarchy(vectors, np.arange(25))
    theirs = linkage(vectors, "average", metric="cosine")
    for n in (2, 5, 11, 24):
        ours, other = tree.cut(n), fcluster(theirs, n, "maxclust")
        np.testing.assert_array_equal(ours[:, None] == ours[None], other[:, None] == other[None])


@pytest.mark.parametrize("n_groups", [0, 5, -1, True, 2.0, "2", None])
def test_cut_that_cannot_be(n_groups: Any) -> None:
    with pytest.raises(ConfigError, match="the tree has 1 to 4 groups"):
        group_hierarchy(VECTORS, LABELS).cut(n_groups)


def test_one_group_is_a_tree_too() -> None:
    tree = group_hierarchy(VECTORS, np.zeros(8, dtype=np.int64))
    assert tree == Hierarchy([])
    assert tree.cut(1).tolist() == [0]
    assert nearest_groups(VECTORS, np.zeros(8, dtype=np.int64)) == [[]]


def test_nearest_groups_with_their_cosines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchy, "NEAREST_SHOWN", 2)
    near = nearest_groups(VECTORS, LABELS)
    assert [[group for group, _ in one] for one in near] == [[1, 2], [0, 2], [1, 0], [2, 0]]
    assert near[2][0][1] == pytest.approx(0.5, abs=1e-4)


def test_a_large_group_counts_by_its_texts() -> None:
    angles = np.radians([0, 0, 0, 10, 90, 90])
    vectors = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
    height = group_hierarchy(vectors, np.array([0, 0, 0, 1, 2, 2])).merges[1][0]
    assert height == pytest.approx(1 - np.cos(np.radians(80)) / 4, abs=1e-5)
