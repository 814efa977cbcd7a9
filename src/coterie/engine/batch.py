"""Which texts a step sees, and their vectors."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coterie.engine.workers import Workers

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
        self._calls = 0
        seed_torch([*seed, 0, 0])  # whatever is drawn before the first vectors is the same after a resume

    def __len__(self) -> int:
        return len(self._rows)

    def vectors(self, view: int = 0) -> Tensor:
        """Unit vectors of the batch in one view; asked again, dropout falls differently."""
        self._calls += 1
        # Seeded anew around every call: what comes after it draws the same numbers in every process.
        seed_torch([*self._seed, self._calls, 1 + self._workers.rank])
        shares = np.array_split(self._rows, self._workers.count)
        own = self._texts.encode(view, shares[self._workers.rank])
        gathered = self._workers.gather_with_gradient(own, [len(share) for share in shares])
        seed_torch([*self._seed, self._calls, 0])
        return gathered


def seed_torch(parts: list[int]) -> None:
    seed = int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0] >> np.uint64(1))
    if torch.cuda.is_available():
        torch.manual_seed(seed)
    else:
        # The same, without a stack trace for every kind of device that is not there: a fifth of a short step.
        torch.default_generator.manual_seed(seed)
