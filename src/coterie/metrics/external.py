"""Scores of a grouping against a truth. None of them depends on how groups are numbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.numbered import numbered
from coterie.errors import InputError


def contingency(truth: Sequence[Any], labels: Sequence[Any]) -> NDArray[np.int64]:
    """Counts of rows by (true class, group)."""
    truth_codes, label_codes = _codes(truth), _codes(labels)
    if len(truth_codes) != len(label_codes):
        raise InputError(f"{len(truth_codes)} true labels for {len(label_codes)} rows: give one for each row")
    if len(truth_codes) == 0:
        raise InputError("no rows to score: give at least one row")
    table = np.zeros((truth_codes.max() + 1, label_codes.max() + 1), dtype=np.int64)
    np.add.at(table, (truth_codes, label_codes), 1)
    return table


def accuracy(truth: Sequence[Any], labels: Sequence[Any]) -> float:
    """Share of rows that agree under the best one-to-one matching of groups to classes."""
    from scipy.optimize import linear_sum_assignment

    table = contingency(truth, labels)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / table.sum())


def purity(truth: Sequence[Any], labels: Sequence[Any]) -> float:
    """Share of rows in the commonest class of their group."""
    table = contingency(truth, labels)
    return float(table.max(axis=0).sum() / table.sum())


def external_scores(truth: Sequence[Any], labels: Sequence[Any]) -> dict[str, float]:
    """Every score, by the names of `metrics.json`; `nmi` is the geometric one of the papers."""
    from sklearn import metrics

    truth_codes, label_codes = _codes(truth), _codes(labels)
    return {
        "acc": accuracy(truth, labels),
        "nmi": float(metrics.normalized_mutual_info_score(truth_codes, label_codes, average_method="geometric")),
        "nmi_arithmetic": float(metrics.normalized_mutual_info_score(truth_codes, label_codes)),
        "ari": float(metrics.adjusted_rand_score(truth_codes, label_codes)),
        "purity": purity(truth, labels),
        "ami": float(metrics.adjusted_mutual_info_score(truth_codes, label_codes)),
    }


def _codes(values: Sequence[Any]) -> NDArray[np.int64]:
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return np.asarray(np.unique(values, return_inverse=True)[1].reshape(-1), dtype=np.int64)
    return numbered(values)[1]
