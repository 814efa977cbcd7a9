"""MAP and MRR: numbers worked out by hand, and scikit-learn's average precision query by query."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score
from sklearn.metrics.pairwise import cosine_similarity

from coterie.metrics import retrieval
from coterie.metrics.retrieval import Retrieval, judged_retrieval, ranking_scores, same_class_retrieval

# Similarities, which are relevant, average precision, reciprocal rank.
WORKED = {
    "first and third of four": ([0.9, 0.8, 0.7, 0.6], "1010", (1 / 1 + 2 / 3) / 2, 1.0),
    "second and last": ([0.9, 0.8, 0.7, 0.6], "0101", (1 / 2 + 2 / 4) / 2, 1 / 2),
    "in another order": ([0.6, 0.9, 0.7, 0.8], "1001", (1 / 2 + 2 / 4) / 2, 1 / 2),
    "all relevant": ([0.1, 0.2, -0.3], "111", 1.0, 1.0),
    "equals share the last of their places": ([0.5, 0.5], "10", 1 / 2, 1 / 2),
    "whichever comes first": ([0.5, 0.5], "01", 1 / 2, 1 / 2),
    "both of two equals": ([0.5, 0.5, 0.9], "110", 2 / 3, 1 / 3),
    "one above two equals": ([0.5, 0.9, 0.5], "110", (1 / 1 + 2 / 3) / 2, 1.0),
}


@pytest.mark.parametrize("case", WORKED)
def test_one_query_by_hand(case: str) -> None:
    similarities, marks, precision, reciprocal = WORKED[case]
    relevant = np.array([mark == "1" for mark in marks])
    assert ranking_scores(np.array(similarities), relevant) == pytest.approx((precision, reciprocal))


def test_nothing_relevant_is_no_score() -> None:
    assert ranking_scores(np.array([0.5, 0.1]), np.array([False, False])) is None


def of_sklearn(similarities: NDArray[np.float64], relevant: NDArray[np.bool_]) -> tuple[float, float]:
    best = similarities[relevant].max()
    return average_precision_score(relevant, similarities), 1 / (similarities >= best).sum()


def test_average_precision_is_that_of_sklearn_ties_included() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        size = int(rng.integers(2, 40))
        similarities = rng.integers(0, rng.integers(2, 60), size) / 60  # few values, so many are equal
        relevant = rng.random(size) < 0.3
        relevant[rng.integers(size)] = True
        assert ranking_scores(similarities, relevant) == pytest.approx(of_sklearn(similarities, relevant))


def expected_of(vectors: NDArray[np.float32], classes: NDArray[np.int64]) -> Retrieval:
    similarity = np.round(cosine_similarity(vectors.astype(np.float64)), 6)
    scores = []
    for row in range(len(classes)):
        others = np.arange(len(classes)) != row
        relevant = (classes == classes[row])[others]
        if relevant.any():
            scores.append(of_sklearn(similarity[row][others], relevant))
    means = np.mean(scores, axis=0)
    return Retrieval(means[0], means[1], len(scores), len(classes) - len(scores))


def test_same_class_neighbours_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "QUERIES_AT_ONCE", 7)
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(45, 8)).astype(np.float32) * rng.uniform(0.1, 9, (45, 1)).astype(np.float32)
    classes = rng.integers(0, 5, 45)
    classes[11] = 99  # the only one of its kind
    told: list[tuple[str, int, int]] = []
    found = same_class_retrieval(vectors, classes, lambda *args: told.append(args))
    expected = expected_of(vectors, classes)
    assert (found.queries, found.left_out) == (expected.queries, expected.left_out) == (44, 1)
    assert (found.map, found.mrr) == pytest.approx((expected.map, expected.mrr), abs=1e-9)
    assert told[-1] == ("ranking", 45, 45)
    order = rng.permutation(45)
    again = same_class_retrieval(vectors[order], classes[order])
    assert (again.map, again.mrr) == pytest.approx((found.map, found.mrr), abs=1e-12)


def test_equal_rows_by_hand() -> None:
    """Row 0 finds row 1 before its fellow row 2; to row 2 the rows 0 and 1 are equal; row 1 has no fellow."""
    vectors = np.array([[2, 0], [2, 0], [0, 1]], dtype=np.float32)
    found = same_class_retrieval(vectors, np.array([0, 1, 0]))
    assert (found.map, found.mrr, found.queries, found.left_out) == (0.5, 0.5, 2, 1)


def test_equal_rows_are_equal_wherever_they_stand() -> None:
    """Products of the same numbers round differently by their place in a matrix, and one digit would break the tie."""
    rng = np.random.default_rng(2)
    for rows, width in itertools.product((5, 7, 9, 17, 33, 101), (8, 64, 384)):
        vectors = rng.normal(size=(3, width)).astype(np.float32)[rng.integers(0, 3, rows)]
        classes = np.arange(rows) % 2
        found, expected = same_class_retrieval(vectors, classes), expected_of(vectors, classes)
        assert (found.map, found.mrr) == pytest.approx((expected.map, expected.mrr), abs=1e-9)


def test_rows_without_direction_are_like_nothing() -> None:
    """Zeros (a text without a known word) have similarity 0 to all: each of three others ranks third."""
    vectors = np.array([[0, 0], [1, 0], [0, 1], [0, 0]], dtype=np.float32)
    found = same_class_retrieval(vectors, np.array([0, 1, 2, 0]))
    assert (found.map, found.mrr, found.queries) == (pytest.approx(1 / 3), pytest.approx(1 / 3), 2)


def test_no_class_has_two_rows() -> None:
    found = same_class_retrieval(np.eye(3, dtype=np.float32), np.arange(3))
    assert math.isnan(found.map)
    assert math.isnan(found.mrr)
    assert (found.queries, found.left_out) == (0, 3)


def test_similarities_of_all_pairs_are_never_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "QUERIES_AT_ONCE", 64)
    vectors = np.random.default_rng(3).normal(size=(2000, 4)).astype(np.float32)
    tracemalloc.start()
    try:
        same_class_retrieval(vectors, np.arange(2000) % 500)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2000 * 2000 * 4 / 4


def test_judged_pairs_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Query 0 looks along x, query 1 along y; their candidates come in between each other, in any order.

    Query 0 finds candidate 0 (1.0, right), 2 (0.6, wrong), 1 (0, right): (1 / 1 + 2 / 3) / 2. Query 1 finds candidate 1
    (1.0, wrong) and 2 (0.8, right): 1 / 2. Query 2 has nothing right.
    """
    monkeypatch.setattr(retrieval, "PAIRS_AT_ONCE", 2)
    queries = np.array([[3, 0], [0, 2], [1, 1]], dtype=np.float32)
    candidates = np.array([[5, 0], [0, 1], [60, 80]], dtype=np.float32)
    pairs = np.array([(0, 2), (1, 2), (0, 0), (2, 1), (1, 1), (0, 1)])
    relevant = np.array([False, True, True, False, False, True])
    found = judged_retrieval(queries, candidates, pairs, relevant)
    assert (found.map, found.mrr) == pytest.approx(((5 / 6 + 1 / 2) / 2, (1 + 1 / 2) / 2))
    assert (found.queries, found.left_out) == (2, 1)
