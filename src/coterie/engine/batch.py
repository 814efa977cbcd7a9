"""Which texts a step sees, their vectors, and the states of their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coterie.engine.workers import Workers

if TYPE_CHECKING:
    from coterie.nn.decoder import Decoder
    from coterie.nn.marks import Marks

Rows = NDArray[np.int64]


class Encodable(Protocol):
    """Texts in several views as something that can be encoded."""

    def encode(self, view: int, rows: Rows) -> Tensor:
        """The vectors of these rows in this order, with gradient where the encoder is trained."""


class Texts(Encodable, Protocol):
    """All the texts of a training."""

    def __len__(self) -> int: ...

    def encode_all(self, view: int, rows: Rows) -> Tensor:
        """The same without gradient, for any number of rows."""


class TokenTexts(Protocol):
    """Texts whose tokens can be looked at one by one, for methods that tell words."""

    def encode_marked(self, view: int, rows: Rows, marks: Marks) -> tuple[Tensor, Tensor]:
        """The vectors of these rows, and the hidden states where they are marked, row after row."""

    def encode_all_marked(self, view: int, rows: Rows, marks: Marks) -> tuple[Tensor, Tensor]:
        """The same without gradient, for any number of rows."""

    def decode(self, decoder: Decoder, vectors: Tensor, rows: Rows, marks: Marks) -> Tensor:
        """A decoder's hidden states where these rows, which have these vectors, are marked, row after row."""


def batches_of(rows: int, size: int, seed: list[int]) -> list[Rows]:
    """Every row once, in random order, in batches as equal as can be: a tiny last one would be a step of noise."""
    order = np.random.default_rng(seed).permutation(rows)
    return [np.asarray(part, dtype=np.int64) for part in np.array_split(order, batch_count(rows, size))]


def batch_count(rows: int, size: int) -> int:
    return max(1, round(rows / size))


class Batch:
    """The texts of one step over all processes; `vectors` gives the same tensor in every process."""

    def __init__(self, texts: Encodable, rows: Rows, workers: Workers, seed: list[int]) -> None:
        self.rows = torch.from_numpy(rows).to(workers.device)
        self._texts, self._rows, self._workers, self._seed = texts, rows, workers, seed
        self._shares = np.array_split(rows, workers.count)
        self._calls = 0
        seed_torch([*seed, 0, 0])  # whatever is drawn before the first vectors is the same after a resume

    def vectors(self, view: int = 0) -> Tensor:
        """Unit vectors of the batch in one view; asked again, dropout falls differently."""
        self._seed_own()
        own = self._texts.encode(view, self._shares[self._workers.rank])
        return self._of_all(own, [len(share) for share in self._shares])

    def marked(self, view: int, marks: Marks) -> tuple[Tensor, Tensor]:
        """The vectors in one view, and the hidden states where the texts are marked, text after text."""
        self._seed_own()
        texts = cast(TokenTexts, self._texts)
        vectors, states = texts.encode_marked(view, self._shares[self._workers.rank], marks)
        gathered = self._workers.gather_with_gradient(vectors, [len(share) for share in self._shares])
        return gathered, self._of_all(states, self._marks_of_shares(marks))

    def decoded(self, decoder: Decoder, vectors: Tensor, marks: Marks) -> Tensor:
        """A decoder's hidden states where the texts, which have these vectors, are marked, text after text."""
        self._seed_own()
        rank = self._workers.rank
        before = sum(len(share) for share in self._shares[:rank])
        own = vectors[before : before + len(self._shares[rank])]
        texts = cast(TokenTexts, self._texts)
        return self._of_all(texts.decode(decoder, own, self._shares[rank], marks), self._marks_of_shares(marks))

    def tokens(self, marks: Marks) -> Tensor:
        """The tokens that belong to the marked places, text after text."""
        return torch.from_numpy(marks.taken(self._rows).ids).to(self._workers.device)

    def _marks_of_shares(self, marks: Marks) -> list[int]:
        return [int(marks.counts[share].sum()) for share in self._shares]

    def _seed_own(self) -> None:
        # Seeded anew around every call: what comes after it draws the same numbers in every process.
        self._calls += 1
        seed_torch([*self._seed, self._calls, 1 + self._workers.rank])

    def _of_all(self, own: Tensor, sizes: list[int]) -> Tensor:
        gathered = self._workers.gather_with_gradient(own, sizes)
        seed_torch([*self._seed, self._calls, 0])
        return gathered


def seed_torch(parts: list[int]) -> None:
    seed = int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0] >> np.uint64(1))
    if torch.cuda.is_available():
        torch.manual_seed(seed)
    else:
        # The same, without a stack trace for every kind of device that is not there: a fifth of a short step.
        torch.default_generator.manual_seed(seed)
