"""Augmenters by name, with the encoder at hand as their source of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coterie.augment.base import Augmenter
from coterie.augment.contextual import Contextual
from coterie.augment.deletion import Deletion
from coterie.augment.eda import EDA
from coterie.augment.masked_lm import CheckpointMaskedLM, MaskedLM, has_head
from coterie.augment.synonyms import NeighbourSynonyms, Synonyms, WordNetSynonyms
from coterie.errors import ConfigError
from coterie.types import Progress, silent

if TYPE_CHECKING:
    from coterie.features.transformer import TransformerEncoder


EDA_RATE = 0.2
"""The texts that AECL's authors published show one word in five changed, not one in ten as EDA's paper has it."""


def make_augmenters(
    kind: str,
    encoder: TransformerEncoder,
    texts: Sequence[str],
    rate: float | None,
    random_states: Sequence[int],
    progress: Progress = silent,
) -> list[Augmenter]:
    """One augmenter a seed; what they look up or learn is shared.

    `kind` is `eda` or `wordnet` (the rate is that of all four operations), `deletion` or `contextual`; without a rate,
    each has its own. `texts` are those that views will be made of: what has to be learnt before is learnt from them.
    """
    if kind in ("eda", "wordnet"):
        rates = dict.fromkeys(("replace", "insert", "swap", "delete"), EDA_RATE if rate is None else rate)
        synonyms: Synonyms = NeighbourSynonyms(encoder) if kind == "eda" else WordNetSynonyms()
        return [EDA(synonyms, random_state=seed, **rates) for seed in random_states]
    if kind == "deletion":
        return [Deletion(Deletion.rate if rate is None else rate, seed) for seed in random_states]
    if kind == "contextual":
        own_rate = {} if rate is None else {"rate": rate}
        masked_lm = _masked_lm(encoder, texts, progress)
        return [Contextual(masked_lm, random_state=seed, **own_rate) for seed in random_states]
    raise ConfigError(f"augment={kind!r} is not known: use 'eda', 'wordnet', 'deletion' or 'contextual'")


def _masked_lm(encoder: TransformerEncoder, texts: Sequence[str], progress: Progress) -> MaskedLM:
    """The checkpoint's own head where it has one, else one that is trained on the texts."""
    if has_head(encoder.checkpoint):
        return CheckpointMaskedLM(encoder.checkpoint)
    # torch and the training loop, which the other augmenters do without.
    from coterie.augment.corpus_lm import CorpusMaskedLM

    return CorpusMaskedLM(encoder, texts, progress)
