"""Scores by shape, against scikit-learn and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from coterie.metrics import internal
from coterie.metrics.internal import dunn_index, evenness, internal_scores, silhouette, silhouettes
from coterie.types import Labels, Matrix
from coterie.vectors import unit_rows


def blobs(rows: int = 90, groups: int = 4, seed: int = 0) -> tuple[Matrix, Labels]:
    random = np.random.default_rng(seed)
    labels = random.integers(0, groups, rows)
    vectors = random.normal(size=(rows, 7)) + 2 * random.normal(size=(groups, 7))[labels]
    return vectors.astype(np.float32), labels


@pytest.mark.parametrize("rows_at_once", [13, 8192])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_silhouette_is_scikit_learns(seed: int, rows_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal, "ROWS_AT_ONCE", rows_at_once, raising=False)
    vectors, labels = blobs(seed=seed)
    expected = silhouette_score(vectors.astype(np.float64), labels, metric="cosine")
    assert silhouette(vectors, labels) == pytest.approx(expected, abs=1e-5)


def test_silhouette_with_groups_of_one_row_and_gaps_in_the_numbers() -> None:
    vectors, labels = blobs()
    labels = labels * 3 + 2
    labels[5], labels[50] = 99, 40
    expected = silhouette_score(vectors.astype(np.float64), labels, metric="cosine")
    assert silhouette(vectors, labels) == pytest.approx(expected, abs=1e-5)


def test_silhouette_by_hand() -> None:
    """Two opposite pairs, each pair at a right angle: within 1, to the others (1 + 2) / 2, so 1 - 1 / 1.5 each."""
    vectors = np.array([[1, 0], [0, 2], [-3, 0], [0, -4]], dtype=np.float32)
    assert silhouette(vectors, np.array([0, 0, 1, 1])) == pytest.approx(1 / 3, abs=1e-6)


def test_dunn_by_hand() -> None:
    """Groups {0, 3} and {10, 14} on a line: nearest 7 apart, the widest 4 across."""
    vectors = np.array([[0, 0], [3, 0], [10, 0], [14, 0]], dtype=np.float32)
    assert dunn_index(vectors, np.array([0, 0, 1, 1])) == pytest.approx(7 / 4)
    assert dunn_index(vectors, np.array([0, 1, 0, 1])) == pytest.approx(3 / 11)


def test_dunn_is_brute_force() -> None:
    vectors, labels = blobs(rows=40)
    between, within = math.inf, 0.0
    for i in range(40):
        for j in range(i):
            distance = float(np.linalg.norm(vectors[i].astype(np.float64) - vectors[j]))
            if labels[i] == labels[j]:
                within = max(within, distance)
            else:
                between = min(between, distance)
    assert dunn_index(vectors, labels) == pytest.approx(between / within, rel=1e-5)


def test_dunn_of_points() -> None:
    """Groups without width are infinitely apart, rounding or not."""
    assert dunn_index(np.eye(3, dtype=np.float32), np.arange(3)) == math.inf
    rows = np.random.default_rng(0).normal(size=(2, 50)).astype(np.float32)
    vectors, labels = np.repeat(rows, 20, axis=0), np.repeat(np.arange(2), 20)
    assert dunn_index(vectors, labels) == math.inf


def test_dunn_of_many_rows_looks_at_a_fixed_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, labels = blobs(rows=200)
    whole = dunn_index(vectors, labels)
    monkeypatch.setattr(internal, "DUNN_ROWS", 50)
    assert dunn_index(vectors, labels) == dunn_index(vectors, labels)
    assert dunn_index(vectors, labels) >= whole


def test_one_group_has_no_score() -> None:
    vectors, _ = blobs(rows=20)
    scores = internal_scores(vectors, np.zeros(20, dtype=np.int64))
    assert set(scores) == {"silhouette", "dunn"}
    assert all(math.isnan(value) for value in scores.values())


def test_as_many_groups_as_rows_have_no_silhouette() -> None:
    vectors, _ = blobs(rows=20)
    assert math.isnan(silhouette(vectors, np.arange(20)))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([2, 2, 2], 1.0),
        ([3, 1], 0.8774),  # shares 3/4 and 1/4: entropy 0.5623, its exponential 1.7548
        ([5, 5, 0, 0], 0.5),  # as even as two, and four were asked for
        ([4], 1.0),
    ],
)
def test_evenness_is_the_number_of_equal_groups_with_the_same_entropy(sizes: list[int], expected: float) -> None:
    assert evenness(np.array(sizes)) == pytest.approx(expected, abs=1e-4)


def test_equal_rows_in_two_groups_are_on_the_border() -> None:
    """Their distances are rounding errors, of either sign."""
    random = np.random.default_rng(0)
    vectors = unit_rows(random.normal(size=(3, 484)).astype(np.float32))[[0] * 14 + [1] * 13 + [2] * 13]
    labels = np.array([0] * 7 + [3] * 7 + [1] * 13 + [2] * 13)
    found = silhouettes(vectors, labels)
    assert np.abs(found).max() <= 1
    assert np.abs(found[:14]).max() < 0.2
    assert found[14:].min() > 0.9
