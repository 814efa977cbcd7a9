"""Isolation forest: rows that few random cuts set apart from the others are outliers (Liu, Ting and Zhou 2008).

Our own rather than scikit-learn's because that builds tree by tree in Python objects: for the small groups that are
searched here, all trees level by level take a twentieth of the time.
"""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

TREES = 100
ROWS_A_TREE = 256
OUTLIER = 0.5
DRAWS = 16
"""So often a node looks for a coordinate in which its rows differ; sparse rows are the same in most."""
NODES_AT_ONCE = 1 << 22
"""Of all rows in some trees: where rows are many, few trees grow at a time, so that memory does not grow with both."""


def is_outlier(rows: NDArray[Any], random_state: int) -> NDArray[np.bool_]:
    return isolation(rows, random_state) > OUTLIER


def isolation(rows: NDArray[Any], random_state: int) -> NDArray[np.float64]:
    """2^(-depth / depth expected): above 0.5 where a row is sooner alone than a row in as many would be on average."""
    random = np.random.default_rng(random_state)
    at_once = min(TREES, max(1, NODES_AT_ONCE // len(rows)))
    portions = [min(at_once, TREES - start) for start in range(0, TREES, at_once)]
    depth = sum(_depths(rows, trees, random) for trees in portions) / TREES
    return np.asarray(2.0 ** (-depth / _expected_depth(np.array([max(2, min(ROWS_A_TREE, len(rows)))]))))


def _depths(rows: NDArray[Any], trees: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Of every row, added up over so many trees, which grow together level by level."""
    size = min(ROWS_A_TREE, len(rows))
    grown_from = np.stack([random.permutation(len(rows))[:size] for _ in range(trees)])
    # A row's node in every tree. Children of node i are 2 i and 2 i + 1; where nothing is cut, all go on as 2 i.
    node = np.tile(np.arange(trees)[:, None], len(rows))
    depth = np.zeros(node.shape)
    for level in range(ceil(log2(max(size, 2)))):
        values, low, high = _values(rows, node, grown_from, trees << level, random)
        cut = low + np.where(high > low, high - low, 0) * random.random(len(low))
        is_cut = (high > low)[node]
        depth += is_cut
        node = 2 * node + (is_cut & (values > cut[node]))
    left = np.bincount(np.take_along_axis(node, grown_from, axis=1).ravel(), minlength=int(node.max()) + 1)
    depth += _expected_depth(left)[node]
    return np.asarray(depth.sum(axis=0))


def _values(
    rows: NDArray[Any], node: NDArray[np.int64], grown_from: NDArray[np.int64], nodes: int, random: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """A coordinate of every row, drawn for each node; its least and largest values in a node's part of the sample."""
    member = np.take_along_axis(node, grown_from, axis=1)
    several = np.bincount(member.ravel(), minlength=nodes) > 1
    coordinate = random.integers(rows.shape[1], size=nodes)
    for _ in range(DRAWS):
        values = rows[np.arange(len(rows)), coordinate[node]]
        sample = np.take_along_axis(values, grown_from, axis=1)
        low, high = np.full(nodes, np.inf), np.full(nodes, -np.inf)
        np.minimum.at(low, member, sample)
        np.maximum.at(high, member, sample)
        all_equal = np.flatnonzero(several & (low == high))
        if len(all_equal) == 0:
            break
        coordinate[all_equal] = random.integers(rows.shape[1], size=len(all_equal))
    return values, low, high


def _expected_depth(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of a row in a random tree of so many rows: the mean length of an unsuccessful search."""
    others = np.maximum(sizes - 1, 1)
    search = 2 * (np.log(others) + np.euler_gamma) - 2 * others / (others + 1)
    return np.asarray(np.where(sizes > 2, search, sizes == 2), dtype=np.float64)
