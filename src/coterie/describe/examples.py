"""The texts that show best what a group is, near its centre and unlike each other, and those at its border."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.types import Labels, Matrix
from coterie.vectors import unit_rows

EXAMPLES_PER_GROUP = 5
BORDERLINE_PER_GROUP = 4
NEAREST_CONSIDERED = 40
WEIGHT_OF_DIVERSITY = 0.5


def group_examples(texts: Sequence[str], vectors: Matrix, labels: Labels, n_clusters: int) -> list[list[int]]:
    """For each group the rows of its examples, most telling first; equal texts are shown once.

    Each next example is the one with the best balance of nearness to the group's mean and distance from the examples
    already chosen (maximal marginal relevance).
    """
    examples: list[list[int]] = []
    for group in range(n_clusters):
        rows = _distinct(np.flatnonzero(labels == group), texts)
        if len(rows) == 0:
            examples.append([])
            continue
        members = unit_rows(np.asarray(vectors[rows]))
        nearness = members @ unit_rows(members.mean(axis=0, keepdims=True))[0]
        near = np.argsort(-nearness, kind="stable")[:NEAREST_CONSIDERED]
        chosen = _spread(members[near], nearness[near])
        examples.append([int(rows[near[index]]) for index in chosen])
    return examples


def group_borderline(texts: Sequence[str], probabilities: Matrix, labels: Labels) -> list[list[tuple[int, int]]]:
    """For each group its texts that come nearest to another group, as (row, other group), closest call first."""
    n_clusters = probabilities.shape[1]
    if n_clusters < 2:
        return [[]]
    others = probabilities.copy()
    np.put_along_axis(others, labels[:, None], -1, axis=1)
    second = others.argmax(axis=1)
    margin = probabilities[np.arange(len(labels)), labels] - others.max(axis=1)
    borderline: list[list[tuple[int, int]]] = []
    for group in range(n_clusters):
        members = np.flatnonzero(labels == group)
        closest = _distinct(members[np.argsort(margin[members], kind="stable")], texts)[:BORDERLINE_PER_GROUP]
        borderline.append([(int(row), int(second[row])) for row in closest])
    return borderline


def _distinct(rows: NDArray[np.int64], texts: Sequence[str]) -> Labels:
    first: dict[str, int] = {}
    for row in rows:
        first.setdefault(texts[int(row)], int(row))
    return np.array(list(first.values()), dtype=np.int64)


def _spread(members: Matrix, nearness: Matrix) -> list[int]:
    chosen: list[int] = []
    similarity_to_chosen = np.zeros(len(members), dtype=np.float32)
    for _ in range(min(EXAMPLES_PER_GROUP, len(members))):
        value = nearness - WEIGHT_OF_DIVERSITY * similarity_to_chosen
        value[chosen] = -np.inf
        best = int(value.argmax())
        chosen.append(best)
        similarity_to_chosen = np.maximum(similarity_to_chosen, members @ members[best])
    return chosen
