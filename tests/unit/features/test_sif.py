"""SIF on an example worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from coterie.errors import InputError
from coterie.features.sif import Sif
from coterie.features.transformer import TransformerEncoder

TEXTS = ["apple banana", "apple cherry", "apple the apple"]


@pytest.fixture
def fruit(tmp_path: Path) -> Path:
    path = tmp_path / "fruit.txt"
    path.write_text("cherry 0 -3 1.5\napple 3 0 0\nplum 1 1 1\nbanana 0 3 1.5\n")
    return path


def test_hand_worked(fruit: Path) -> None:
    """p(apple) = 4/6 and p(banana) = p(cherry) = 1/6, so a = 1/3 gives the weights 1/3, 2/3, 2/3.

    Weighted: apple (1, 0, 0), banana (0, 2, 1), cherry (0, -2, 1). Means: (.5, 1, .5), (.5, -1, .5), (1, 0, 0).
    M'M = [[1.5, 0, .5], [0, 2, 0], [.5, 0, .5]] has the eigenvalues 2, 1.71, .29: the second axis is common to all.
    """
    sif = Sif(word_vectors=fruit, a=1 / 3)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(sif.fit_transform(TEXTS), [[half, 0, half], [half, 0, half], [1, 0, 0]], atol=1e-6)
    assert sif.vocabulary == ["cherry", "apple", "banana"]
    np.testing.assert_allclose(np.abs(sif.common), [0, 1, 0], atol=1e-6)


def test_unseen_words(fruit: Path) -> None:
    """Words without a vector count neither above nor below the line; a text of only these is zeros."""
    sif = Sif(word_vectors=fruit, a=1 / 3)
    sif.fit_transform(TEXTS)
    vectors = sif.transform(["banana banana sofa", "plum sofa", "apple banana banana"])
    expected = np.array([[0, 0, 1], [0, 0, 0], [1 / 3, 0, 2 / 3]])
    expected[2] /= np.linalg.norm(expected[2])
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_distilled_words(tiny_bert: Path, corpus: list[str]) -> None:
    vectors = Sif(TransformerEncoder(str(tiny_bert), cache=False)).fit_transform(corpus)
    assert vectors.shape == (len(corpus), 64)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)


def test_state_round_trip(tiny_bert: Path, corpus: list[str]) -> None:
    sif = Sif(TransformerEncoder(str(tiny_bert), cache=False), a=0.01)
    fitted = sif.fit_transform(corpus)
    restored = Sif.from_state(sif.state())
    np.testing.assert_array_equal(restored.transform(corpus), fitted)
    assert restored.a == 0.01


def test_vectors_do_not_depend_on_company(tiny_bert: Path, corpus: list[str]) -> None:
    sif = Sif(TransformerEncoder(str(tiny_bert), cache=False))
    together = sif.fit_transform(corpus)
    for row in range(0, len(corpus), 7):
        np.testing.assert_array_equal(sif.transform([corpus[row]])[0], together[row])
    np.testing.assert_array_equal(sif.transform(corpus[::-1]), together[::-1])


def test_texts_without_words(fruit: Path) -> None:
    with pytest.raises(InputError, match="no words were found in them"):
        Sif(word_vectors=fruit).fit_transform(["the", "of"])
