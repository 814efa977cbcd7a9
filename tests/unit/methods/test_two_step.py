"""Features, then a clusterer: what is told of how it was done."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.clusterers import agglomerative
from coterie.features.bag import Tfidf
from coterie.methods.two_step import TwoStep, umap_space


@pytest.mark.parametrize("clusterer", ["ahc", "ward"])
def test_it_is_told_when_memory_was_too_short_for_single_texts(
    clusterer: str, themed: tuple[list[str], np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    method = TwoStep(Tfidf(), clusterer)
    assert method.fit(themed[0], 4).evidence == []
    monkeypatch.setattr(agglomerative, "available_memory", lambda: 3 * 4 * 40**2)
    told = method.fit(themed[0], 4).evidence
    assert told == [{"note": "linkage of 10 micro-clusters instead of 48 texts, to save memory"}]


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_a_handful_of_texts_can_be_laid_out(rows: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(rows, 8)).astype(np.float32)
    space = umap_space(vectors, random_state=0)
    assert len(space) == rows
    assert np.isfinite(space).all()
