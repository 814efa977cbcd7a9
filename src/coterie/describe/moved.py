"""Pairs of texts that training has moved most, towards each other or apart (Table 5 of the ClusterBERT paper).

All pairs are looked at, a block at a time, and the best of each kind so far are kept. Of equals the pair whose rows
come first is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.types import Labels, Matrix, Progress, silent
from coterie.vectors import unit_rows

ROWS_AT_ONCE = 1024

Change = Callable[[Matrix, Matrix], Matrix]


@dataclass(frozen=True)
class Kind:
    """Pairs of one group or of two, by a score of the similarity before and after; only a score above 0 counts."""

    name: str
    same_group: bool
    score: Change


def _closer(before: Matrix, after: Matrix) -> Matrix:
    return after - before


def _apart(before: Matrix, after: Matrix) -> Matrix:
    return before - after


KINDS = (
    Kind("same group, moved closer", True, _closer),
    Kind("same group, moved apart", True, _apart),
    Kind("different groups, moved closer", False, _closer),
    Kind("different groups, moved apart", False, _apart),
    Kind("same group, close before and after", True, np.minimum),
)


@dataclass(frozen=True)
class Pair:
    """Two rows, and their cosine similarity before and after training."""

    first: int
    second: int
    before: float
    after: float


def moved_pairs(
    before: Matrix, after: Matrix, groups: Labels, count: int, progress: Progress = silent
) -> dict[str, list[Pair]]:
    """For every kind its `count` best pairs, the best first."""
    before, after = unit_rows(np.asarray(before)), unit_rows(np.asarray(after))
    best = {kind.name: _Best(count) for kind in KINDS}
    starts = range(0, len(groups), ROWS_AT_ONCE)
    blocks = [(top, left) for top in starts for left in starts if left >= top]
    for done, (top, left) in enumerate(blocks, start=1):
        rows, columns = slice(top, top + ROWS_AT_ONCE), slice(left, left + ROWS_AT_ONCE)
        similar = before[rows] @ before[columns].T, after[rows] @ after[columns].T
        same = groups[rows, None] == groups[None, columns]
        other = ~same
        if top == left:  # every pair once, and no text with itself
            same, other = np.triu(same, 1), np.triu(other, 1)
        for kind in KINDS:
            best[kind.name].offer(kind.score(*similar), same if kind.same_group else other, top, left)
        progress("comparing pairs", done, len(blocks))
    return {kind.name: _measured(best[kind.name].pairs, before, after, kind.score) for kind in KINDS}


class _Best:
    """The best pairs of the blocks seen so far."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.scores = np.empty(0, dtype=np.float32)
        self.pairs: NDArray[np.int64] = np.empty((0, 2), dtype=np.int64)

    def offer(self, scores: Matrix, allowed: NDArray[np.bool_], top: int, left: int) -> None:
        """The pairs of a block whose first row is `top`, and whose first column is row `left`."""
        full = len(self.scores) == self.count
        enough = scores >= self.scores[-1] if full else scores > 0
        rows, columns = np.nonzero(enough & allowed)
        found = np.concatenate([self.scores, scores[rows, columns]])
        pairs = np.concatenate([self.pairs, np.stack([rows + top, columns + left], axis=1)])
        order = np.lexsort((pairs[:, 1], pairs[:, 0], -found))[: self.count]
        self.scores, self.pairs = found[order], pairs[order]


def _measured(pairs: NDArray[np.int64], before: Matrix, after: Matrix, score: Change) -> list[Pair]:
    """Their similarities in full precision, by which one or the other may not belong there, and the order by those."""
    first, second = pairs.T
    similar = [np.einsum("ij,ij->i", space[first], space[second], dtype=np.float64) for space in (before, after)]
    scores = score(*similar)
    order = [i for i in np.lexsort((second, first, -scores)) if scores[i] > 0]
    return [Pair(int(first[i]), int(second[i]), float(similar[0][i]), float(similar[1][i])) for i in order]
