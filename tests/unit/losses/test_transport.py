"""Plan and sizes against SciPy's general optimiser, and the plan for these sizes against POT's Sinkhorn."""

from __future__ import annotations

import itertools

import numpy as np
import ot
import pytest
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax
from torch import Tensor

from coterie.losses import transport
from coterie.losses.transport import self_adaptive_transport


def log_probabilities(rows: int, columns: int, seed: int = 0, sharpness: float = 1.0) -> Tensor:
    """With clusters of unlike sizes."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(rows, columns, generator=generator, dtype=torch.float64)
    scores += torch.randn(columns, generator=generator, dtype=torch.float64)
    return torch.log_softmax(sharpness * scores, dim=1)


def objective(plan: NDArray[np.float64], log_p: NDArray[np.float64], epsilon: float, balance: float) -> float:
    sizes = plan.sum(axis=0)
    entropy = (plan * (np.log(plan) - 1)).sum()
    return float(-(plan * log_p).sum() + epsilon * entropy - balance * (np.log(sizes) + np.log(1 - sizes)).sum())


def test_too_few_steps_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MOST_STEPS", 2)
    with pytest.warns(UserWarning, match="not converged in 2 steps"):
        self_adaptive_transport(log_probabilities(20, 5), 0.1, 0.1)


SETTINGS = list(itertools.product([0.1, 1.0], [0.001, 0.01, 0.1, 1.0, 100.0]))


@pytest.mark.parametrize(("epsilon", "balance"), SETTINGS)
@pytest.mark.parametrize("shape", [(6, 3), (5, 2), (200, 12), (3, 9)])
def test_constraints_hold(shape: tuple[int, int], epsilon: float, balance: float) -> None:
    plan, sizes = self_adaptive_transport(log_probabilities(*shape, sharpness=3), epsilon, balance)
    rows, _ = shape
    assert (plan >= 0).all()
    assert torch.allclose(plan.sum(dim=1), torch.full((rows,), 1 / rows).double(), rtol=1e-6)
    assert (plan.sum(dim=0) - sizes).abs().sum() <= 1e-9
    assert sizes.sum().item() == pytest.approx(1, abs=1e-12)
    assert ((sizes > 0) & (sizes < 1)).all()


@pytest.mark.parametrize(("epsilon", "balance"), SETTINGS)
def test_prices_are_stationary(epsilon: float, balance: float) -> None:
    """epsilon log Q - log P is f_i + g_j, and g_j is balance (1 / b_j - 1 / (1 - b_j)) up to a constant."""
    log_p = log_probabilities(7, 4)
    plan, sizes = self_adaptive_transport(log_p, epsilon, balance, tolerance=1e-12)
    prices = epsilon * torch.log(plan) - log_p
    of_columns = prices - prices[:, :1]
    assert torch.allclose(of_columns, of_columns[:1].expand_as(of_columns), atol=1e-8)
    pull = balance * (1 / sizes - 1 / (1 - sizes))
    assert torch.allclose(of_columns[0], pull - pull[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("epsilon", "balance"), SETTINGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_general_optimiser_does_better(epsilon: float, balance: float, seed: int) -> None:
    """SciPy's BFGS over plans whose rows are softmaxes, so that they sum to 1 / N of themselves."""
    log_p = log_probabilities(6, 3, seed).numpy()

    def value(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        plan = softmax(flat.reshape(6, 3), axis=1) / 6
        sizes = plan.sum(axis=0)
        slope = -log_p + epsilon * np.log(plan) + balance * (1 / (1 - sizes) - 1 / sizes)
        inner = plan * (slope - 6 * (plan * slope).sum(axis=1, keepdims=True))
        return objective(plan, log_p, epsilon, balance), inner.ravel()

    found = minimize(value, np.zeros(18), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    plan, _ = self_adaptive_transport(torch.from_numpy(log_p), epsilon, balance)
    ours = objective(plan.numpy(), log_p, epsilon, balance)
    assert ours <= found.fun + 1e-9 * (1 + abs(found.fun))
    # The optimiser did its part: it is no straw man.
    assert found.fun == pytest.approx(ours, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(("epsilon", "balance"), SETTINGS)
def test_every_other_plan_is_worse(epsilon: float, balance: float) -> None:
    log_p = log_probabilities(6, 3)
    plan, _ = self_adaptive_transport(log_p, epsilon, balance)
    best = objective(plan.numpy(), log_p.numpy(), epsilon, balance)
    random = np.random.default_rng(0)
    for _ in range(50):
        change = random.normal(size=(6, 3)) * plan.numpy() * 0.3
        change -= plan.numpy() * 6 * change.sum(axis=1, keepdims=True)
        other = plan.numpy() + change * min(1, 0.5 / np.abs(change / plan.numpy()).max())
        assert objective(other, log_p.numpy(), epsilon, balance) > best


@pytest.mark.parametrize(("epsilon", "balance"), SETTINGS)
def test_with_the_sizes_found_it_is_pots_plan(epsilon: float, balance: float) -> None:
    log_p = log_probabilities(30, 5)
    plan, sizes = self_adaptive_transport(log_p, epsilon, balance, tolerance=1e-13)
    rows = np.full(30, 1 / 30)
    expected = ot.sinkhorn(
        rows, sizes.numpy(), -log_p.numpy(), epsilon, method="sinkhorn_log", numItermax=100_000, stopThr=1e-13
    )
    np.testing.assert_allclose(plan.numpy(), expected, atol=1e-9)


def test_a_large_balance_makes_sizes_equal_and_a_small_one_lets_them_follow() -> None:
    log_p = log_probabilities(100, 4)
    free = torch.softmax(log_p / 0.1, dim=1).mean(dim=0)
    _, equal = self_adaptive_transport(log_p, 0.1, 1e4)
    _, following = self_adaptive_transport(log_p, 0.1, 1e-7)
    assert torch.allclose(equal, torch.full((4,), 0.25).double(), atol=1e-4)
    assert torch.allclose(following, free, atol=1e-3)
    spreads = [self_adaptive_transport(log_p, 0.1, balance)[1].std().item() for balance in (1e-4, 1e-3, 1e-2, 0.1, 1)]
    assert spreads == sorted(spreads, reverse=True)


def test_order_of_rows_and_columns_does_not_matter() -> None:
    log_p = log_probabilities(12, 4)
    plan, sizes = self_adaptive_transport(log_p, 0.1, 0.05)
    rows, columns = torch.randperm(12), torch.tensor([2, 0, 3, 1])
    shuffled, shuffled_sizes = self_adaptive_transport(log_p[rows][:, columns], 0.1, 0.05)
    assert torch.allclose(shuffled, plan[rows][:, columns], atol=1e-9)
    assert torch.allclose(shuffled_sizes, sizes[columns], atol=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("balance", [0.001, 0.01])
@pytest.mark.parametrize(("shape", "sharpness"), [((1, 3), 1.0), ((2, 2), 1.0), ((500, 40), 10.0), ((50, 20), 30.0)])
def test_hard_cases_converge(shape: tuple[int, int], sharpness: float, balance: float) -> None:
    """Few rows, and predictions as sharp as late in training, when the descent drowns in rounding."""
    log_p = log_probabilities(*shape, sharpness=sharpness)
    plan, sizes = self_adaptive_transport(log_p, 0.1, balance)
    assert torch.isfinite(plan).all()
    assert (plan.sum(dim=0) - sizes).abs().sum() <= 1e-9


@pytest.mark.filterwarnings("error")
def test_probabilities_of_zero_and_one() -> None:
    """Nobody wants the third cluster, but its size cannot be 0."""
    log_p = torch.log(torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    plan, sizes = self_adaptive_transport(log_p, 0.1, 0.1)
    assert plan.dtype == sizes.dtype == torch.float32
    assert torch.isfinite(plan).all()
    assert torch.allclose(plan.sum(dim=0), sizes, atol=1e-6)
    assert 0 < sizes[2] < 0.01
    assert plan.sum(dim=0)[2].item() == pytest.approx(sizes[2].item(), rel=1e-3)


def test_one_cluster() -> None:
    plan, sizes = self_adaptive_transport(torch.zeros(4, 1), 0.1, 0.1)
    assert plan.tolist() == [[0.25]] * 4
    assert sizes.tolist() == [1]


def test_no_gradient_flows() -> None:
    log_p = log_probabilities(5, 3).requires_grad_()
    plan, sizes = self_adaptive_transport(log_p, 0.1, 0.1)
    assert not plan.requires_grad
    assert not sizes.requires_grad
