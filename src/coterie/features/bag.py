"""Bags of words: counts, TF-IDF, and LDA's topic mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from coterie.features.words import count_words, some_words, stems_of, telling_words_of
from coterie.types import Matrix, Progress, State, silent

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import LatentDirichletAllocation

MOST_WORDS = 2000
MOST_STEMS = 3000


class BagOfWords:
    """How often each of the `max_words` commonest words (None: all) stands in a text, scaled to length 1."""

    kind: ClassVar[str] = "bow"

    def __init__(self, max_words: int | None = MOST_WORDS) -> None:
        self.max_words = max_words
        self.vocabulary: list[str] = []

    @staticmethod
    def words_of(text: str) -> list[str]:
        """What is counted."""
        return telling_words_of(text)

    def fit_transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        progress("counting words", 0, 1)
        counts, self.vocabulary = some_words(texts, self.words_of, max_features=self.max_words)
        self._learn(counts)
        vectors = self._weigh(counts)
        progress("counting words", 1, 1)
        return vectors

    def transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        return self._weigh(count_words(texts, self.vocabulary, self.words_of))

    def state(self) -> State:
        return State({"max_words": self.max_words, "vocabulary": self.vocabulary})

    @classmethod
    def from_state(cls, state: State) -> Self:
        bag = cls(state.config["max_words"])
        bag.vocabulary = list(state.config["vocabulary"])
        return bag

    def _learn(self, counts: csr_matrix) -> None:
        """What the weights need to know of the corpus: for plain counts, nothing."""

    def _weigh(self, counts: csr_matrix) -> Matrix:
        return _dense_unit_rows(counts)


class Tfidf(BagOfWords):
    """Counts damped by a logarithm and weighted by how rare a word is, scaled to length 1."""

    kind: ClassVar[str] = "tfidf"

    def __init__(self, max_words: int | None = MOST_WORDS) -> None:
        super().__init__(max_words)
        self.rarity: NDArray[np.float32] = np.empty(0, dtype=np.float32)

    def state(self) -> State:
        return State(super().state().config, {"rarity": self.rarity})

    @classmethod
    def from_state(cls, state: State) -> Self:
        bag = super().from_state(state)
        bag.rarity = state.arrays["rarity"]
        return bag

    def _learn(self, counts: csr_matrix) -> None:
        self.rarity = word_rarity(counts)

    def _weigh(self, counts: csr_matrix) -> Matrix:
        return _dense_unit_rows(weigh_by_rarity(counts, self.rarity))


class StemTfidf(Tfidf):
    """The same of words without their English endings."""

    kind: ClassVar[str] = "stems"

    def __init__(self, max_words: int | None = MOST_STEMS) -> None:
        super().__init__(max_words)

    @staticmethod
    def words_of(text: str) -> list[str]:
        return stems_of(text)


class StemStrengths(BagOfWords):
    """log(1 + count) of each stem, divided by the text's largest: what KATE reads."""

    kind: ClassVar[str] = "stem-strengths"

    def __init__(self, max_words: int | None = MOST_STEMS) -> None:
        super().__init__(max_words)

    @staticmethod
    def words_of(text: str) -> list[str]:
        return stems_of(text)

    def _weigh(self, counts: csr_matrix) -> Matrix:
        strengths = np.asarray(counts.log1p().toarray(), dtype=np.float32)
        strengths /= np.maximum(strengths.max(axis=1, keepdims=True, initial=0), 1e-30)
        return strengths


class TopicMixture:
    """The share of each LDA topic in a text; rows sum to 1."""

    kind: ClassVar[str] = "lda"

    def __init__(self, topics: int = 20, max_words: int | None = MOST_WORDS, random_state: int = 0) -> None:
        self.topics, self.max_words, self.random_state = topics, max_words, random_state
        self.vocabulary: list[str] = []

    def fit_transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        counts, self.vocabulary = some_words(texts, max_features=self.max_words)
        progress("fitting topics", 0, 1)
        self._lda = _new_lda(self.topics, self.random_state).fit(counts)
        progress("fitting topics", 1, 1)
        return self._mixtures(counts)

    def transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        return self._mixtures(count_words(texts, self.vocabulary))

    def state(self) -> State:
        config = {"topics": self.topics, "max_words": self.max_words, "random_state": self.random_state}
        arrays = {"components": self._lda.components_, "expectation": self._lda.exp_dirichlet_component_}
        return State({**config, "vocabulary": self.vocabulary}, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        config = dict(state.config)
        vocabulary = config.pop("vocabulary")
        mixture = cls(**config)
        mixture.vocabulary = list(vocabulary)
        mixture._lda = _lda_from(state.arrays, mixture.random_state)
        return mixture

    def _mixtures(self, counts: csr_matrix) -> Matrix:
        if counts.shape[0] == 0:  # which scikit-learn refuses
            return np.empty((0, self.topics), dtype=np.float32)
        return np.asarray(self._lda.transform(counts), dtype=np.float32)


def _new_lda(topics: int, random_state: int) -> LatentDirichletAllocation:
    from sklearn.decomposition import LatentDirichletAllocation

    return LatentDirichletAllocation(topics, learning_method="online", max_iter=20, random_state=random_state)


def _lda_from(arrays: dict[str, NDArray[np.float64]], random_state: int) -> LatentDirichletAllocation:
    """scikit-learn keeps no way to give LDA its topics back, so the fitted attributes are set one by one."""
    topics, words = arrays["components"].shape
    lda = _new_lda(topics, random_state)
    lda.components_, lda.exp_dirichlet_component_ = arrays["components"], arrays["expectation"]
    lda.doc_topic_prior_ = lda.topic_word_prior_ = 1 / topics
    lda.random_state_ = np.random.RandomState(random_state)
    lda.n_features_in_ = words
    return lda


def word_rarity(counts: csr_matrix) -> NDArray[np.float32]:
    """Inverse document frequency, smoothed as if one more text had every word."""
    texts_with_word = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.asarray(np.log((1 + counts.shape[0]) / (1 + texts_with_word)) + 1, dtype=np.float32)


def weigh_by_rarity(counts: csr_matrix, rarity: NDArray[np.float32]) -> csr_matrix:
    """TF-IDF with 1 + log(count), rows of length 1."""
    weighted = counts.copy()
    weighted.data = (1 + np.log(weighted.data)) * rarity[weighted.indices]
    return _unit_rows(weighted)


def _dense_unit_rows(counts: csr_matrix) -> Matrix:
    return np.asarray(_unit_rows(counts).toarray(), dtype=np.float32)


def _unit_rows(counts: csr_matrix) -> csr_matrix:
    from sklearn.preprocessing import normalize

    # scikit-learn refuses tables without rows (no texts) or columns (no words).
    return normalize(counts) if min(counts.shape) else counts
