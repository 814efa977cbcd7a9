"""Whether training has made things better, told without labels.

The silhouette of a grouping is taken in the space of the two views, as it was before training and as it is after it. A
model may bring a further witness, such as the words.

The groups that the start's own procedure finds with the trained encoder are compared with the start like with like
(where the method says so): the larger geometric mean over the spaces is kept, so that a gain in one has to outweigh the
loss in the other, as ratios. But what has lost more than a tenth in the space before training was not found there: the
encoder has made groups of its own.
Everything else that came of training, the trained head above all, was made to look good in the space that training has
made. It must beat the start in every space, by twice what chance would give. Texts of a group move together, so chance
is reckoned by groups, not by texts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.methods.base import Fit
from coterie.metrics.internal import silhouettes
from coterie.types import Labels, Matrix

JUDGED_ROWS = 20_000
STANDARD_ERRORS = 2.0
LEAST_LEFT = 0.9
SILHOUETTE = "silhouette"
NO_GAIN = "not above the start in every space by more than chance"
FELL = "more than a tenth below the start in the space before training"
"""Why a candidate with a higher score is not kept."""


class Witness(Protocol):
    """What has a say: the larger the numbers that it gives to the texts of a grouping, those of `rows`, the better."""

    criterion: str
    rows: NDArray[np.int64]

    def of_each(self, labels: Labels) -> NDArray[np.float64]: ...

    def of_all(self, each: NDArray[np.float64]) -> float: ...


class Judge:
    """Silhouettes about the common mean of a space, of a sample where there are many texts."""

    criterion = SILHOUETTE

    def __init__(self, space: Matrix, seed: int) -> None:
        self.rows = np.sort(np.random.default_rng(seed).permutation(len(space))[:JUDGED_ROWS])
        self.centred = space[self.rows] - space[self.rows].mean(axis=0)

    def of_each(self, labels: Labels) -> NDArray[np.float64]:
        # Where there is one group only, there is no silhouette.
        return np.nan_to_num(silhouettes(self.centred, labels[self.rows]), nan=-1.0)

    def of_all(self, each: NDArray[np.float64]) -> float:
        return float(each.mean())

    def __call__(self, labels: Labels) -> float:
        return self.of_all(self.of_each(labels))


def least_left(before: float) -> float:
    """What a grouping must have in the space before training, where the start has `before`."""
    return min(before, LEAST_LEFT * before)


def is_gain(differences: NDArray[np.float64], groups: Labels) -> bool:
    """Whether texts of these groups have gained more than chance would give."""
    return bool(differences.mean() > STANDARD_ERRORS * standard_error_by_group(differences, groups))


def standard_error_by_group(values: NDArray[np.float64], groups: Labels) -> float:
    """Of the mean of values that are alike within a group: the sandwich estimate for clustered samples."""
    _, groups = np.unique(groups, return_inverse=True)
    sums = np.bincount(groups, values - values.mean())
    if len(sums) < 2:
        return math.inf
    return float(np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(values))


def best_of(
    candidates: dict[str, Fit], judges: Sequence[Witness], again: str | None = None, wanted: str | None = None
) -> tuple[Fit, list[dict[str, Any]]]:
    """The best of the first, of `again`, which was made as the first was, and of those that are a gain over the first
    by every judge; or the one `wanted` whatever they say. And what each of them had. The first judge's space is that
    before training."""
    start, *others = candidates
    each = {name: [judge.of_each(fit.labels) for judge in judges] for name, fit in candidates.items()}
    by_space = {
        name: [judge.of_all(found) for judge, found in zip(judges, each[name], strict=True)] for name in candidates
    }
    scores = {name: together(found) for name, found in by_space.items()}
    first_groups = [candidates[start].labels[judge.rows] for judge in judges]

    def wins_everywhere(name: str) -> bool:
        spaces = zip(each[name], each[start], first_groups, strict=True)
        return all(is_gain(now - before, groups) for now, before, groups in spaces)

    def holds(name: str) -> bool:
        return by_space[name][0] >= least_left(by_space[start][0])

    eligible = [name for name in others if (holds(name) if name == again else wins_everywhere(name))]
    best = wanted or max([start, *eligible], key=lambda name: scores[name])

    def told(name: str) -> list[tuple[str, float]]:
        return [(judge.criterion, round(score, 4)) for judge, score in zip(judges, by_space[name], strict=True)]

    def entry(name: str) -> dict[str, Any]:
        found = {
            "candidate": name,
            "criterion": " and ".join(dict.fromkeys(judge.criterion for judge in judges)),
            "score": round(scores[name], 4),
            "by_space": [score for criterion, score in told(name) if criterion == SILHOUETTE],
            **{criterion: score for criterion, score in told(name) if criterion != SILHOUETTE},
            "kept": name == best,
        }
        refused = not wanted and scores[name] > scores[best]
        return found | ({"because": FELL if name == again else NO_GAIN} if refused else {})

    return candidates[best], [entry(name) for name in candidates]


def together(scores: Sequence[float]) -> float:
    """Their geometric mean; 0 where one of several is not above 0."""
    if len(scores) == 1:
        return scores[0]
    return math.prod(max(score, 0.0) for score in scores) ** (1 / len(scores))
