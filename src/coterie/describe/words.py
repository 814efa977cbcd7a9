"""The words of a group: class-based TF-IDF of those that it has more often than others, without near-duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coterie.features.words import learn_words, telling_words_of
from coterie.types import Labels

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WORDS_PER_GROUP = 10
CANDIDATES_PER_WORD = 5
MAX_WORDS = 50_000
LONGEST_WORD = 40
"""What is longer is a token, an address or a key, which tells a reader nothing."""
TELLING = 2.0
"""How many times as often as the others a group must have a word for it to tell something of the group."""


def group_words(texts: Sequence[str], labels: Labels, n_clusters: int) -> list[list[tuple[str, float]]]:
    """For each group its words with their scores, best first; fewer where a group has fewer words."""
    counts, vocabulary = learn_words(texts, _words_to_show, max_features=MAX_WORDS)
    if not vocabulary:
        return [[] for _ in range(n_clusters)]
    # A word repeated within one text says nothing more about the group.
    counts.data[:] = 1
    held = (_membership(labels, n_clusters) @ counts).tocsr()
    held.sort_indices()
    scores, telling = class_tfidf(held), _more_than_elsewhere(held) >= TELLING
    found = []
    for part in (slice(*ends) for ends in pairwise(held.indptr.tolist())):
        words, of_part = np.arange(part.start, part.stop), telling[part]
        if of_part.any():
            words = words[of_part]
        found.append(_best_words(held.indices[words], scores.data[words], vocabulary))
    return found


def _words_to_show(text: str) -> list[str]:
    return [word for word in telling_words_of(text) if len(word) <= LONGEST_WORD]


def class_tfidf(counts: csr_matrix) -> csr_matrix:
    """Share of a word in its group times log(1 + mean words a group / occurrences of the word in all groups).

    Only of words that a group has: thousands of groups have each but a few of all words.
    """
    totals, occurrences = (np.asarray(counts.sum(axis=axis)).ravel() for axis in (1, 0))
    rarity = np.log1p(totals.mean() / np.maximum(occurrences, 1))
    scores = counts.astype(np.float32)
    shares = scores.data / np.repeat(np.maximum(totals, 1), np.diff(scores.indptr))
    scores.data = np.asarray(shares * rarity[scores.indices], dtype=np.float32)
    return scores


def _more_than_elsewhere(counts: csr_matrix) -> NDArray[np.float64]:
    """For every word that a group has, its share in the group as a multiple of its share in all other groups.

    About 1 for the stop words of any language, and for what all texts are about.
    """
    totals, occurrences = (np.asarray(counts.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    inside = np.repeat(totals, np.diff(counts.indptr))
    elsewhere = (occurrences[counts.indices] - counts.data) / np.maximum(totals.sum() - inside, 1)
    with np.errstate(divide="ignore"):
        return np.asarray(counts.data / inside / elsewhere)


def near_duplicates(first: str, second: str) -> bool:
    """Whether two words are forms of one: invoice and invoices, crash and crashing, reply and replies."""
    return first == second or not _stems(first).isdisjoint(_stems(second))


# An ending, and the fewest letters of what is left. More for those that end words of their own: order, letter, apply.
_ENDINGS = {"s": 3, "ed": 3, "ing": 3, "er": 4, "ers": 4, "ly": 4}
_HISSING = ("s", "x", "z", "ch", "sh", "o")
_NO_PLURALS = frozenset({"news"})


def _stems(word: str) -> set[str]:
    """What a word may be a form of, itself included."""
    word = word.replace("-", "").replace("'", "").replace("’", "")
    stems = {word}
    if word in _NO_PLURALS or word.endswith("ss"):
        return stems
    for ending, fewest in _ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < fewest:
            continue
        stems.add(stem)
        if ending in ("s", "ly"):
            continue
        # charged, charging -> charge
        stems.add(stem + "e")
        # stopped, stopping -> stop
        if stem[-1] == stem[-2] and len(stem) > fewest:
            stems.add(stem[:-1])
    # crashes -> crash, but not notes -> not
    if word.endswith("es") and word[:-2].endswith(_HISSING) and len(word) > 4:
        stems.add(word[:-2])
    if word.endswith(("ies", "ied")) and len(word) > 4:
        stems.add(word[:-3] + "y")
    return stems


def _membership(labels: Labels, n_clusters: int) -> csr_matrix:
    from scipy.sparse import csr_matrix

    ones = np.ones(len(labels), dtype=np.float32)
    return csr_matrix((ones, (labels, np.arange(len(labels)))), shape=(n_clusters, len(labels)))


def _best_words(
    words: NDArray[np.int32], scores: NDArray[np.float32], vocabulary: list[str]
) -> list[tuple[str, float]]:
    best: list[tuple[str, float]] = []
    for index in np.argsort(-scores, kind="stable")[: WORDS_PER_GROUP * CANDIDATES_PER_WORD]:
        word = vocabulary[words[index]]
        if scores[index] <= 0 or len(best) == WORDS_PER_GROUP:
            break
        if not any(near_duplicates(word, chosen) for chosen, _ in best):
            best.append((word, round(float(scores[index]), 5)))
    return best
