"""Attention between texts: what a text is like is told by the texts that are like it."""

from __future__ import annotations

from math import sqrt
from typing import Literal

import torch
from torch import Tensor, nn

Form = Literal["block", "bare"]


class SampleAttention(nn.Module):
    """Similarities S = softmax(K1 K2' / sqrt(D)) between texts and representations H = S T (AECL (1)-(3)).

    `bare` is the printed form. `block` is what the authors run: a transformer layer with one head, so H also holds what
    the text itself said, passed through a feed-forward network.
    """

    def __init__(self, width: int, form: Form = "block") -> None:
        super().__init__()
        self.first_key = nn.Linear(width, width, bias=form == "block")
        self.second_key = nn.Linear(width, width, bias=form == "block")
        self.content = nn.Linear(width, width, bias=form == "block")
        self.form = form
        if form == "block":
            self.out = nn.Linear(width, width)
            self.widen, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
            self.norm, self.last_norm = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, texts: Tensor) -> tuple[Tensor, Tensor]:
        """H and S of a batch whose texts attend to one another."""
        scores = self.first_key(texts) @ self.second_key(texts).T / sqrt(texts.shape[1])
        similarity = scores.softmax(dim=1)
        return self._after(texts, similarity @ self.content(texts)), similarity

    def towards(self, texts: Tensor, reference: Tensor) -> Tensor:
        """H of texts each of which attends to itself and to the reference, never to one another."""
        query, scale = self.first_key(texts), sqrt(texts.shape[1])
        to_itself = (query * self.second_key(texts)).sum(dim=1, keepdim=True) / scale
        to_reference = query @ self.second_key(reference).T / scale
        share = torch.cat([to_itself, to_reference], dim=1).softmax(dim=1)
        return self._after(texts, share[:, :1] * self.content(texts) + share[:, 1:] @ self.content(reference))

    def _after(self, texts: Tensor, mixed: Tensor) -> Tensor:
        if self.form == "bare":
            return mixed
        inner: Tensor = self.norm(texts + self.out(mixed))
        outer: Tensor = self.last_norm(inner + self.narrow(torch.relu(self.widen(inner))))
        return outer
