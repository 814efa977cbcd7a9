"""Deletion noise: the input of a denoising autoencoder (TSDAE, Wang et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coterie.augment.chance import Chance, check_random_state, check_rate
from coterie.augment.pieces import Pieces
from coterie.data.check import check_texts
from coterie.types import Progress, silent

VERSION = 1
"""To be raised when the same settings give other views."""

TEXTS_BETWEEN_REPORTS = 1000


def survivors(words: int, rate: float, chance: Chance) -> list[int]:
    """Which words stay when each goes with this rate; one of them always does."""
    kept = [place for place in range(words) if not chance.happens(rate)]
    return kept or [chance.index(words)]


@dataclass(frozen=True)
class Deletion:
    """Each word goes with probability `rate`, at least one stays; 0.6 is TSDAE's rate.

    Equal texts get equal views.
    """

    rate: float = 0.6
    random_state: int = 0

    def __post_init__(self) -> None:
        check_rate("rate", self.rate)
        check_random_state(self.random_state)

    def describe(self) -> str:
        return f"deletion {VERSION} rate={self.rate!r} random_state={self.random_state}"

    def augment(self, texts: Sequence[str], progress: Progress = silent) -> list[str]:
        texts = check_texts(texts)
        views = []
        for text in texts:
            views.append(self._view(text))
            if len(views) % TEXTS_BETWEEN_REPORTS == 0 or len(views) == len(texts):
                progress("augmenting", len(views), len(texts))
        return views

    def _view(self, text: str) -> str:
        pieces = Pieces.of(text)
        words = len(pieces.words)
        if words < 2:
            return text
        # The 0 has no meaning any more; without it the views would be others than those that were measured.
        kept = survivors(words, self.rate, Chance("deletion", self.random_state, 0, text))
        return text if len(kept) == words else pieces.only(set(kept)).text()
