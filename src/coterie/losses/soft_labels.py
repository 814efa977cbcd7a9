"""Labels that leave room for doubt, and weights that let a network doubt its labels (ADSL)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Update = Literal["normalised", "softmax"]


def soft_labels(z: Tensor, centroids: Tensor, alpha: float) -> Tensor:
    """ADSL (1)-(3): (min_j s_ij / s_ij)^alpha over its sum, s_ij the squared distance of text i to centroid j.

    Which is the softmax of -alpha log s_ij; a text on a centroid belongs to it alone.
    """
    # In double precision: text and centroid are often close beside where both are.
    squares = torch.cdist(z.double(), centroids.double()) ** 2
    return torch.softmax(-alpha * torch.log(squares.clamp_min(torch.finfo(squares.dtype).tiny)), dim=1).to(z.dtype)


def updated_labels(original: Tensor, p: Tensor, share: float, update: Update) -> Tensor:
    """ADSL (4)-(5): the original labels and `share` of what the network now says.

    (5) prints a softmax of the sum. Its entries lie between 0 and 2, so with 20 groups even a certain row comes out
    with about a quarter on its group; `normalised` divides by the row's sum instead.
    """
    added = original + share * p
    return added.softmax(dim=1) if update == "softmax" else added / added.sum(dim=1, keepdim=True)


def document_attention(v: Tensor, groups: Tensor, n_groups: int) -> Tensor:
    """ADSL (10), times the group's size: v_i^2 over its mean in the group of text i, so 1 where all v are equal.

    As printed the weights of a group sum to 1: the loss of a batch would shrink with the number of texts, and a text
    of a small group would weigh many times as much as one of a large group from the start.
    """
    squares = v**2
    totals = squares.new_zeros(n_groups).index_add(0, groups, squares)
    sizes = groups.bincount(minlength=n_groups)
    return squares * (sizes / totals.clamp_min(torch.finfo(v.dtype).tiny))[groups]


def weighted_cross_entropy(log_p: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """ADSL (8)-(9), the mean over the texts given: -weight x sum_j y_j log p_j."""
    return (weights * -(labels * log_p).sum(dim=1)).mean()
