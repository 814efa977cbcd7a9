"""SIF: a text as the weighted mean of its words' vectors, without what all texts share.

Arora, Liang and Ma 2017, "A simple but tough-to-beat baseline for sentence embeddings".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from coterie.features.word_vectors import vectors_of_words
from coterie.features.words import count_words, some_words
from coterie.types import Matrix, Progress, State, silent
from coterie.vectors import unit_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from coterie.features.transformer import TransformerEncoder

MAX_WORDS = 50_000


class Sif:
    """Word w weighs a / (a + p(w)); the first common component is removed; rows have length 1.

    The word vectors are read from `word_vectors` (a file) or distilled from `encoder`.
    """

    kind: ClassVar[str] = "sif"

    def __init__(
        self,
        encoder: TransformerEncoder | None = None,
        word_vectors: str | Path | None = None,
        a: float = 1e-3,
    ) -> None:
        self.encoder, self.word_vectors, self.a = encoder, word_vectors, a
        self.vocabulary: list[str] = []
        self.weighted: Matrix = np.empty((0, 0), dtype=np.float32)
        self.common: NDArray[np.float32] = np.empty(0, dtype=np.float32)

    def fit_transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        counts, vocabulary = some_words(texts, max_features=MAX_WORDS)
        frequency = np.asarray(counts.sum(axis=0)).ravel() / counts.sum()
        weight = dict(zip(vocabulary, self.a / (self.a + frequency), strict=True))
        self.vocabulary, vectors = vectors_of_words(vocabulary, self.encoder, self.word_vectors, progress)
        self.weighted = vectors * np.array([[weight[word]] for word in self.vocabulary], dtype=np.float32)
        means = self._means(count_words(texts, self.vocabulary))
        self.common = np.linalg.svd(means, full_matrices=False)[2][0]
        return self._without_common(means)

    def transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        return self._without_common(self._means(count_words(texts, self.vocabulary)))

    def state(self) -> State:
        arrays = {"weighted": self.weighted, "common": self.common}
        return State({"vocabulary": self.vocabulary, "a": self.a}, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        sif = cls(a=state.config["a"])
        sif.vocabulary = list(state.config["vocabulary"])
        sif.weighted, sif.common = state.arrays["weighted"], state.arrays["common"]
        return sif

    def _means(self, counts: csr_matrix) -> Matrix:
        sums = np.asarray(counts @ self.weighted)
        return np.asarray(sums / np.maximum(counts.sum(axis=1).A1[:, None], 1), dtype=np.float32)

    def _without_common(self, means: Matrix) -> Matrix:
        # Not `means @ common`: the BLAS rounds a row's product differently in another number of rows.
        along = (means * self.common).sum(axis=1, keepdims=True)
        return np.asarray(unit_rows(means - along * self.common), dtype=np.float32)
