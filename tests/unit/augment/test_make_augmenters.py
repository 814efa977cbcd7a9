"""Augmenters by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie.augment import EDA, Contextual, Deletion, make_augmenters
from coterie.errors import ConfigError
from coterie.features.transformer import TransformerEncoder


def test_rates_and_seeds_arrive(tiny_bert: Path) -> None:
    encoder = TransformerEncoder(str(tiny_bert))
    (eda,) = make_augmenters("eda", encoder, ["a film"], 0.3, [7])
    assert isinstance(eda, EDA)
    assert (eda.replace, eda.insert, eda.swap, eda.delete, eda.random_state) == (0.3, 0.3, 0.3, 0.3, 7)
    assert make_augmenters("deletion", encoder, ["a film"], 0.3, [7, 8]) == [Deletion(0.3, 7), Deletion(0.3, 8)]
    (contextual,) = make_augmenters("contextual", encoder, ["a film"], 0.3, [7])
    assert isinstance(contextual, Contextual)
    assert (contextual.rate, contextual.random_state) == (0.3, 7)
    assert contextual.augment(["a film"]) != ["a film"]


def test_without_a_rate_each_has_its_own(tiny_bert: Path) -> None:
    encoder = TransformerEncoder(str(tiny_bert))
    assert make_augmenters("deletion", encoder, ["a film"], None, [0]) == [Deletion()]
    (eda,) = make_augmenters("eda", encoder, ["a film"], None, [0])
    assert isinstance(eda, EDA)
    rates = dict.fromkeys(("replace", "insert", "swap", "delete"), 0.2)
    assert eda.describe() == EDA(eda.synonyms, **rates).describe()
    with pytest.raises(ConfigError, match="'eda', 'wordnet', 'deletion' or 'contextual'"):
        make_augmenters("translation", encoder, ["a film"], None, [0])
