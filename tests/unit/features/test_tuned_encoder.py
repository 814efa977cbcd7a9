"""Encoders whose weights were trained here: the vectors of the training, saved, copied and cached."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from coterie.errors import ModelFormatError
from coterie.features.bert import BertForward
from coterie.features.transformer import TransformerEncoder
from coterie.nn.encoder import TrainableEncoder
from coterie.types import State

MakeModel = Callable[..., Path]
FAMILIES = ["bert", "roberta", "distilbert"]


@pytest.fixture(scope="module")
def folders(make_model: MakeModel) -> dict[str, Path]:
    return {name: make_model(name, max_position_embeddings=52) for name in FAMILIES}


def trained(folder: Path, texts: list[str], **options: Any) -> tuple[TransformerEncoder, TrainableEncoder]:
    """A few steps that pull the vectors about."""
    plain = TransformerEncoder(str(folder), cache=False, pooling=options.get("pooling", "mean"))
    encoder = TrainableEncoder(plain.checkpoint, **options).train()
    tokens = plain.tokens(texts)
    optimiser = torch.optim.Adam([weight for weight in encoder.parameters() if weight.requires_grad], lr=1e-2)
    for _ in range(3):
        optimiser.zero_grad()
        encoder(torch.from_numpy(tokens.ids), tokens.lengths)[:, ::2].square().sum().backward()
        optimiser.step()
    return plain, encoder.eval()


def of_training(encoder: TrainableEncoder, plain: TransformerEncoder, texts: list[str]) -> NDArray[np.float32]:
    tokens = plain.tokens(texts)
    return encoder(torch.from_numpy(tokens.ids), tokens.lengths).detach().numpy()


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("layers", [1, "all"])
@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_are_those_of_the_training(
    folders: dict[str, Path], corpus: list[str], family: str, layers: Any, pooling: str
) -> None:
    plain, encoder = trained(folders[family], corpus, trainable_layers=layers, pooling=pooling)
    tuned = plain.with_weights(encoder.tuned_weights())
    assert isinstance(tuned._model.forward, BertForward) == (family == "bert")
    assert (tuned.name, tuned.pooling, tuned.max_length, tuned.cache) == (plain.name, pooling, 128, False)
    vectors = tuned.transform(corpus)
    np.testing.assert_allclose(vectors, of_training(encoder, plain, corpus), atol=1e-5)
    assert np.abs(vectors - plain.transform(corpus)).max() > 0.05
    # Alone, in any company, after saving, copying and pickling: the same bits.
    for row in (0, 7, 31):
        np.testing.assert_array_equal(tuned.transform([corpus[row]])[0], vectors[row])
    np.testing.assert_array_equal(tuned.encode(corpus[::-1]), vectors[::-1])
    for other in (
        TransformerEncoder.from_state(tuned.state()),
        copy.deepcopy(tuned),
        pickle.loads(pickle.dumps(tuned)),
    ):
        np.testing.assert_array_equal(other.transform(corpus), vectors)


@pytest.mark.parametrize("family", FAMILIES)
def test_int8_of_tuned_weights(folders: dict[str, Path], corpus: list[str], family: str) -> None:
    plain, encoder = trained(folders[family], corpus)
    coarse = TransformerEncoder(plain.name, precision="int8", cache=False, tuned=encoder.tuned_weights())
    exact = of_training(encoder, plain, corpus)
    assert (coarse.transform(corpus) * exact).sum(axis=1).mean() > 0.98


def test_state_nests_and_keeps_every_bit(folders: dict[str, Path], corpus: list[str]) -> None:
    plain, encoder = trained(folders["bert"], corpus, trainable_layers=1)
    weights = encoder.tuned_weights()
    outer = State({})
    outer.nest("features", plain.with_weights(weights).state())
    restored = TransformerEncoder.from_state(outer.child("features"))
    assert restored.tuned.keys() == weights.keys()
    for name, array in weights.items():
        np.testing.assert_array_equal(restored.tuned[name], array)
    assert plain.state().arrays == {}
    assert TransformerEncoder.from_state(plain.state()).tuned == {}


def test_tuned_weights_are_taken_over_as_they_are(folders: dict[str, Path], corpus: list[str]) -> None:
    """Training that goes on does not change an encoder made before."""
    plain, encoder = trained(folders["bert"], corpus, trainable_layers=1)
    weights = encoder.tuned_weights()
    tuned = plain.with_weights(weights)
    for array in weights.values():
        array[...] = 0
    np.testing.assert_allclose(tuned.transform(corpus), of_training(encoder, plain, corpus), atol=1e-5)


def test_every_set_of_weights_has_its_own_cache(
    folders: dict[str, Path], corpus: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    plain, encoder = trained(folders["bert"], corpus, trainable_layers=1)
    weights = encoder.tuned_weights()
    name = "encoder.layer.1.output.dense.bias"
    ways = [{}, weights, weights | {name: weights[name] + 0.5}]
    for count, tuned in enumerate(ways, start=1):
        vectors = TransformerEncoder(plain.name, tuned=tuned).encode(corpus)
        assert len(list((tmp_path / "vectors").iterdir())) == count
        np.testing.assert_array_equal(vectors, TransformerEncoder(plain.name, tuned=tuned, cache=False).encode(corpus))
        np.testing.assert_array_equal(vectors, TransformerEncoder(plain.name, tuned=tuned).encode(corpus))


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_that_do_not_belong_to_the_encoder(folders: dict[str, Path], corpus: list[str], family: str) -> None:
    tuned = TrainableEncoder(TransformerEncoder(str(folders[family])).checkpoint, trainable_layers=1).tuned_weights()
    name = next(iter(tuned))
    for wrong in ({"encoder.layer.9.bias": np.zeros(3, np.float32)}, {name: tuned[name][:5]}):
        with pytest.raises(ModelFormatError, match="do not belong to this encoder"):
            TransformerEncoder(str(folders[family]), tuned=tuned | wrong).transform(corpus[:2])
