"""Duet: the choice between its two clusterings, and the ends of its range."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie import TextClusterer
from coterie.features.graph import neighbour_graph
from coterie.methods.duet import UNEQUAL, Duet, follows_sizes
from coterie.metrics.external import accuracy
from coterie.types import Matrix


class GivenVectors:
    """An encoder that knows the vectors already."""

    def __init__(self, vectors: Matrix) -> None:
        self.vectors = vectors

    def encode(self, texts: Sequence[str], progress: object = None) -> Matrix:
        return self.vectors


def groups_of_sizes(sizes: list[int], noise: float) -> tuple[list[str], Matrix, np.ndarray]:
    random = np.random.default_rng(0)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    centres = random.normal(size=(len(sizes), 32))
    vectors = centres[truth] + noise * random.normal(size=(len(truth), 32))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    # No word stands in three texts, so only the vectors tell.
    return [f"w{row}" for row in range(len(truth))], vectors.astype(np.float32), truth


def kept(evidence: list[dict[str, object]]) -> object:
    return next(entry["candidate"] for entry in evidence if entry["kept"])


def test_equal_groups_that_touch_are_left_to_k_means() -> None:
    texts, vectors, truth = groups_of_sizes([60] * 6, noise=1.7)
    fit = Duet(GivenVectors(vectors)).fit(texts, 6)  # type: ignore[arg-type]
    assert kept(fit.evidence) == "k-means"
    assert accuracy(truth.tolist(), fit.labels.tolist()) > 0.9


def test_unequal_groups_are_left_to_linkage() -> None:
    sizes = [300, 120, 60, *[12] * 20]
    texts, vectors, truth = groups_of_sizes(sizes, noise=0.9)
    fit = Duet(GivenVectors(vectors)).fit(texts, len(sizes))  # type: ignore[arg-type]
    assert kept(fit.evidence) == "average linkage"
    assert accuracy(truth.tolist(), fit.labels.tolist()) > 0.9


def test_unequal_groups_are_left_to_linkage_even_where_the_silhouette_is_k_means() -> None:
    sizes = [300, 100, 40, 16, 8, 6]
    texts, vectors, truth = groups_of_sizes(sizes, noise=1.8)
    fit = Duet(GivenVectors(vectors)).fit(texts, len(sizes))  # type: ignore[arg-type]
    k_means, linkage = fit.evidence
    assert k_means["score"] > linkage["score"]
    assert linkage["kept"]
    assert k_means["because"] == UNEQUAL
    assert "because" not in linkage
    # k-means has 0.63.
    assert accuracy(truth.tolist(), fit.labels.tolist()) > 0.8


@pytest.mark.parametrize(
    ("k_means", "linkage", "follows"),
    [
        ([30, 12, 8], [44, 4, 2], True),  # 0.86 and 0.52
        ([20, 16, 14], [44, 4, 2], False),  # 0.98: even
        ([30, 12, 8], [29, 12, 9], False),  # 0.86 and 0.88: linkage is no more uneven
        ([44, 4, 2], [48, 1, 1], False),  # 0.52: k-means has found the sizes
    ],
)
def test_linkage_is_believed_where_k_means_is_uneven_and_linkage_more_so(
    k_means: list[int], linkage: list[int], follows: bool
) -> None:
    one, other = (np.repeat(np.arange(3), sizes) for sizes in (k_means, linkage))
    assert follows_sizes(one, other) is follows


def test_the_larger_score_is_the_one_that_is_kept() -> None:
    texts, vectors, _ = groups_of_sizes([50, 40, 30], noise=1.0)
    evidence = Duet(GivenVectors(vectors)).fit(texts, 3).evidence  # type: ignore[arg-type]
    assert {entry["candidate"] for entry in evidence} == {"k-means", "average linkage"}
    best = max(evidence, key=lambda entry: entry["score"])
    assert best["kept"]
    assert sum(entry["kept"] for entry in evidence) == 1


def test_beyond_the_limit_a_sample_finds_the_groups_and_all_texts_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.methods.duet.MOST_ROWS", 120)
    texts, vectors, truth = groups_of_sizes([150, 150, 150], noise=0.5)
    fit = Duet(GivenVectors(vectors)).fit(texts, 3)  # type: ignore[arg-type]
    assert len(fit.labels) == 450
    assert accuracy(truth.tolist(), fit.labels.tolist()) > 0.99


@pytest.mark.parametrize("k", [1, 2, 30])
def test_one_group_and_as_many_groups_as_texts(k: int, demo_texts: list[str], tmp_path: Path) -> None:
    texts = list(dict.fromkeys(demo_texts))[:30]
    fitted = TextClusterer(k).fit(texts)
    assert sorted(set(fitted.labels_.tolist())) == list(range(k))
    fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(TextClusterer.load(tmp_path / "model").predict(texts), fitted.labels_)


def test_two_texts_are_enough() -> None:
    assert sorted(TextClusterer(2).fit(["a red apple", "the stock market fell"]).labels_.tolist()) == [0, 1]


def test_the_groups_that_are_learnt_are_those_after_spreading(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, vectors, _ = groups_of_sizes([40] * 3, noise=0.3)
    seen: list[Any] = []

    def moved(labels: Any, graph: Any, groups: int) -> Any:
        seen.append((labels, graph))
        return (labels + 1) % groups

    monkeypatch.setattr("coterie.methods.duet.spread_groups", moved)
    fit = Duet(GivenVectors(vectors)).fit(texts, 3)
    ((labels, graph),) = seen
    np.testing.assert_array_equal(fit.labels, (labels + 1) % 3)
    expected = neighbour_graph(fit.vectors - fit.vectors.mean(axis=0))
    assert abs(graph - expected).max() < 1e-9
