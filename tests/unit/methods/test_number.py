"""A number of groups that is chosen: what the estimator says of it, and that the groups are those of that number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

import coterie.methods.number
from coterie import ConfigError, InputError, TextClusterer, cluster
from coterie.features.transformer import TransformerEncoder
from coterie.features.two_views import space_of_words
from coterie.types import Matrix

WORDS_ONLY = "tfidf+kmeans"


def tried(model: TextClusterer) -> list[dict[str, Any]]:
    return [entry for entry in model.evidence_ if "k" in entry]


def test_the_number_is_found_and_the_evidence_is_there(texts: list[str]) -> None:
    model = TextClusterer("auto", method=WORDS_ONLY).fit(texts)
    assert model.n_clusters == "auto"
    assert model.n_clusters_ == 4
    assert set(model.labels_.tolist()) == {0, 1, 2, 3}
    assert [entry["k"] for entry in tried(model)] == [2, 3, 4, 5, 6]
    for entry in tried(model):
        assert entry.keys() == {"k", "stability", "silhouette", "prediction_strength", "chosen"}
        assert entry["chosen"] == (entry["k"] == 4)
    notes = [entry["note"] for entry in model.evidence_ if "note" in entry]
    assert notes[0].startswith("4 groups: the best of 5 numbers tried from 2 to 6 by stability (")
    assert notes[1] == "the number was chosen by the words alone: the method 'tfidf+kmeans' uses no encoder"


def test_groups_are_those_of_a_fit_that_was_told_the_number(texts: list[str]) -> None:
    told = TextClusterer(4, method=WORDS_ONLY).fit(texts)
    chosen = TextClusterer((3, 8), method=WORDS_ONLY).fit(texts)
    assert told.n_clusters_ == chosen.n_clusters_ == 4
    np.testing.assert_array_equal(chosen.probabilities_, told.probabilities_)
    assert [entry["k"] for entry in tried(chosen)] == [3, 4, 5, 6, 7, 8]
    assert tried(told) == []


def test_texts_are_encoded_once_for_both(texts: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    encoded: list[int] = []
    pooled = TransformerEncoder._pooled

    def watched(self: TransformerEncoder, ids: NDArray[np.int64]) -> Matrix:
        encoded.append(len(ids))
        return pooled(self, ids)

    monkeypatch.setattr(TransformerEncoder, "_pooled", watched)
    result = cluster(texts, "auto")
    assert len(result.groups) == result.model.n_clusters_ == 4
    assert sum(encoded) == len(texts)
    cluster(texts, "auto", method="minilm+kmeans", settings={"pooling": "cls"})
    assert sum(encoded) == 2 * len(texts), "the number is chosen by vectors that are made as the method makes them"
    assert not any("words alone" in entry.get("note", "") for entry in result.evidence)
    assert {"k-means", "average linkage"} == {entry["candidate"] for entry in result.evidence if "candidate" in entry}


def test_the_number_is_chosen_by_different_texts(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def watched(texts: list[str], seed: int) -> Matrix:
        seen.append(texts)
        return space_of_words(texts, seed)

    monkeypatch.setattr(coterie.methods.number, "space_of_words", watched)
    repeated = [*texts, *(text.upper() + "!" for text in texts[:9]), *texts[:20]]
    model = TextClusterer("auto", method=WORDS_ONLY).fit(repeated)
    assert seen == [texts]
    assert len(model.labels_) == len(repeated)
    # With near ones weighing once, sixty texts would be too few for up to seventeen groups.
    TextClusterer((2, 17), method=WORDS_ONLY).fit(repeated)
    assert seen[1] == repeated[:69]


def test_the_end_of_a_range_changes_neither_the_evidence_nor_the_groups(texts: list[str]) -> None:
    repeated = [*texts, *(text.upper() + "!" for text in texts[:9])]
    told, near, far = (TextClusterer(k, method=WORDS_ONLY).fit(repeated) for k in (4, (3, 5), (3, 12)))
    assert told.n_clusters_ == near.n_clusters_ == far.n_clusters_ == 4
    assert [entry for entry in tried(far) if entry["k"] < 6] == tried(near)
    for chosen in (near, far):
        np.testing.assert_array_equal(chosen.probabilities_, told.probabilities_)


def test_a_range_is_a_parameter_like_any_other(texts: list[str], tmp_path: Path) -> None:
    as_people_have_it: list[Any] = ["auto", (3, 8), [3, 8], (np.int64(3), np.int64(8))]
    for n_clusters in as_people_have_it:
        model = TextClusterer(n_clusters, method=WORDS_ONLY)
        assert clone(model).get_params() == model.get_params()
        assert TextClusterer().set_params(**model.get_params()).n_clusters is n_clusters
    model.fit(texts).save(tmp_path / "model")
    loaded = TextClusterer.load(tmp_path / "model")
    assert loaded.n_clusters == [3, 8]
    assert loaded.n_clusters_ == 4
    assert loaded.evidence_ == model.evidence_
    np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    np.testing.assert_array_equal(clone(loaded).fit(texts).labels_, model.labels_)


def test_what_is_wrong_with_the_method_is_said_before_any_work(
    texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coterie.estimator, "number_of_groups", lambda *_: pytest.fail("work was begun"))
    with pytest.raises(ConfigError, match="method 'tfidf\\+kmean' is not known"):
        TextClusterer("auto", method="tfidf+kmean").fit(texts)


def test_texts_without_common_words_give_nothing_to_choose_by() -> None:
    strangers = [f"word{row} other{row}" for row in range(30)]
    with pytest.raises(InputError, match="no words are in three of them or more"):
        TextClusterer("auto", method=WORDS_ONLY).fit(strangers)


def test_features_that_need_the_number_have_the_chosen_one(texts: list[str]) -> None:
    model = TextClusterer((3, 8), method="lda+kmeans").fit(texts)
    assert model.n_clusters_ == 4
    assert model.vectors_.shape == (60, 4)
