"""Trained methods on any features: what they read, what is kept of it, and the place of a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie import TextClusterer, systems
from coterie.errors import ConfigError
from coterie.features.bag import Tfidf
from coterie.methods import deep
from coterie.methods.autoencoding import AutoencoderSettings
from coterie.methods.base import Fit
from coterie.methods.dec import DEC
from coterie.methods.on_features import DeepOnFeatures
from coterie.methods.two_step import TwoStep
from coterie.registry import FEATURES, model_class

SHORT: dict[str, Any] = {"layers": [16, 4], "pair_epochs": 2, "pretraining_epochs": 5, "epochs": 2}
KINDS = dict.fromkeys(["minilm", "tsdae"], "transformer")


def method_on(features: Any, encoder: Any, **settings: Any) -> DeepOnFeatures:
    chosen = AutoencoderSettings(**SHORT | settings)
    return DeepOnFeatures("dec", DEC, chosen, encoder, features=features, effort="fast", random_state=0)


@pytest.mark.parametrize("features", FEATURES)
def test_any_features_are_read_saved_and_read_again(
    features: str, tiny_bert: Path, corpus: list[str], own_folder: Path, head_kept: None, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"method": "dec", "encoder": str(tiny_bert), "settings": {**SHORT, "features": features}}
    model = TextClusterer(3, **options).fit(corpus)
    assert (model.features_.kind, model.assigner_.kind) == (KINDS.get(features, features), "head")
    assert ("adaptation" in [entry["phase"] for entry in model.history_]) == (features == "tsdae")
    np.testing.assert_array_equal(model.predict(corpus), model.labels_)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(TextClusterer.load(tmp_path / "model").predict_proba(corpus), model.probabilities_)


@pytest.mark.parametrize("features", ["minilm", "tsdae"])
def test_pooling_is_that_of_the_features(
    features: str, tiny_bert: Path, corpus: list[str], own_folder: Path, head_kept: None, tmp_path: Path
) -> None:
    """What is read is the first token's state, and it is again when the model has been loaded."""
    options: dict[str, Any] = {"method": "dec", "encoder": str(tiny_bert)}
    own = {**SHORT, "features": features, "pooling": "cls"}
    model = TextClusterer(3, settings=own, **options).fit(corpus)
    assert model.features_.pooling == "cls"
    model.save(tmp_path / "model")
    loaded = TextClusterer.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.features_.transform(corpus), model.features_.transform(corpus))
    np.testing.assert_array_equal(loaded.predict(corpus), model.labels_)


def test_features_are_made_once(fake_encoder: Any, themed: Any, own_folder: Path) -> None:
    class Counting(Tfidf):
        fits = 0

        def fit_transform(self, *args: Any) -> Any:
            self.fits += 1
            return super().fit_transform(*args)

    for init in ("two-view", "kmeans"):
        features = Counting()
        method_on(features, fake_encoder, init=init).fit(themed[0], 4)
        assert features.fits == 1


def test_it_begins_with_k_means_on_the_features(fake_encoder: Any, themed: Any, own_folder: Path) -> None:
    """Which is what is kept where training is no gain."""
    seen: dict[str, Fit] = {}

    def best(candidates: dict[str, Fit], *others: Any) -> tuple[Fit, list[dict[str, Any]]]:
        seen.update(candidates)
        return candidates["kmeans start"], []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deep, "best_of", best)
        fit = method_on(Tfidf(), fake_encoder, init="kmeans").fit(themed[0], 4)
    expected = TwoStep(Tfidf(), "kmeans", n_init=deep.RESTARTS, random_state=0).fit(themed[0], 4)
    assert list(seen) == ["kmeans start", "trained head"]
    np.testing.assert_array_equal(fit.labels, expected.labels)
    assert fit.features.kind == "tfidf"


def test_other_vectors_of_the_same_texts_are_another_training(fake_encoder: Any, themed: Any) -> None:
    """As when a file of word vectors has changed."""
    texts, truth = themed
    keys = []
    for noise in (0.0, 0.0, 1e-3):
        method = method_on(Tfidf(), fake_encoder)
        method._vectors = Tfidf().fit_transform(texts) + np.float32(noise)
        keys.append(method._key(4, [texts], truth))
    assert keys[0] == keys[1] != keys[2]


def test_word_vectors_are_read_where_sif_is(
    tiny_bert: Path, corpus: list[str], own_folder: Path, head_kept: None, tmp_path: Path
) -> None:
    words = sorted({word for text in corpus for word in text.split() if len(word) > 1})
    random = np.random.default_rng(0)
    lines = [" ".join([word, *(f"{value:.4f}" for value in random.normal(size=6))]) for word in words]
    (tmp_path / "words.txt").write_text("\n".join(lines))
    options: dict[str, Any] = {"word_vectors": str(tmp_path / "words.txt"), "encoder": str(tiny_bert)}
    with pytest.raises(ConfigError, match="word vectors are of no use to the method 'dec'"):
        TextClusterer(3, method="dec", **options).fit(corpus)
    settings = {**SHORT, "pretraining": "greedy"}
    assert TextClusterer(3, method="self-train", settings=settings, **options).fit(corpus).n_features_out_ == 6


@pytest.mark.parametrize("name", ["DEC", "IDEC", "DCN", "SelfTrain"])
def test_a_system_takes_its_settings_by_name(name: str) -> None:
    model = getattr(systems, name)(5, features="tfidf", layers=[20, 5], effort="full")
    assert (model.n_clusters, model.effort) == (5, "full")
    assert model.settings == {"features": "tfidf", "layers": [20, 5]}
    assert model_class(model.method).__name__ == name
