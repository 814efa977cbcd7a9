"""A densely connected convolutional network over the words of a text (ADSL (6); Wang et al. 2018).

The words of all texts of a batch stand one below the other with an empty row between two texts: nothing is padded to
the longest. A convolution over three words is one product with the weights of all three places side by side, whose
results are then added up one row apart. In the first block that product depends on the word alone, so it is computed
once for every different word.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from coterie.features.tokens import Tokens, token_places
from coterie.nn.layers import linear, product, rounded_up, with_empty_rows

WINDOW = 3
ROWS_AT_ONCE = 4096
"""Words and empty rows of a product without gradient, always this many, or a multiple of it for a text that is longer:
products of other shapes round differently, and a text's vector would depend on its company."""


class DenseCnn(nn.Module):
    """Word numbers to one vector h a text: every block sees all blocks before it, and h is the maximum of the last.

    As printed in (6) the first block reads the word vectors X0, the others [X1 ... Xl-1]. Row 0 of `vectors` stands for
    a text without any known word. With `bf16`, products with gradient are of 16-bit numbers.
    """

    def __init__(self, vectors: Tensor, blocks: int = 3, maps: int = 128, bf16: bool = False) -> None:
        super().__init__()
        self.words = nn.Parameter(vectors)
        inputs = [vectors.shape[1], *(maps * block for block in range(1, blocks))]
        self.weights = nn.ParameterList(_convolution(wide, maps) for wide in inputs)
        self.biases = nn.ParameterList(torch.zeros(maps) for _ in inputs)
        self.maps, self.bf16 = maps, bf16

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Vectors of texts whose words follow one another, with gradient."""
        distinct, which = torch.unique(ids, return_inverse=True)
        vectors = functional.embedding(with_empty_rows(distinct), self.words)
        return self._pooled(_with_nothing(linear(vectors, self.weights[0], None, self.bf16)), which, lengths)

    @torch.no_grad()
    def encode_all(self, tokens: Tokens) -> Tensor:
        """Vectors of any number of texts, without gradient; each depends on its own text alone."""
        products = _with_nothing(product(self.words, self.weights[0]))
        made = []
        for rows in _portions(tokens.lengths):
            ids = torch.from_numpy(tokens.ids[token_places(tokens.offsets[:-1], tokens.lengths, rows)]).to(
                products.device
            )
            lengths = torch.from_numpy(tokens.lengths[rows]).to(products.device)
            filled = -(-(len(ids) + len(rows)) // ROWS_AT_ONCE) * ROWS_AT_ONCE
            made.append(self._pooled(products, ids.long(), lengths, filled))
        return torch.cat(made) if made else products.new_zeros(0, self.maps)

    def _pooled(self, products: Tensor, words: Tensor, lengths: Tensor, rows: int | None = None) -> Tensor:
        """From the first block's products of every word on, and of nothing last; `rows` fills up with empty ones."""
        texts = torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)
        rows = rows or rounded_up(len(words) + len(lengths))
        place = torch.arange(len(words), device=words.device) + texts
        nothing = len(products) - 1
        at = torch.full((rows,), nothing, device=words.device).index_copy_(0, place, words)
        there = (at < nothing).to(products.dtype)[:, None]
        beside = functional.embedding(at, products)
        seen = [self._added_up(beside, 0) * there]
        for block in range(1, len(self.weights)):
            everything = seen[0] if len(seen) == 1 else torch.cat(seen, dim=1)
            seen.append(self._added_up(linear(everything, self.weights[block], None, self.bf16), block) * there)
        # A text's empty row is no more than any of its others, which are not negative.
        ends = torch.cat([lengths + 1, lengths.new_tensor([rows - len(words) - len(lengths)])])
        return torch.segment_reduce(seen[-1], "max", lengths=ends, initial=0.0)[: len(lengths)]

    def _added_up(self, products: Tensor, block: int) -> Tensor:
        before, at, after = torch.split(products, self.maps, dim=1)
        added = at + functional.pad(before[:-1], (0, 0, 1, 0)) + functional.pad(after[1:], (0, 0, 0, 1))
        return functional.relu(added + self.biases[block])


def _with_nothing(products: Tensor) -> Tensor:
    """The products of an empty row, which are 0, below those of the words."""
    return functional.pad(products, (0, 0, 0, 1))


def _convolution(wide: int, maps: int) -> Tensor:
    """Weights of the word before, the word and the word after, one below the other; drawn as torch draws them."""
    bound = 1 / sqrt(WINDOW * wide)
    return torch.empty(WINDOW * maps, wide).uniform_(-bound, bound)


def _portions(lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Texts in order, in portions that fit into ROWS_AT_ONCE rows; a text that does not is a portion of its own."""
    start, used = 0, 0
    for row, length in enumerate(lengths.tolist()):
        if used and used + length + 1 > ROWS_AT_ONCE:
            yield np.arange(start, row)
            start, used = row, 0
        used += length + 1
    if len(lengths) > start:
        yield np.arange(start, len(lengths))


class WordTexts:
    """Texts as a trained `DenseCnn` reads them."""

    def __init__(self, network: DenseCnn, tokens: Tokens) -> None:
        self.network, self.tokens = network, tokens

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def width(self) -> int:
        return self.network.maps

    def encode(self, view: int, rows: NDArray[np.int64]) -> Tensor:
        chosen = self.tokens.taken(rows)
        device = self.network.words.device
        ids, lengths = torch.from_numpy(chosen.ids).long(), torch.from_numpy(chosen.lengths)
        return torch.as_tensor(self.network(ids.to(device), lengths.to(device)))

    def encode_all(self, view: int, rows: NDArray[np.int64]) -> Tensor:
        return self.network.encode_all(self.tokens.taken(rows))
