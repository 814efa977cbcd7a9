"""The number of groups, for a method that was not told it.

It is chosen before the method runs, in the space of Duet: the encoder and the words side by side. The encoder's vectors
are kept, so the method does not encode again. A method without an encoder goes by words, and so does the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coterie.building import Settings
from coterie.clusterers.choose_k import choose_k
from coterie.data.check import Numbers
from coterie.data.duplicates import TEXTS_A_GROUP, Duplicates
from coterie.errors import InputError
from coterie.features.transformer import TransformerEncoder
from coterie.features.two_views import TwoViews, space_of_words
from coterie.registry import reads_encoder
from coterie.types import Matrix, Progress

MOST_GROUPS = 200
"""As many are tried where nothing else was said."""


def number_of_groups(
    method: str, settings: Settings, texts: Sequence[str], found: Duplicates, asked: Numbers, progress: Progress
) -> tuple[int, list[dict[str, Any]]]:
    """The number for these texts, of which some may repeat others, and the evidence for it."""
    # Near duplicates weigh once whatever the range, so that a number has the same evidence in every range.
    compared = found.kept if len(found.kept) >= asked.fewest_texts else found.word_for_word.kept
    vectors = _space(method, settings, [texts[row] for row in compared.tolist()], progress)
    high = asked.high or max(asked.low, min(MOST_GROUPS, len(compared) // TEXTS_A_GROUP))
    choice = choose_k(vectors, asked.low, high, random_state=settings.random_state, progress=progress)
    evidence = choice.entries()
    if not reads_encoder(method):
        evidence.insert(1, {"note": f"the number was chosen by the words alone: the method {method!r} uses no encoder"})
    return choice.chosen.k, evidence


def _space(method: str, settings: Settings, texts: Sequence[str], progress: Progress) -> Matrix:
    if reads_encoder(method):
        encoder = TransformerEncoder(
            settings.encoder, precision=settings.precision, pooling=settings.own.get("pooling")
        )
        return TwoViews(encoder, settings.random_state).fit_transform(texts, progress)
    words = space_of_words(texts, settings.random_state)
    if not words.any():
        raise InputError(
            "texts: no words are in three of them or more, so there is nothing to choose the number of groups by. "
            "Give the number, or use a method with an encoder, such as 'auto'."
        )
    return words
