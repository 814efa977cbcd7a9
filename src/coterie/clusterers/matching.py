"""Groups of one grouping matched one to one with those of another."""

from __future__ import annotations

import numpy as np

from coterie.types import Labels


def numbered_like(labels: Labels, before: Labels, n_clusters: int) -> Labels:
    """The same groups, each with the number of one before, so that as many rows as can be keep their number."""
    from scipy.optimize import linear_sum_assignment

    common = np.zeros((n_clusters, n_clusters), dtype=np.int64)
    np.add.at(common, (labels, before), 1)
    return np.asarray(linear_sum_assignment(common, maximize=True)[1][labels], dtype=np.int64)
