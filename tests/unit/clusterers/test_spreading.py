import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import coterie.clusterers.spreading as spreading
from coterie.clusterers.spreading import spread_groups


def random_graph(rows: int, seed: int, edges: float = 0.3) -> csr_matrix:
    random = np.random.default_rng(seed)
    weights = np.triu(random.uniform(size=(rows, rows)) * (random.uniform(size=(rows, rows)) < edges), 1)
    return csr_matrix(weights + weights.T)


@pytest.mark.parametrize("at_a_time", [1, 2, 64])
def test_against_the_closed_form(at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """F = (1 - a) (I - a S)^-1 Y, whichever groups are reckoned together."""
    monkeypatch.setattr(spreading, "GROUPS_AT_A_TIME", at_a_time)
    monkeypatch.setattr(spreading, "STEPS", 400)
    labels = np.random.default_rng(1).integers(5, size=60)
    graph = random_graph(60, seed=2, edges=0.08)
    degree = graph.toarray().sum(axis=1)
    along = graph.toarray() / np.sqrt(degree[:, None] * degree)
    reached = np.linalg.solve(np.eye(60) - 0.9 * along, np.eye(5)[labels])
    expected = reached.argmax(axis=1)
    assert (expected != labels).sum() > 3
    assert len(set(expected.tolist())) == 5
    np.testing.assert_array_equal(spread_groups(labels, graph, 5), expected)


def test_a_stray_text_joins_its_neighbours() -> None:
    """Two cliques of five; the last text of the first was put in the second's group."""
    clique = np.ones((5, 5)) - np.eye(5)
    graph = csr_matrix(np.kron(np.eye(2), clique))
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    assert spread_groups(labels, graph, 2).tolist() == [0] * 5 + [1] * 5


def test_a_group_that_would_be_lost_stays() -> None:
    graph = csr_matrix(np.ones((6, 6)) - np.eye(6))
    labels = np.array([0, 0, 0, 0, 0, 1])
    assert spread_groups(labels, graph, 2).tolist() == labels.tolist()


def test_texts_without_neighbours_stay() -> None:
    labels = np.array([2, 0, 1, 1])
    assert spread_groups(labels, csr_matrix((4, 4)), 3).tolist() == [2, 0, 1, 1]


@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 100))
def test_no_group_is_lost_or_found(rows: int, k: int, seed: int) -> None:
    labels = np.random.default_rng(seed).integers(k, size=rows)
    spread = spread_groups(labels, random_graph(rows, seed), k)
    assert set(spread.tolist()) == set(labels.tolist())
