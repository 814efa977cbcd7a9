"""k-means as a loss, and its centres as running means (DCN, Yang et al. 2017)."""

from __future__ import annotations

import torch
from torch import Tensor


def distance_to_assigned(z: Tensor, centres: Tensor, assigned: Tensor) -> Tensor:
    """|z_i - m_s(i)|^2, the mean over the rows; the centres are constants of it."""
    return ((z - centres.detach()[assigned]) ** 2).sum(dim=1).mean()


@torch.no_grad()
def running_means(centres: Tensor, counts: Tensor, z: Tensor, assigned: Tensor) -> tuple[Tensor, Tensor]:
    """DCN's centre update m <- m - (m - z_i) / c, row after row, where c counts the rows that m has had so far.

    With the rows' centres known beforehand the result does not depend on their order: it is the mean of all rows that
    a centre has ever had.
    """
    sums = (centres * counts[:, None]).index_add(0, assigned, z)
    after = counts + assigned.bincount(minlength=len(counts))
    return torch.where(after[:, None] > 0, sums / after.clamp_min(1)[:, None], centres), after
