"""TSDAE's decoder: it tells a text word by word from the text's vector alone (Wang et al. 2021).

Its layers are the encoder's own, with two differences: a token sees only those before it, and each layer attends to the
sentence's vector. Attention to a single vector gives it all of the weight whatever the query, so it is a linear map of
the vector, which is added to every token; the queries and keys of the published decoder never learn anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from coterie.nn.corpus_head import CorpusHead
from coterie.nn.encoder import Chunk, TrainableEncoder
from coterie.nn.layers import Affine, linear, with_empty_rows

START_DEVIATION = 0.02
"""Of the new weights, as of all of BERT's."""


class _VectorAttention(nn.Module):
    """Attention to a single vector, with the sum and norm after it."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.value = Affine(START_DEVIATION * torch.randn(width, width), torch.zeros(width))
        self.norm = Affine(torch.ones(width), torch.zeros(width))
        self.eps = eps

    def values(self, vectors: Tensor) -> Tensor:
        return linear(vectors, self.value.weight, self.value.bias)

    def forward(self, x: Tensor, values: Tensor) -> Tensor:
        return functional.layer_norm(x + values, x.shape[1:], self.norm.weight, self.norm.bias, self.eps)


class Decoder(nn.Module):
    """States from below the first trainable layer, read causally, to the decoder's hidden states.

    Its own weights are the attention to the vector and the head; all others are the encoder's. `ids` are the tokens
    that it will have to tell. Where only the upper layers are trained, only they are given the vector.
    """

    def __init__(self, encoder: TrainableEncoder, ids: NDArray[np.integer[Any]]) -> None:
        super().__init__()
        self._encoder = (encoder,)  # in a tuple, or its weights would be the decoder's
        self.given = nn.ModuleList(_VectorAttention(encoder.width, layer.eps) for layer in encoder.upper)
        self.head = CorpusHead(encoder, ids)

    def forward(self, states: Tensor, lengths: NDArray[np.int64], vectors: Tensor, marked: Tensor) -> Tensor:
        """Of the marked tokens only; texts in order of length."""
        (encoder,) = self._encoder
        marked = marked.to(vectors.device)
        text_of = torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths)).to(vectors.device)
        attentions = [part for part in self.given if isinstance(part, _VectorAttention)]
        values = [attention.values(vectors) for attention in attentions]

        def run(x: Tensor, chunk: Chunk) -> Tensor:
            texts, here = text_of[chunk.start : chunk.stop], marked[chunk.start : chunk.stop].nonzero()[:, 0]
            x, texts = with_empty_rows(x), with_empty_rows(texts)
            for layer, attention, value in zip(encoder.upper, attentions, values, strict=True):
                x = layer.attend(x, chunk.groups, causal=True)
                if value is values[-1]:
                    x, texts = with_empty_rows(x[here]), with_empty_rows(texts[here])
                x = layer.transform(attention(x, value[texts]))
            return x[: len(here)]

        parts = encoder.above(states, lengths, run)
        return torch.cat(parts) if parts else states
