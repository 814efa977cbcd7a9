"""The graph of neighbours against brute force, and smoothing worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from coterie.features.graph import (
    _local_weights,
    main_part,
    nearest_neighbours,
    neighbour_graph,
    smoothed,
    smoothed_space,
)
from coterie.types import Matrix


def random_rows(rows: int, width: int, seed: int = 0) -> Matrix:
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


@pytest.mark.parametrize("asked", [None, [79, 0, 33]])
def test_neighbours_are_exact(asked: list[int] | None) -> None:
    """Of all rows, or of those asked for among all."""
    vectors = random_rows(80, 12) * np.linspace(0.1, 9, 80, dtype=np.float32)[:, None]
    found, similarities = nearest_neighbours(vectors, 9, None if asked is None else np.array(asked))
    unit = vectors.astype(np.float64) / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    cosine = cosine if asked is None else cosine[asked]
    expected = np.argsort(-cosine, axis=1)[:, :9]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(similarities, np.take_along_axis(cosine, expected, axis=1), atol=1e-6)


def test_a_text_is_not_its_own_neighbour_even_among_equals() -> None:
    vectors = np.repeat(random_rows(4, 6), 5, axis=0)
    found, similarities = nearest_neighbours(vectors, 4)
    for row in range(20):
        assert set(found[row].tolist()) == set(range(row // 5 * 5, row // 5 * 5 + 5)) - {row}
    np.testing.assert_allclose(similarities, 1, atol=1e-6)


def test_weights() -> None:
    vectors = random_rows(200, 70)
    graph = neighbour_graph(vectors)
    assert graph.shape == (200, 200)
    assert abs(graph - graph.T).max() < 1e-12
    assert graph.data.min() > 0
    assert graph.data.max() <= 1
    assert not graph.diagonal().any()
    # An edge where either is among the 15 nearest of the other.
    edges = np.zeros((200, 200), dtype=bool)
    np.put_along_axis(edges, nearest_neighbours(vectors, 15)[0], True, axis=1)
    np.testing.assert_array_equal(graph.toarray() > 0, edges | edges.T)
    # The nearest neighbour of each has the full weight.
    assert graph.toarray().max(axis=1) == pytest.approx(np.ones(200))


def test_two_directions_are_joined_as_probabilities() -> None:
    """Four texts, all neighbours: w = a + b - ab of the weights either gives the other."""
    vectors = random_rows(4, 3, seed=2)
    found, similarities = nearest_neighbours(vectors, 3)
    one_way = np.zeros((4, 4))
    weights = _local_weights(np.maximum(1 - similarities, 0).astype(np.float64))
    np.put_along_axis(one_way, found, weights, axis=1)
    np.testing.assert_allclose(neighbour_graph(vectors).toarray(), one_way + one_way.T - one_way * one_way.T)


def test_scale_of_each_text_is_its_own() -> None:
    distances = np.sort(np.random.default_rng(0).uniform(0.1, 1, (6, 15)), axis=1)
    distances[3] *= 1e-3
    weights = _local_weights(distances)
    np.testing.assert_allclose(weights.sum(axis=1), np.log2(16), rtol=1e-6)
    assert weights[:, 0].tolist() == [1] * 6
    assert (np.diff(weights, axis=1) < 0).all()


def test_smoothing_by_hand() -> None:
    """Edges 0-1 of weight 1 and 1-2 of weight 1/2; a half comes from the neighbours."""
    graph = csr_matrix(np.array([[0, 1, 0], [1, 0, 0.5], [0, 0.5, 0]]))
    vectors = np.array([[1, 0], [0, 1], [-1, 0]], dtype=np.float32)
    once = np.array([[1 / 2, 1 / 2], [1 / 6, 1 / 2], [-1 / 2, 1 / 2]])
    twice = np.array([[1 / 3, 1 / 2], [1 / 6, 1 / 2], [-1 / 6, 1 / 2]])
    for steps, expected in ((0, vectors), (1, once), (2, twice)):
        unit = expected / np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(smoothed(vectors, graph, 0.5, steps), unit, atol=1e-6)
    assert vectors.tolist() == [[1, 0], [0, 1], [-1, 0]]


def test_neighbours_are_looked_for_in_the_main_directions() -> None:
    vectors = random_rows(200, 70) * np.linspace(3, 0.5, 70, dtype=np.float32) + 1
    centred = vectors - vectors.mean(axis=0)
    main = centred @ np.linalg.svd(centred, full_matrices=False)[2][:50].T
    expected = smoothed(vectors, neighbour_graph(main), 0.8, 5)
    # 70 dimensions: nothing is cut away, and the space is the smoothed vectors about their mean.
    np.testing.assert_allclose(smoothed_space(vectors), expected - expected.mean(axis=0), atol=1e-5)


def test_text_without_neighbours_keeps_its_direction() -> None:
    graph = csr_matrix(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=np.float64))
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    np.testing.assert_allclose(smoothed(vectors, graph, 0.5, 3)[2], [0.6, 0.8], atol=1e-6)


@pytest.mark.parametrize("rows", [2, 3, 5, 15, 16, 17])
def test_few_rows(rows: int) -> None:
    vectors = random_rows(rows, 8)
    graph = neighbour_graph(vectors)
    assert np.isfinite(graph.data).all()
    assert ((graph.data > 0) & (graph.data <= 1)).all()
    assert np.isfinite(smoothed(vectors, graph, 0.5, 2)).all()


@pytest.mark.parametrize("distinct", [1, 2, 40])
def test_duplicates(distinct: int) -> None:
    vectors = np.tile(random_rows(distinct, 60), (80 // distinct, 1))
    graph = neighbour_graph(vectors)
    assert np.isfinite(graph.data).all()
    assert ((graph.data > 0) & (graph.data <= 1)).all()
    smooth = smoothed(vectors, graph, 0.5, 2)
    np.testing.assert_allclose(np.linalg.norm(smooth, axis=1), 1, rtol=1e-5)


def test_main_part_keeps_what_varies_most() -> None:
    rows = random_rows(100, 30) * np.linspace(10, 0.1, 30, dtype=np.float32) + 5
    centred = (rows - rows.mean(axis=0)).astype(np.float64)
    main = main_part(rows, 6)
    assert main.shape == (100, 6)
    exact = centred @ np.linalg.svd(centred, full_matrices=False)[2][:6].T
    np.testing.assert_allclose(np.abs(main), np.abs(exact), atol=1e-3)
    assert main_part(rows[:5], 6).shape == (5, 30)
