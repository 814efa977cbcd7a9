"""Entropies against SciPy and by hand."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.stats import entropy
from torch import Tensor

from coterie.losses.entropy import missing_balance, row_entropy


def probabilities(rows: int, columns: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.softmax(torch.randn(rows, columns, generator=generator, dtype=torch.float64) * 3, dim=1)


def test_row_entropy_is_scipys() -> None:
    p = probabilities(7, 4)
    assert row_entropy(p).item() == pytest.approx(entropy(p.numpy(), axis=1).mean(), rel=1e-12)


def test_missing_balance_is_scipys() -> None:
    p = probabilities(7, 4)
    assert missing_balance(p).item() == pytest.approx(math.log(4) - entropy(p.mean(dim=0).numpy()), rel=1e-12)


def test_by_hand() -> None:
    """Rows (1, 0) and (1/2, 1/2): mean entropy log 2 / 2; their mean (3/4, 1/4)."""
    p = torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64)
    assert row_entropy(p).item() == pytest.approx(math.log(2) / 2)
    expected = math.log(2) + 0.75 * math.log(0.75) + 0.25 * math.log(0.25)
    assert missing_balance(p).item() == pytest.approx(expected)


def test_ends_of_the_scale() -> None:
    one_hot, uniform = torch.eye(3), torch.full((5, 3), 1 / 3)
    all_in_one = torch.eye(3)[[0, 0]]
    assert row_entropy(one_hot).item() == 0
    assert row_entropy(uniform).item() == pytest.approx(math.log(3))
    assert missing_balance(one_hot).item() == pytest.approx(0, abs=1e-6)
    assert missing_balance(uniform).item() == pytest.approx(0, abs=1e-6)
    assert missing_balance(all_in_one).item() == pytest.approx(math.log(3))


@pytest.mark.parametrize("seed", range(5))
def test_missing_balance_is_never_negative(seed: int) -> None:
    assert missing_balance(probabilities(6, 5, seed)) >= 0


@pytest.mark.parametrize("loss", [row_entropy, missing_balance])
def test_gradients(loss: object) -> None:
    assert torch.autograd.gradcheck(loss, (probabilities(4, 3).requires_grad_(),))


@pytest.mark.parametrize("loss", [row_entropy, missing_balance])
@pytest.mark.parametrize("rows", [[[1.0, 0.0, 0.0]], [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[1.0], [1.0]]])
def test_gradients_at_zero_and_one_are_finite(loss: object, rows: list[list[float]]) -> None:
    p = torch.tensor(rows, requires_grad=True)
    value = loss(p)  # type: ignore[operator]
    assert value.shape == ()
    value.backward()
    assert p.grad is not None
    assert torch.isfinite(p.grad).all()


def test_gradients_through_a_sharp_softmax_are_finite() -> None:
    scores = torch.tensor([[500.0, 0.0, -500.0]], requires_grad=True)
    row_entropy(torch.softmax(scores, dim=1)).backward()
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()
