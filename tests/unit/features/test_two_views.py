"""The encoder's view and the words' view side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from coterie.features.transformer import TransformerEncoder
from coterie.features.two_views import TwoViews
from coterie.features.words import telling_words_of


@pytest.fixture(scope="module")
def encoder(tiny_bert: Path) -> TransformerEncoder:
    return TransformerEncoder(str(tiny_bert), cache=False)


def test_shape_and_length(encoder: TransformerEncoder, corpus: list[str]) -> None:
    views = TwoViews(encoder)
    vectors = views.fit_transform(corpus)
    words = len(views.vocabulary)
    assert 3 < words < 60
    assert vectors.shape == (60, 64 + words - 1)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)


def test_similarity_is_that_of_both_views(encoder: TransformerEncoder) -> None:
    """With all directions but one kept, the word view's products are those of TF-IDF but for the last direction."""
    texts = ["lamp garden", "garden lamp", "invoice refund", "refund invoice", "lamp", "invoice"] * 3
    views = TwoViews(encoder)
    vectors = views.fit_transform(texts)
    assert views.vocabulary == ["garden", "invoice", "lamp", "refund"]
    tfidf = TfidfVectorizer(analyzer=telling_words_of, sublinear_tf=True, min_df=3).fit_transform(texts).toarray()
    right = np.linalg.svd(tfidf, full_matrices=False)[2]
    words = tfidf @ right[:3].T
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    encoded = encoder.encode(texts)
    expected = (encoded @ encoded.T + 0.25 * words @ words.T) / 1.25
    np.testing.assert_allclose(vectors @ vectors.T, expected, atol=1e-5)


def test_no_more_than_a_hundred_word_dimensions(encoder: TransformerEncoder) -> None:
    texts = [f"word{i} word{(i + 1) % 120} word{(i + 2) % 120}" for i in range(120)]
    assert TwoViews(encoder).fit_transform(texts).shape == (120, 64 + 100)


def test_rare_words_are_left_to_the_encoder(encoder: TransformerEncoder) -> None:
    views = TwoViews(encoder)
    views.fit_transform(["lamp sofa", "lamp garden", "lamp chair", "garden"])
    assert views.vocabulary == ["lamp"]


@pytest.mark.parametrize("texts", [["lamp sofa", "garden chair"], ["the", "of and", "!!", "it"]])
def test_no_shared_words(encoder: TransformerEncoder, texts: list[str]) -> None:
    views = TwoViews(encoder)
    vectors = views.fit_transform(texts)
    assert views.vocabulary == []
    np.testing.assert_allclose(vectors, encoder.encode(texts), atol=1e-6)
    restored = TwoViews.from_state(views.state())
    np.testing.assert_array_equal(restored.transform(["a lamp", *texts])[1:], vectors)


def test_state_round_trip(encoder: TransformerEncoder, corpus: list[str]) -> None:
    views = TwoViews(encoder, random_state=3)
    fitted = views.fit_transform(corpus)
    restored = TwoViews.from_state(views.state())
    assert restored.random_state == 3
    np.testing.assert_array_equal(restored.transform(corpus), fitted)
    unseen = ["never seen words", "lamp of the garden"]
    np.testing.assert_array_equal(restored.transform(unseen), views.transform(unseen))


def test_vectors_do_not_depend_on_company(encoder: TransformerEncoder, corpus: list[str]) -> None:
    views = TwoViews(encoder)
    together = views.fit_transform(corpus)
    for row in range(0, len(corpus), 11):
        np.testing.assert_array_equal(views.transform([corpus[row]])[0], together[row])
    np.testing.assert_array_equal(views.transform(corpus[::-1]), together[::-1])


def test_same_seed_same_vectors(encoder: TransformerEncoder, corpus: list[str]) -> None:
    first, second = (TwoViews(encoder, 5).fit_transform(corpus) for _ in range(2))
    np.testing.assert_array_equal(first, second)
