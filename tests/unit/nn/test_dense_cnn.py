"""The dense CNN against torch's own convolutions, text by text; and vectors that no company changes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from coterie.features.tokens import Tokens
from coterie.nn import dense_cnn
from coterie.nn.dense_cnn import DenseCnn, WordTexts

WORDS, MAPS = 40, 16
LENGTHS = [5, 1, 9, 2, 2, 70, 1, 7]


def texts_of(lengths: list[int], seed: int = 0) -> Tokens:
    random = np.random.default_rng(seed)
    return Tokens.of([random.integers(0, WORDS, size=length).astype(np.int32) for length in lengths])


@pytest.fixture
def network() -> DenseCnn:
    torch.manual_seed(0)
    network = DenseCnn(torch.randn(WORDS, 6), maps=MAPS)
    for bias in network.biases:
        torch.nn.init.normal_(bias, 0, 0.3)
    return network


def by_torch(network: DenseCnn, ids: np.ndarray) -> Tensor:
    """(6) for one text with torch's own convolution, zeros on both sides."""
    seen: list[Tensor] = []
    for number, (weights, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        words = network.words[torch.from_numpy(ids).long()].T[None] if number == 0 else torch.cat(seen, dim=1)
        weight = weights.view(3, MAPS, -1).permute(1, 2, 0)
        seen.append(torch.relu(functional.conv1d(words, weight, bias, padding=1)))
    return seen[-1][0].max(dim=1).values


def test_vectors_and_gradients_are_those_of_torchs_convolutions(network: DenseCnn) -> None:
    tokens, rows = texts_of(LENGTHS), np.array([5, 0, 1, 7, 3])
    ours = WordTexts(network, tokens).encode(0, rows)
    parts = [tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]] for row in rows]
    theirs = torch.stack([by_torch(network, part) for part in parts])
    assert_close(ours, theirs)
    outer = torch.randn(ours.shape)
    parameters = list(network.parameters())
    assert_close(
        torch.autograd.grad((ours * outer).sum(), parameters), torch.autograd.grad((theirs * outer).sum(), parameters)
    )


def test_without_gradient_it_is_the_same(network: DenseCnn) -> None:
    texts = WordTexts(network, texts_of(LENGTHS))
    rows = np.arange(len(LENGTHS))
    assert_close(texts.encode_all(0, rows), texts.encode(0, rows).detach())
    assert texts.encode_all(0, rows[:0]).shape == (0, MAPS)


@pytest.mark.parametrize("rows_at_once", [80, 4096])
def test_a_texts_vector_is_the_same_alone_and_in_any_company(
    network: DenseCnn, rows_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_cnn, "ROWS_AT_ONCE", rows_at_once)
    lengths = np.random.default_rng(1).integers(1, 79, size=120).tolist()
    texts = WordTexts(network, texts_of(lengths))
    together = texts.encode_all(0, np.arange(120))
    order = np.random.default_rng(2).permutation(120)
    assert torch.equal(texts.encode_all(0, order), together[torch.from_numpy(order)])
    alone = torch.cat([texts.encode_all(0, np.array([row])) for row in range(0, 120, 7)])
    assert torch.equal(alone, together[::7])


def test_a_text_longer_than_a_product_has_one_of_its_own(network: DenseCnn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_cnn, "ROWS_AT_ONCE", 64)
    lengths = [200, 3, 63, 64, 5, 127, 128, 1, 300]
    texts = WordTexts(network, texts_of(lengths))
    rows = np.arange(len(lengths))
    together = texts.encode_all(0, rows)
    assert_close(together, texts.encode(0, rows).detach())
    assert torch.equal(torch.cat([texts.encode_all(0, rows[[row]]) for row in rows]), together)
    assert torch.equal(texts.encode_all(0, rows[::-1]), together.flip(0))


def test_products_without_gradient_have_one_shape(network: DenseCnn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of another shape may round differently, on this processor or the next."""
    shapes = set()

    def noted(x: Tensor, weight: Tensor, bias: Tensor | None, bf16: bool) -> Tensor:
        shapes.add(len(x))
        return functional.linear(x, weight, bias)

    monkeypatch.setattr(dense_cnn, "linear", noted)
    texts = WordTexts(network, texts_of(LENGTHS * 30))
    for rows in (np.arange(1), np.arange(240)):
        texts.encode_all(0, rows)
    assert shapes == {dense_cnn.ROWS_AT_ONCE}


def test_no_word_sees_over_the_end_of_its_text(network: DenseCnn) -> None:
    one, two = texts_of([3, 4]), texts_of([3, 4], seed=5)
    mixed = Tokens(np.concatenate([one.ids[:3], two.ids[3:]]), one.offsets)
    first, second = (WordTexts(network, tokens).encode_all(0, np.arange(2)) for tokens in (one, mixed))
    assert torch.equal(first[0], second[0])
    assert not torch.equal(first[1], second[1])


def test_products_of_16_bits_are_close(network: DenseCnn) -> None:
    texts, rows = WordTexts(network, texts_of(LENGTHS)), np.arange(len(LENGTHS))
    exact, exactly = texts.encode(0, rows), texts.encode_all(0, rows)
    network.bf16 = True
    coarse = texts.encode(0, rows)
    assert not torch.equal(exact, coarse)
    assert_close(coarse, exact, atol=0.03, rtol=0.03)
    # Without gradient nothing is coarse.
    assert torch.equal(texts.encode_all(0, rows), exactly)
