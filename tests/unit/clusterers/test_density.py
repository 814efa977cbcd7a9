"""HDBSCAN with every row in a group and exactly k groups."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from coterie.clusterers import Density
from coterie.metrics.external import accuracy


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    rows, truth = make_blobs(300, centers=5, n_features=4, cluster_std=0.4, random_state=3)
    return rows, truth


def test_finds_its_own_number_and_leaves_no_row_out(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    rows, truth = blobs
    noisy = np.vstack([rows, np.random.default_rng(0).uniform(-20, 20, size=(30, 4))])
    fitted = Density().fit(noisy)
    assert fitted.n_noise_ > 0
    assert fitted.labels_.min() == 0
    assert accuracy(truth, fitted.labels_[:300]) > 0.99


@pytest.mark.parametrize("k", [1, 2, 3, 8, 20])
def test_exactly_k_when_k_is_given(blobs: tuple[np.ndarray, np.ndarray], k: int) -> None:
    labels = Density(k, random_state=0).fit(blobs[0]).labels_
    assert len(np.unique(labels)) == k


def test_merging_joins_the_blobs_that_are_close() -> None:
    centres = np.array([[0.0, 0], [1, 0], [50, 0], [100, 0]])
    truth = np.repeat([0, 0, 1, 2], 40)
    rows = centres.repeat(40, axis=0) + np.random.default_rng(0).normal(scale=0.1, size=(160, 2))
    assert accuracy(truth, Density(3).fit(rows).labels_) == 1.0


def test_equal_rows_can_still_be_split_and_all_noise_is_one_group() -> None:
    assert len(np.unique(Density(3, random_state=0).fit(np.ones((12, 2))).labels_)) == 3
    far_apart = np.arange(8.0)[:, None] ** 3
    assert Density(min_cluster_size=8).fit(far_apart).labels_.tolist() == [0] * 8
