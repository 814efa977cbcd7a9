"""Other views of a text that say the same: words replaced, inserted, swapped or left out."""

from __future__ import annotations

from coterie.augment.base import Augmenter, fixed_view
from coterie.augment.contextual import Contextual
from coterie.augment.deletion import Deletion
from coterie.augment.eda import EDA
from coterie.augment.make import make_augmenters
from coterie.augment.masked_lm import CheckpointMaskedLM, MaskedLM
from coterie.augment.synonyms import NeighbourSynonyms, Synonyms, WordNetSynonyms

__all__ = [
    "EDA",
    "Augmenter",
    "CheckpointMaskedLM",
    "Contextual",
    "Deletion",
    "MaskedLM",
    "NeighbourSynonyms",
    "Synonyms",
    "WordNetSynonyms",
    "fixed_view",
    "make_augmenters",
]
