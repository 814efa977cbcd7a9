"""How little expected a token was, over a vocabulary."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint as recomputed

from coterie.nn.layers import linear, with_empty_rows

LOGITS_AT_ONCE = 32_000_000
"""Numbers that are in memory at a time; of more places they are computed a second time for the gradient."""

NOT_TOLD = -1
"""The target of a row that is there for the shape only."""


def token_surprise(states: Tensor, words: Tensor, bias: Tensor, targets: Tensor, bf16: bool = False) -> Tensor:
    """-log softmax(states words' + bias) at the target of each row: UFT's L_m and ClusterBERT (1) are its mean.

    One row a place, one of `words` a column. With `bf16` the product is of 16-bit numbers.
    """

    def part(states: Tensor, targets: Tensor) -> Tensor:
        logits = linear(with_empty_rows(states), words, bias, bf16)
        told = functional.pad(targets, (0, len(logits) - len(targets)), value=NOT_TOLD)
        return functional.cross_entropy(logits, told, reduction="none", ignore_index=NOT_TOLD)[: len(targets)]

    rows = max(1, LOGITS_AT_ONCE // len(words))
    if len(states) <= rows:
        return part(states, targets)
    pairs = zip(torch.split(states, rows), torch.split(targets, rows), strict=True)
    return torch.cat([recomputed(part, *pair, use_reentrant=False, preserve_rng_state=False) for pair in pairs])


def mean_surprise(surprise: Tensor) -> Tensor:
    """Over all places; 0 where there is none."""
    return surprise.sum() / max(1, len(surprise))
