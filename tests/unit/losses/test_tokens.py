"""How little expected a token was: by hand, against torch's own, and in parts."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from coterie.losses import tokens
from coterie.losses.tokens import mean_surprise, token_surprise
from coterie.nn import layers


def test_a_number_worked_out_by_hand() -> None:
    # Logits (2, 1, 0) and (0, 0, 3): the surprises are log(1 + e + e^2) - 1 and log(2 + e^3) - 3.
    words = torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    found = token_surprise(torch.eye(2), words, torch.zeros(3), torch.tensor([1, 2]))
    first, second = math.log(1 + math.e + math.e**2) - 1, math.log(2 + math.e**3) - 3
    assert found.tolist() == pytest.approx([first, second], abs=1e-6)
    assert float(mean_surprise(found)) == pytest.approx((first + second) / 2, abs=1e-6)
    # A bias of log 2 doubles the weight of the first word.
    biased = token_surprise(torch.eye(2)[:1], words, torch.tensor([math.log(2), 0, 0]), torch.tensor([1]))
    assert biased.tolist() == pytest.approx([math.log(1 + math.e + 2 * math.e**2) - 1], abs=1e-6)


def test_of_no_places_the_mean_is_nothing() -> None:
    states = torch.zeros(0, 2, requires_grad=True)
    mean = mean_surprise(token_surprise(states, torch.ones(3, 2), torch.zeros(3), torch.zeros(0, dtype=torch.long)))
    mean.backward()
    assert mean.item() == 0


@pytest.mark.parametrize("at_once", [10**9, 30, 1])
def test_in_parts_it_is_the_same(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "LOGITS_AT_ONCE", at_once)
    random = torch.Generator().manual_seed(0)
    parts = [torch.randn(shape, generator=random).requires_grad_() for shape in ((11, 6), (7, 6), (7,))]
    targets, weights = torch.randint(7, (11,), generator=random), torch.randn(11, generator=random)
    states, words, bias = parts
    found = token_surprise(states, words, bias, targets)
    expected = functional.cross_entropy(states @ words.T + bias, targets, reduction="none")
    torch.testing.assert_close(found, expected)
    gradients = torch.autograd.grad((found * weights).sum(), parts)
    for ours, theirs in zip(gradients, torch.autograd.grad((expected * weights).sum(), parts), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_no_more_logits_are_made_at_once_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def noting(x: torch.Tensor, weight: torch.Tensor, *rest: object) -> torch.Tensor:
        sizes.append(len(x) * len(weight))
        return x @ weight.T

    monkeypatch.setattr(tokens, "linear", noting)
    monkeypatch.setattr(tokens, "LOGITS_AT_ONCE", 30)
    monkeypatch.setattr(layers, "ROUND_ROWS", 1)
    token_surprise(torch.randn(11, 6), torch.randn(7, 6), torch.zeros(7), torch.zeros(11, dtype=torch.long))
    assert sizes == [28, 28, 21]


def test_words_that_stand_still_cost_no_gradient() -> None:
    states, words = torch.randn(4, 6, requires_grad=True), torch.randn(7, 6)
    token_surprise(states, words, torch.zeros(7), torch.arange(4)).sum().backward()
    assert states.grad is not None
    assert words.grad is None


def test_16_bit_products_are_near() -> None:
    random = torch.Generator().manual_seed(1)
    states, words = torch.randn(9, 32, generator=random), torch.randn(20, 32, generator=random) / 6
    targets = torch.arange(9)
    states.requires_grad_()
    exact = token_surprise(states, words, torch.zeros(20), targets)
    coarse = token_surprise(states, words, torch.zeros(20), targets, bf16=True)
    assert 0 < (exact - coarse).abs().max() < 0.05
