"""The autoencoder by hand: widths, where it is linear, and one pair of layers alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from coterie.nn.autoencoder import Autoencoder

LAYERS = [5, 7, 3]


@pytest.fixture
def autoencoder() -> Autoencoder:
    torch.manual_seed(0)
    return Autoencoder(6, LAYERS).eval()


@pytest.fixture
def x() -> Tensor:
    return 3 * torch.randn(8, 6, generator=torch.Generator().manual_seed(1))


def linear(x: np.ndarray, layer: torch.nn.Module) -> np.ndarray:
    weight, bias = (parameter.detach().numpy() for parameter in layer.parameters())
    return x @ weight.T + bias


@pytest.mark.parametrize(
    ("width", "layers", "there", "back"),
    [
        (384, (500, 500, 2000, 10),
         [(384, 500), (500, 500), (500, 2000), (2000, 10)], [(500, 384), (500, 500), (2000, 500), (10, 2000)]),
        (3000, [500, 2000, 200], [(3000, 500), (500, 2000), (2000, 200)], [(500, 3000), (2000, 500), (200, 2000)]),
        (4, [2], [(4, 2)], [(2, 4)]),
    ],
)  # fmt: skip
def test_widths(width: int, layers: list[int], there: list[tuple[int, int]], back: list[tuple[int, int]]) -> None:
    autoencoder = Autoencoder(width, layers)
    assert [(layer.in_features, layer.out_features) for layer in autoencoder.encoder] == there
    assert [(layer.in_features, layer.out_features) for layer in autoencoder.decoder] == back
    assert autoencoder.encode(torch.zeros(2, width)).shape == (2, layers[-1])
    assert autoencoder(torch.zeros(2, width)).shape == (2, width)


def test_code_and_output_are_linear_and_all_between_is_not(autoencoder: Autoencoder, x: Tensor) -> None:
    there, back = list(autoencoder.encoder), list(autoencoder.decoder)
    hidden = np.maximum(linear(np.maximum(linear(x.numpy(), there[0]), 0), there[1]), 0)
    code = linear(hidden, there[2])
    assert code.min() < 0
    assert_close(autoencoder.encode(x).detach().numpy(), code, rtol=1e-5, atol=1e-5)
    output = linear(np.maximum(linear(np.maximum(linear(code, back[2]), 0), back[1]), 0), back[0])
    assert output.min() < 0
    assert_close(autoencoder(x).detach().numpy(), output, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pair", [0, 1, 2])
def test_one_pair_by_hand(pair: int, autoencoder: Autoencoder, x: Tensor) -> None:
    given, made = autoencoder.one_pair(x, pair, 0.2)
    below = x.numpy()
    for layer in range(pair):
        below = np.maximum(linear(below, autoencoder.encoder[layer]), 0)
    assert_close(given.numpy(), below, rtol=1e-5, atol=1e-5)
    hidden = linear(below, autoencoder.encoder[pair])
    hidden = hidden if pair == 2 else np.maximum(hidden, 0)
    back = linear(hidden, autoencoder.decoder[pair])
    back = back if pair == 0 else np.maximum(back, 0)
    assert_close(made.detach().numpy(), back, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pair", [0, 1, 2])
def test_one_pair_trains_no_other(pair: int, autoencoder: Autoencoder, x: Tensor) -> None:
    given, made = autoencoder.train().one_pair(x, pair, 0.2)
    ((made - given) ** 2).mean().backward()
    own = {id(parameter) for parameter in autoencoder.pair_parameters(pair)}
    for parameter in autoencoder.parameters():
        assert (parameter.grad is not None) == (id(parameter) in own)


def test_noise_falls_on_what_goes_in_and_never_on_what_is_to_come_out(autoencoder: Autoencoder, x: Tensor) -> None:
    still, _ = autoencoder.one_pair(x, 1, 0.5)
    autoencoder.train()
    torch.manual_seed(0)
    given, first = autoencoder.one_pair(x, 1, 0.5)
    again, second = autoencoder.one_pair(x, 1, 0.5)
    assert_close(given, still)
    assert_close(again, still)
    assert not torch.equal(first, second)
    _, third = autoencoder.one_pair(x, 1, 0.0)
    assert_close(third, autoencoder.eval().one_pair(x, 1, 0.5)[1])
