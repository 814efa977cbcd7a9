"""The words of a corpus for methods that learn from words beside vectors of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from coterie.errors import InputError
from coterie.features.word_vectors import vectors_of_words
from coterie.features.words import learn_words
from coterie.types import Matrix, Progress, silent

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from coterie.features.transformer import TransformerEncoder


@dataclass(frozen=True)
class CountedWords:
    """How often each word stands in each text, and a vector for each word, of no numbers where none are wanted."""

    vocabulary: list[str]
    counts: csr_matrix
    vectors: Matrix


def counted_words(
    texts: Sequence[str],
    most: int,
    encoder: TransformerEncoder | None,
    word_vectors: str | Path | None = None,
    progress: Progress = silent,
) -> CountedWords:
    """The `most` commonest words that stand in at least two texts; in a corpus without any such, of all words.

    Without an encoder they have no vectors.
    """
    counts, vocabulary = learn_words(texts, min_df=2, max_features=most)
    if not vocabulary:
        counts, vocabulary = learn_words(texts, max_features=most)
    if not vocabulary:
        raise InputError("texts: no words were found in them, and this method learns from words. Use another method.")
    if encoder is None:
        return CountedWords(vocabulary, counts.tocsr(), np.empty((len(vocabulary), 0), dtype=np.float32))
    found, vectors = vectors_of_words(vocabulary, encoder, word_vectors, progress)
    place = {word: index for index, word in enumerate(vocabulary)}
    counts = counts[:, [place[word] for word in found]].tocsr()
    counts.sort_indices()
    return CountedWords(found, counts, vectors)
