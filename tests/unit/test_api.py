"""`coterie.cluster` and what it gives back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import coterie


@pytest.fixture(scope="module")
def result(demo_texts: list[str]) -> coterie.Clustering:
    return coterie.cluster(demo_texts, n_clusters=12)


def test_three_lines_are_enough(result: coterie.Clustering, demo_texts: list[str]) -> None:
    assert len(result.groups) == 12
    assert sum(group.size for group in result.groups) == len(demo_texts)
    assert [group.id for group in result.groups] == list(range(12))
    assert result.confidence.shape == (len(demo_texts),)
    assert 1 / 12 <= result.confidence.min() <= result.confidence.max() <= 1


def test_groups_speak_for_themselves(result: coterie.Clustering, demo_texts: list[str]) -> None:
    for group in result.groups:
        members = [text for text, label in zip(demo_texts, result.labels, strict=True) if label == group.id]
        assert group.size == len(members)
        assert set(group.examples) <= set(members)
        assert group.words
        assert all(any(word in text.lower() for text in members) for word, _ in group.words)
    billing = result.predict(["I was charged twice on my invoice"])[0]
    assert {"invoice", "charged", "payment"} & {word for word, _ in result.groups[billing].words}


def test_table_repr_and_evidence(result: coterie.Clustering, demo_texts: list[str]) -> None:
    table = result.to_table()
    assert table.columns == ["text", "cluster", "confidence"]
    assert table["text"].to_list() == demo_texts
    assert repr(result).startswith(f"{len(demo_texts)} texts in 12 groups\n   0 ")
    assert sum(entry["kept"] for entry in result.evidence) == 1


def test_saved_it_sorts_new_texts_the_same(result: coterie.Clustering, tmp_path: Path) -> None:
    result.save(tmp_path / "model")
    texts = ["cannot sign in", "dark mode please", "the app crashes on my phone"]
    np.testing.assert_array_equal(coterie.TextClusterer.load(tmp_path / "model").predict(texts), result.predict(texts))


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'clustre'"):
        coterie.clustre  # noqa: B018
