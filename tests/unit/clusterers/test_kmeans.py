"""k-means against scikit-learn's, and the promises scikit-learn does not make."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.datasets import make_blobs

from coterie.clusterers import KMeans, SphericalKMeans
from coterie.clusterers.kmeans import nearest_centres
from coterie.errors import ConfigError
from coterie.metrics.external import accuracy
from coterie.vectors import unit_rows


def cloud(rows: int = 600, width: int = 20, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def test_recovers_well_separated_blobs() -> None:
    rows, truth = make_blobs(400, centers=8, n_features=5, cluster_std=0.3, random_state=1)
    assert accuracy(truth, KMeans(8, random_state=0).fit(rows).labels_) == 1.0


def test_inertia_is_as_low_as_sklearns() -> None:
    rows = cloud()
    ours = KMeans(12, n_init=10, random_state=0).fit(rows)
    theirs = SklearnKMeans(12, n_init=10, random_state=0).fit(rows)
    assert ours.inertia_ <= theirs.inertia_ * 1.005


def test_centres_are_the_means_of_their_rows_and_inertia_is_theirs() -> None:
    rows = cloud(200, 4).astype(np.float64)
    fitted = KMeans(5, random_state=3, tol=0).fit(rows)
    for group in range(5):
        np.testing.assert_allclose(
            fitted.cluster_centers_[group], rows[fitted.labels_ == group].mean(axis=0), atol=1e-9
        )
    expected = ((rows - fitted.cluster_centers_[fitted.labels_]) ** 2).sum()
    assert fitted.inertia_ == pytest.approx(expected)


def test_weights_count_as_repeated_rows_once_the_seeds_agree() -> None:
    rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    fitted = KMeans(2, random_state=0).fit(rows, sample_weight=[3, 1, 1, 1])
    assert sorted(fitted.cluster_centers_.ravel()) == pytest.approx([0.25, 10.5])


def test_every_group_has_a_row_even_when_most_rows_are_equal() -> None:
    rows = np.vstack([np.zeros((50, 3)), np.eye(3)])
    labels = KMeans(4, random_state=0).fit(rows).labels_
    assert len(np.unique(labels)) == 4


def test_same_seed_same_result_and_predict_gives_the_labels() -> None:
    rows = cloud()
    first, second = KMeans(9, random_state=5).fit(rows), KMeans(9, random_state=5).fit(rows)
    np.testing.assert_array_equal(first.cluster_centers_, second.cluster_centers_)
    np.testing.assert_array_equal(first.predict(rows), first.labels_)


def test_chunks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, centres = cloud(100), cloud(7, seed=1)
    whole = nearest_centres(rows, centres)
    monkeypatch.setattr("coterie.clusterers.kmeans.CHUNK_CELLS", 60)
    in_chunks = nearest_centres(rows, centres)
    np.testing.assert_array_equal(whole[0], in_chunks[0])
    brute = ((rows[:, None, :] - centres[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(whole[0], brute.argmin(axis=1))
    np.testing.assert_allclose(whole[1], brute.min(axis=1), rtol=1e-4)


def test_no_copy_of_the_rows_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.clusterers.kmeans.CHUNK_CELLS", 1 << 16)
    rows = cloud(20_000, 100)
    tracemalloc.start()
    try:
        KMeans(3, n_init=1, max_iter=3, random_state=0).fit(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.6 * rows.nbytes


def test_spherical_looks_at_directions_only() -> None:
    directions = unit_rows(cloud(3, 6, seed=2))
    lengths = np.random.default_rng(0).uniform(0.1, 50, size=(90, 1))
    noise = 0.01 * cloud(90, 6, seed=3)
    truth = np.repeat([0, 1, 2], 30)
    rows = lengths * (directions[truth] + noise)
    fitted = SphericalKMeans(3, random_state=0).fit(rows)
    assert accuracy(truth, fitted.labels_) == 1.0
    np.testing.assert_allclose(np.linalg.norm(fitted.cluster_centers_, axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("k", [0, 11])
def test_impossible_numbers_of_groups_are_refused(k: int) -> None:
    with pytest.raises(ConfigError, match=f"n_clusters={k}"):
        KMeans(k).fit(cloud(10))


def test_first_centres_that_are_given() -> None:
    rows = cloud(300, 4).astype(np.float64)
    first = rows[[3, 50, 200]]
    ours = KMeans(3, init=first, n_init=7, tol=0).fit(rows)
    theirs = SklearnKMeans(3, init=first, n_init=1, tol=0).fit(rows)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-9)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(first, rows[[3, 50, 200]])
    turned = KMeans(3, init=first[::-1], tol=0).fit(rows)
    np.testing.assert_array_equal(turned.labels_, 2 - ours.labels_)


def test_first_centres_on_the_sphere() -> None:
    rows = cloud(300, 4).astype(np.float64)
    near, far = (SphericalKMeans(3, init=scale * rows[:3]).fit(rows) for scale in (1, 100))
    np.testing.assert_allclose(near.cluster_centers_, far.cluster_centers_)


@pytest.mark.parametrize("shape", [(2, 4), (3, 5)])
def test_first_centres_of_another_shape(shape: tuple[int, int]) -> None:
    with pytest.raises(
        ConfigError, match=r"init has the shape .*, and the first centres of 3 groups would have \(3, 4\)"
    ):
        KMeans(3, init=np.zeros(shape)).fit(cloud(10, 4))


def test_a_group_without_rows_starts_again_at_the_farthest_row() -> None:
    means = KMeans(3, init=np.array([[0.0], [10.0], [1000.0]])).fit(np.array([[0.0], [1], [10], [11], [30]]))
    assert means.cluster_centers_.ravel().tolist() == [0.5, 10.5, 30]


@given(seed=st.integers(0, 2**32 - 1))
@example(231)
@example(288)
def test_a_weighted_group_that_loses_its_last_row_leaves_no_rounding_behind(seed: int) -> None:
    """Rows that are equal or all but: groups empty and nothing is far enough away to fill them."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(random.integers(2, 6), random.integers(1, 20))) * 10 ** random.uniform(-3, 2)
    rows = points[random.integers(0, len(points), size=random.integers(10, 200))]
    rows += 1e-6 * random.normal(size=rows.shape) * (random.random(rows.shape) < 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        means = KMeans(random.integers(2, 9), n_init=2, random_state=0).fit(
            rows.astype(np.float32), sample_weight=random.random(len(rows))
        )
    assert np.isfinite(means.inertia_)
    assert np.abs(means.cluster_centers_).max() <= 1.001 * np.abs(rows).max()
