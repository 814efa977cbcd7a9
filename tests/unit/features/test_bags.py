"""Bags of words against scikit-learn, and topic mixtures."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from coterie.errors import InputError
from coterie.features.bag import BagOfWords, StemStrengths, Tfidf, TopicMixture
from coterie.features.words import telling_words_of

TEXTS = [
    "the invoice was wrong, wrong, wrong",
    "send the invoice again",
    "my lamp broke and the lamp leaks",
    "garden lamp for the garden",
    "refund the invoice for the lamp",
    "and the",
]
NEW = ["lamp lamp invoice", "words never seen", "a wrong garden of others"]


@pytest.mark.parametrize("max_words", [None, 3])
def test_tfidf_is_scikit_learns(max_words: int | None) -> None:
    theirs = TfidfVectorizer(analyzer=telling_words_of, sublinear_tf=True, max_features=max_words)
    ours = Tfidf(max_words)
    np.testing.assert_allclose(ours.fit_transform(TEXTS), theirs.fit_transform(TEXTS).toarray(), atol=1e-6)
    assert ours.vocabulary == theirs.get_feature_names_out().tolist()
    np.testing.assert_allclose(ours.transform(NEW), theirs.transform(NEW).toarray(), atol=1e-6)


def test_bag_is_the_counts_at_length_one() -> None:
    counts = CountVectorizer(analyzer=telling_words_of).fit_transform(TEXTS).toarray()
    expected = counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)
    bag = BagOfWords(None).fit_transform(TEXTS)
    np.testing.assert_allclose(bag, expected, atol=1e-6)
    assert bag.dtype == np.float32


def test_commonest_words_are_kept() -> None:
    bag = BagOfWords(3)
    bag.fit_transform(TEXTS)
    assert bag.vocabulary == ["invoice", "lamp", "wrong"]


def test_unseen_words_are_rows_of_zeros() -> None:
    for bag in (BagOfWords(), Tfidf()):
        bag.fit_transform(TEXTS)
        vectors = bag.transform(["sofa chair", "lamp"])
        assert not vectors[0].any()
        assert np.linalg.norm(vectors[1]) == pytest.approx(1)


def test_strengths_by_hand() -> None:
    strengths = StemStrengths(None)
    found = strengths.fit_transform(["lamp lamp lamp invoice", "invoice", "and the"])
    assert strengths.vocabulary == ["invoic", "lamp"]
    np.testing.assert_allclose(found, [[np.log(2) / np.log(4), 1], [1, 0], [0, 0]], rtol=1e-6)
    assert found.dtype == np.float32


def test_strengths_take_no_more_room_than_their_matrix() -> None:
    strengths = StemStrengths(None)
    strengths.fit_transform([" ".join(TEXTS), *(f"word{number}" for number in range(500))])
    texts = TEXTS * 200
    tracemalloc.start()
    try:
        found = strengths.transform(texts)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * found.nbytes


@pytest.fixture(scope="module")
def mixture() -> TopicMixture:
    mixture = TopicMixture(3, random_state=1)
    mixture.fit_transform(TEXTS * 3)
    return mixture


def test_topic_shares_sum_to_one(mixture: TopicMixture) -> None:
    shares = mixture.transform(TEXTS + NEW)
    assert shares.shape == (9, 3)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)


def test_topics_tell_texts_apart() -> None:
    texts = ["lamp garden chair sofa", "garden sofa lamp", "chair sofa lamp"] * 5
    texts += ["invoice refund bank card", "bank card refund", "invoice bank card"] * 5
    best = TopicMixture(2).fit_transform(texts).argmax(axis=1)
    assert len(set(best[:15])) == len(set(best[15:])) == 1
    assert best[0] != best[15]


def test_topic_shares_do_not_depend_on_company(mixture: TopicMixture) -> None:
    together = mixture.transform(TEXTS)
    for row, text in enumerate(TEXTS):
        np.testing.assert_array_equal(mixture.transform([text])[0], together[row])


@pytest.mark.parametrize("feature", [BagOfWords(4), Tfidf(None), TopicMixture(2, 5, 3)])
def test_state_round_trip(feature: BagOfWords | TopicMixture) -> None:
    fitted = feature.fit_transform(TEXTS)
    restored = type(feature).from_state(feature.state())
    np.testing.assert_array_equal(restored.transform(TEXTS), fitted)
    np.testing.assert_array_equal(restored.transform(NEW), feature.transform(NEW))
    assert restored.state().config == feature.state().config


def test_restored_topics_are_the_same_to_the_bit(mixture: TopicMixture) -> None:
    restored = TopicMixture.from_state(mixture.state())
    many = [f"{a} {b}" for a in TEXTS for b in NEW]
    np.testing.assert_array_equal(restored.transform(many), mixture.transform(many))


@pytest.mark.parametrize("feature", [BagOfWords(), Tfidf(), TopicMixture()])
def test_texts_without_words(feature: BagOfWords | TopicMixture) -> None:
    with pytest.raises(InputError, match="no words were found in them"):
        feature.fit_transform(["the", "!!", "of and"])
