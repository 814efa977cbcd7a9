"""`TextClusterer` as scikit-learn sees it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import Tags, estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import coterie.estimator
from coterie import ConfigError, InputError, TextClusterer
from coterie.clusterers import SphericalKMeans
from coterie.data.check import check_texts
from coterie.metrics.external import accuracy


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


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_set_params,
    ],
)
def test_sklearn_checks_that_need_no_data(check: Any) -> None:
    check("TextClusterer", TextClusterer())


def test_predicting_before_fitting_is_an_error() -> None:
    with pytest.raises(NotFittedError):
        TextClusterer(2).predict(["a text"])


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


def test_columns_of_vectors_have_names(demo_texts: list[str]) -> None:
    model = TextClusterer(3, method="tfidf+kmeans").set_output(transform="polars").fit(demo_texts[:60])
    vectors = model.transform(demo_texts[:5])
    assert vectors.columns == [f"textclusterer{place}" for place in range(model.n_features_out_)]
    assert vectors.columns == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(vectors.to_numpy(), model.vectors_[:5])


def test_a_copy_for_another_process_answers_the_same(demo_texts: list[str]) -> None:
    fitted = TextClusterer(3, method="minilm+kmeans").fit(demo_texts[:40])
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(demo_texts[40:50]), fitted.predict_proba(demo_texts[40:50]))


def test_bad_settings_are_named(demo_texts: list[str]) -> None:
    texts = demo_texts[:20]
    cases = {
        "method 'tfidf\\+kmean' is not known: did you mean 'tfidf\\+kmeans'": {"method": "tfidf+kmean"},
        "method 'ADSL' is not known: did you mean 'adsl'": {"method": "ADSL"},
        "method 'AE\\+AHC' is not known: did you mean 'ae\\+ahc'": {"method": "AE+AHC"},
        "'ae' are features, which need a clusterer: use 'ae\\+kmeans' or 'ae\\+ward'": {"method": "ae"},
        "'kmeans' is a clusterer, which needs features: use 'minilm\\+kmeans' or": {"method": "kmeans"},
        "method 'umap' is not known": {"method": "umap"},
        "effort='quick'": {"effort": "quick"},
        "random_state=-1": {"random_state": -1},
        "random_state=1.5": {"random_state": 1.5},
        "precision='int4'": {"precision": "int4"},
        "did you mean 'minilm'": {"encoder": "mini-lm"},
        "'tfidf\\+kmeans' uses no encoder": {"method": "tfidf+kmeans", "precision": "int8"},
        "word vectors are of no use": {"word_vectors": "vectors.txt"},
        "word_vectors=5 is not usable: give the path": {"method": "sif+kmeans", "word_vectors": 5},
        "setting 1 is not a name: give settings by their names": {"method": "aecl", "settings": {1: 2}},
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


def test_topics_that_tell_few_texts_apart_name_no_number() -> None:
    """Another number of topics would tell another number of texts apart."""
    texts = ["lamp sofa", "sofa lamp", "invoice rug", "rug invoice", "lamp, sofa", "rug, invoice"]
    with pytest.raises(InputError, match=r"as mixtures of 6 topics only \d texts can be told apart. Ask for fewer"):
        TextClusterer(6, method="lda+kmeans").fit(texts)


def test_predicting_nothing_gives_nothing(demo_texts: list[str]) -> None:
    fitted = TextClusterer(3, method="tfidf+kmeans").fit(demo_texts[:30])
    assert fitted.predict([]).shape == (0,)
    assert fitted.predict_proba([]).shape == (0, 3)
    assert fitted.transform([]).shape == (0, fitted.n_features_out_)


def test_settings_may_be_numpy_numbers_and_paths(demo_texts: list[str], tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("password 1 0 0\ninvoice 0 1 0\nsync 0 0 1\n")
    fitted = TextClusterer(np.int64(2), method="sif+kmeans", word_vectors=vectors, random_state=np.int32(1))
    fitted.fit(demo_texts[:60]).save(tmp_path / "model")
    assert TextClusterer.load(tmp_path / "model").get_params()["n_clusters"] == 2


def test_spherical_ends_as_spherical_k_means(demo_texts: list[str]) -> None:
    fitted = TextClusterer(5, method="lda+spherical", random_state=3).fit(demo_texts[:200])
    expected = SphericalKMeans(5, n_init=10, random_state=3).fit(fitted.vectors_).labels_
    assert accuracy(expected.tolist(), fitted.labels_.tolist()) == 1.0


ODD_TEXTS = [
    "Hello there, my invoice is wrong",
    "hello there, my INVOICE is wrong",
    "😀",
    "😀😀",
    "and the of",
    "to be or not to be",
    "нет доступа к счету",
    "ログインできません",
    "नमस्ते, मेरा खाता बंद है",
    "word " * 5000,
    "x",
    "https://example.org/a?b=c&d=e",
    "The sync is stuck at 99%",
    "The sync is stuck at 99%",
]


@pytest.mark.parametrize("method", ["auto", "minilm+kmeans", "minilm+ahc"])
@pytest.mark.parametrize("k", [1, 2, 9])
def test_odd_texts_get_exactly_k_groups_and_the_same_answer_again(method: str, k: int) -> None:
    fitted = TextClusterer(k, method=method).fit(ODD_TEXTS)
    assert sorted(set(fitted.labels_.tolist())) == list(range(k))
    assert fitted.labels_[-1] == fitted.labels_[-2]
    np.testing.assert_array_equal(fitted.predict_proba(ODD_TEXTS[::-1])[::-1], fitted.probabilities_)


def test_more_groups_than_the_encoder_can_tell_apart_are_refused() -> None:
    with pytest.raises(InputError, match=r"sees only \d+ different texts"):
        TextClusterer(13).fit(ODD_TEXTS)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"encoder": None}, "encoder=None is not usable"),
        ({"encoder": 5}, "encoder=5 is not usable"),
        ({"method": "clusterbert", "settings": 5}, "settings=5 is not usable"),
        ({"settings": "epochs=3"}, "settings='epochs=3' is not usable"),
        ({"settings": [("epochs", 3)]}, "give them by name"),
    ],
)
def test_parameters_of_a_wrong_kind_are_named(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        TextClusterer(2, **wrong).fit(["one text", "another text", "a third text"])


def test_a_truth_of_ids_is_refused_before_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scoring would fail when all the work is done."""
    monkeypatch.setattr("coterie.metrics.external.MOST_CELLS", 50)
    texts = [f"parcel number {number} of {number % 7}" for number in range(30)]
    with pytest.raises(InputError, match="30 different true labels and 2 different groups"):
        TextClusterer(2, method="bow+kmeans").fit(texts, texts)
