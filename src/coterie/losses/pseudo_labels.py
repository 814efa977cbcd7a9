"""Learning from one's own answers."""

from __future__ import annotations

import torch
from torch import Tensor


def pseudo_labels(p: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """AECL (4): the most probable cluster of each row, and whether its probability is above the threshold."""
    highest, labels = p.detach().max(dim=1)
    return labels, highest > threshold


def confident_cross_entropy(log_p: Tensor, labels: Tensor, keep: Tensor) -> Tensor:
    """AECL (12): -log p of the labels of the rows to keep, divided by the number of all rows.

    So few confident rows pull little. Takes log-probabilities (`log_softmax`), which do not underflow as probabilities
    do. Every label must be a column, also those of rows that are not kept.
    """
    surprise = -log_p.gather(1, labels[:, None])[:, 0]
    return torch.where(keep, surprise, 0).mean()


def soft_cross_entropy(log_p: Tensor, q: Tensor) -> Tensor:
    """ClusterBERT (3): - sum_j q_ij log p_ij, the mean over the rows; q is a constant for gradients."""
    return -(q.detach() * log_p).sum(dim=1).mean()
