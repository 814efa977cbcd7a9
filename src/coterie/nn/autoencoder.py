"""A network that has to say again what it read, through layers of any width."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional


class Autoencoder(nn.Module):
    """width - layers[0] - ... - layers[-1] and back the same way; ReLU everywhere but on the code and the output.

    The last of `layers` is the code. `decode[i]` undoes what `encode[i]` does: the two are a pair.
    """

    def __init__(self, width: int, layers: Sequence[int]) -> None:
        super().__init__()
        sizes = list(pairwise([width, *layers]))
        self.encode = nn.ModuleList(nn.Linear(wide, narrow) for wide, narrow in sizes)
        self.decode = nn.ModuleList(nn.Linear(narrow, wide) for wide, narrow in sizes)

    def code(self, x: Tensor) -> Tensor:
        return self._below(x, len(self.encode))

    def forward(self, x: Tensor) -> Tensor:
        """What it makes of x: code and back."""
        made = self.code(x)
        for pair in reversed(range(len(self.decode))):
            made = self._up(made, pair)
        return made

    def one_pair(self, x: Tensor, pair: int, noise: float) -> tuple[Tensor, Tensor]:
        """What the layers below give to this pair, and what the pair alone makes of it under dropout (DEC (6)-(9))."""
        with torch.no_grad():
            given = self._below(x, pair)
        hidden = self._down(functional.dropout(given, noise, self.training), pair)
        return given, self._up(functional.dropout(hidden, noise, self.training), pair)

    def pair_parameters(self, pair: int) -> list[nn.Parameter]:
        return [*self.encode[pair].parameters(), *self.decode[pair].parameters()]

    def _below(self, x: Tensor, pair: int) -> Tensor:
        for layer in range(pair):
            x = self._down(x, layer)
        return x

    def _down(self, x: Tensor, pair: int) -> Tensor:
        made: Tensor = self.encode[pair](x)
        return made if pair == len(self.encode) - 1 else functional.relu(made)

    def _up(self, x: Tensor, pair: int) -> Tensor:
        made: Tensor = self.decode[pair](x)
        return made if pair == 0 else functional.relu(made)
