"""Stems are one word; TF-IDF and strengths of them against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from coterie.features.bag import StemStrengths, StemTfidf
from coterie.features.words import stems_of

TEXTS = [
    "Querying the databases: one query, two queries",
    "The printer prints and printed again",
    "printing databases",
]


def test_forms_of_a_word_are_one_stem() -> None:
    assert stems_of(TEXTS[0]) == ["queri", "databas", "queri", "queri"]
    assert set(stems_of("running runs run")) == {"run"}


def test_names_of_things_stay_apart() -> None:
    assert stems_of("C++ and C# with node.js") == ["c++", "c#", "node.j"]


def test_tfidf_of_stems_is_scikit_learns() -> None:
    theirs = TfidfVectorizer(analyzer=stems_of, sublinear_tf=True)
    ours = StemTfidf()
    np.testing.assert_allclose(ours.fit_transform(TEXTS), theirs.fit_transform(TEXTS).toarray(), atol=1e-6)
    new = ["a query for the print", "nothing known"]
    np.testing.assert_allclose(ours.transform(new), theirs.transform(new).toarray(), atol=1e-6)
    restored = StemTfidf.from_state(ours.state())
    np.testing.assert_array_equal(restored.transform(new), ours.transform(new))


def test_strengths_by_hand() -> None:
    bag = StemStrengths()
    bag.fit_transform(TEXTS)
    strength = dict(zip(bag.vocabulary, bag.transform([TEXTS[0], "unheard of"])[0], strict=True))
    assert strength.pop("queri") == pytest.approx(1.0)
    assert strength.pop("databas") == pytest.approx(np.log(2) / np.log(4))
    assert not any(strength.values())
    assert not bag.transform(["unheard of"]).any()
    assert bag.transform([]).shape == (0, len(bag.vocabulary))


def test_the_commonest_stems_are_kept() -> None:
    bag = StemTfidf(2)
    bag.fit_transform(TEXTS)
    assert bag.vocabulary == ["print", "queri"]
