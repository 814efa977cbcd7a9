"""Texts as token ids: tokenised once, in parallel, into one flat array."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ConfigError
from coterie.types import Progress, silent

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from coterie.features.checkpoints import Checkpoint

TEXTS_AT_ONCE = 20_000
CHARACTERS_AT_ONCE = 4_000_000
CHARACTERS_PER_TOKEN = 64
"""A text is read this far for every token that is kept: words are shorter."""


@dataclass(frozen=True)
class Tokens:
    """The ids of text i are `ids[offsets[i]:offsets[i + 1]]`."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.asarray(np.diff(self.offsets))

    def rows(self, chosen: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """The ids of texts that all have this length, one text a row."""
        places = self.offsets[chosen][:, None] + np.arange(length)
        return np.asarray(self.ids[places], dtype=np.int64)

    @classmethod
    def of(cls, pieces: Sequence[NDArray[np.int32]]) -> Self:
        """The ids of every text, text after text."""
        flat = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int32)
        return cls(flat, np.cumsum([0, *(len(piece) for piece in pieces)], dtype=np.int64))

    def taken(self, chosen: NDArray[np.int64]) -> Tokens:
        """These texts, in this order, as tokens of their own."""
        lengths = self.lengths
        ids = self.ids[token_places(self.offsets[:-1], lengths, chosen)]
        return Tokens(ids, np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.int64))

    def fingerprint(self) -> str:
        digest = hashlib.sha256(self.ids.tobytes())
        digest.update(self.offsets.tobytes())
        return digest.hexdigest()


def load_tokenizer(checkpoint: Checkpoint) -> Tokenizer:
    """The checkpoint's tokenizer with padding and truncation off: both are done by us."""
    from tokenizers import Tokenizer

    path = checkpoint.folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(path)) if path.is_file() else _slow_tokenizer(checkpoint)
    except Exception as error:
        raise ConfigError(
            f"encoder {checkpoint.name!r} has no tokenizer that can be read: add its tokenizer.json"
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _slow_tokenizer(checkpoint: Checkpoint) -> Tokenizer:
    from transformers import AutoTokenizer

    slow = AutoTokenizer.from_pretrained(str(checkpoint.folder))
    tokenizer: Tokenizer = slow.backend_tokenizer
    # Without any file it makes up a tokenizer that knows no word.
    if tokenizer.get_vocab_size() <= len(slow.all_special_tokens):
        raise ValueError("no vocabulary")
    return tokenizer


def tokenize(tokenizer: Tokenizer, texts: Sequence[str], max_length: int, progress: Progress = silent) -> Tokens:
    """Every text cut to `max_length` tokens; the closing special token is kept."""
    pieces: list[NDArray[np.int32]] = []
    for part in _portions(texts, max_length * CHARACTERS_PER_TOKEN):
        for encoding in tokenizer.encode_batch_fast(part):
            # A tokenizer without special tokens can find nothing in a text; its first token then stands for it.
            pieces.append(np.array(cut(encoding.ids or [0], max_length), dtype=np.int32))
        progress("tokenising", len(pieces), len(texts))
    return Tokens.of(pieces)


def cut(ids: list[int], max_length: int) -> list[int]:
    """At most this many tokens, the last one, which closes the text, among them."""
    return ids if len(ids) <= max_length else ids[: max_length - 1] + ids[-1:]


def token_places(starts: NDArray[np.int64], lengths: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the tokens of these texts are, text after text."""
    chosen = lengths[rows]
    ends = np.cumsum(chosen)
    return np.asarray(np.repeat(starts[rows] - (ends - chosen), chosen) + np.arange(ends[-1] if len(ends) else 0))


def without_gaps(text: str, longest: int) -> str:
    """A text of which no more is read than so many characters: in a longer one, these could all be white space."""
    return text if len(text) <= longest else " ".join(text.split())


def _portions(texts: Sequence[str], longest: int) -> Iterator[list[str]]:
    """Texts in lists of bounded size, each text without what lies far beyond its last token."""
    portion: list[str] = []
    characters = 0
    for text in texts:
        portion.append(without_gaps(text, longest)[:longest])
        characters += len(portion[-1])
        if len(portion) == TEXTS_AT_ONCE or characters >= CHARACTERS_AT_ONCE:
            yield portion
            portion, characters = [], 0
    if portion:
        yield portion


def equal_length_batches(tokens: Tokens, token_budget: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Texts in batches of one length each, longest first, at most `token_budget` tokens: nothing is padded.

    Longest first, because then the estimate of the time left errs on the safe side.
    """
    lengths = tokens.lengths
    order = np.argsort(-lengths, kind="stable")
    boundaries = np.flatnonzero(np.diff(lengths[order])) + 1
    for same_length in np.split(order, boundaries):
        if len(same_length) == 0:
            continue
        length = int(lengths[same_length[0]])
        size = max(1, token_budget // length)
        for start in range(0, len(same_length), size):
            yield length, same_length[start : start + size]
