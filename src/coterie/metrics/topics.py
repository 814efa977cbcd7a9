"""How good topics are, told by the texts: do their words stand together, and does each topic have words of its own?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.features.words import count_words


def coherence(topics: Sequence[Sequence[str]], texts: Sequence[str]) -> float:
    """The mean over the topics of the mean NPMI of all pairs of a topic's words, from -1 to 1.

    NPMI = log(p(a, b) / (p(a) p(b))) / -log p(a, b), with p the share of texts that have the words: 1 where two words
    only stand together, 0 where they stand together as if by chance, -1 where they never do. Topics of fewer than two
    words say nothing and are left out; if there are no others, it is not a number.
    """
    vocabulary = sorted({word for topic in topics for word in topic})
    place = {word: index for index, word in enumerate(vocabulary)}
    counts = count_words(texts, vocabulary)
    counts.data[:] = 1
    together = (counts.T @ counts).tocsr() / max(1, len(texts))
    means = []
    for topic in (topic for topic in topics if len(topic) > 1):
        own = [place[word] for word in topic]
        pairs = _npmi(together[own][:, own].toarray().astype(np.float64))
        means.append(pairs[np.triu_indices(len(own), k=1)].mean())
    return float(np.mean(means)) if means else float("nan")


def _npmi(together: NDArray[np.float64]) -> NDArray[np.float64]:
    """From the shares of texts that have both of two words, on the diagonal one."""
    alone = together.diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(together / np.outer(alone, alone)) / -np.log(together)
    return np.where(together == 0, -1.0, np.where(together == 1, 1.0, npmi))


def diversity(topics: Sequence[Sequence[str]]) -> float:
    """The share of different words among all words of all topics: 1 where no word is in two."""
    words = [word for topic in topics for word in topic]
    return len(set(words)) / len(words) if words else float("nan")


def topic_scores(topics: Sequence[Sequence[str]], texts: Sequence[str]) -> dict[str, float]:
    return {"coherence": coherence(topics, texts), "diversity": diversity(topics)}
