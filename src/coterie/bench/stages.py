"""What a cell keeps of the stages of a training, for the figures: where the texts lie, how k-means groups them, and
whether texts of a class find each other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from coterie.engine.loop import WATCHED
from coterie.types import Labels, Matrix

MOST_POINTS = 2_000
"""Texts on a map; beyond that many a sample, the same at every stage."""
RESTARTS = 3
DECIMALS = 4


class Stages:
    """Watches a training: a map of the texts, k-means on their vectors by shape and by the true groups, and MAP and MRR
    where every text asks for those of its class.

    It goes through the history, so that a training which was killed and resumed has all of its stages. `seconds` is
    what the looking took.
    """

    def __init__(self, truth: Sequence[str], k: int, seed: int) -> None:
        self.truth, self.k, self.seed = truth, k, seed
        self.seconds = 0.0

    def __call__(self, rows: Labels, vectors: Matrix) -> dict[str, Any]:
        from coterie.describe.map import text_map

        started = time.monotonic()
        chosen = np.sort(np.random.default_rng(0).permutation(len(rows))[:MOST_POINTS])
        points = text_map(np.ascontiguousarray(vectors[chosen]))
        found = {
            **self._scores(rows, vectors),
            "rows": rows[chosen].tolist(),
            "points": [[round(float(x), DECIMALS), round(float(y), DECIMALS)] for x, y in points],
        }
        self.seconds += time.monotonic() - started
        return found

    def _scores(self, rows: Labels, vectors: Matrix) -> dict[str, float | None]:
        from coterie.clusterers import KMeans
        from coterie.metrics.external import external_scores
        from coterie.metrics.internal import finite, internal_scores
        from coterie.metrics.retrieval import same_class_retrieval

        groups = np.asarray(KMeans(self.k, n_init=RESTARTS, random_state=self.seed).fit(vectors).labels_)
        truth = [self.truth[row] for row in rows.tolist()]
        by_truth = external_scores(truth, groups.tolist())
        found = same_class_retrieval(vectors, np.unique(truth, return_inverse=True)[1])
        return finite(
            {
                "acc": by_truth["acc"],
                "nmi": by_truth["nmi"],
                **internal_scores(vectors, groups),
                "map": found.map,
                "mrr": found.mrr,
            }
        )


def taken_out(history: list[dict[str, Any]], truth: Sequence[str]) -> dict[str, Any]:
    """The stages that `Stages` left in a history, which is then without them; the true groups of the points once."""
    stages = [
        {"phase": entry["phase"], "epoch": entry["epoch"], **entry.pop(WATCHED)}
        for entry in history
        if WATCHED in entry
    ]
    rows = [stage.pop("rows") for stage in stages]
    return {"labels": [truth[row] for row in rows[0]] if rows else [], "stages": stages}
