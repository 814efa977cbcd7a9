"""Scores of a grouping against a truth. None of them depends on how groups are numbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.numbered import numbered
from coterie.errors import InputError

MOST_CELLS = 50_000_000
"""A table with more takes gigabytes when groups are matched. Only values that are ids need one."""


def contingency(truth: Sequence[Any], labels: Sequence[Any]) -> NDArray[np.int64]:
    """Counts of rows by (true class, group)."""
    return _table(*_coded(truth, labels))


def accuracy(truth: Sequence[Any], labels: Sequence[Any]) -> float:
    """Share of rows that agree under the best one-to-one matching of groups to classes."""
    return _matched_share(contingency(truth, labels))


def purity(truth: Sequence[Any], labels: Sequence[Any]) -> float:
    """Share of rows in the commonest class of their group."""
    return _commonest_share(contingency(truth, labels))


def external_scores(truth: Sequence[Any], labels: Sequence[Any]) -> dict[str, float]:
    """Every score, by the names of `metrics.json`; `nmi` is the geometric one of the papers."""
    from sklearn import metrics

    codes = _coded(truth, labels)
    table = _table(*codes)
    return {
        "acc": _matched_share(table),
        "nmi": float(metrics.normalized_mutual_info_score(*codes, average_method="geometric")),
        "nmi_arithmetic": float(metrics.normalized_mutual_info_score(*codes)),
        "ari": float(metrics.adjusted_rand_score(*codes)),
        "purity": _commonest_share(table),
        "ami": float(metrics.adjusted_mutual_info_score(*codes)),
    }


def check_scorable(classes: int, groups: int) -> None:
    """Whether so many true classes can be compared with so many groups."""
    if classes * groups > MOST_CELLS:
        raise InputError(
            f"{classes:,} different true labels and {groups:,} different groups: too many to match with each other. "
            "Labels that are different in nearly every row look like ids: give those that name groups."
        )


def _coded(truth: Sequence[Any], labels: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    classes, groups = _codes(truth), _codes(labels)
    if len(classes) != len(groups):
        raise InputError(f"{len(classes)} true labels for {len(groups)} rows: give one for each row")
    if len(classes) == 0:
        raise InputError("no rows to score: give at least one row")
    return classes, groups


def _table(classes: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    shape = int(classes.max()) + 1, int(groups.max()) + 1
    check_scorable(*shape)
    table = np.zeros(shape, dtype=np.int64)
    np.add.at(table, (classes, groups), 1)
    return table


def _matched_share(table: NDArray[np.int64]) -> float:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / table.sum())


def _commonest_share(table: NDArray[np.int64]) -> float:
    return float(table.max(axis=0).sum() / table.sum())


def _codes(values: Sequence[Any]) -> NDArray[np.int64]:
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return np.asarray(np.unique(values, return_inverse=True)[1].reshape(-1), dtype=np.int64)
    return numbered(values)[1]
