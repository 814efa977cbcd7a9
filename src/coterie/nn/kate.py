"""KATE: a k-competitive autoencoder for text (Chen and Zaki, KDD 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Kate(nn.Module):
    """One hidden layer with tied weights, tanh(W x + b) and sigmoid(W' z + c); neurons compete while it learns."""

    def __init__(self, width: int, topics: int, winners: int, energy: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(topics, width)))
        self.bias, self.out_bias = nn.Parameter(torch.zeros(topics)), nn.Parameter(torch.zeros(width))
        self.winners, self.energy = winners, energy

    @torch.no_grad()
    def expect(self, means: Tensor) -> None:
        """Before it has learnt anything, it says of every text what all of them have on average."""
        self.out_bias.copy_(torch.logit(means, eps=1e-4))

    def encode(self, x: Tensor) -> Tensor:
        """Without competition, as a finished model is used."""
        return torch.tanh(functional.linear(x, self.weight, self.bias))

    def forward(self, x: Tensor) -> Tensor:
        """The logits of what it makes of x."""
        return functional.linear(competed(self.encode(x), self.winners, self.energy), self.weight.t(), self.out_bias)


def competed(z: Tensor, winners: int, energy: float) -> Tensor:
    """Of every row the strongest neurons, half of them positive and half negative; each takes over what its side lost.

    The losers' sum, times `energy`, is added to every winner of the same sign; losers fall to 0 (Algorithm 2).
    """
    positive, negative = functional.relu(z), functional.relu(-z)
    return _one_side(positive, winners - winners // 2, energy) - _one_side(negative, winners // 2, energy)


def _one_side(strength: Tensor, winners: int, energy: float) -> Tensor:
    strongest = strength.topk(min(winners, strength.shape[1]), dim=1).indices
    won = torch.zeros_like(strength).scatter_(1, strongest, 1.0) * (strength > 0)
    lost = (strength * (1 - won)).sum(dim=1, keepdim=True)
    return won * (strength + energy * lost)
