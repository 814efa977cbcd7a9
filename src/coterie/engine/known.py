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

MARKED_BYTES = 1_000_000_000
"""What the states at marked places may take beyond those of one view: 650,000 places of the bundled encoder."""


class Known:
    """Vectors of every view and states at marked places, without gradient, until `forget` is called."""

    def __init__(self, texts: Texts, encoder: nn.Module, workers: Workers) -> None:
        self._texts, self._encoder, self._workers = texts, encoder, workers
        self._vectors: dict[int, Tensor] = {}
        self._marked: dict[int, tuple[Marks, Tensor, Tensor]] = {}

    def forget(self) -> None:
        """When the encoder has changed."""
        self._vectors, self._marked = {}, {}

    def vectors(self, view: int = 0) -> Tensor:
        """Of all texts."""
        if view not in self._vectors:
            self._encoder.eval()
            own = self._texts.encode_all(view, self._workers.share(len(self._texts)))
            self._vectors[view] = self._workers.gather(own, len(self._texts))
        return self._vectors[view]

    def marked(self, view: int, marks: Marks) -> tuple[Tensor, Tensor]:
        """Vectors of all texts and their states at marked places; of several views where there is room for them."""
        if view not in self._marked or self._marked[view][0] is not marks:
            self._encoder.eval()
            rows = len(self._texts)
            vectors, states = cast(TokenTexts, self._texts).encode_all_marked(view, self._workers.share(rows), marks)
            shares = np.array_split(np.arange(rows), self._workers.count)
            with torch.no_grad():
                states = self._workers.gather_with_gradient(states, [int(marks.counts[own].sum()) for own in shares])
            if states.nbytes + sum(other.nbytes for _, _, other in self._marked.values()) > MARKED_BYTES:
                self._marked = {}
            self._marked[view] = (marks, self._workers.gather(vectors, rows), states)
        return self._marked[view][1:]

    # As texts of a batch.

    def encode(self, view: int, rows: Rows) -> Tensor:
        return self.vectors(view)[torch.from_numpy(rows)]

    def encode_marked(self, view: int, rows: Rows, marks: Marks) -> tuple[Tensor, Tensor]:
        vectors, states = self.marked(view, marks)
        places = token_places(marks.offsets[:-1], marks.counts, rows)
        return vectors[torch.from_numpy(rows)], states[torch.from_numpy(places)]
