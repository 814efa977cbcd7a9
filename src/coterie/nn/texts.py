"""Texts to train an encoder on: what the frozen layers make of them is computed once and kept on disk."""

from __future__ import annotations

import itertools
import mmap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coterie.features.cache import LARGEST_BYTES, VectorFile
from coterie.features.tokens import Tokens, token_places
from coterie.memory import available_memory
from coterie.nn.decoder import Decoder
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.marks import Marks
from coterie.types import Matrix, Progress, silent

LARGEST_STATES = LARGEST_BYTES // 2
"""Bytes that the states of one view may take on disk, so that one view never drives everything else from the cache.
Beyond, the frozen layers are run every time: 1.4 million tokens of the bundled encoder."""

TOKENS_AT_ONCE = 8192
SECONDS_BETWEEN_RECORDS = 5.0

CODE_VERSION = 2
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

        self.tokens = views[0]
        self.views = [_View(encoder, view, report(before)) for view, before in zip(distinct, ends, strict=False)]
        self._causal: _View | None = None

    def __len__(self) -> int:
        """Texts of a view."""
        return len(self.views[0].place)

    @property
    def width(self) -> int:
        return self.encoder.width

    def encode(self, view: int, rows: NDArray[np.int64]) -> Tensor:
        """Unit vectors of these texts in this order, with gradients for what is trained."""
        return self.views[view].encode(rows)

    def encode_all(self, view: int = 0, rows: NDArray[np.int64] | None = None) -> Tensor:
        """Unit vectors of any number of texts, or all, as the encoder now is: no gradients, no dropout."""
        return self.views[view].encode_all(rows)

    def add_view(self, tokens: Tokens, progress: Progress = silent) -> int:
        """One more view of all texts; its number."""
        self.views.append(self._prepared(tokens, progress))
        return len(self.views) - 1

    def encode_marked(self, view: int, rows: NDArray[np.int64], marks: Marks) -> tuple[Tensor, Tensor]:
        """Unit vectors of these texts, and their last hidden states where they are marked, text after text."""
        return self.views[view].encode_marked(rows, marks)

    def encode_all_marked(self, view: int, rows: NDArray[np.int64], marks: Marks) -> tuple[Tensor, Tensor]:
        """The same for any number of texts, as the encoder now is: no gradients, no dropout."""
        return self.views[view].encode_all_marked(rows, marks)

    def read_causally(self, progress: Progress = silent) -> None:
        """Prepares the texts for a decoder, for which no token may have seen those after it."""
        self._causal = self._prepared(self.tokens, progress, causal=True)

    def decode(self, decoder: Decoder, vectors: Tensor, rows: NDArray[np.int64], marks: Marks) -> Tensor:
        """The decoder's hidden states where these texts, which have these vectors, are marked, text after text."""
        if self._causal is None:
            raise RuntimeError("call read_causally first")
        return self._causal.decode(decoder, vectors, rows, marks)

    def _prepared(self, tokens: Tokens, progress: Progress, causal: bool = False) -> _View:
        distinct = _Distinct(tokens)
        total = len(distinct.tokens.ids)
        return _View(self.encoder, distinct, lambda done: progress("preparing", done, total), causal)


class StillTexts:
    """One or several views of the same texts for an encoder that is not trained: their vectors, once and for all."""

    def __init__(self, views: Sequence[Matrix], device: torch.device) -> None:
        writeable = [view if view.flags.writeable else np.array(view) for view in views]
        self._views = [torch.from_numpy(view).to(device) for view in writeable]
        self.width = self._views[0].shape[1]

    def __len__(self) -> int:
        return len(self._views[0])

    def encode(self, view: int, rows: NDArray[np.int64]) -> Tensor:
        return self._views[view][torch.from_numpy(rows)]

    def encode_all(self, view: int, rows: NDArray[np.int64]) -> Tensor:
        """The same for a share of the texts in order; of all of them no copy is made."""
        return self._views[view] if len(rows) == len(self) else self.encode(view, rows)


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


@contextmanager
def _as_it_is(encoder: TrainableEncoder) -> Iterator[None]:
    """Without gradient and dropout."""
    training = encoder.training
    encoder.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        encoder.train(training)


def _marked_rows(marks: Marks, order: NDArray[np.int64]) -> Tensor:
    """Where the marks of the texts in this order are among all marks."""
    return torch.from_numpy(token_places(marks.offsets[:-1], marks.counts, order))


class _View:
    def __init__(
        self, encoder: TrainableEncoder, distinct: _Distinct, prepared: Callable[[int], None], causal: bool = False
    ) -> None:
        self.encoder, self.tokens, self.place, self.causal = encoder, distinct.tokens, distinct.place, causal
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
        what = f"states {encoder.first_trainable}" + (" causal" if self.causal else "")
        settings = f"{CODE_VERSION} {torch.__version__} {what}"
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
            out[start:stop] = self.encoder.below(self._ids(texts), self.lengths[texts], self.causal).cpu().numpy()
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

    def _states(self, texts: NDArray[np.int64]) -> Tensor:
        """Below the first trainable layer, of texts in order of length."""
        if self.kept is None:
            return self.encoder.below(self._ids(texts), self.lengths[texts], self.causal)
        states = torch.from_numpy(np.asarray(self.kept[token_places(self.starts, self.lengths, texts)]))
        _let_go(self.kept)
        return states.to(self.encoder.device)

    def _vectors(self, texts: NDArray[np.int64]) -> Tensor:
        """Of texts in order of length."""
        return self.encoder.from_states(self._states(texts), self.lengths[texts])

    def _without_gradient(self, texts: NDArray[np.int64]) -> Tensor:
        with _as_it_is(self.encoder):
            return self._vectors(texts)

    def encode(self, rows: NDArray[np.int64]) -> Tensor:
        texts = self.place[rows]
        # Sorted here, so that nothing has to be moved later and the file is read in its own order.
        order = np.argsort(texts, kind="stable")
        vectors = self._vectors(texts[order])
        return vectors[torch.from_numpy(np.argsort(order)).to(vectors.device)]

    def encode_all(self, rows: NDArray[np.int64] | None) -> Tensor:
        places = self.place if rows is None else self.place[rows]
        chosen, back = np.unique(places, return_inverse=True)
        vectors = torch.empty(len(chosen), self.encoder.width, device=self.encoder.device)
        done = 0
        for texts in self._batches(chosen):
            vectors[done : done + len(texts)] = self._without_gradient(texts)
            done += len(texts)
        return vectors[torch.from_numpy(back).to(vectors.device)]

    def encode_marked(self, rows: NDArray[np.int64], marks: Marks) -> tuple[Tensor, Tensor]:
        texts, lengths, taken, back = self._in_order(rows, marks)
        flags = torch.from_numpy(taken.flags(lengths))
        vectors, states = self.encoder.marked(self._states(texts), lengths, flags)
        return vectors[torch.from_numpy(back)], states[_marked_rows(taken, back)]

    def encode_all_marked(self, rows: NDArray[np.int64], marks: Marks) -> tuple[Tensor, Tensor]:
        order = np.argsort(self.place[rows], kind="stable")
        ends = np.cumsum([len(texts) for texts in self._batches(self.place[rows][order])])
        with _as_it_is(self.encoder):
            parts = [self.encode_marked(rows[part], marks) for part in np.split(order, ends[:-1])]
        vectors, states = (torch.cat(list(part)) for part in zip(*parts, strict=True))
        back = np.argsort(order)
        return vectors[torch.from_numpy(back)], states[_marked_rows(marks.taken(rows[order]), back)]

    def decode(self, decoder: Decoder, vectors: Tensor, rows: NDArray[np.int64], marks: Marks) -> Tensor:
        told = np.flatnonzero(marks.counts[rows])
        texts, lengths, taken, back = self._in_order(rows[told], marks)
        given = vectors[torch.from_numpy(told[np.argsort(back)])]
        hidden = decoder(self._states(texts), lengths, given, torch.from_numpy(taken.flags(lengths)))
        return torch.as_tensor(hidden[_marked_rows(taken, back)])

    def _in_order(
        self, rows: NDArray[np.int64], marks: Marks
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Marks, NDArray[np.int64]]:
        """The texts of these rows in order of length, their lengths and marks, and where each row is among them."""
        order = np.argsort(self.place[rows], kind="stable")
        texts = self.place[rows][order]
        return texts, self.lengths[texts], marks.taken(rows[order]), np.argsort(order)
