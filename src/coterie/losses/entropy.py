"""How undecided assignments are, row by row and on the whole."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def row_entropy(p: Tensor) -> Tensor:
    """AECL (5): mean entropy of the rows, 0 when all are one-hot and log M when all are uniform.

    AECL prints it with a positive weight; what is meant is to subtract it, so that rows do not become one-hot early.
    """
    return _entropy(p).mean()


def missing_balance(p: Tensor) -> Tensor:
    """AECL (13) with the sign that is meant: log M minus the entropy of the mean row.

    0 when the clusters are used alike, log M when all texts are in one. AECL's authors add up both views.
    """
    return math.log(p.shape[1]) - _entropy(p.mean(dim=0))


def _entropy(p: Tensor) -> Tensor:
    # The slope of x log x at 0 is infinite; with the log cut off it is large and finite, and the value is the same.
    return -(p * torch.log(p.clamp_min(torch.finfo(p.dtype).tiny))).sum(dim=-1)
