"""Probabilities that are worth being called a confidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.features.graph import NEIGHBOURS, nearest_neighbours
from coterie.types import Matrix
from coterie.vectors import in_blocks

Scores = Callable[[NDArray[Any]], NDArray[Any]]
"""Rows in, float32 of a whole fit or float64 of a block, and for each a number for every group."""

ASKED_ROWS = 2000
SEARCHED_ROWS = 20_000


def probabilities_of(vectors: Matrix, scores: Scores, temperature: float) -> Matrix:
    """softmax(scores / temperature), a row the same alone and in any company."""
    return in_blocks(vectors, lambda block: softmax(scores(block) / temperature))


def softmax(scores: NDArray[Any]) -> NDArray[Any]:
    scores = scores - scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def fitting_temperature(vectors: Matrix, scores: Scores) -> float:
    """The temperature at which a text's probabilities best foretell the groups of the 15 texts most like it.

    So a confidence of 0.8 means that about 8 in 10 of the most similar texts are in the same group. A classifier's own
    probabilities say only how well it has learnt the groups, which is nearly always very well.
    """
    from scipy.optimize import minimize_scalar

    random = np.random.default_rng(0)
    searched = vectors[np.sort(random.permutation(len(vectors))[:SEARCHED_ROWS])]
    asked = np.sort(random.permutation(len(searched))[:ASKED_ROWS])
    neighbours, _ = nearest_neighbours(searched, min(NEIGHBOURS, len(searched) - 1), asked)
    groups_nearby = scores(searched).argmax(axis=1)[neighbours]
    own_scores = scores(searched[asked]).astype(np.float64)

    def surprise(log_temperature: float) -> float:
        scaled = own_scores / np.exp(log_temperature)
        highest = scaled.max(axis=1, keepdims=True)
        log_total = highest + np.log(np.exp(scaled - highest).sum(axis=1, keepdims=True))
        return float((log_total - np.take_along_axis(scaled, groups_nearby, axis=1)).mean())

    # Of the middle text: how far its best group is above the middle one. Far-off texts and groups are not to set a
    # scale on which all others would be the same.
    spread = max(float(np.median(own_scores.max(axis=1) - np.median(own_scores, axis=1))), 1e-6)
    bounds = (np.log(spread) - 6, np.log(spread) + 3)
    return float(np.exp(minimize_scalar(surprise, bounds=bounds, method="bounded").x))
