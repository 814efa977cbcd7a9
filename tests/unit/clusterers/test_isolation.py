"""The isolation forest against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

from coterie.clusterers import isolation as module
from coterie.clusterers.isolation import is_outlier, isolation


def some_rows(count: int, width: int, sparse: bool) -> np.ndarray:
    random = np.random.default_rng(0)
    rows = random.normal(size=(count, width)) * random.gamma(1, size=(count, 1))
    return (rows * (random.random(rows.shape) < 0.05) if sparse else rows).astype(np.float32)


@pytest.mark.parametrize(
    ("count", "width", "sparse"), [(41, 3, False), (72, 200, False), (600, 20, False), (150, 400, True)]
)
def test_scores_are_scikit_learns(count: int, width: int, sparse: bool) -> None:
    rows = some_rows(count, width, sparse)
    theirs, again = (-IsolationForest(random_state=seed).fit(rows).score_samples(rows) for seed in (0, 1))
    ours = isolation(rows, 0)
    # They differ no more than two of scikit-learn's do.
    assert np.corrcoef(ours, theirs)[0, 1] > np.corrcoef(again, theirs)[0, 1] - 0.02
    assert np.abs(ours - theirs).mean() < 0.02


def test_few_trees_at_a_time_make_as_good_a_forest(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = some_rows(300, 20, sparse=False)
    whole = isolation(rows, 0)
    monkeypatch.setattr(module, "NODES_AT_ONCE", 300 * 7)
    assert np.abs(isolation(rows, 0) - whole).mean() < 0.02
    assert np.corrcoef(isolation(rows, 0), whole)[0, 1] > 0.95


def test_what_lies_far_off_is_an_outlier() -> None:
    rows = np.vstack([np.random.default_rng(0).normal(size=(40, 3)), [[50, 50, 50]]]).astype(np.float32)
    outliers = is_outlier(rows, 0)
    assert outliers[40]
    assert outliers.sum() < 10


def test_rows_beside_equal_ones_are_alike_on_both_sides() -> None:
    rows = np.zeros((700, 1), dtype=np.float32)
    rows[500:] = np.random.default_rng(0).normal(size=(200, 1)) * 5
    rows[0], rows[1] = 1e-3, -1e-3
    above, below = isolation(rows, 0)[:2]
    assert above == pytest.approx(below, abs=0.01)


def test_equal_rows_are_no_outliers() -> None:
    rows = np.ones((30, 4), dtype=np.float32)
    assert not (isolation(rows, 0) > 0.5 + 1e-9).any()
    np.testing.assert_array_equal(isolation(some_rows(50, 4, False), 3), isolation(some_rows(50, 4, False), 3))
