"""Topics of the groups that a person sees: whichever were kept, under their numbers, saved, and of any text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from coterie import TextClusterer, cluster
from coterie.errors import ConfigError
from coterie.methods import deep
from coterie.methods.base import Fit
from coterie.methods.deccrl import DECCRL, DECCRLSettings
from coterie.methods.deep import Deep
from coterie.methods.head import Head
from coterie.methods.topics import GroupTopics, learn_topics
from coterie.nn.topics import Inference
from coterie.result import describe

THEMES = {
    "bread": ("flour", "yeast", "dough", "oven", "crust"),
    "train": ("platform", "ticket", "conductor", "carriage", "timetable"),
    "garden": ("roses", "compost", "pruning", "seedlings", "lawn"),
}
SIZES = {"bread": 10, "train": 26, "garden": 18}
SHORT: dict[str, Any] = {"epochs": 2, "topic_epochs": 30, "topics": 2, "augment": "deletion"}


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Groups of very unequal size, not in the order of their sizes."""
    return [
        f"{theme} {words[row % 5]} {words[(row + 1 + row // 5) % 5]}"
        for theme, words in THEMES.items()
        for row in range(SIZES[theme])
    ]


def theme_of_words(topics: GroupTopics, group: int) -> str:
    """The theme whose words are likeliest in the topics of a group."""
    likely = dict.fromkeys(THEMES, 0.0)
    for topic in topics.of_group(group):
        for word, probability in topic.words:
            for theme, words in THEMES.items():
                likely[theme] += topic.weight * probability * (word in (theme, *words))
    return max(likely, key=lambda theme: likely[theme])


def theme_of_texts(texts: list[str], labels: np.ndarray, group: int) -> str:
    first = [text.split()[0] for text, label in zip(texts, labels, strict=True) if label == group]
    return max(THEMES, key=first.count)


@pytest.fixture(scope="module")
def fitted(texts: list[str]) -> TextClusterer:
    return TextClusterer(3, method="deccrl", settings=SHORT).fit(texts)


def test_every_group_has_the_topics_of_its_own_texts(fitted: TextClusterer, texts: list[str]) -> None:
    topics = fitted.topics_
    assert np.bincount(fitted.labels_).tolist() == [26, 18, 10]
    for group in range(3):
        assert theme_of_words(topics, group) == theme_of_texts(texts, fitted.labels_, group)
        described = topics.of_group(group)
        assert [topic.id for topic in described] == [0, 1]
        assert sum(topic.weight for topic in described) == pytest.approx(1, abs=1e-3)
        for topic in described:
            probabilities = [probability for _, probability in topic.words]
            assert 1 <= len(probabilities) <= 10
            assert probabilities[-1] > 1 / len(topics.vocabulary) or len(probabilities) == 1
            assert probabilities == sorted(probabilities, reverse=True)
            assert 0 < sum(probabilities) <= 1
    mixtures = fitted.transform(texts, kind="topics")
    for group in range(3):
        weights = [topic.weight for topic in topics.of_group(group)]
        np.testing.assert_allclose(mixtures[fitted.labels_ == group].mean(axis=0), weights, atol=1e-4)


def test_edited_groups_have_the_topics_of_the_texts_they_have_now(fitted: TextClusterer, texts: list[str]) -> None:
    found = describe(texts, fitted)
    merged = found.merge([2, 0])
    assert merged.groups[0].topics == found.groups[1].topics  # which has nothing to do with it
    first, second = (found.groups[group] for group in (0, 2))
    topics, size = merged.groups[1].topics, first.size + second.size
    assert [topic.id for topic in topics] == [0, 1, 2, 3]
    assert [topic.words for topic in topics] == [topic.words for topic in (*first.topics, *second.topics)]
    shares = [group.size / size * topic.weight for group in (first, second) for topic in group.topics]
    np.testing.assert_allclose([topic.weight for topic in topics], shares, atol=1e-3)
    part = merged.split(2, into=2).groups[-1]
    own = fitted.labels_[merged.split(2, into=2).labels == part.id]
    assert len(part.topics) == 2 * len(set(own.tolist()))
    assert sum(topic.weight for topic in part.topics) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("kept", ["two-view start", "trained head"])
def test_the_topics_are_those_of_the_groups_that_were_kept(
    kept: str, texts: list[str], fake_encoder: Any, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start is made to number its groups otherwise than the training did."""
    order = np.array([2, 0, 1])

    def best(candidates: dict[str, Fit], *others: Any) -> tuple[Fit, list[dict[str, Any]]]:
        start = candidates["two-view start"]
        start.assigner.renumber(order)
        start.probabilities = start.assigner.probabilities(start.vectors)
        return candidates[kept], []

    monkeypatch.setattr(deep, "best_of", best)
    settings = DECCRLSettings(**SHORT)
    fit = Deep("deccrl", DECCRL, settings, fake_encoder, effort="fast", random_state=0).fit(texts, 3)
    assert fit.topics is not None
    assert fit.history[-1]["phase"] == "topics of the groups"
    for group in range(3):
        assert theme_of_words(fit.topics, group) == theme_of_texts(texts, fit.labels, group)
    before = fit.labels
    fit.number_by_size()
    assert kept == "trained head" or (fit.labels != before).any()
    for group in range(3):
        assert theme_of_words(fit.topics, group) == theme_of_texts(texts, fit.labels, group)


def test_saved_and_loaded_they_are_the_same(fitted: TextClusterer, texts: list[str], tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = TextClusterer.load(tmp_path / "model")
    for group in range(3):
        assert loaded.topics_.of_group(group) == fitted.topics_.of_group(group)
    np.testing.assert_array_equal(loaded.transform(texts, kind="topics"), fitted.transform(texts, kind="topics"))
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]


def test_a_text_has_the_same_mixture_in_any_company(fitted: TextClusterer, texts: list[str]) -> None:
    some = [texts[3], "not a word of these", texts[40], "oven oven oven ticket"]
    together = fitted.transform(some, kind="topics")
    assert together.shape == (4, 2)
    np.testing.assert_allclose(together.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(fitted.transform(some[::-1], kind="topics")[::-1], together)
    alone = np.vstack([fitted.transform([text], kind="topics") for text in some])
    np.testing.assert_array_equal(alone, together)
    assert fitted.transform([], kind="topics").shape == (0, 2)


def test_a_fit_again_gives_the_same_topics(fitted: TextClusterer, texts: list[str]) -> None:
    again = TextClusterer(3, method="deccrl", settings=SHORT).fit(texts)
    for group in range(3):
        assert again.topics_.of_group(group) == fitted.topics_.of_group(group)


def test_groups_show_their_topics(texts: list[str]) -> None:
    result = cluster(texts, 3, method="deccrl", settings=SHORT | {"topics": 3, "topic_epochs": 1})
    shown = result.groups[1].to_dict()["topics"]
    assert [topic["id"] for topic in shown] == [0, 1, 2]
    assert shown[0]["words"][0].keys() == {"word", "probability"}
    assert "topics" not in cluster(texts, 3, method="tfidf+kmeans").groups[1].to_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "tfidf+kmeans"}, "of the method 'tfidf+kmeans' has no topics: fit with the method 'deccrl'"),
        (
            {"method": "deccrl", "settings": {"epochs": 2, "augment": "deletion", "crl": None}},
            "of the method 'deccrl' with crl=none has no topics: fit with crl=etm",
        ),
        (
            {"method": "deccrl", "settings": {"epochs": 2, "augment": "deletion", "crl": "latent"}},
            "of the method 'deccrl' with crl=latent has no topics: fit with crl=etm",
        ),
    ],
)
def test_a_model_without_topics_says_why(options: dict[str, Any], message: str, texts: list[str]) -> None:
    model = TextClusterer(3, **options).fit(texts)
    assert model.topics_ is None
    with pytest.raises(ConfigError, match=re.escape(message)):
        model.transform(texts, kind="topics")


def test_there_is_no_other_kind(fitted: TextClusterer, texts: list[str]) -> None:
    with pytest.raises(ConfigError, match="kind='topic' is not known: use 'vectors' or 'topics'"):
        fitted.transform(texts, kind="topic")  # type: ignore[arg-type]


def test_few_words_make_short_topics(fake_encoder: Any, own_folder: Path) -> None:
    texts = ["alpha", "alpha beta", "beta gamma", "gamma", "gamma alpha", "beta"]
    settings = DECCRLSettings(**SHORT | {"init": "kmeans", "topics": 1})
    fit = Deep("deccrl", DECCRL, settings, fake_encoder, effort="fast", random_state=0).fit(texts, 2)
    assert fit.topics is not None
    assert fit.topics.words.shape == (2, 1, 3)


@pytest.mark.parametrize(
    ("probabilities", "shown"),
    [((0.4, 0.3, 0.21), "abc"), ((0.9, 0.05, 0.0), "a"), ((0.5, 0.21, 0.19), "ab"), ((0.19, 0.18, 0.17), "a")],
)
def test_words_no_likelier_than_any_are_not_shown(probabilities: tuple[float, ...], shown: str) -> None:
    """Of five words, each would have 0.2 if all were alike."""
    found = np.array([[probabilities]], dtype=np.float32)
    topics = GroupTopics(list("abcde"), Inference(5, 1), np.array([[[0, 1, 2]]]), found, np.ones((1, 1), np.float32))
    (topic,) = topics.of_group(0)
    assert [word for word, _ in topic.words] == list(shown)
    assert [probability for _, probability in topic.words] == pytest.approx(probabilities[: len(shown)])


def test_topics_that_could_not_be_learnt_are_told(texts: list[str], fake_encoder: Any, own_folder: Path) -> None:
    settings = DECCRLSettings(**SHORT | {"topic_rate": 1e10})
    fit = Deep("deccrl", DECCRL, settings, fake_encoder, effort="fast", random_state=0).fit(texts, 3)
    notes = [entry["note"] for entry in fit.evidence if "note" in entry]
    assert [note.split("'")[1] for note in notes] == ["reconstruction", "topics of the groups"]
    assert all(note.endswith("training ended there") for note in notes)


def test_words_may_be_far_wider_than_the_encoder(
    texts: list[str], fake_encoder: Any, own_folder: Path, tmp_path: Path
) -> None:
    file, random = tmp_path / "vectors.txt", np.random.default_rng(0)
    words = sorted({word for text in texts for word in text.split()})
    file.write_text("".join(f"{word} {' '.join(map(str, random.normal(size=800)))}\n" for word in words))
    settings = DECCRLSettings(**SHORT)
    method = Deep("deccrl", DECCRL, settings, fake_encoder, effort="fast", random_state=0, word_vectors=str(file))
    fit = method.fit(texts, 3)
    assert fit.topics is not None
    head = fit.candidates["trained head"].assigner
    assert isinstance(head, Head)
    assert head.model.centres.shape == (3, 12), "as many directions as the encoder has"
    for group in range(3):
        assert theme_of_words(fit.topics, group) == theme_of_texts(texts, fit.labels, group)


def test_what_is_learnt_is_the_share_of_each_word(fake_encoder: Any) -> None:
    """With one topic a group, the likeliest distribution of words is that of the group's texts."""
    from scipy.sparse import csr_matrix

    from coterie.features.counted import CountedWords
    from coterie.methods.deep_model import Task

    counts = np.array([[3, 1, 0, 0], [1, 1, 2, 0], [0, 0, 1, 3], [0, 1, 0, 3]], dtype=np.float32)
    words = CountedWords(list("abcd"), csr_matrix(counts), np.eye(4, 8, dtype=np.float32))
    groups = np.array([1, 1, 0, 0])
    torch.manual_seed(0)
    model = DECCRL(DECCRLSettings(topics=1, topic_epochs=400), Task(12, 2, 4, "fast", 0, 8))
    model.read(words)
    model.begin(groups)
    vectors = np.eye(4, 12, dtype=np.float32)
    learner = model.topics_of(groups, torch.from_numpy(vectors))
    assert learner is not None
    topics, outcome = learn_topics(learner, vectors, seed=0)
    history = outcome.history
    assert history[-1]["losses"]["reconstruction"] < history[0]["losses"]["reconstruction"]
    for group, shares in ((0, {"d": 6 / 8, "b": 1 / 8, "c": 1 / 8}), (1, {"a": 4 / 8, "b": 2 / 8, "c": 2 / 8})):
        words_there = [topics.vocabulary[word] for word in topics.words[group, 0]]
        found = dict(zip(words_there, topics.probabilities[group, 0].tolist(), strict=True))
        assert {word: found[word] for word in shares} == pytest.approx(shares, abs=0.02)
