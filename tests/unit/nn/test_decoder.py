"""TSDAE's decoder: transformers' own with cross attention to one vector, and tied to the encoder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import coterie.losses.tokens as tokens_module
import coterie.nn.layers as layers_module
from coterie.features.checkpoints import find_checkpoint
from coterie.features.tokens import Tokens
from coterie.nn.decoder import Decoder
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.marks import Marks
from coterie.nn.texts import TrainingTexts

MakeModel = Callable[..., Path]
RANDOM = np.random.default_rng(0)
TEXTS = Tokens.of([RANDOM.integers(5, 150, size=size).astype(np.int32) for size in (4, 9, 4, 17, 2, 9, 6)])
ROWS = np.arange(len(TEXTS))


def built(folder: Path, **options: Any) -> tuple[TrainableEncoder, Decoder]:
    encoder = TrainableEncoder(find_checkpoint(str(folder)), **{"trainable_layers": "all"} | options)
    torch.manual_seed(1)
    decoder = Decoder(encoder, Marks.following(TEXTS).ids)
    with torch.no_grad():
        for parameter in decoder.given.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.2)
    return encoder, decoder


def decoded(encoder: TrainableEncoder, decoder: Decoder, vectors: torch.Tensor, texts: Tokens = TEXTS) -> torch.Tensor:
    read = TrainingTexts(encoder, [texts])
    read.read_causally()
    return read.decode(decoder, vectors, ROWS, Marks.following(texts))


def vectors_for(encoder: TrainableEncoder, seed: int = 2) -> torch.Tensor:
    return torch.randn(len(TEXTS), encoder.width, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))


def test_it_is_the_decoder_of_transformers(tiny_bert: Path) -> None:
    """Cross attention with a value map, whatever queries and keys, and an output map that does nothing."""
    from transformers import AutoConfig, AutoModel

    encoder, decoder = built(tiny_bert)
    config = AutoConfig.from_pretrained(str(tiny_bert), is_decoder=True, add_cross_attention=True)
    theirs = AutoModel.from_pretrained(str(tiny_bert), config=config, add_pooling_layer=False).eval()
    for ours, layer in zip(decoder.given, theirs.encoder.layer, strict=True):
        attention, output = layer.crossattention.self, layer.crossattention.output
        attention.value.load_state_dict(ours.value.state_dict())
        output.LayerNorm.load_state_dict(ours.norm.state_dict())
        torch.nn.init.eye_(output.dense.weight)
        torch.nn.init.zeros_(output.dense.bias)
        torch.nn.init.normal_(attention.query.weight)
        torch.nn.init.normal_(attention.key.weight)
    vectors = vectors_for(encoder)
    with torch.no_grad():
        found = decoded(encoder, decoder, vectors)
        expected = []
        for row, length in enumerate(TEXTS.lengths.tolist()):
            ids = torch.from_numpy(TEXTS.rows(np.array([row]), length))
            options = {"encoder_hidden_states": vectors[row].view(1, 1, -1), "use_cache": False}
            expected.append(theirs(input_ids=ids, **options).last_hidden_state[0, :-1])
    torch.testing.assert_close(found, torch.cat(expected), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("layers", ["all", 1])
def test_no_place_knows_what_comes_after_it(tiny_bert: Path, layers: Any) -> None:
    encoder, decoder = built(tiny_bert, trainable_layers=layers)
    changed = Tokens(TEXTS.ids.copy(), TEXTS.offsets)
    changed.ids[TEXTS.offsets[3] + 10 :][:7] = 5  # of the text of 17 tokens, from the eleventh on
    vectors = vectors_for(encoder)
    first, second = (decoded(encoder, decoder, vectors, texts) for texts in (TEXTS, changed))
    before = int(Marks.following(TEXTS).offsets[3])
    same = (first - second).abs().sum(dim=1) < 1e-4
    assert same[: before + 10].all()
    assert not same[before + 10 : before + 16].any()
    assert same[before + 16 :].all()


@pytest.mark.parametrize("layers", ["all", 1])
def test_each_text_is_told_from_its_own_vector(tiny_bert: Path, layers: Any) -> None:
    encoder, decoder = built(tiny_bert, trainable_layers=layers)
    vectors = vectors_for(encoder)
    other = vectors.clone()
    other[3] += 1
    difference = (decoded(encoder, decoder, vectors) - decoded(encoder, decoder, other)).abs().sum(dim=1)
    offsets = Marks.following(TEXTS).offsets
    changed = torch.zeros(len(difference), dtype=torch.bool)
    changed[offsets[3] : offsets[4]] = True
    assert torch.equal(difference > 1e-3, changed)


def test_its_layers_are_the_encoders_own(tiny_bert: Path) -> None:
    encoder, decoder = built(tiny_bert, trainable_layers=1)
    own = {id(parameter) for parameter in decoder.parameters()}
    assert not own & {id(parameter) for parameter in encoder.parameters()}
    assert len(decoder.given) == 1, "only the layer that is trained is given the vector"
    vectors = vectors_for(encoder).requires_grad_()
    states = decoded(encoder, decoder, vectors)
    decoder.head.surprise(states, torch.from_numpy(Marks.following(TEXTS).ids)).sum().backward()
    assert vectors.grad is not None
    assert (vectors.grad.abs().sum(dim=1) > 0).all()
    for name, parameter in encoder.named_parameters():
        assert (parameter.grad is not None) == name.startswith("layers.1."), name


def test_marked_places_alone_are_those_of_all(tiny_bert: Path) -> None:
    encoder, decoder = built(tiny_bert, trainable_layers=1)
    vectors, read = vectors_for(encoder), TrainingTexts(encoder, [TEXTS])
    read.read_causally()
    whole = Marks.following(TEXTS)
    states = read.decode(decoder, vectors, ROWS, whole)
    kept = whole.every(3, 1)
    places = [
        int(whole.offsets[row]) + int(np.flatnonzero(whole.taken(np.array([row])).at == at)[0])
        for row in ROWS
        for at in kept.taken(np.array([row])).at
    ]
    assert 0 < len(places) < len(states)
    torch.testing.assert_close(read.decode(decoder, vectors, ROWS, kept), states[places], atol=1e-5, rtol=1e-5)
    turned = np.array([5, 0, 3])
    expected = torch.cat([states[whole.offsets[row] : whole.offsets[row + 1]] for row in turned])
    found = read.decode(decoder, vectors[turned], turned, whole)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_texts_without_marks_are_not_decoded(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, decoder = built(tiny_bert, trainable_layers=1)
    vectors, read = vectors_for(encoder), TrainingTexts(encoder, [TEXTS])
    read.read_causally()
    whole, turned = Marks.following(TEXTS), np.array([5, 0, 3, 1, 2, 4])
    kept = whole.of_texts(3, 0)  # texts 0 and 3
    lengths: list[int] = []
    forward = Decoder.forward

    def counted(self: Decoder, states: torch.Tensor, own: Any, *others: Any) -> torch.Tensor:
        lengths.extend(own.tolist())
        return forward(self, states, own, *others)

    monkeypatch.setattr(Decoder, "forward", counted)
    found = read.decode(decoder, vectors[turned], turned, kept)
    assert lengths == sorted(TEXTS.lengths[[0, 3]].tolist())
    expected = read.decode(decoder, vectors[[0, 3]], np.array([0, 3]), whole)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_causal_states_have_an_entry_of_their_own(tiny_bert: Path, tmp_path: Path) -> None:
    encoder, decoder = built(tiny_bert, trainable_layers=1)
    first = decoded(encoder, decoder, vectors_for(encoder))
    assert len(list((tmp_path / "cache" / "vectors").iterdir())) == 2
    torch.testing.assert_close(decoded(encoder, decoder, vectors_for(encoder)), first, rtol=0, atol=0)
    assert len(list((tmp_path / "cache" / "vectors").iterdir())) == 2


def test_products_see_few_numbers_of_rows(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For every number that is new oneDNN keeps memory."""
    seen: set[int] = set()
    linear = layers_module.linear

    def counted(x: torch.Tensor, *others: Any) -> torch.Tensor:
        seen.add(len(x))
        return linear(x, *others)

    monkeypatch.setattr(layers_module, "ROUND_ROWS", 16)
    for module in (layers_module, tokens_module):
        monkeypatch.setattr(module, "linear", counted)
    encoder, decoder = built(tiny_bert)
    read = TrainingTexts(encoder, [TEXTS])
    read.read_causally()
    vectors = vectors_for(encoder)
    for turn in range(3):
        for count in range(1, len(ROWS) + 1):
            marks = Marks.following(TEXTS).every(3, turn)
            states = read.decode(decoder, vectors[:count], ROWS[:count], marks)
            told = torch.from_numpy(marks.taken(ROWS[:count]).ids)
            assert decoder.head.surprise(states, told).shape == told.shape
    assert seen == {16, 32, 48, 64}
