"""Texts to train an encoder on: what the frozen layers make of them is computed once and kept on disk."""

from __future__ import annotations

import itertools
import mmap
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coterie.features.cache import LARGEST_BYTES, VectorFile
from coterie.features.tokens import Tokens, token_places
from coterie.nn.encoder import TrainableEncoder
from coterie.persist.environment import available_memory
from coterie.types import Matrix, Progress, silent

LARGEST_STATES = LARGEST_BYTES // 2
"""Bytes that the states of one view may take on disk, so that one view never drives everything else from the cache.
Beyond, the frozen layers are run every time: 1.4 million tokens of the bundled encoder."""

TOKENS_AT_ONCE = 8192
SECONDS_BETWEEN_RECORDS = 5.0

CODE_VERSION = 1
"""To be raised when the frozen layers give other numbers: states kept by the old ones are then not used."""


class TrainingTexts:
    """One or several views of the same texts, encoded again and again while the encoder is trained.

    A view is the tokens of every text, as they are or after an augmentation. `encode` has gradients, `encode_all` has
    none.
    """

    def __init__(self, encoder: TrainableEncoder, views: Sequence[Tokens], progress: Progress = silent) -> None:
        self.encoder = encoder
        distinct = [_Distinct(tokens) for tokens in views]
        ends = np.cumsum([0, *(len(view.tokens.ids) for view in distinct)]).tolist()

        def report(before: int) -> Callable[[int], None]:
            return lambda done: progress("preparing", before + done, ends[-1])

        self.views = [_View(encoder, view, report(before)) for view, before in zip(distinct, ends, strict=False)]

    def __len__(self) -> int:
        """Texts of a view."""
        return len(self.views[0].place)

    @property
    def width(self) -> int:
        return self.encoder.width

    def encode(self, view: int, rows: NDArray[np.int64]) -> Tensor:
        """Unit vectors of these texts in this order, with gradients for what is trained."""
        return self.views[view].encode(rows)

    def encode_all(self, view: int = 0, rows: NDArray[np.int64] | None = None, progress: Progress = silent) -> Tensor:
        """Unit vectors of any number of texts, or all, as the encoder now is: no gradients, no dropout."""
        return self.views[view].encode_all(rows, progress)


class StillTexts:
    """One or several views of the same texts for an encoder that is not trained: their vectors, once and for all."""

    def __init__(self, views: Sequence[Matrix], device: torch.device) -> None:
        self._views = [torch.from_numpy(np.array(view)).to(device) for view in views]
        self.width = self._views[0].shape[1]

    def __len__(self) -> int:
        return len(self._views[0])

    def encode(self, view: int, rows: NDArray[np.int64]) -> Tensor:
        return self._views[view][torch.from_numpy(rows)]

    encode_all = encode


class _Distinct:
    """Every text once, in order of length; text i of the view is `place[i]`."""

    def __init__(self, view: Tokens) -> None:
        seen: dict[bytes, int] = {}
        starts = view.offsets.tolist()
        found = np.array(
            [seen.setdefault(view.ids[start:stop].tobytes(), len(seen)) for start, stop in itertools.pairwise(starts)],
            dtype=np.int64,
        )
        first = np.full(len(seen), len(found), dtype=np.int64)
        np.minimum.at(first, found, np.arange(len(found)))
        # In order of length any stretch is a batch without padding, and the file is written from front to back.
        order = np.argsort(view.lengths[first], kind="stable")
        self.place = np.argsort(order)[found]
        self.tokens = view.taken(first[order])


def _let_go(rows: Matrix) -> None:
    """Pages of a mapped file that were read need not stay in our memory: the system has them at hand anyway."""
    if isinstance(rows.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        rows.base.madvise(mmap.MADV_DONTNEED)


class _View:
    def __init__(self, encoder: TrainableEncoder, distinct: _Distinct, prepared: Callable[[int], None]) -> None:
        self.encoder, self.tokens, self.place = encoder, distinct.tokens, distinct.place
        self.lengths, self.starts = self.tokens.lengths, self.tokens.offsets[:-1]
        self.kept: Matrix | None = None
        if self._worth_keeping():
            self.kept = self._prepare(prepared)

    def _worth_keeping(self) -> bool:
        # The sum of three embeddings is had faster than it is read.
        return len(self.tokens) > 0 and self.encoder.first_trainable > 0

    def _prepare(self, prepared: Callable[[int], None]) -> Matrix | None:
        """A row for every token, from the cache or in memory; None where there is no room for them."""
        encoder = self.encoder
        settings = f"{CODE_VERSION} {torch.__version__} states {encoder.first_trainable}"
        shape = (len(self.tokens.ids), encoder.width)
        needed = shape[0] * shape[1] * 4
        if needed <= LARGEST_STATES:
            key = (encoder.checkpoint.fingerprint, settings, self.tokens.fingerprint())
            with VectorFile.open(*key, rows=shape[0], width=shape[1]) as file:
                if file is not None:
                    self._fill(file.vectors, prepared, file.done, file.record)
                    return file.vectors
        if needed <= available_memory() // 4:
            rows = np.empty(shape, dtype=np.float32)
            self._fill(rows, prepared)
            return rows
        return None

    def _fill(
        self, out: Matrix, prepared: Callable[[int], None], skip: int = 0, record: Callable[[int], None] | None = None
    ) -> None:
        """Fills `out` from front to back; `skip` rows are already there."""
        last_record = time.monotonic()
        stop = 0
        # The same batches whether it goes on or begins: products of other rows may round differently.
        for texts in self._batches(np.arange(len(self.tokens))):
            start, stop = stop, int(self.tokens.offsets[texts[-1] + 1])
            if stop <= skip:
                continue
            out[start:stop] = self.encoder.below(self._ids(texts), self.lengths[texts]).cpu().numpy()
            if record and (time.monotonic() - last_record > SECONDS_BETWEEN_RECORDS or stop == len(out)):
                record(stop)
                _let_go(out)
                last_record = time.monotonic()
            prepared(stop)

    def _batches(self, texts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """These texts, which are in order of length, in batches of about TOKENS_AT_ONCE tokens."""
        batch = np.cumsum(self.lengths[texts]) // TOKENS_AT_ONCE
        return np.split(texts, np.flatnonzero(np.diff(batch)) + 1) if len(texts) else []

    def _ids(self, texts: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(self.tokens.ids[token_places(self.starts, self.lengths, texts)])

    def _vectors(self, texts: NDArray[np.int64]) -> Tensor:
        """Of texts in order of length."""
        if self.kept is None:
            return torch.as_tensor(self.encoder(self._ids(texts), self.lengths[texts]))
        states = torch.from_numpy(np.asarray(self.kept[token_places(self.starts, self.lengths, texts)]))
        _let_go(self.kept)
        return self.encoder.from_states(states, self.lengths[texts])

    def _without_gradient(self, texts: NDArray[np.int64]) -> Tensor:
        training = self.encoder.training
        self.encoder.eval()
        try:
            with torch.no_grad():
                return self._vectors(texts)
        finally:
            self.encoder.train(training)

    def encode(self, rows: NDArray[np.int64]) -> Tensor:
        texts = self.place[rows]
        # Sorted here, so that nothing has to be moved later and the file is read in its own order.
        order = np.argsort(texts, kind="stable")
        vectors = self._vectors(texts[order])
        return vectors[torch.from_numpy(np.argsort(order)).to(vectors.device)]

    def encode_all(self, rows: NDArray[np.int64] | None, progress: Progress) -> Tensor:
        places = self.place if rows is None else self.place[rows]
        chosen, back = np.unique(places, return_inverse=True)
        vectors = torch.empty(len(chosen), self.encoder.width, device=self.encoder.device)
        done = 0
        for texts in self._batches(chosen):
            vectors[done : done + len(texts)] = self._without_gradient(texts)
            done += len(texts)
            progress("encoding", int(self.lengths[chosen[:done]].sum()), int(self.lengths[chosen].sum()))
        return vectors[torch.from_numpy(back).to(vectors.device)]
