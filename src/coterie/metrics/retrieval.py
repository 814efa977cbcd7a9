"""How well the nearest texts are the right ones: mean average precision (MAP) and mean reciprocal rank (MRR).

A candidate's rank is the number of candidates that are at least as similar to the query, itself among them: equals
share the last of their places, so no order of rows decides between them. Average precision is the mean over the
relevant candidates of the share of relevant ones up to that rank, the reciprocal rank that of the most similar relevant
candidate. A query without a relevant candidate says nothing and is left out of both means.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie.types import Labels, Matrix, Progress, silent
from coterie.vectors import distinct_rows, unit_rows

QUERIES_AT_ONCE = 256
PAIRS_AT_ONCE = 8192


@dataclass(frozen=True)
class Retrieval:
    """The means over `queries`; both are NaN where none has a relevant candidate."""

    map: float
    mrr: float
    queries: int
    left_out: int

    @classmethod
    def of(cls, scores: Iterable[tuple[float, float] | None]) -> Self:
        every = list(scores)
        counted = np.array([score for score in every if score is not None]).reshape(-1, 2)
        means = counted.mean(axis=0) if len(counted) else (np.nan, np.nan)
        return cls(float(means[0]), float(means[1]), len(counted), len(every) - len(counted))


def ranking_scores(similarities: NDArray[np.floating[Any]], relevant: NDArray[np.bool_]) -> tuple[float, float] | None:
    """Average precision and reciprocal rank of one query; None where no candidate is relevant."""
    wanted = np.sort(similarities[relevant])
    if not len(wanted):
        return None
    found = len(wanted) - np.searchsorted(wanted, wanted)
    ranks = len(similarities) - np.searchsorted(np.sort(similarities), wanted)
    return float((found / ranks).mean()), float(1 / ranks[-1])


def same_class_retrieval(vectors: Matrix, classes: Labels, progress: Progress = silent) -> Retrieval:
    """Every row asks for the others of its class among all other rows, by cosine similarity."""
    rows, place = distinct_rows(unit_rows(np.asarray(vectors)))

    def scores() -> Iterable[tuple[float, float] | None]:
        for start in range(0, len(place), QUERIES_AT_ONCE):
            queries = np.arange(start, min(start + QUERIES_AT_ONCE, len(place)))
            # One column for equal vectors: products of the same numbers may round by where they stand.
            similarities = rows[place[queries]] @ rows.T
            for query, similarity in zip(queries, similarities, strict=True):
                others = np.delete(place, query)
                yield ranking_scores(similarity[others], np.delete(classes, query) == classes[query])
            progress("ranking", int(queries[-1]) + 1, len(place))

    return Retrieval.of(scores())


def judged_retrieval(
    queries: Matrix, candidates: Matrix, pairs: NDArray[np.int64], relevant: NDArray[np.bool_]
) -> Retrieval:
    """Every query ranks its own candidates; a pair is the row of a query and the row of a candidate of it."""
    asked, answers = unit_rows(np.asarray(queries)), unit_rows(np.asarray(candidates))
    parts = [pairs[start : start + PAIRS_AT_ONCE] for start in range(0, len(pairs), PAIRS_AT_ONCE)]
    similarities = np.concatenate([np.einsum("ij,ij->i", asked[part[:, 0]], answers[part[:, 1]]) for part in parts])
    order = np.argsort(pairs[:, 0], kind="stable")
    ends = np.flatnonzero(np.diff(pairs[order, 0])) + 1
    return Retrieval.of(ranking_scores(similarities[rows], relevant[rows]) for rows in np.split(order, ends))
