"""Contextual substitution (Kobayashi 2018): words replaced by what a masked language model expects in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coterie.augment.chance import Chance, check_random_state, check_rate, share_of
from coterie.augment.masked_lm import MaskedLM
from coterie.augment.pieces import telling_form, word_spans, written_like
from coterie.augment.vocabulary import special_ids, whole_words
from coterie.data.check import check_texts
from coterie.features.tokens import CHARACTERS_PER_TOKEN, Tokens, cut, equal_length_batches, without_gaps
from coterie.types import Progress, silent

if TYPE_CHECKING:
    from tokenizers import Encoding

VERSION = 2
"""To be raised when the same settings give other views."""

CHOICES = 5
"""A word is replaced by one of this many proposals."""

PROPOSALS = 50
"""Tokens looked at to find them: pieces of words, punctuation, stop words and the word itself do not count."""

TEXTS_AT_ONCE = 1000
TOKEN_BUDGET = 1024


@dataclass(frozen=True)
class _Masked:
    """A text with some words masked: its token ids, the masked columns, and where those words stand in the text."""

    text: str
    ids: NDArray[np.int32]
    columns: list[int]
    spans: list[tuple[int, int]]


class Contextual:
    """max(1, int(rate * words)) words of each text replaced, all masked at once; a rate of 0 changes nothing.

    Words beyond the model's longest text do not count. A word can be replaced when it is a single token and no stop
    word. The new one is drawn from the five likeliest whole words that are neither stop words nor the word itself.
    Equal texts get equal views.
    """

    def __init__(self, masked_lm: MaskedLM, *, rate: float = 0.1, random_state: int = 0) -> None:
        self.masked_lm = masked_lm
        self.rate = check_rate("rate", rate)
        self.random_state = check_random_state(random_state)

    def describe(self) -> str:
        settings = f"rate={self.rate!r} random_state={self.random_state}"
        return f"contextual {VERSION} {settings} masked_lm=({self.masked_lm.describe()})"

    def augment(self, texts: Sequence[str], progress: Progress = silent) -> list[str]:
        texts = check_texts(texts)
        read = [without_gaps(text, self._characters) for text in texts]
        distinct = list(dict.fromkeys(read)) if self.rate else []
        masked: list[_Masked] = []
        for start in range(0, len(distinct), TEXTS_AT_ONCE):
            masked += self._masked(distinct[start : start + TEXTS_AT_ONCE])
            progress("masking", min(start + TEXTS_AT_ONCE, len(distinct)), len(distinct))
        view_of: dict[str, str] = {}
        tokens = Tokens.of([one.ids for one in masked])
        for length, rows in equal_length_batches(tokens, TOKEN_BUDGET):
            view_of.update(self._filled([masked[row] for row in rows], tokens.rows(rows, length)))
            progress("augmenting", len(view_of), len(masked))
        return [view_of.get(seen, text) for seen, text in zip(read, texts, strict=True)]

    def _masked(self, texts: list[str]) -> list[_Masked]:
        """The texts in which a word can be replaced, those words masked."""
        longest = self.masked_lm.longest
        encodings = self.masked_lm.tokenizer.encode_batch([text[: self._characters] for text in texts])
        found = []
        for text, encoding in zip(texts, encodings, strict=True):
            ids = np.array(cut(encoding.ids, longest), dtype=np.int32)
            spans = word_spans(text)
            replaceable = self._replaceable(text, encoding, spans, longest - 1)
            if not replaceable:
                continue
            chance = Chance("contextual", self.random_state, text)
            read_to = max(stop for _, stop in encoding.offsets[: longest - 1])
            words_read = sum(stop <= read_to for _, stop in spans)
            chosen = sorted(chance.sample(len(replaceable), share_of(words_read, self.rate)))
            columns = [replaceable[index][0] for index in chosen]
            ids[columns] = self.masked_lm.mask_id
            found.append(_Masked(text, ids, columns, [replaceable[index][1] for index in chosen]))
        return found

    def _replaceable(
        self, text: str, encoding: Encoding, spans: Sequence[tuple[int, int]], end: int
    ) -> list[tuple[int, tuple[int, int]]]:
        """The column and the span of every word that is one token and no stop word."""
        telling = {span for span in spans if telling_form(text[slice(*span)])}
        found = []
        for column, (index, (start, stop)) in enumerate(zip(encoding.ids[:end], encoding.offsets[:end], strict=True)):
            # In some vocabularies the space before a word belongs to its token.
            start += len(text[start:stop]) - len(text[start:stop].lstrip())
            if (start, stop) in telling and index not in self._special:
                found.append((column, (start, stop)))
        return found

    def _filled(self, masked: list[_Masked], ids: NDArray[np.int64]) -> dict[str, str]:
        rows = np.repeat(np.arange(len(masked)), [len(one.columns) for one in masked])
        columns = np.array([column for one in masked for column in one.columns], dtype=np.int64)
        proposals = iter(self.masked_lm.proposals(ids, rows, columns, PROPOSALS))
        return {one.text: self._with_proposals(one, [next(proposals) for _ in one.columns]) for one in masked}

    def _with_proposals(self, masked: _Masked, proposals: list[NDArray[np.int64]]) -> str:
        chance = Chance("contextual proposals", self.random_state, masked.text)
        parts: list[str] = []
        end = 0
        for (start, stop), ids in zip(masked.spans, proposals, strict=True):
            old = masked.text[start:stop]
            choices = self._choices(old, ids)
            parts += [masked.text[end:start], written_like(choices[chance.index(len(choices))], old)]
            end = stop
        return "".join([*parts, masked.text[end:]])

    def _choices(self, old: str, ids: NDArray[np.int64]) -> list[str]:
        form = telling_form(old)
        words = [self._words[index] for index in ids.tolist() if index in self._words]
        fitting = [word for word in words if telling_form(word) not in (None, form)]
        return list(dict.fromkeys(fitting))[:CHOICES] or [old]

    @property
    def _characters(self) -> int:
        """More than the model's longest text has."""
        return self.masked_lm.longest * CHARACTERS_PER_TOKEN

    @cached_property
    def _words(self) -> dict[int, str]:
        return whole_words(self.masked_lm.tokenizer)

    @cached_property
    def _special(self) -> frozenset[int]:
        return special_ids(self.masked_lm.tokenizer)
