"""Of several groupings the best one, without labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from coterie.methods.base import Fit
from coterie.metrics.internal import silhouette
from coterie.types import Labels, Matrix

JUDGED_ROWS = 20_000


def silhouette_in(spaces: Sequence[Matrix], seed: int) -> Callable[[Labels], float]:
    """The mean over the spaces of the silhouette about the common mean, of a sample where there are many texts."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(spaces[0]))[:JUDGED_ROWS])
    centred = [space[rows] - space[rows].mean(axis=0) for space in spaces]

    def score(labels: Labels) -> float:
        # Where there is one group only, there is no silhouette.
        return float(np.nan_to_num(np.mean([silhouette(space, labels[rows]) for space in centred]), nan=-1.0))

    return score


def best_of(candidates: dict[str, Fit], judge: Callable[[Labels], float]) -> tuple[Fit, list[dict[str, Any]]]:
    """The candidate with the highest score, of equals the first, and what the others had."""
    scores = {name: judge(fit.labels) for name, fit in candidates.items()}
    best = max(scores, key=lambda name: scores[name])
    evidence = [
        {"candidate": name, "criterion": "silhouette", "score": round(score, 4), "kept": name == best}
        for name, score in scores.items()
    ]
    return candidates[best], evidence
