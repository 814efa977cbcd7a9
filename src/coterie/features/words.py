"""The words of a text, the same for every part of the package that counts words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Letters and digits, with what joins them inside (node.js, e-mail, don't) and what may end them (c++, c#).
_WORD = re.compile(r"[^\W_]+(?:[.'’_+#-]+[^\W_]+)*[+#]*")


def words_of(text: str) -> list[str]:
    """Lower-case words of at least two characters; the English possessive is dropped."""
    # Composed: a letter and an accent of its own (files from macOS) are the same word as one accented letter.
    composed = unicodedata.normalize("NFC", text).lower()
    found = (word.removesuffix("'s").removesuffix("’s") for word in _WORD.findall(composed))
    return [word for word in found if len(word) > 1]


def telling_words_of(text: str) -> list[str]:
    """The words without the ones that every English text has."""
    stop_words = english_stop_words()
    return [word for word in words_of(text) if word not in stop_words]


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


def count_words(
    texts: Sequence[str], vocabulary: Sequence[str] | None = None, **limits: Any
) -> tuple[csr_matrix, list[str]]:
    """How often each word stands in each text, and the words; `limits` are scikit-learn's min_df and the like.

    A corpus in which no word passes the limits gives a table with no columns rather than an error: its texts are
    told apart by the encoder alone.
    """
    import numpy as np
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    if vocabulary is not None and len(vocabulary) == 0:
        return csr_matrix((len(texts), 0), dtype=np.float32), []
    counter = CountVectorizer(analyzer=telling_words_of, vocabulary=vocabulary, dtype=np.float32, **limits)
    try:
        counts = counter.transform(texts) if vocabulary is not None else counter.fit_transform(texts)
    except ValueError:
        return csr_matrix((len(texts), 0), dtype=np.float32), []
    counts = csr_matrix(counts)
    # Fitting leaves the words of a text in another order than transforming, and sums would round differently.
    counts.sort_indices()
    return counts, [str(word) for word in counter.get_feature_names_out()]
