"""A text as words and what stands between them, so that words can change and the rest stays as it is written."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from coterie.features.words import HAN, HIRAGANA, KATAKANA, english_stop_words, word_pattern, words_of

# Chinese and Japanese do not write spaces: each of their characters counts as a word, as in BERT's tokenizer.
_UNSPACED = HAN + HIRAGANA + KATAKANA
_HAS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_CHARACTER_OR_REST = re.compile(rf"[{_UNSPACED}][^\w.'’+#-]*|[^{_UNSPACED}]+")

_EMPTY_PAIR = re.compile(r"""\s*(?:\(\s*\)|\[\s*\]|\{\s*\}|"\s*"|'\s*'|“\s*”|‘\s*’|«\s*»)""")

_STRANDED = re.compile(r"[,;:]\s*(?=[,;:.!?])")


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end; words are those of the whole package, of one letter too."""
    spans: list[tuple[int, int]] = []
    for word in word_pattern().finditer(text):
        if word[0].isascii() or not _HAS_UNSPACED.search(word[0]):
            spans.append(word.span())
            continue
        for part in _CHARACTER_OR_REST.finditer(text, *word.span()):
            if _HAS_UNSPACED.match(part[0]):
                spans.append(part.span())
            else:
                spans.extend(rest.span() for rest in word_pattern().finditer(text, *part.span()))
    return spans


@lru_cache(maxsize=100_000)
def telling_form(word: str) -> str | None:
    """The word as it is looked up: lower-case, without the possessive; None for stop words and single letters."""
    found = words_of(word)
    if len(found) != 1 or found[0] in english_stop_words():
        return None
    return found[0]


def written_like(new: str, old: str) -> str:
    """The new word with the old one's capital first letter and possessive ending."""
    ending = old[-2:] if old.lower().endswith(("'s", "’s")) else ""
    return (new[:1].upper() + new[1:] if old[:1].isupper() else new) + ending


@dataclass(frozen=True)
class Pieces:
    """`gaps[i]` stands before `words[i]`, the last gap after the last word."""

    words: Sequence[str]
    gaps: Sequence[str]

    @classmethod
    def of(cls, text: str) -> Self:
        words, gaps, end = [], [], 0
        for start, stop in word_spans(text):
            gaps.append(text[end:start])
            words.append(text[start:stop])
            end = stop
        return cls(words, [*gaps, text[end:]])

    def text(self) -> str:
        parts = [part for pair in zip(self.gaps, self.words, strict=False) for part in pair]
        return "".join([*parts, self.gaps[-1]])

    def with_words(self, words: Sequence[str]) -> Self:
        """Other words in the same places."""
        return type(self)(words, self.gaps)

    def with_inserted(self, inserted: Collection[tuple[int, str]]) -> Self:
        """Each (place, word) put before the word at that place; place len(words) is the end of the text."""
        at: dict[int, list[str]] = {}
        for place, word in inserted:
            at.setdefault(place, []).append(word)
        words: list[str] = []
        gaps: list[str] = []
        for place, (gap, word) in enumerate(zip(self.gaps, self.words, strict=False)):
            new = at.get(place, [])
            words += [*new, word]
            gaps += [gap, *(" " for _ in new)]
        words += at.get(len(self.words), [])
        # What ends the text, such as its full stop, still ends it.
        gaps += [" " for _ in at.get(len(self.words), [])]
        return type(self)(words, [*gaps, self.gaps[-1]])

    def only(self, kept: Collection[int]) -> Self:
        """The text with the words at these places alone; spaces and brackets that held the others go with them."""
        words: list[str] = []
        gaps: list[str] = []
        gap = self.gaps[0]
        for place, word in enumerate(self.words):
            if place in kept:
                words.append(word)
                gaps.append(gap)
                gap = self.gaps[place + 1]
            else:
                gap = _closed(gap, self.gaps[place + 1], first=not words)
        gaps.append(gap)
        gaps[0], gaps[-1] = gaps[0].lstrip(), gaps[-1].rstrip()
        return type(self)(words, gaps)


def _closed(left: str, right: str, first: bool) -> str:
    """The gap that remains when the word between two gaps goes: one space, not two; one comma, not two."""
    opens = not left[-1:].isspace() and (first or any(char.isspace() for char in left))
    gap = left + right.lstrip() if opens else (left.rstrip() if right else left) + right
    return _STRANDED.sub("", _EMPTY_PAIR.sub("", gap)) or (" " if gap else "")
