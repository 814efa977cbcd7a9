"""Coherence and diversity of topics, by hand."""

from __future__ import annotations

import math

import pytest

from coterie.metrics.topics import coherence, diversity, topic_scores

TEXTS = ["Apple banana apple", "apple and banana", "the apple, the cherry", "cherry durian"]


def test_coherence_by_hand() -> None:
    together = math.log((2 / 4) / (3 / 4 * 2 / 4)) / -math.log(2 / 4)  # apple and banana
    by_chance = math.log((1 / 4) / (3 / 4 * 2 / 4)) / -math.log(1 / 4)  # apple and cherry
    never = -1.0  # banana and cherry
    first = (together + by_chance + never) / 3
    assert coherence([["apple", "banana", "cherry"]], TEXTS) == pytest.approx(first)
    second = math.log((1 / 4) / (2 / 4 * 1 / 4)) / -math.log(1 / 4)  # durian stands beside cherry only
    assert coherence([["apple", "banana", "cherry"], ["durian", "cherry"]], TEXTS) == pytest.approx(
        (first + second) / 2
    )


def test_words_that_only_stand_together_or_never_do() -> None:
    assert coherence([["alpha", "beta"]], ["alpha beta", "gamma", "beta alpha"]) == pytest.approx(1)
    assert coherence([["alpha", "beta"]], ["alpha beta"] * 3) == 1
    assert coherence([["alpha", "beta"]], ["alpha", "beta"]) == -1
    assert coherence([["alpha", "unheard-of"]], ["alpha", "beta"]) == -1


def test_topics_without_pairs_say_nothing() -> None:
    assert coherence([["apple"], ["apple", "banana"], []], TEXTS) == coherence([["apple", "banana"]], TEXTS)
    assert math.isnan(coherence([["apple"]], TEXTS))


def test_diversity_by_hand() -> None:
    assert diversity([["a", "b"], ["c", "d"]]) == 1
    assert diversity([["a", "b"], ["b", "a"], ["a", "c"]]) == 3 / 6
    assert math.isnan(diversity([[], []]))


def test_both() -> None:
    scores = topic_scores([["apple", "banana"]], TEXTS)
    assert scores == {"coherence": coherence([["apple", "banana"]], TEXTS), "diversity": 1.0}
