"""Linkage against scipy's, weights against repeated rows, and micro-clusters beyond the limit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.datasets import make_blobs

from coterie.clusterers import Agglomerative, agglomerative
from coterie.clusterers.agglomerative import cut, merge_tree, pair_costs
from coterie.errors import ConfigError, InputError
from coterie.metrics.external import accuracy
from coterie.vectors import group_means


@pytest.mark.parametrize(("name", "metric"), [("average", "cosine"), ("ward", "euclidean")])
@pytest.mark.parametrize("seed", range(4))
def test_same_groups_as_scipy(name: str, metric: str, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(120, 5))
    tree = linkage(rows, name, metric=metric)
    for k in (1, 2, 7, 40, 120):
        ours = Agglomerative(k, linkage=name).fit(rows).labels_
        assert accuracy(fcluster(tree, k, "maxclust"), ours) == 1.0


def test_average_heights_are_scipys_and_ward_heights_half_their_squares() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    average = [height for height, _, _ in merge_tree(pair_costs(unit, np.ones(40), "average"), np.ones(40), "average")]
    np.testing.assert_allclose(average, linkage(rows, "average", metric="cosine")[:, 2], atol=1e-5)
    ward = [height for height, _, _ in merge_tree(pair_costs(rows, np.ones(40), "ward"), np.ones(40), "ward")]
    np.testing.assert_allclose(ward, linkage(rows, "ward")[:, 2] ** 2 / 2, rtol=1e-4)


@pytest.mark.parametrize("name", ["average", "ward"])
def test_weights_count_as_repeated_rows(name: str) -> None:
    random = np.random.default_rng(7)
    rows = random.normal(size=(30, 4))
    weights = random.integers(1, 6, size=30)
    weighted = Agglomerative(5, linkage=name).fit(rows, sample_weight=weights).labels_
    repeated = Agglomerative(5, linkage=name).fit(np.repeat(rows, weights, axis=0)).labels_
    assert accuracy(np.repeat(weighted, weights), repeated) == 1.0


@pytest.mark.parametrize("name", ["average", "ward"])
def test_beyond_the_limit_cells_are_merged(name: str) -> None:
    rows, truth = make_blobs(900, centers=6, n_features=8, cluster_std=0.5, random_state=0)
    fitted = Agglomerative(6, linkage=name, max_rows=200, random_state=0).fit(rows)
    assert len(fitted.merges_) < 50
    assert accuracy(truth, fitted.labels_) == 1.0


def test_where_memory_is_short_cells_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, truth = make_blobs(900, centers=6, n_features=8, cluster_std=0.5, random_state=0)
    assert Agglomerative(6, linkage="ward").fit(rows).n_cells_ == 900
    # A third of it for 300 x 300 distances of 4 bytes: 900 rows do not fit.
    monkeypatch.setattr(agglomerative, "available_memory", lambda: 3 * 4 * 300**2)
    fitted = Agglomerative(6, linkage="ward", random_state=0).fit(rows)
    assert fitted.n_cells_ <= 75
    assert fitted.short_of_memory_
    assert accuracy(truth, fitted.labels_) == 1.0
    assert Agglomerative(6, linkage="ward").fit(rows[:300]).n_cells_ == 300
    # Beyond the limit that holds anyway memory has a say only if there is less than that takes.
    few, many = (Agglomerative(6, max_rows=most, random_state=0).fit(rows) for most in (200, 400))
    assert (few.short_of_memory_, few.n_cells_) == (False, 50)
    assert (many.short_of_memory_, many.n_cells_) == (True, 75)
    assert [agglomerative.fitting_rows(most) for most in (100, 300, 12_000)] == [100, 300, 300]


@pytest.mark.parametrize("k", [26, 60, 120, 250])
def test_more_groups_than_cells_still_gives_that_many(k: int) -> None:
    for seed in range(12):
        # Rows in few, dense places, so that k-means loses cells on its way.
        random = np.random.default_rng(seed)
        rows = random.normal(size=(10, 4))[random.integers(10, size=300)] + 1e-4 * random.normal(size=(300, 4))
        fitted = Agglomerative(k, linkage="ward", max_rows=100, random_state=seed).fit(rows.astype(np.float32))
        assert len(np.unique(fitted.labels_)) == k == fitted.n_cells_


def test_repeated_rows_beyond_the_limit_share_a_cell_and_lose_no_group() -> None:
    rows = np.repeat(np.random.default_rng(0).normal(size=(40, 4)), 10, axis=0)
    labels = Agglomerative(40, max_rows=100, random_state=0).fit(rows).labels_
    assert len(np.unique(labels)) == 40
    assert (labels.reshape(40, 10) == labels[::10, None]).all()
    # There are 40 different rows: no more groups can be made of them.
    for max_rows in (30, 100):
        assert len(np.unique(Agglomerative(41, max_rows=max_rows, random_state=0).fit(rows).labels_)) == 40
    assert len(np.unique(cut([(0.1, 0, 1)], 5))) == 2


def test_new_rows_go_to_the_nearest_mean() -> None:
    rows = np.array([[0.0, 1], [0.1, 1], [1, 0], [1, 0.1]])
    fitted = Agglomerative(2).fit(rows)
    assert fitted.predict([[0.05, 3.0], [5.0, 0.0]]).tolist() == [fitted.labels_[0], fitted.labels_[2]]


def test_cut_and_means_by_hand() -> None:
    merges = [(0.1, 0, 1), (0.2, 2, 3), (0.9, 1, 3)]
    assert cut(merges, 2).tolist() == [0, 0, 1, 1]
    assert cut(merges, 4).tolist() == [0, 1, 2, 3]
    means, masses = group_means(np.array([[0.0], [4.0], [7.0]]), np.array([0, 0, 1]), np.array([1.0, 3.0, 2.0]))
    assert means.ravel().tolist() == [3.0, 7.0]
    assert masses.tolist() == [4.0, 2.0]


@pytest.mark.parametrize("name", ["average", "ward"])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_numbers_whose_distances_overflow_are_refused(name: str, kind: str) -> None:
    rows = np.random.default_rng(0).normal(size=(50, 4)).astype(kind)
    with pytest.raises(InputError, match=r"as large as 2\.\d*e\+20 distances overflow: divide"):
        Agglomerative(3, linkage=name).fit(np.float32(1e20) * rows)
    with pytest.raises(InputError, match="distances overflow"):
        Agglomerative(3, linkage=name).fit(rows, sample_weight=np.full(50, 1e37))
    # As large as is still allowed: every merge is finite.
    fitted = Agglomerative(3, linkage=name).fit(rows * np.float32(1e17))
    assert np.isfinite([height for height, _, _ in fitted.merges_]).all()
    np.testing.assert_array_equal(fitted.labels_, Agglomerative(3, linkage=name).fit(rows).labels_)


def test_distances_that_are_no_numbers_end_with_an_error() -> None:
    costs = pair_costs(np.random.default_rng(0).normal(size=(6, 2)), np.ones(6), "ward")
    costs[2, 3:] = costs[3:, 2] = np.nan
    with pytest.raises(InputError, match="no numbers"):
        merge_tree(costs, np.ones(6), "ward")


@pytest.mark.parametrize("seed", range(20))
def test_costs_are_the_same_from_both_sides_however_they_are_rounded(seed: int) -> None:
    """Or the chain of nearest neighbours may go round in a circle."""
    random = np.random.default_rng(seed)
    centre = random.normal(size=8)
    rows = centre * (16 / np.linalg.norm(centre)) + random.normal(scale=1e-5, size=(60, 8))
    costs = pair_costs(rows, random.integers(1, 5, size=60).astype(np.float64), "ward")
    np.testing.assert_array_equal(costs, costs.T)
    assert Agglomerative(5, linkage="ward").fit(rows).labels_.max() == 4


def test_bad_settings_are_named() -> None:
    rows = np.eye(4)
    with pytest.raises(ConfigError, match="linkage='complete'"):
        Agglomerative(2, linkage="complete").fit(rows)
    with pytest.raises(ConfigError, match="n_clusters=5"):
        Agglomerative(5).fit(rows)
    with pytest.raises(ConfigError, match="above 0"):
        Agglomerative(2).fit(rows, sample_weight=[1, 1, 0, 1])
