"""Words to vectors by a convolutional network that a method has trained; no encoder is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch

from coterie.engine.batch import seed_torch
from coterie.features.tokens import Tokens
from coterie.features.word_vectors import learnt_word_vectors, read_word_vectors
from coterie.features.words import learn_words, some_words, telling_words_of
from coterie.nn.dense_cnn import DenseCnn
from coterie.types import Matrix, Progress, State, silent
from coterie.vectors import unit_rows

MOST_WORDS = 20_000
FEWEST_TEXTS_WITH_WORD = 2
DIMENSIONS = 300


class WordNetwork:
    """The telling words of a text, at most the first `longest`, through a `DenseCnn`; vectors of length 1.

    How long the network's own vectors are says more of how many words a text has than of what it is about: after 18
    epochs of soft labels on newsgroups20, a hundred times longer for one text than for another.
    """

    kind: ClassVar[str] = "word-network"

    def __init__(self, vocabulary: Sequence[str], network: DenseCnn, longest: int) -> None:
        self.vocabulary, self.network, self.longest = list(vocabulary), network, longest

    @classmethod
    def untrained(
        cls, texts: Sequence[str], *, word_vectors: str | Path | None, longest: int, bf16: bool, random_state: int
    ) -> Self:
        """With the words of these texts, whose vectors come from a file or else from the texts themselves."""
        _, vocabulary = learn_words(texts, max_features=MOST_WORDS, min_df=FEWEST_TEXTS_WITH_WORD)
        if not vocabulary:
            _, vocabulary = some_words(texts, max_features=MOST_WORDS)
        with torch.random.fork_rng(devices=[]):
            seed_torch([random_state])
            if word_vectors is None:
                tokens = word_ids(texts, vocabulary, longest)
                vectors = learnt_word_vectors(tokens, len(vocabulary) + 1, DIMENSIONS, random_state)
            else:
                vectors = _from_file(word_vectors, vocabulary, random_state)
            network = DenseCnn(torch.from_numpy(vectors), bf16=bf16)
        return cls(vocabulary, network, longest)

    def tokens(self, texts: Sequence[str]) -> Tokens:
        return word_ids(texts, self.vocabulary, self.longest)

    def fit_transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        return self.transform(texts, progress)

    def transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        return unit_rows(self.network.encode_all(self.tokens(texts)).cpu().numpy())

    def state(self) -> State:
        arrays = {name: tensor.cpu().numpy() for name, tensor in self.network.state_dict().items()}
        return State({"vocabulary": self.vocabulary, "longest": self.longest}, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        weights = {name: torch.from_numpy(np.array(array)) for name, array in state.arrays.items()}
        with torch.random.fork_rng(devices=[]):  # weights are drawn before they are read
            network = DenseCnn(torch.zeros_like(weights["words"]))
        network.load_state_dict(weights)
        return cls(state.config["vocabulary"], network, state.config["longest"])


def word_ids(texts: Sequence[str], vocabulary: Sequence[str], longest: int) -> Tokens:
    """The numbers, from 1 on, of the words that are in the vocabulary; a single 0 where a text has none of them."""
    number = {word: place for place, word in enumerate(vocabulary, start=1)}
    found = ([number[word] for word in telling_words_of(text) if word in number] for text in texts)
    return Tokens.of([np.array(ids[:longest] or [0], dtype=np.int32) for ids in found])


def _from_file(path: str | Path, vocabulary: Sequence[str], random_state: int) -> Matrix:
    """The file's vectors; those of other words are drawn as widely as its own are spread."""
    words, known = read_word_vectors(path, vocabulary)
    random = np.random.default_rng(random_state)
    vectors = random.normal(0, float(known.std()), (len(vocabulary) + 1, known.shape[1])).astype(np.float32)
    number = {word: place for place, word in enumerate(vocabulary, start=1)}
    vectors[[number[word] for word in words]] = known
    return vectors
