"""Pairs that training has moved most: those of a look at every pair, whatever the blocks."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from coterie.describe import moved
from coterie.describe.moved import KINDS, moved_pairs

CLOSER, APART = "same group, moved closer", "same group, moved apart"
OTHERS_CLOSER, OTHERS_APART = "different groups, moved closer", "different groups, moved apart"
CLOSE = "same group, close before and after"


def cosine(rows: NDArray[np.float32], one: int, other: int) -> float:
    a, b = rows[one].astype(float), rows[other].astype(float)
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def by_looking_at_all(
    before: NDArray[np.float32], after: NDArray[np.float32], groups: NDArray[np.int64], count: int
) -> dict[str, list[tuple[int, int]]]:
    pairs = list(itertools.combinations(range(len(groups)), 2))
    was = {pair: cosine(before, *pair) for pair in pairs}
    now = {pair: cosine(after, *pair) for pair in pairs}
    same = [(one, other) for one, other in pairs if groups[one] == groups[other]]
    different = [pair for pair in pairs if pair not in set(same)]
    return {
        CLOSER: sorted(same, key=lambda pair: was[pair] - now[pair])[:count],
        APART: sorted(same, key=lambda pair: now[pair] - was[pair])[:count],
        OTHERS_CLOSER: sorted(different, key=lambda pair: was[pair] - now[pair])[:count],
        OTHERS_APART: sorted(different, key=lambda pair: now[pair] - was[pair])[:count],
        CLOSE: sorted(same, key=lambda pair: -min(was[pair], now[pair]))[:count],
    }


@pytest.mark.parametrize("rows_at_once", [1, 7, 64, 1000])
def test_the_best_of_all_pairs(monkeypatch: pytest.MonkeyPatch, rows_at_once: int) -> None:
    monkeypatch.setattr(moved, "ROWS_AT_ONCE", rows_at_once)
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(2, 64, 6)).astype(np.float32)
    before *= rng.uniform(0.1, 5, (64, 1)).astype(np.float32)
    groups = rng.integers(0, 4, 64)
    told: list[tuple[str, int, int]] = []
    found = moved_pairs(before, after, groups, 9, lambda *args: told.append(args))
    expected = by_looking_at_all(before, after, groups, 9)
    assert {kind: [(pair.first, pair.second) for pair in pairs] for kind, pairs in found.items()} == expected
    for pair in itertools.chain(*found.values()):
        assert pair.before == pytest.approx(cosine(before, pair.first, pair.second), abs=1e-6)
        assert pair.after == pytest.approx(cosine(after, pair.first, pair.second), abs=1e-6)
    assert told[-1][1] == told[-1][2] == len(told)


@pytest.mark.parametrize("rows_at_once", [2, 5, 100])
def test_of_equals_the_first_rows(monkeypatch: pytest.MonkeyPatch, rows_at_once: int) -> None:
    """From all at right angles to all the same: every pair has moved by 1."""
    monkeypatch.setattr(moved, "ROWS_AT_ONCE", rows_at_once)
    before = np.eye(9, dtype=np.float32)
    after = np.tile(before[:1], (9, 1))
    found = moved_pairs(before, after, np.arange(9) % 2, 5)
    assert [(pair.first, pair.second) for pair in found[CLOSER]] == [(0, 2), (0, 4), (0, 6), (0, 8), (1, 3)]
    assert [(pair.first, pair.second) for pair in found[OTHERS_CLOSER]] == [(0, 1), (0, 3), (0, 5), (0, 7), (1, 2)]
    assert {(pair.before, pair.after) for pair in found[CLOSER]} == {(0.0, 1.0)}
    assert found[APART] == found[OTHERS_APART] == []
    assert found[CLOSE] == [], "at right angles they were not close"


def test_what_has_not_moved_is_not_shown() -> None:
    rows = np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32)
    found = moved_pairs(rows, rows, np.zeros(20, dtype=np.int64), 3)
    assert [kind for kind, pairs in found.items() if pairs] == [CLOSE]
    assert len(found[CLOSE]) == 3


def test_fewer_pairs_than_asked_for() -> None:
    before, after = np.eye(3, dtype=np.float32), np.ones((3, 3), dtype=np.float32)
    found = moved_pairs(before, after, np.array([0, 0, 1]), 50)
    assert {kind: len(pairs) for kind, pairs in found.items() if pairs} == {CLOSER: 1, OTHERS_CLOSER: 2}
    assert list(found) == [kind.name for kind in KINDS]


def test_similarities_of_all_pairs_are_never_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moved, "ROWS_AT_ONCE", 256)
    before, after = np.random.default_rng(2).normal(size=(2, 4000, 4)).astype(np.float32)
    tracemalloc.start()
    try:
        moved_pairs(before, after, np.arange(4000) % 7, 10)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4000 * 4000 * 4 / 4
