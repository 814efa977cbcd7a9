"""Places in texts at which a token is to be told, and the tokens that belong there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from coterie.features.tokens import Tokens, token_places


@dataclass(frozen=True)
class Marks:
    """Those of text i are `offsets[i]` to `offsets[i + 1]`: `at` is where in the text, ascending, `ids` the tokens."""

    at: NDArray[np.int64]
    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, tokens: Tokens, chosen: NDArray[np.bool_], ids: NDArray[np.int32]) -> Self:
        """The chosen ones of the tokens; `ids` has what belongs in the place of each token, chosen or not."""
        places = np.flatnonzero(chosen)
        texts = np.searchsorted(tokens.offsets, places, side="right") - 1
        counts = np.bincount(texts, minlength=len(tokens))
        at = places - tokens.offsets[texts]
        return cls(at, ids[places].astype(np.int64), np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

    @classmethod
    def differing(cls, view: Tokens, original: Tokens) -> Self:
        """Where a view of the same lengths has other tokens than the texts themselves, whose tokens belong there."""
        return cls.of(view, view.ids != original.ids, original.ids)

    @classmethod
    def following(cls, tokens: Tokens) -> Self:
        """Every place of a text but the last; the token after it belongs there."""
        last = np.zeros(len(tokens.ids), dtype=bool)
        last[tokens.offsets[1:] - 1] = True
        return cls.of(tokens, ~last, np.roll(tokens.ids, -1))

    def __len__(self) -> int:
        """Texts."""
        return len(self.offsets) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Marks of every text."""
        return np.asarray(np.diff(self.offsets))

    def taken(self, rows: NDArray[np.int64]) -> Marks:
        """Those of these texts, in this order."""
        counts = self.counts
        places = token_places(self.offsets[:-1], counts, rows)
        ends = np.concatenate([[0], np.cumsum(counts[rows])]).astype(np.int64)
        return Marks(self.at[places], self.ids[places], ends)

    def every(self, step: int, turn: int) -> Marks:
        """One mark in `step`; after as many turns each had its own."""
        return self._only((self.at + self._texts + turn) % step == 0)

    def of_texts(self, step: int, turn: int) -> Marks:
        """Those of one text in `step`; after as many turns each text had its own."""
        return self._only((self._texts + turn) % step == 0)

    @property
    def _texts(self) -> NDArray[np.int64]:
        """The text of every mark."""
        return np.repeat(np.arange(len(self)), self.counts)

    def _only(self, kept: NDArray[np.bool_]) -> Marks:
        counts = np.bincount(self._texts[kept], minlength=len(self))
        return Marks(self.at[kept], self.ids[kept], np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

    def flags(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """For every token of these texts, which have these lengths, whether it is marked."""
        marked = np.zeros(int(lengths.sum()), dtype=bool)
        marked[np.repeat(np.cumsum(lengths) - lengths, self.counts) + self.at] = True
        return marked
