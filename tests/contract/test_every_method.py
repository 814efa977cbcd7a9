"""One contract that every method passes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from coterie import TextClusterer
from coterie.metrics.external import accuracy
from coterie.registry import known_methods

K = 4
NAMES = [info.name for info in known_methods()]
# Features and clusterers share a matrix and nothing else: each of them once is as good as every pair.
METHODS = [name for name in NAMES if "+" not in name or name.endswith("+kmeans") or name.startswith("tfidf+")]
METHODS += ["minilm+umap+kmeans", "tfidf+umap+ahc"]

# Sixty texts are one step an epoch, after which everything is looked at: rules that count steps make hundreds of them.
SHORTER = {
    "aecl": {"contrast_epochs": 20, "guided_epochs": 60, "joint_epochs": 60},
    "deccrl": {"epochs": 40, "topic_epochs": 20},
    "vascl": {"epochs": 60},
    # On texts as clear as these the start would be kept, and the network never be seen.
    "adsl": {"epochs": 20, "undo": False},
    "stcc": {"epochs": 20, "undo": False},
    "consensus": {"epochs": 20, "undo": False},
    **{
        name: {"layers": [64, 64, 10], "pair_epochs": 10, "pretraining_epochs": 40, "epochs": 20}
        for name in ("dec", "idec", "dcn")
    },
    "self-train": {"layers": [64, 64, 10], "pretraining_epochs": 40, "epochs": 20},
    "clusterbert": {"round_epochs": 30, "hardening_epochs": 20},
}

SUBJECTS = {
    "cat": "the {} cat sleeps on the warm sofa and purrs at its owner",
    "bank": "my {} bank charged a fee on the account and the payment failed",
    "football": "the {} football team scored a goal in the last minute of the match",
    "weather": "a {} storm brings heavy rain and wind to the coast tomorrow",
}
ADJECTIVES = [
    "old",
    "new",
    "big",
    "small",
    "local",
    "quiet",
    "angry",
    "happy",
    "strange",
    "famous",
    "young",
    "tired",
    "friendly",
    "nervous",
    "lucky",
]


@pytest.fixture(scope="module")
def corpus() -> tuple[list[str], list[str]]:
    pairs = [(text.format(adjective), subject) for adjective in ADJECTIVES for subject, text in SUBJECTS.items()]
    texts, truth = zip(*pairs, strict=True)
    return [*texts, texts[0]], [*truth, truth[0]]


@pytest.fixture(scope="module", params=METHODS)
def fitted(request: pytest.FixtureRequest, corpus: tuple[list[str], list[str]]) -> TextClusterer:
    settings = SHORTER.get(request.param)
    return TextClusterer(K, method=request.param, settings=settings, random_state=1).fit(corpus[0])


def test_every_row_has_a_group_and_every_group_a_row(
    fitted: TextClusterer, corpus: tuple[list[str], list[str]]
) -> None:
    assert fitted.labels_.shape == (len(corpus[0]),)
    assert sorted(set(fitted.labels_.tolist())) == list(range(K))
    sizes = np.bincount(fitted.labels_)
    assert (np.diff(sizes) <= 0).all(), "groups are numbered from the largest"


def test_obvious_groups_are_found(fitted: TextClusterer, corpus: tuple[list[str], list[str]]) -> None:
    # LDA and word vectors on sixty short texts and HDBSCAN in many dimensions are weak; the others must get it right.
    feature, clusterer = fitted.method.split("+")[0], fitted.method.split("+")[-1]
    lowest = 0.4 if feature == "lda" or clusterer == "hdbscan" else 0.6 if feature in ("sif", "self-train") else 0.95
    assert accuracy(corpus[1], fitted.labels_) >= lowest


def test_probabilities_are_probabilities_and_agree_with_the_labels(fitted: TextClusterer) -> None:
    assert fitted.probabilities_.shape == (len(fitted.labels_), K)
    assert (fitted.probabilities_ >= 0).all()
    np.testing.assert_allclose(fitted.probabilities_.sum(axis=1), 1, rtol=1e-4)
    np.testing.assert_array_equal(fitted.probabilities_.argmax(axis=1), fitted.labels_)


def test_predict_gives_the_labels_of_the_fit(fitted: TextClusterer, corpus: tuple[list[str], list[str]]) -> None:
    np.testing.assert_array_equal(fitted.predict(corpus[0]), fitted.labels_)
    assert fitted.transform(corpus[0][:2]).shape == (2, fitted.n_features_out_)


def test_a_text_is_placed_the_same_alone_and_in_any_company(
    fitted: TextClusterer, corpus: tuple[list[str], list[str]]
) -> None:
    texts = [corpus[0][5], "something nobody has written yet", corpus[0][17]]
    together = fitted.predict_proba(texts)
    turned = fitted.predict_proba(texts[::-1])[::-1]
    alone = np.vstack([fitted.predict_proba([text]) for text in texts])
    np.testing.assert_array_equal(turned, together)
    np.testing.assert_array_equal(alone, together)
    np.testing.assert_array_equal(fitted.predict_proba(corpus[0][::-1])[::-1], fitted.predict_proba(corpus[0]))


def test_equal_texts_share_a_group(fitted: TextClusterer) -> None:
    assert fitted.labels_[0] == fitted.labels_[-1]


def test_same_seed_same_groups(fitted: TextClusterer, corpus: tuple[list[str], list[str]]) -> None:
    again = clone(fitted).fit(corpus[0])
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    np.testing.assert_allclose(again.probabilities_, fitted.probabilities_, atol=1e-6)


def test_saved_and_loaded_it_answers_the_same(
    fitted: TextClusterer, corpus: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("models") / "model"
    fitted.save(folder)
    loaded = TextClusterer.load(folder)
    texts = [*corpus[0], "the quiet bank of the river", "goal!"]
    np.testing.assert_array_equal(loaded.predict_proba(texts), fitted.predict_proba(texts))
    np.testing.assert_array_equal(loaded.labels_, fitted.labels_)
    assert loaded.get_params() == fitted.get_params()
    assert sorted(path.name for path in folder.iterdir()) == ["model.json", "model.safetensors"]
