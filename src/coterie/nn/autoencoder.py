"""A network that has to say again what it read, through layers of any width."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional


class Autoencoder(nn.Module):
    """width - layers[0] - ... - layers[-1] and back the same way; ReLU everywhere but on the code and the output.

    The last of `layers` is the code. `decoder[i]` undoes what `encoder[i]` does: the two are a pair.
    """

    def __init__(self, width: int, layers: Sequence[int]) -> None:
        super().__init__()
        sizes = list(pairwise([width, *layers]))
        self.encoder = nn.ModuleList(nn.Linear(wide, narrow) for wide, narrow in sizes)
        self.decoder = nn.ModuleList(nn.Linear(narrow, wide) for wide, narrow in sizes)

    def encode(self, x: Tensor) -> Tensor:
        return self._below(x, len(self.encoder))

    def decode(self, code: Tensor) -> Tensor:
        for pair in reversed(range(len(self.decoder))):
            code = self._up(code, pair)
        return code

    def forward(self, x: Tensor) -> Tensor:
        return self.decode(self.encode(x))

    def one_pair(self, x: Tensor, pair: int, noise: float) -> tuple[Tensor, Tensor]:
        """What the layers below give to this pair, and what the pair alone makes of it under dropout (DEC (6)-(9))."""
        with torch.no_grad():
            given = self._below(x, pair)
        hidden = self._down(functional.dropout(given, noise, self.training), pair)
        return given, self._up(functional.dropout(hidden, noise, self.training), pair)

    def pair_parameters(self, pair: int) -> list[nn.Parameter]:
        return [*self.encoder[pair].parameters(), *self.decoder[pair].parameters()]

    def _below(self, x: Tensor, pair: int) -> Tensor:
        for layer in range(pair):
            x = self._down(x, layer)
        return x

    def _down(self, x: Tensor, pair: int) -> Tensor:
        made: Tensor = self.encoder[pair](x)
        return made if pair == len(self.encoder) - 1 else functional.relu(made)

    def _up(self, x: Tensor, pair: int) -> Tensor:
        made: Tensor = self.decoder[pair](x)
        return made if pair == 0 else functional.relu(made)
