"""The examples of groups: near the centre, unlike each other, each text once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from coterie.describe.examples import group_borderline, group_examples
from coterie.types import Matrix


def around(centre: list[float], angles: list[float]) -> Matrix:
    """Unit vectors of two dimensions turned from the centre by so many degrees."""
    turned = np.arctan2(centre[1], centre[0]) + np.radians(angles)
    return np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)


def test_nearest_to_the_centre_comes_first() -> None:
    vectors = np.vstack([around([1, 0], [-40, 3, 40, 20, -20]), around([0, 1], [-30, 30, -1])])
    texts = [f"text {row}" for row in range(8)]
    examples = group_examples(texts, vectors, np.array([0] * 5 + [1] * 3), 2)
    assert [group[0] for group in examples] == [1, 7]
    assert [sorted(group) for group in examples] == [[0, 1, 2, 3, 4], [5, 6, 7]]


def test_next_example_is_unlike_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows 0 and 1 are nearly the same and nearest to the mean; rows 2 and 3 are further off, but new."""
    vectors = np.eye(3, dtype=np.float32)[[0, 0, 1, 2]] + np.float32(0.3)
    vectors[1, 0] += 0.01
    texts = ["first", "nearly the first", "second", "third"]
    monkeypatch.setattr("coterie.describe.examples.EXAMPLES_PER_GROUP", 3)
    chosen = group_examples(texts, vectors, np.zeros(4, dtype=np.int64), 1)[0]
    assert chosen[0] in (0, 1)
    assert set(chosen[1:]) == {2, 3}


def test_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Balance worked out apart from the code, one example after the other."""
    vectors = around([1, 0], [0, 2, -5, 35, -38, 60])
    texts = list("abcdef")
    unit = vectors.astype(np.float64)
    mean = unit.mean(axis=0) / np.linalg.norm(unit.mean(axis=0))
    expected: list[int] = []
    while len(expected) < 4:
        scores = [
            unit[row] @ mean - 0.5 * max([0.0, *(unit[row] @ unit[other] for other in expected)])
            if row not in expected
            else -9
            for row in range(6)
        ]
        expected.append(int(np.argmax(scores)))
    monkeypatch.setattr("coterie.describe.examples.EXAMPLES_PER_GROUP", 4)
    assert group_examples(texts, vectors, np.zeros(6, dtype=np.int64), 1) == [expected]


def test_length_of_vectors_is_no_matter() -> None:
    vectors = around([1, 1], [-40, 3, 40, 20, -20, 7])
    labels = np.zeros(6, dtype=np.int64)
    longer = vectors * np.array([[9], [0.1], [2], [5], [1], [3]], dtype=np.float32)
    assert group_examples(list("abcdef"), longer, labels, 1) == group_examples(list("abcdef"), vectors, labels, 1)


def test_equal_texts_are_shown_once() -> None:
    vectors = around([1, 0], [0, 0, 0, 10, 10, 30])
    examples = group_examples(["a", "a", "a", "b", "b", "c"], vectors, np.zeros(6, dtype=np.int64), 1)[0]
    assert sorted(examples) == [0, 3, 5]


def test_fewer_in_a_small_group() -> None:
    vectors = around([1, 0], [0, 1, 2, 3, 4, 5, 6, 180])
    examples = group_examples([f"text {i}" for i in range(8)], vectors, np.array([0] * 7 + [1]), 2)
    assert [len(group) for group in examples] == [5, 1]
    assert examples[1] == [7]


def test_group_without_rows() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert group_examples(["a", "b"], around([1, 0], [0, 1]), np.array([0, 0]), 2)[1] == []


@pytest.mark.parametrize("seed", [0, 1])
def test_deterministic_distinct_and_of_the_group(seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(300, 8)).astype(np.float32)
    labels = random.integers(0, 4, 300)
    texts = [f"text {i // 2}" for i in range(300)]
    first = group_examples(texts, vectors, labels, 4)
    assert first == group_examples(texts, vectors.copy(), labels.copy(), 4)
    for group, rows in enumerate(first):
        assert len(rows) == 5
        assert len({texts[row] for row in rows}) == 5
        assert all(labels[row] == group for row in rows)
        assert all(isinstance(row, int) for row in rows)


def test_borderline_texts_are_the_closest_calls_and_name_the_other_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.describe.examples.BORDERLINE_PER_GROUP", 2)
    probabilities = np.array(
        [[0.9, 0.1, 0.0], [0.5, 0.1, 0.4], [0.45, 0.44, 0.11], [0.45, 0.44, 0.11], [0.1, 0.7, 0.2], [0.0, 0.0, 1.0]],
        dtype=np.float32,
    )
    texts = ["clear", "near the third", "near the second", "near the second", "second", "third"]
    found = group_borderline(texts, probabilities, probabilities.argmax(axis=1))
    assert found == [[(2, 1), (1, 2)], [(4, 2)], [(5, 0)]]


def test_one_group_has_no_border() -> None:
    assert group_borderline(["a", "b"], np.ones((2, 1), dtype=np.float32), np.zeros(2, dtype=np.int64)) == [[]]
