"""Soft assignment to centres by Student's t, sharpened by its own square (DEC, Xie et al. 2016)."""

from __future__ import annotations

import torch
from torch import Tensor


def student_t(z: Tensor, centres: Tensor, alpha: float = 1.0) -> Tensor:
    """DEC (1), DECCRL (5): probabilities of the centres, falling with distance; alpha degrees of freedom."""
    return torch.softmax(_log_weights(z, centres, alpha), dim=1)


def log_student_t(z: Tensor, centres: Tensor, alpha: float = 1.0) -> Tensor:
    """Its logarithm, finite with finite gradients where a probability itself is too small for a number."""
    return torch.log_softmax(_log_weights(z, centres, alpha), dim=1)


def _log_weights(z: Tensor, centres: Tensor, alpha: float) -> Tensor:
    # Distances do not change when everything moves; near the origin their expansion loses fewest digits.
    middle = centres.detach().mean(dim=0)
    z, centres = z - middle, centres - middle
    squares = (z * z).sum(dim=1, keepdim=True) - 2 * z @ centres.T + (centres * centres).sum(dim=1)
    return -(alpha + 1) / 2 * torch.log1p(squares.clamp_min(0) / alpha)


@torch.no_grad()
def target_distribution(q: Tensor) -> Tensor:
    """DEC (3), DECCRL (7): q squared over the size of each cluster, rows normalised; a constant for gradients.

    The sizes are those of the rows given: pass all data, since over a mini-batch it is a different, noisier method.
    """
    tiny = torch.finfo(torch.float64).tiny
    exact = q.double()
    weight = exact**2 / exact.sum(dim=0).clamp_min(tiny)
    return (weight / weight.sum(dim=1, keepdim=True).clamp_min(tiny)).to(q.dtype)


def kl_to_target(q: Tensor, target: Tensor) -> Tensor:
    """KL(target || q), the mean over the rows as in SCCL and DECCRL (8)-(9); DEC (2) prints the sum."""
    target = target.detach()
    # Finite where q has underflowed to 0.
    log_q = torch.log(q.clamp_min(torch.finfo(q.dtype).tiny))
    return (torch.xlogy(target, target) - target * log_q).sum(dim=1).mean()
