"""Groups carried along a graph: each text comes to where the texts around it are.

Label spreading (Zhou et al. 2004, "Learning with local and global consistency"), started from a clustering instead of
from known labels: F = a S F + (1 - a) Y with S = D^-1/2 W D^-1/2. scikit-learn's `LabelSpreading` builds a graph of its
own and takes a text's first label for certain or for missing; ours is given the graph, and every first label is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coterie.types import Labels, Matrix

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SHARE = 0.9
"""a: what comes along the graph, against the text's first group."""

STEPS = 40
"""What comes from further away than this counts for less than 0.9^40 = 1.5%."""

GROUPS_AT_A_TIME = 64


def spread_groups(labels: Labels, graph: csr_matrix, n_clusters: int) -> Labels:
    """The group that reaches each text most strongly. A group that none would be left in stays as it was."""
    strongest = np.full(len(labels), -1.0, dtype=np.float32)
    spread = labels.copy()
    along = _normalised(graph)
    for first in range(0, n_clusters, GROUPS_AT_A_TIME):
        reached = _reached(labels, along, np.arange(first, min(first + GROUPS_AT_A_TIME, n_clusters)))
        best = reached.max(axis=1)
        spread = np.where(best > strongest, first + reached.argmax(axis=1), spread)
        strongest = np.maximum(strongest, best)
    return _with_every_group(spread, labels)


def _normalised(graph: csr_matrix) -> csr_matrix:
    from scipy.sparse import diags

    scale = diags(1 / np.sqrt(np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1e-12)))
    return (scale @ graph @ scale).tocsr().astype(np.float32)


def _reached(labels: Labels, along: csr_matrix, groups: Labels) -> Matrix:
    own = (labels[:, None] == groups).astype(np.float32)
    reached = own
    for _ in range(STEPS):
        reached = SHARE * (along @ reached) + (1 - SHARE) * own
    return np.asarray(reached)


def _with_every_group(spread: Labels, labels: Labels) -> Labels:
    """Giving a group its texts back may take another's last: at the latest, all are where they were."""
    while len(lost := np.setdiff1d(labels, spread)):
        spread = np.where(np.isin(labels, lost), labels, spread)
    return spread
