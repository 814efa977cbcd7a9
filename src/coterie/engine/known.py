"""What an encoder that stands still makes of all texts: computed once, then only looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from coterie.engine.batch import Rows, Texts, TokenTexts
from coterie.engine.workers import Workers
from coterie.features.tokens import token_places

if TYPE_CHECKING:
    from coterie.nn.marks import Marks


class Known:
    """Vectors of every view and states at marked places, without gradient, until `forget` is called."""

    def __init__(self, texts: Texts, encoder: nn.Module, workers: Workers) -> None:
        self._texts, self._encoder, self._workers = texts, encoder, workers
        self._vectors: dict[int, Tensor] = {}
        self._marked: tuple[int, Marks, Tensor, Tensor] | None = None

    def forget(self) -> None:
        """When the encoder has changed."""
        self._vectors, self._marked = {}, None

    def vectors(self, view: int = 0) -> Tensor:
        """Of all texts."""
        if view not in self._vectors:
            self._encoder.eval()
            own = self._texts.encode_all(view, self._workers.share(len(self._texts)))
            self._vectors[view] = self._workers.gather(own, len(self._texts))
        return self._vectors[view]

    def marked(self, view: int, marks: Marks) -> tuple[Tensor, Tensor]:
        """Vectors of all texts and their states at marked places; only those last asked for are kept."""
        if self._marked is None or self._marked[0] != view or self._marked[1] is not marks:
            self._encoder.eval()
            rows = len(self._texts)
            vectors, states = cast(TokenTexts, self._texts).encode_all_marked(view, self._workers.share(rows), marks)
            shares = np.array_split(np.arange(rows), self._workers.count)
            with torch.no_grad():
                states = self._workers.gather_with_gradient(states, [int(marks.counts[own].sum()) for own in shares])
            self._marked = (view, marks, self._workers.gather(vectors, rows), states)
        return self._marked[2:]

    # As texts of a batch.

    def encode(self, view: int, rows: Rows) -> Tensor:
        return self.vectors(view)[torch.from_numpy(rows)]

    def encode_marked(self, view: int, rows: Rows, marks: Marks) -> tuple[Tensor, Tensor]:
        vectors, states = self.marked(view, marks)
        places = token_places(marks.offsets[:-1], marks.counts, rows)
        return vectors[torch.from_numpy(rows)], states[torch.from_numpy(places)]
