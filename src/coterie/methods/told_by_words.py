"""What a text's words tell of its group, when all other texts' groups are known: naive Bayes that never asks the text.

    log p(text | g) = sum over its words of log (N(w, g) + alpha) / (N(g) + alpha V)

with N(w, g) the texts of group g that have the word, counted without the text itself, N(g) their sum and V the number
of words. Words of a text go together, so that these are far too sure of themselves: they are divided by the temperature
at which they foretell the groups best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coterie.types import Labels

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

ALPHA = 0.1
LOG_TEMPERATURES = (-2.0, 5.0)


def told_by_words(texts: csr_matrix, groups: Labels, n_groups: int) -> NDArray[np.float64]:
    """log p(g | words) of every text; `texts` has a 1 where a text has a word."""
    scores = left_out_scores(texts, groups, n_groups)
    return _log_shares(scores / _temperature(scores, groups))


class JudgedByWords:
    """Judges a grouping by the probability that a text's words give its own group, as `judge.Judge` by silhouettes.

    The geometric mean over the texts, which the temperature makes as large as it can be.
    """

    criterion = "words"

    def __init__(self, texts: csr_matrix) -> None:
        self.texts, self.rows = texts, np.arange(texts.shape[0])

    def of_each(self, labels: Labels) -> NDArray[np.float64]:
        return np.asarray(told_by_words(self.texts, labels, int(labels.max()) + 1)[self.rows, labels])

    def of_all(self, each: NDArray[np.float64]) -> float:
        return float(np.exp(each.mean()))


def left_out_scores(texts: csr_matrix, groups: Labels, n_groups: int) -> NDArray[np.float64]:
    """log p(text | g), by the other texts."""
    from scipy.sparse import csr_matrix

    rows, words = texts.shape
    members = csr_matrix((np.ones(rows), (groups, np.arange(rows))), shape=(n_groups, rows))
    counts = (members @ texts).toarray()
    sums, lengths = counts.sum(axis=1), np.diff(texts.indptr)
    scores = texts @ np.log(counts + ALPHA).T - np.outer(lengths, np.log(sums + ALPHA * words))
    # For its own group, again without itself.
    text = np.repeat(np.arange(rows), lengths)
    others = counts[groups[text], texts.indices] - 1
    own = np.bincount(text, weights=np.log(others + ALPHA), minlength=rows)
    scores[np.arange(rows), groups] = own - lengths * np.log(sums[groups] - lengths + ALPHA * words)
    return np.asarray(scores)


def _temperature(scores: NDArray[np.float64], groups: Labels) -> float:
    from scipy.optimize import minimize_scalar

    def surprise(log_temperature: float) -> float:
        shares = _log_shares(scores / np.exp(log_temperature))
        return -float(shares[np.arange(len(groups)), groups].mean())

    return float(np.exp(minimize_scalar(surprise, bounds=LOG_TEMPERATURES, method="bounded").x))


def _log_shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import log_softmax

    return np.asarray(log_softmax(scores, axis=1))
