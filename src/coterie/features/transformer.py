"""Sentence vectors from a transformer encoder, on the CPU, as fast as it goes."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from coterie.data.check import check_texts
from coterie.errors import ConfigError, CoterieError, ModelFormatError
from coterie.features.checkpoints import BUNDLED, Checkpoint, Pooling, find_checkpoint, published_pooling
from coterie.features.tokens import Tokens, equal_length_batches, load_tokenizer, tokenize
from coterie.memory import is_out_of_memory
from coterie.types import Matrix, Progress, State, silent

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

    from coterie.registry import Precision

TOKEN_BUDGET = 1024
"""Tokens in a batch. Small enough for the activations to stay in the processor's cache, which is worth more than
long products: from 512 to 2,048 the speed is the same, with 4,096 int8 is a third slower."""

SECONDS_BETWEEN_RECORDS = 2.0

TUNED = "tuned."
"""Before the names of tuned weights among the arrays of a saved encoder."""

Tuned = Mapping[str, NDArray[np.float32]]

CODE_VERSION = 1
"""To be raised when the forward pass gives other numbers: vectors kept by the old one are then not used."""


class TransformerEncoder:
    """Texts to unit vectors.

    `name` is the bundled `minilm`, a model folder, or a name on the Hugging Face hub, with `@revision` if one is asked
    for. `pooling` is the mean over the tokens or the first token (`cls`); None: as the encoder was published.
    `precision="int8"` is faster and slightly coarser, for encoding only. With `cache=True` vectors are kept on disk by
    content, and a run that was killed goes on where it stopped. `tuned` weights, under the names that the bare model
    has in transformers, take the place of the checkpoint's.
    """

    kind: ClassVar[str] = "transformer"

    def __init__(
        self,
        name: str | os.PathLike[str] = BUNDLED,
        *,
        pooling: Pooling | None = None,
        max_length: int = 128,
        precision: Precision = "fp32",
        cache: bool = True,
        tuned: Tuned | None = None,
    ) -> None:
        if pooling not in ("mean", "cls", None):
            raise ConfigError(f"pooling={pooling!r} is not known: use 'mean' or 'cls'")
        if precision not in ("fp32", "int8"):
            raise ConfigError(f"precision={precision!r} is not known: use 'fp32' or 'int8'")
        if max_length < 3:
            raise ConfigError(f"max_length={max_length} leaves no room for a word: use 3 or more")
        self.name = os.fspath(name) if isinstance(name, os.PathLike) else name
        self._pooling = pooling  # how it was published is looked up once it is needed: plans name encoders elsewhere
        self.max_length = max_length
        self.precision, self.cache = precision, cache
        self.known_texts = False  # whether `transform` is for texts that come again, and so looks into the cache
        # Copied: whoever goes on training changes nothing here.
        self.tuned = {name: np.array(array, dtype=np.float32) for name, array in (tuned or {}).items()}

    def __getstate__(self) -> dict[str, Any]:
        # What was loaded is read again from the checkpoint, in this process or the next.
        loaded = ("checkpoint", "tokenizer", "_model")
        return {name: value for name, value in self.__dict__.items() if name not in loaded}

    @cached_property
    def checkpoint(self) -> Checkpoint:
        return find_checkpoint(self.name)

    @cached_property
    def pooling(self) -> Pooling:
        return self._pooling or published_pooling(self.checkpoint)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return load_tokenizer(self.checkpoint)

    def encode(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        """One unit vector a text, in order; equal texts are encoded once."""
        return self._vectors_of(texts, progress, self.cache)

    def with_weights(self, tuned: Tuned) -> TransformerEncoder:
        """The same encoder with these weights in the place of the checkpoint's."""
        return self._with(tuned, self.precision)

    def in_8_bits(self) -> TransformerEncoder:
        """The same encoder, faster and slightly coarser where torch can do that; else this one."""
        from coterie.features import int8

        return self._with(self.tuned, "int8") if int8.is_here() else self

    def _with(self, tuned: Tuned, precision: Precision) -> TransformerEncoder:
        made = TransformerEncoder(
            self.name,
            pooling=self._pooling,
            max_length=self.max_length,
            precision=precision,
            cache=self.cache,
            tuned=tuned,
        )
        made.checkpoint = self.checkpoint
        return made

    @property
    def longest(self) -> int:
        """Tokens of the longest text that is read as a whole, special ones included."""
        return min(self.max_length, self._model.longest)

    def tokens(self, texts: Sequence[str], progress: Progress = silent) -> Tokens:
        """The texts as this encoder reads them, cut to its longest length."""
        return tokenize(self.tokenizer, check_texts(texts), self.longest, progress)

    def hidden_states(self, ids: NDArray[np.int64]) -> Tensor:
        """The last hidden state of every token of texts of one length, a text a row; no text sees the others."""
        import torch

        with torch.inference_mode():
            return self._model.forward(torch.from_numpy(ids))

    def _vectors_of(self, texts: Sequence[str], progress: Progress, cache: bool) -> Matrix:
        texts = check_texts(texts)
        place: dict[str, int] = {}
        index = np.array([place.setdefault(text, len(place)) for text in texts], dtype=np.int64)
        tokens = tokenize(self.tokenizer, list(place), self.longest, progress)
        vectors = self._cached(tokens, progress) if cache else self._all(tokens, progress)
        return vectors if len(place) == len(texts) else vectors[index]

    # The contract of every feature: fit_transform, transform, state, from_state.

    def fit_transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        return self.encode(texts, progress)

    def transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        # New texts come in calls without end: keeping all their vectors would fill the disk.
        return self._vectors_of(texts, progress, cache=self.cache and self.known_texts)

    def state(self) -> State:
        return State(
            {
                "name": self.checkpoint.lasting_name,
                "pooling": self.pooling,
                "max_length": self.max_length,
                "precision": self.precision,
                "fingerprint": self.checkpoint.fingerprint,
            },
            {TUNED + name: array for name, array in self.tuned.items()},
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        config = dict(state.config)
        fingerprint = config.pop("fingerprint")
        tuned = {key.removeprefix(TUNED): array for key, array in state.arrays.items() if key.startswith(TUNED)}
        encoder = cls(**config, tuned=tuned)
        if Path(encoder.name).is_absolute() and not Path(encoder.name).is_dir():
            raise ModelFormatError(
                f"this model was fitted with the encoder in {encoder.name!r}, which is not there any more: put the "
                "same folder back, or a link to it"
            )
        if encoder.checkpoint.fingerprint != fingerprint:
            raise ModelFormatError(
                f"this model was fitted with another version of the encoder {encoder.name!r} "
                f"(weights {fingerprint[:12]}, here {encoder.checkpoint.fingerprint[:12]}): "
                "put the same weights in place, or fit again"
            )
        return encoder

    @cached_property
    def _model(self) -> _Loaded:
        return _load(self.checkpoint, self.precision == "int8", self.tuned)

    def _cached(self, tokens: Tokens, progress: Progress) -> Matrix:
        import torch

        from coterie.features.cache import VectorFile
        from coterie.features.int8 import weight_steps

        # Processors differ in how coarse 8-bit products have to be.
        precision = f"int8 {weight_steps()}" if self.precision == "int8" else self.precision
        settings = f"{CODE_VERSION} {torch.__version__} {self.pooling} {precision}"
        key = (self.checkpoint.fingerprint + _fingerprint(self.tuned), settings, tokens.fingerprint())
        with VectorFile.open(*key, rows=len(tokens), width=self._model.width) as file:
            if file is None:
                return self._all(tokens, progress)
            self._encode(tokens, file.vectors, progress, skip=file.done, record=file.record)
            # A caller who changed these rows in place would change the cache.
            vectors = np.asarray(file.vectors)
            vectors.flags.writeable = False
            return vectors

    def _all(self, tokens: Tokens, progress: Progress) -> Matrix:
        vectors = np.empty((len(tokens), self._model.width), dtype=np.float32)
        self._encode(tokens, vectors, progress)
        return vectors

    def _encode(
        self,
        tokens: Tokens,
        out: Matrix,
        progress: Progress,
        skip: int = 0,
        record: Callable[[int], None] | None = None,
    ) -> None:
        """Fills `out`; `skip` rows in the order of the batches are already there."""
        done_rows = done_tokens = 0
        last_record = time.monotonic()
        for length, rows in equal_length_batches(tokens, TOKEN_BUDGET):
            done_rows += len(rows)
            done_tokens += length * len(rows)
            if done_rows <= skip:
                continue
            out[rows] = self._pooled(tokens.rows(rows, length))
            progress("encoding", done_tokens, len(tokens.ids))
            if record and (time.monotonic() - last_record > SECONDS_BETWEEN_RECORDS or done_rows == len(tokens)):
                record(done_rows)
                last_record = time.monotonic()

    def _pooled(self, ids: NDArray[np.int64]) -> Matrix:
        import torch
        import torch.nn.functional as F

        with torch.inference_mode():
            hidden = self.hidden_states(ids)
            pooled = hidden.mean(dim=1) if self.pooling == "mean" else hidden[:, 0]
            vectors: Matrix = F.normalize(pooled, dim=1).numpy()
        return vectors


def encoder_of(features: object) -> TransformerEncoder | None:
    """The encoder that these features are, or have as one of their parts."""
    found = getattr(features, "encoder", features)
    return found if isinstance(found, TransformerEncoder) else None


@dataclass(frozen=True)
class _Loaded:
    """Ids of shape (texts, length) to hidden states; at most `longest` tokens, `width` numbers each."""

    forward: Callable[[Tensor], Tensor]
    longest: int
    width: int


def _fingerprint(tuned: Tuned) -> str:
    """Nothing for a checkpoint as it is; else a number of its own for every set of weights."""
    if not tuned:
        return ""
    digest = hashlib.sha256()
    for name, array in sorted(tuned.items()):
        digest.update(f"{name} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return f" tuned {digest.hexdigest()}"


def _check_int8() -> None:
    import torch

    from coterie.features import int8

    if not int8.is_here():
        raise ConfigError(
            f"precision='int8' needs the 8-bit products of oneDNN, which this build of torch ({torch.__version__}) "
            "does not have: use 'fp32'"
        )


def _load(checkpoint: Checkpoint, int8: bool, tuned: Tuned) -> _Loaded:
    from coterie.features.bert import load_bert
    from coterie.features.other_families import load_other

    if int8:
        _check_int8()
    try:
        model = load_bert(checkpoint, int8, tuned) or load_other(checkpoint, int8, tuned)
        return _Loaded(model, model.longest, model.width)
    except CoterieError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise ConfigError(
            f"encoder {checkpoint.name!r} could not be loaded ({type(error).__name__}: {error}): "
            "give a Hugging Face encoder with safetensors weights"
        ) from error
