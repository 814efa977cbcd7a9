"""How many groups: three kinds of evidence for every number tried, and the number that does well by all of them.

The texts are split in two at random, several times. Each half is grouped by itself in the smoothed space in which Duet
looks for groups, and three things are asked:

- *stability*: do the groups of one half, carried over to the other by their centres, agree with the other's own? The
  adjusted Rand index, which is 0 by chance. It favours few groups: a coarse cut can be stable all by itself.
- *silhouette*: are texts nearer to their own group than to the next? In the space before smoothing, where Duet judges,
  too. It favours many small groups.
- *prediction strength* (Tibshirani and Walther 2005): of the pairs of texts in a group of one half, how many do the
  other half's groups keep together? Every group counts alike, so a number that suits the large groups and cuts through
  the small ones is found out. The mean over the groups, because the published minimum is one small group's affair.

Their product is largest where all of them are high: what one is biased to, another one punishes. The silhouette enters
by its root, because it doubles over numbers at which the other two change by a tenth. As a product it needs no scales,
so the place of a number does not depend on which others were tried.

As in Duet there are two ways to group, because k-means cuts large groups when sizes differ and average linkage fails
when groups touch: for every number the one with the larger silhouette stands. Both come from trees that are made once
(k-means goes on from Ward's groups), so another number costs little.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from math import sqrt
from typing import Any, Literal

import numpy as np

from coterie.clusterers.agglomerative import cut, merge_tree, pair_costs
from coterie.clusterers.kmeans import nearest_centres
from coterie.features.graph import smoothed_space
from coterie.metrics.internal import silhouette
from coterie.types import Labels, Matrix, Progress, silent
from coterie.vectors import group_means, unit_rows

STEP = 1.15
"""The numbers tried first grow by this factor, and by at least 1."""

FINER = 8
"""So many numbers are then tried between the neighbours of the best."""

SPLITS = 5
ROWS_IN_HALF = 2_500
MOST_ROWS = 10_000
"""Beyond this a sample of the texts makes up the space."""

ROUNDS = 10
"""Of k-means after Ward's tree."""

STAGE = "choosing the number of groups"

Way = Literal["ward", "average"]
WAYS: tuple[Way, ...] = ("ward", "average")


@dataclass(frozen=True)
class Evidence:
    """What speaks for a number of groups; each is at most 1."""

    k: int
    stability: float
    silhouette: float
    prediction_strength: float

    @property
    def together(self) -> float:
        return max(0.0, self.stability) * sqrt(max(0.0, self.silhouette)) * self.prediction_strength


@dataclass(frozen=True)
class Choice:
    """The number chosen, and the evidence for every number tried, fewest groups first."""

    chosen: Evidence
    tried: list[Evidence]

    @property
    def why(self) -> str:
        best, low, high = self.chosen, self.tried[0].k, self.tried[-1].k
        found = (
            f"{best.k:,} groups: the best of {len(self.tried)} numbers tried from {low:,} to {high:,} by stability "
            f"({best.stability:.2f}), silhouette ({best.silhouette:.3f}) and prediction strength "
            f"({best.prediction_strength:.2f}) together"
        )
        if low == high:
            return f"{best.k:,} groups: no other number was tried"
        if best.together == 0:
            return f"{found}; but at no number do groups stand out, so this one is as good as any"
        if best.k == low:
            return f"{found}; fewer were not tried, and texts without clear groups end here, too"
        return f"{found}; more were not tried" if best.k == high else found

    def entries(self) -> list[dict[str, Any]]:
        """As the evidence of a fit has it: why, then every number."""
        numbers = [
            {name: value if name == "k" else round(value, 4) for name, value in asdict(one).items()}
            | {"chosen": one is self.chosen}
            for one in self.tried
        ]
        return [{"note": self.why}, *numbers]


def choose_k(vectors: Matrix, low: int, high: int, *, random_state: int = 0, progress: Progress = silent) -> Choice:
    """Tries numbers from `low` to `high` on vectors of different texts; `high` is at most a quarter of their number."""
    first = first_numbers(low, high)
    steps = 1 + len(first) + FINER
    progress(STAGE, 0, steps)
    splits = _Splits(vectors, random_state)
    tried: dict[int, Evidence] = {}

    def try_out(numbers: list[int]) -> Evidence:
        for k in numbers:
            progress(STAGE, 1 + len(tried), steps)
            tried[k] = splits.evidence(k)
        # Of equals the one with fewest groups.
        return max((tried[k] for k in sorted(tried)), key=lambda one: one.together)

    best = try_out(finer_numbers(first, try_out(first).k))
    progress(STAGE, steps, steps)
    return Choice(best, [tried[k] for k in sorted(tried)])


def first_numbers(low: int, high: int) -> list[int]:
    """From `low` to `high`, both included."""
    numbers = [low]
    while numbers[-1] < high:
        numbers.append(min(high, max(numbers[-1] + 1, round(numbers[-1] * STEP))))
    return numbers


def finer_numbers(numbers: list[int], best: int) -> list[int]:
    """What lies between the neighbours of the best: all of it, or `FINER` numbers evenly apart."""
    place = numbers.index(best)
    below, above = numbers[max(0, place - 1)], numbers[min(len(numbers) - 1, place + 1)]
    between = [number for number in range(below + 1, above) if number != best]
    if len(between) <= FINER:
        return between
    return [between[round(at)] for at in np.linspace(0, len(between) - 1, FINER)]


@dataclass(frozen=True)
class _Grouped:
    """The groups of a half, and their centres."""

    space: Matrix
    centred: Matrix
    labels: Labels

    @cached_property
    def centres(self) -> Matrix:
        return _centres(self.space, self.labels)

    @cached_property
    def silhouette(self) -> float:
        return silhouette(self.centred, self.labels)

    def judged_by(self, other: _Grouped) -> tuple[float, float]:
        """Stability and prediction strength, by the groups of the other half."""
        from sklearn.metrics import adjusted_rand_score

        carried, _ = nearest_centres(self.space, other.centres)
        return float(adjusted_rand_score(self.labels, carried)), prediction_strength(self.labels, carried)


class _Half:
    """Texts that are grouped by themselves; linkage goes by the angle, as in Duet."""

    def __init__(self, space: Matrix, centred: Matrix) -> None:
        self.spaces: dict[Way, Matrix] = {"ward": space, "average": unit_rows(space)}
        self.centred = centred
        self.merges = {way: _tree(rows, way) for way, rows in self.spaces.items()}

    def grouped(self, k: int, way: Way) -> _Grouped:
        labels = cut(self.merges[way], k)
        if way == "ward":
            labels = _settled(self.spaces[way], labels)
        return _Grouped(self.spaces[way], self.centred, labels)


def _tree(rows: Matrix, way: Way) -> list[tuple[float, int, int]]:
    masses = np.ones(len(rows))
    return merge_tree(pair_costs(rows, masses, way), masses, way)


def _settled(rows: Matrix, labels: Labels) -> Labels:
    """The groups after some rounds of k-means; one that would empty a group is not made."""
    for _ in range(ROUNDS):
        moved, _ = nearest_centres(rows, _centres(rows, labels))
        if len(np.unique(moved)) <= labels.max() or (moved == labels).all():
            break
        labels = moved
    return labels


def _centres(rows: Matrix, labels: Labels) -> Matrix:
    return group_means(rows, labels)[0]


class _Splits:
    """Texts split in two again and again."""

    def __init__(self, vectors: Matrix, random_state: int) -> None:
        random = np.random.default_rng(random_state)
        if len(vectors) > MOST_ROWS:
            vectors = vectors[np.sort(random.choice(len(vectors), MOST_ROWS, replace=False))]
        centred = vectors - vectors.mean(axis=0)
        space = smoothed_space(vectors)
        size = min(ROWS_IN_HALF, len(vectors) // 2)
        self.pairs = []
        for _ in range(SPLITS):
            order = random.permutation(len(vectors))
            one, other = np.sort(order[:size]), np.sort(order[size : 2 * size])
            self.pairs.append((_Half(space[one], centred[one]), _Half(space[other], centred[other])))

    def evidence(self, k: int) -> Evidence:
        grouped = {way: [(one.grouped(k, way), other.grouped(k, way)) for one, other in self.pairs] for way in WAYS}
        shape = {way: float(np.mean([half.silhouette for pair in grouped[way] for half in pair])) for way in WAYS}
        way = max(WAYS, key=lambda one: shape[one])
        judged = [half.judged_by(by) for one, other in grouped[way] for half, by in ((one, other), (other, one))]
        stability, strength = np.mean(judged, axis=0)
        return Evidence(k, float(stability), shape[way], float(strength))


def prediction_strength(own: Labels, carried: Labels) -> float:
    """The share of a group's pairs that the other grouping keeps together, on average over the groups with pairs."""
    table = np.zeros((int(own.max()) + 1, int(carried.max()) + 1))
    np.add.at(table, (own, carried), 1)
    pairs = table.sum(axis=1) * (table.sum(axis=1) - 1)
    kept = (table * (table - 1)).sum(axis=1)
    return float((kept[pairs > 0] / pairs[pairs > 0]).mean()) if pairs.any() else 0.0
