"""Two views of a text side by side: what the encoder makes of it, and the words it uses.

The encoder knows that "invoice" and "bill" are close, but blurs rare words it has seldom seen (a product, a library, a
person's name). The words carry exactly those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from coterie.features.bag import weigh_by_rarity, word_rarity
from coterie.features.transformer import TransformerEncoder
from coterie.features.words import count_words, learn_words
from coterie.types import Matrix, Progress, State, silent
from coterie.vectors import unit_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WORD_WEIGHT = 0.5
WORD_DIMENSIONS = 100
MAX_WORDS = 3000
FEWEST_TEXTS_WITH_WORD = 3


class TwoViews:
    """Unit vectors [encoder, 0.5 x words]; the word view is TF-IDF of the 3,000 commonest words in 100 dimensions."""

    kind: ClassVar[str] = "two-views"

    def __init__(self, encoder: TransformerEncoder, random_state: int = 0) -> None:
        self.encoder, self.random_state = encoder, random_state
        self.vocabulary: list[str] = []
        self.rarity: NDArray[np.float32] = np.empty(0, dtype=np.float32)
        self.directions: Matrix = np.empty((0, 0), dtype=np.float32)

    def fit_transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        encoded = self.encoder.encode(texts, progress)
        progress("counting words", 0, 1)
        counts, self.vocabulary = learn_words(texts, max_features=MAX_WORDS, min_df=FEWEST_TEXTS_WITH_WORD)
        self.rarity = word_rarity(counts)
        weighted = weigh_by_rarity(counts, self.rarity)
        self.directions = _main_directions(weighted, self.random_state)
        progress("counting words", 1, 1)
        return self._side_by_side(encoded, weighted)

    def transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        counts = count_words(texts, self.vocabulary)
        return self._side_by_side(self.encoder.transform(texts, progress), weigh_by_rarity(counts, self.rarity))

    def state(self) -> State:
        config = {"vocabulary": self.vocabulary, "random_state": self.random_state}
        state = State(config, {"rarity": self.rarity, "directions": self.directions})
        state.nest("encoder", self.encoder.state())
        return state

    @classmethod
    def from_state(cls, state: State) -> Self:
        views = cls(TransformerEncoder.from_state(state.child("encoder")), state.config["random_state"])
        views.vocabulary = list(state.config["vocabulary"])
        views.rarity, views.directions = state.arrays["rarity"], state.arrays["directions"]
        return views

    def _side_by_side(self, encoded: Matrix, weighted: csr_matrix) -> Matrix:
        return side_by_side(encoded, unit_rows(np.asarray(weighted @ self.directions, dtype=np.float32)))


def side_by_side(encoded: Matrix, words: Matrix) -> Matrix:
    """Both views of every text as one unit vector."""
    return np.asarray(unit_rows(np.hstack([encoded, WORD_WEIGHT * words])), dtype=np.float32)


def space_of_words(texts: Sequence[str], random_state: int = 0) -> Matrix:
    """The word view by itself, of these texts: a space that no encoder and no training has had a hand in."""
    counts, _ = learn_words(texts, max_features=MAX_WORDS, min_df=FEWEST_TEXTS_WITH_WORD)
    return space_of_counts(counts, random_state)


def space_of_counts(counts: csr_matrix, random_state: int = 0) -> Matrix:
    """The word view of texts whose words are counted."""
    weighted = weigh_by_rarity(counts, word_rarity(counts))
    return unit_rows(np.asarray(weighted @ _main_directions(weighted, random_state), dtype=np.float32))


def _main_directions(weighted: csr_matrix, random_state: int) -> Matrix:
    """The leading right singular vectors, one a column; none where the texts share no words."""
    from sklearn.decomposition import TruncatedSVD

    dimensions = min(WORD_DIMENSIONS, *(size - 1 for size in weighted.shape))
    if dimensions < 1:
        return np.zeros((weighted.shape[1], 0), dtype=np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):  # of equal rows it reckons shares of no variance
        svd = TruncatedSVD(dimensions, random_state=random_state).fit(weighted)
    return np.ascontiguousarray(svd.components_.T, dtype=np.float32)
