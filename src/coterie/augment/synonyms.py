"""Words that can stand for a word: neighbours in an encoder's vocabulary, or WordNet's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.augment.vocabulary import input_matrix, whole_words
from coterie.errors import ConfigError
from coterie.types import Matrix

if TYPE_CHECKING:
    from coterie.features.transformer import TransformerEncoder

LEAST_COSINE = 0.4
MOST_SYNONYMS = 5
WORDS_AT_ONCE = 256
"""Similarities are computed for this many words at a time: about 20 MB for BERT's vocabulary."""


class Synonyms(Protocol):
    """Words are asked for in lower case, and given so; the word itself is never among its synonyms."""

    def describe(self) -> str:
        """Kind, version and every setting."""

    def prepare(self, words: Iterable[str]) -> None:
        """Told which words will be asked for, where looking them up together is quicker."""

    def of(self, word: str) -> Sequence[str]:
        """The best first; empty for a word that is not known."""


class NeighbourSynonyms:
    """The nearest words in the encoder's own input embeddings: films, movie, movies for film.

    Only whole words of its vocabulary have neighbours and are neighbours. In MiniLM two random words have a cosine
    of 0, one pair in a thousand 0.3; from 0.4 on neighbours are inflections and words of the same meaning or topic.
    The mean of all words is taken off first: in some models all embeddings point the same way.
    """

    def __init__(self, encoder: TransformerEncoder) -> None:
        self.encoder = encoder
        self._found: dict[str, list[str]] = {}

    def describe(self) -> str:
        return f"neighbours 1 {self.encoder.checkpoint.fingerprint} threshold={LEAST_COSINE!r} count={MOST_SYNONYMS}"

    def of(self, word: str) -> Sequence[str]:
        if word not in self._found:
            self.prepare([word])
        return self._found[word]

    def prepare(self, words: Iterable[str]) -> None:
        new = sorted(set(words) - self._found.keys())
        known = [word for word in new if word in self._places]
        self._found.update((word, []) for word in new)
        for start in range(0, len(known), WORDS_AT_ONCE):
            self._look_up(known[start : start + WORDS_AT_ONCE])

    def _look_up(self, words: Sequence[str]) -> None:
        places = np.array([self._places[word] for word in words])
        rough = self._vectors[places] @ self._vectors.T
        # Products of many rows round by their company, so these only say which words are worth an exact look.
        near = rough >= LEAST_COSINE - 0.001
        near[np.arange(len(places)), places] = False
        for word, place, row in zip(words, places, near, strict=True):
            self._found[word] = self._ranked(int(place), np.flatnonzero(row))

    def _ranked(self, place: int, near: NDArray[np.int64]) -> list[str]:
        exact = self._vectors[near].astype(np.float64) @ self._vectors[place].astype(np.float64)
        order = np.argsort(-exact, kind="stable")[:MOST_SYNONYMS]
        return [self._words[near[best]] for best in order if exact[best] >= LEAST_COSINE]

    @cached_property
    def _vocabulary(self) -> tuple[list[str], Matrix]:
        """The lower-case words and their unit vectors; of film and Film in one vocabulary, film's."""
        tokenizer = self.encoder.tokenizer
        ids: dict[str, int] = {}
        for index, word in sorted(whole_words(tokenizer).items()):
            if word == word.lower() or word.lower() not in ids:
                ids[word.lower()] = index
        matrix = input_matrix(self.encoder.checkpoint, tokenizer.get_vocab_size())
        vectors = matrix[list(ids.values())]
        vectors -= vectors.mean(axis=0) if len(vectors) else 0
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return list(ids), vectors

    @property
    def _words(self) -> list[str]:
        return self._vocabulary[0]

    @property
    def _vectors(self) -> Matrix:
        return self._vocabulary[1]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self._words)}


class WordNetSynonyms:
    """The single words that share a sense with the word in WordNet, as in the EDA paper; English only."""

    def __init__(self) -> None:
        try:
            self._nltk: Any = import_module("nltk")
            self._wordnet: Any = import_module("nltk.corpus").wordnet
            self._wordnet.ensure_loaded()
        except ImportError as error:
            raise ConfigError(
                "WordNet is read with nltk, which is not installed: "
                "pip install nltk, then python -m nltk.downloader wordnet"
            ) from error
        except LookupError as error:
            raise ConfigError("nltk has no WordNet here: python -m nltk.downloader wordnet") from error

    def describe(self) -> str:
        return f"wordnet 1 nltk={self._nltk.__version__} wordnet={self._wordnet.get_version()}"

    def prepare(self, words: Iterable[str]) -> None:
        """Each look-up is quick by itself."""

    def of(self, word: str) -> Sequence[str]:
        names = (name.lower() for synset in self._wordnet.synsets(word) for name in synset.lemma_names())
        return [name for name in dict.fromkeys(names) if name.isalpha() and name != word]
