"""The words of a text, the same for every part of the package that counts words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from coterie.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Splitter = Callable[[str], list[str]]
"""A text to its words."""


@cache
def word_pattern() -> re.Pattern[str]:
    """Letters and digits, with what joins them inside (node.js, e-mail, don't) and what may end them (c++, c#).

    The vowel signs and accents that many scripts write as marks of their own belong to the letter before them; `\\w`
    alone would cut Hindi or Tamil words in pieces.
    """
    marks = "".join(char for char in map(chr, range(0x0300, 0xFE30)) if unicodedata.category(char) in ("Mn", "Mc"))
    letters = rf"(?:[^\W_][{marks}]*)+"
    return re.compile(rf"{letters}(?:[.'’_+#-]+{letters})*[+#]*")


HAN = "々\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA, KATAKANA = "\u3041-\u3096\u309d-\u309f", "\u30a1-\u30fa\u30fc-\u30ff"
"""Written without spaces between words."""
_PARTS = re.compile(f"(?P<signs>[{HAN}]+)|(?P<endings>[{HIRAGANA}]+)|[{KATAKANA}]+|[^{HAN}{HIRAGANA}{KATAKANA}]+")
_TELLS_APART = re.compile(f"[{HAN}{KATAKANA}]")


def words_of(text: str) -> list[str]:
    """Lower-case words of at least two characters, or Chinese signs; the English possessive is dropped."""
    # Composed: a letter and an accent of its own (files from macOS) are the same word as one accented letter.
    composed = unicodedata.normalize("NFC", text).lower()
    found = (word.removesuffix("'s").removesuffix("’s") for word in word_pattern().findall(composed))
    if composed.isascii():
        return [word for word in found if len(word) > 1]
    return [part for word in found for part in _parts_of(word)]


def _parts_of(word: str) -> Iterator[str]:
    """The word, or what can be told apart in it without a dictionary where words are written without spaces.

    Most Chinese words have two signs: those of a row count in pairs, overlapping. In Japanese what is in katakana is a
    word, and the hiragana beside it and beside signs are mostly endings and particles.
    """
    if not _TELLS_APART.search(word):
        if len(word) > 1:
            yield word
        return
    for part in _PARTS.finditer(word):
        if part["signs"]:
            yield from map("".join, pairwise(part[0])) if len(part[0]) > 1 else part[0]
        elif not part["endings"] and len(part[0]) > 1:
            yield part[0]


def telling_words_of(text: str) -> list[str]:
    """The words without the ones that every English text has."""
    stop_words = english_stop_words()
    return [word for word in words_of(text) if word not in stop_words]


@cache
def english_stop_words() -> frozenset[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS) | _CONTRACTIONS


_CONTRACTIONS = frozenset(
    f"{word}{mark}{ending}"
    for mark in "'’"
    for words, ending in (
        ("don doesn didn isn aren wasn weren can couldn won wouldn shouldn haven hasn hadn", "t"),
        ("i you we they", "ve"),
        ("i you he she it we they that there", "ll"),
        ("i you he she we they", "d"),
        ("you we they", "re"),
        ("i", "m"),
    )
    for word in words.split()
)


def stems_of(text: str) -> list[str]:
    """The telling words without their English endings: query, queries and querying are one."""
    return [_stem(word) for word in telling_words_of(text)]


@lru_cache(maxsize=1 << 18)
def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


def learn_words(
    texts: Sequence[str], splitter: Splitter = telling_words_of, **limits: Any
) -> tuple[csr_matrix, list[str]]:
    """How often each word stands in each text, and the words; `limits` are scikit-learn's min_df and the like.

    A corpus in which no word passes the limits gives a table with no columns.
    """
    import numpy as np
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(analyzer=splitter, dtype=np.float32, **limits)
    try:
        counts = csr_matrix(counter.fit_transform(texts))
    except ValueError:  # scikit-learn's way of saying that no word is left
        return csr_matrix((len(texts), 0), dtype=np.float32), []
    # Fitting leaves the words of a text in another order than counting does, and sums would round differently.
    counts.sort_indices()
    return counts, [str(word) for word in counter.get_feature_names_out()]


def some_words(
    texts: Sequence[str], splitter: Splitter = telling_words_of, **limits: Any
) -> tuple[csr_matrix, list[str]]:
    """The same for methods that have nothing but words to go by."""
    counts, vocabulary = learn_words(texts, splitter, **limits)
    if not vocabulary:
        raise InputError("texts: no words were found in them. Use a method with an encoder, such as 'auto'.")
    return counts, vocabulary


def count_words(texts: Sequence[str], vocabulary: Sequence[str], splitter: Splitter = telling_words_of) -> csr_matrix:
    """How often each word of the vocabulary stands in each text."""
    import numpy as np
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    if not vocabulary or not texts:
        return csr_matrix((len(texts), len(vocabulary)), dtype=np.float32)
    counts = csr_matrix(CountVectorizer(analyzer=splitter, vocabulary=vocabulary, dtype=np.float32).transform(texts))
    counts.sort_indices()
    return counts
