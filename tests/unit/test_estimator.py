"""`TextClusterer` as scikit-learn sees it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import Tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import coterie.estimator
from coterie import ConfigError, InputError, TextClusterer
from coterie.data.check import check_texts


class OfNumbers(TextClusterer):
    """scikit-learn's checks come with tables of numbers: here every row is written out as a text of number words."""

    def __init__(self, n_clusters: int = 3, *, method: str = "bow+kmeans", random_state: int = 0) -> None:
        super().__init__(n_clusters, method=method, random_state=random_state)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False
        return tags


def as_texts(rows: Any, **options: Any) -> list[str]:
    if isinstance(rows, list) or getattr(rows, "dtype", np.dtype(object)).kind in "OU":
        return check_texts(rows, **options)
    # Coarse words that similar rows share, and fine ones that tell rows apart.
    return [
        " ".join(f"coarse{column}x{value:.0f} fine{column}x{100 * value:.0f}" for column, value in enumerate(row))
        for row in np.atleast_2d(np.asarray(rows))
    ]


EXPECTED_FAILURES = {
    "check_estimator_sparse_tag": "texts are never sparse: the shim cannot write sparse rows out as words",
    "check_estimator_sparse_array": "texts are never sparse: the shim cannot write sparse rows out as words",
    "check_estimator_sparse_matrix": "texts are never sparse: the shim cannot write sparse rows out as words",
    "check_transformer_general": "wants an error for a table with other columns; a text has no columns",
    "check_clustering": "wants the groups of Gaussian blobs; written out as words, near numbers are not near",
    "check_fit2d_1sample": "wants the words '1 sample'; our error says '1 row', as users do",
}


@parametrize_with_checks([OfNumbers()], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_sklearn_check(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coterie.estimator, "check_texts", as_texts)
    check(estimator)


def test_texts_come_in_all_the_shapes_people_have(demo_texts: list[str]) -> None:
    texts = demo_texts[:60]
    expected = TextClusterer(3, method="tfidf+kmeans").fit(texts).labels_
    for shape in (tuple(texts), np.array(texts), np.array(texts, dtype=object)[:, None], iter(texts)):
        np.testing.assert_array_equal(TextClusterer(3, method="tfidf+kmeans").fit(shape).labels_, expected)


def test_works_in_a_pipeline(demo_texts: list[str]) -> None:
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = make_pipeline(lower, TextClusterer(3, method="tfidf+kmeans"))
    labels = pipeline.fit_predict(demo_texts[:80])
    assert set(labels.tolist()) == {0, 1, 2}
    assert pipeline.predict(["I WAS CHARGED TWICE"]).shape == (1,)


def test_a_copy_for_another_process_answers_the_same(demo_texts: list[str]) -> None:
    fitted = TextClusterer(3, method="minilm+kmeans").fit(demo_texts[:40])
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(demo_texts[40:50]), fitted.predict_proba(demo_texts[40:50]))


def test_bad_settings_are_named(demo_texts: list[str]) -> None:
    texts = demo_texts[:20]
    cases = {
        "method 'tfidf\\+kmean' is not known: did you mean 'tfidf\\+kmeans'": {"method": "tfidf+kmean"},
        "method 'umap' is not known": {"method": "umap"},
        "effort='quick'": {"effort": "quick"},
        "random_state=-1": {"random_state": -1},
        "random_state=1.5": {"random_state": 1.5},
        "precision='int4'": {"precision": "int4"},
        "did you mean 'minilm'": {"encoder": "mini-lm"},
    }
    for message, setting in cases.items():
        with pytest.raises(ConfigError, match=message):
            TextClusterer(3, **setting).fit(texts)


def test_bad_texts_are_named() -> None:
    with pytest.raises(InputError, match="row 2, column 'text' holds a number"):
        TextClusterer(2).fit(["one text", 2, "another"])
    with pytest.raises(InputError, match="only 2 distinct texts"):
        TextClusterer(3).fit(["a text", "a text", "another text"])
    fitted = TextClusterer(2, method="tfidf+kmeans").fit(["red apples", "green pears", "blue plums"])
    with pytest.raises(InputError, match="one string was given"):
        fitted.predict("red apples")


def test_fewer_different_vectors_than_groups_is_an_input_error() -> None:
    # All words of the last three are stop words: their bags are empty and equal.
    texts = ["red apples", "and then we", "but they were", "how can it be"]
    with pytest.raises(InputError, match="sees only 2 different texts"):
        TextClusterer(4, method="tfidf+kmeans").fit(texts)


def test_predicting_nothing_gives_nothing(demo_texts: list[str]) -> None:
    fitted = TextClusterer(3, method="tfidf+kmeans").fit(demo_texts[:30])
    assert fitted.predict([]).shape == (0,)
    assert fitted.predict_proba([]).shape == (0, 3)
