"""HAC-SD: hierarchical clustering of sparsified similarities, bettered by iterative classification.

Rakib, Jankowska, Zeh and Milios 2018 ("Improving short text clustering by similarity matrix sparsification"), and
Rakib, Zeh, Jankowska and Milios 2020 ("Enhancement of short text clustering by iterative classification").

    sparsification    of every text's similarities those are kept that stand out, s > mean + a std, with a such that a
                      text keeps n / k of them on average; what either of two texts keeps, both do
    first groups      Ward's linkage of 1 - similarity, 1 where it was not kept
    iteration         every group without its outliers (isolation forest), and no more of it than P n / k texts, P drawn
                      from 0.5 to 0.95, trains a classifier, which places all other texts
    end               when the groups' sizes change by less than 5% in all, or after 50 turns

Deviations: the vectors are those of the autoencoder that the other systems of this family read, not averaged word
vectors. Beyond 8,000 texts similarities are those of micro-clusters. A group that did not change since the last turn
keeps its outliers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.clusterers.agglomerative import about_cells, by_ward, cut, fitting_rows, merge_tree, micro_clusters
from coterie.clusterers.isolation import is_outlier
from coterie.methods.base import Features, Fit, as_evidence
from coterie.methods.linear import PENALTY, learnt_groups, regression
from coterie.methods.nearest_centre import TooFewDifferentError
from coterie.methods.self_taught import Unsupervised
from coterie.methods.settings import OwnSettings
from coterie.types import Labels, Matrix, Progress, silent
from coterie.vectors import group_means, unit_rows

MOST_ROWS = 8_000
"""Similarities, what is kept of them, and a copy of either while means are taken: 0.6 GB."""
SAMPLED_ROWS = 1000
LEAST_SHARE, LARGEST_SHARE = 0.5, 0.95
SETTLED = 0.05


@dataclass(frozen=True)
class HacSdSettings(OwnSettings):
    """`features`: what similarities are taken of. At most `turns` of iterative classification."""

    features: Unsupervised = "ae"
    turns: int = 50


class HacSd:
    def __init__(self, settings: HacSdSettings, unsupervised: Callable[[str], Features], *, random_state: int) -> None:
        self.settings, self.features, self.random_state = settings, unsupervised(settings.features), random_state
        self._inside: dict[bytes, Labels] = {}

    def fit(self, texts: Sequence[str], n_clusters: int, progress: Progress = silent) -> Fit:
        vectors = self.features.fit_transform(texts, progress)
        rows = unit_rows(vectors)
        labels, notes = self._first_groups(rows, n_clusters)
        history: list[dict[str, Any]] = []
        self._inside = {}
        # One group has nothing to be told from.
        turns = self.settings.turns if n_clusters > 1 else 0
        for turn in range(turns):
            progress("iterative classification", turn, turns)
            before, labels = labels, self._placed_anew(rows, labels, n_clusters, turn)
            history.append({"phase": "iterative classification", "epoch": turn + 1, **_change(before, labels)})
            if history[-1]["sizes_changed"] < SETTLED:
                break
        if turns:
            progress("iterative classification", turns, turns)
        return Fit(self.features, learnt_groups(vectors, labels, n_clusters), vectors, as_evidence(notes), history)

    def _first_groups(self, rows: Matrix, n_clusters: int) -> tuple[Labels, list[str]]:
        weights = np.ones(len(rows))
        cells = micro_clusters(rows, weights, n_clusters, fitting_rows(MOST_ROWS), self.random_state)
        means, masses = group_means(rows, cells, weights)
        if len(means) < n_clusters:
            raise TooFewDifferentError(n_clusters, len(means))
        costs = sparse_distances(means, n_clusters, self.random_state)
        costs *= costs
        by_ward(costs, masses)
        np.fill_diagonal(costs, np.inf)
        groups = cut(merge_tree(costs, masses, "ward"), n_clusters)
        return groups[cells], about_cells(len(means), len(rows))

    def _placed_anew(self, rows: Matrix, labels: Labels, n_clusters: int, turn: int) -> Labels:
        random = np.random.default_rng([self.random_state, turn])
        most = random.uniform(LEAST_SHARE, LARGEST_SHARE) * len(rows) / n_clusters
        self._inside = {
            members.tobytes(): self._without_outliers(rows, members)
            for members in (np.flatnonzero(labels == group) for group in range(n_clusters))
        }
        chosen = np.concatenate([_at_most(inside, most, random) for inside in self._inside.values()])
        others = np.setdiff1d(np.arange(len(rows)), chosen)
        weights, bias = regression(rows[chosen], labels[chosen], n_clusters, PENALTY)
        placed = labels.copy()
        placed[others] = (rows[others] @ weights.T + bias).argmax(axis=1)
        return placed

    def _without_outliers(self, rows: Matrix, members: Labels) -> Labels:
        """The members of a group that are no outliers, always at least one; of the last turn, where it was the same."""
        known = self._inside.get(members.tobytes())
        if known is not None or len(members) <= 2:
            return members if known is None else known
        inside = ~is_outlier(rows[members], self.random_state)
        return members[inside] if inside.any() else members


def sparse_distances(rows: Matrix, n_clusters: int, random_state: int) -> Matrix:
    """1 - cosine where the similarity stands out of those of either text, else 1."""
    similarity = rows @ rows.T
    np.fill_diagonal(similarity, np.nan)
    mean, spread = np.nanmean(similarity, axis=1), np.nanstd(similarity, axis=1)
    np.fill_diagonal(similarity, -np.inf)
    sample = np.sort(np.random.default_rng(random_state).permutation(len(rows))[:SAMPLED_ROWS])
    standing_out = (similarity[sample] - mean[sample, None]) / np.maximum(spread[sample, None], 1e-12)
    # Of n - 1 similarities to others n / k are kept.
    share = min(1.0, len(rows) / n_clusters / max(1, len(rows) - 1))
    others = standing_out[np.isfinite(standing_out)]
    least = np.quantile(others, 1 - share) if len(others) else 0.0
    kept = similarity >= (mean + least * spread)[:, None]
    kept |= kept.T
    np.subtract(1, similarity, out=similarity)
    similarity[~kept] = 1
    np.maximum(similarity, 0, out=similarity)
    return similarity


def _at_most(members: Labels, most: float, random: np.random.Generator) -> Labels:
    """So many of them, drawn at random; always at least one."""
    return random.choice(members, max(1, int(most)), replace=False) if len(members) > most else members


def _change(before: Labels, after: Labels) -> dict[str, float]:
    """How much the sizes of the groups differ, and how many texts changed theirs."""
    groups = int(max(before.max(), after.max())) + 1
    sizes: NDArray[np.int64] = np.bincount(after, minlength=groups) - np.bincount(before, minlength=groups)
    return {
        "sizes_changed": float(np.abs(sizes).sum() / len(after)),
        "changed": float((before != after).mean()),
        "groups": len(np.unique(after)),
    }
