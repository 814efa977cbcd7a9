"""Assignments as a transport of texts onto clusters, whose sizes are given, or found on the way.

The problem is solved for the prices g of the clusters alone. Given g, the best plan is a softmax in each row,

    Q_ij = 1 / N exp((g_j - M_ij) / epsilon) / sum_k exp((g_k - M_ik) / epsilon),

and g is right when the columns of Q sum to the cluster sizes. That is where the gradient of a convex function of k
numbers vanishes, found here by damped Newton steps. Sinkhorn's scaling of rows and columns in turn comes to the same
point, but needs thousands of turns when the predictions are sharp; Newton needs ten steps, rarely some hundreds.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import torch
from torch import Tensor

TOLERANCE = 1e-9
"""How far the column sums may be from the cluster sizes, all added up; the total mass is 1."""

MOST_STEPS = 500
LOG_OF_ZERO = -700.0
"""A probability of exactly 0 counts as 1e-304: its cost stays a number."""


@torch.no_grad()
def self_adaptive_transport(
    log_p: Tensor, epsilon: float, balance: float, tolerance: float = TOLERANCE
) -> tuple[Tensor, Tensor]:
    """RSTC's self-adaptive optimal transport (Zheng et al., ACL 2023): plan Q and cluster sizes b that minimise

        <Q, -log P> + epsilon <Q, log Q - 1> - balance sum_j [log b_j + log(1 - b_j)]

    where each row of Q sums to 1 / N, each column j to b_j, and b to 1. A large balance makes the clusters equal, a
    small one lets their sizes follow P. N Q are the soft assignments. Takes log-probabilities; float64 inside. The
    authors' code also has a factor log_alpha: its reg2 / log_alpha is the balance here.
    """
    rows, columns = log_p.shape
    if columns == 1:
        # The whole mass is in the one cluster, where the penalty is infinite whatever one does.
        return torch.full_like(log_p, 1 / rows), torch.ones_like(log_p[0])
    scores = log_p.double().clamp_min(LOG_OF_ZERO)
    plan, sizes = _solve(scores, _Sizes(balance), epsilon, tolerance)
    return plan.to(log_p.dtype), sizes.to(log_p.dtype)


@torch.no_grad()
def transport_to_sizes(log_p: Tensor, sizes: Tensor) -> Tensor:
    """The soft assignments nearest to P, by Kullback and Leibler, that fill clusters of given sizes: N Q above with
    epsilon = 1 and b the shares of the sizes. Each row of P is scaled by one factor for each column, and then to 1.
    """
    shares = sizes.double() / sizes.double().sum()
    plan, _ = _solve(log_p.double().clamp_min(LOG_OF_ZERO), _Given(shares), 1.0, TOLERANCE)
    return (plan * len(log_p)).to(log_p.dtype)


class _Given:
    """Cluster sizes that are as they are, whatever the prices."""

    def __init__(self, sizes: Tensor) -> None:
        self.sizes = sizes

    def respond(self, prices: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.sizes, prices @ self.sizes, torch.zeros(len(prices), len(prices), dtype=prices.dtype)


class _Sizes:
    """Cluster sizes b with the penalty -balance [log b + log(1 - b)] each, which sum to 1, as a function of the prices.

    Stationary where g_j - h = balance [1 / b_j - 1 / (1 - b_j)], with h the multiplier of the sum.
    """

    def __init__(self, balance: float) -> None:
        self.balance = balance

    def respond(self, prices: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The sizes b that are best at these prices, the least of g b + penalty, and minus the slope of b in g."""
        sizes = self._sizes(prices - self._multiplier(prices))
        least = prices @ sizes - self.balance * (torch.log(sizes) + torch.log1p(-sizes)).sum()
        slopes = self._slopes(sizes)
        return sizes, least, torch.diag(slopes) - torch.outer(slopes, slopes / slopes.sum())

    def _sizes(self, excess: Tensor) -> Tensor:
        """The root between 0 and 1 of t b^2 - (t + 2 balance) b + balance = 0, where t is the price above h."""
        # b(-t) = 1 - b(t), and for t >= 0 nothing cancels in this form.
        magnitude = excess.abs()
        root = torch.sqrt(magnitude**2 + 4 * self.balance**2)
        smaller = 2 * self.balance / (magnitude + 2 * self.balance + root)
        return torch.where(excess >= 0, smaller, 1 - smaller)

    def _slopes(self, sizes: Tensor) -> Tensor:
        """Minus the derivative of each size in its own price, at fixed h."""
        return 1 / (self.balance * (1 / sizes**2 + 1 / (1 - sizes) ** 2))

    def _multiplier(self, prices: Tensor) -> Tensor:
        """The h at which the sizes sum to 1: Newton's steps, or halving where they would leave the bracket."""
        k = len(prices)
        # The price above h at which a size is 1 / k; some size is below that and some above.
        at_equal = self.balance * (k - k / (k - 1))
        low, high = prices.min() - at_equal, prices.max() - at_equal
        h = prices.mean() - at_equal
        for _ in range(200):
            sizes = self._sizes(prices - h)
            surplus = sizes.sum() - 1
            if surplus.abs() <= 1e-15 * k or high - low <= 1e-15 * high.abs():
                break
            low, high = (low, h) if surplus > 0 else (h, high)
            newton = h - surplus / self._slopes(sizes).sum()
            h = newton if low < newton < high else (low + high) / 2
        return h


class _Trial(NamedTuple):
    """The problem at some prices: `value` is convex in them, and `excess` its gradient."""

    prices: Tensor
    shares: Tensor
    masses: Tensor
    sizes: Tensor
    excess: Tensor
    value: Tensor
    curvature: Tensor


def _solve(scores: Tensor, sizes: _Sizes | _Given, epsilon: float, tolerance: float) -> tuple[Tensor, Tensor]:
    """Plan and cluster sizes, by Levenberg's steps: damped until they descend, hardly damped near the end."""
    scaled = scores / epsilon

    def attempt(prices: Tensor) -> _Trial:
        logits = scaled + prices / epsilon
        log_total = torch.logsumexp(logits, dim=1)
        shares = logits.sub_(log_total[:, None]).exp_()
        masses = shares.mean(dim=0)
        wanted, least, curvature = sizes.respond(prices)
        value = epsilon * log_total.mean() - least
        return _Trial(prices, shares, masses, wanted, masses - wanted, value, curvature)

    best, hessian, damping = attempt(torch.zeros_like(scores[0])), None, 1e-3
    for _ in range(MOST_STEPS):
        if best.excess.abs().sum() <= tolerance:
            break
        if hessian is None:
            hessian = _hessian(best, epsilon)
        # As the damping grows, the step becomes a short one of Sinkhorn's, epsilon excess / mass, which descends.
        brake = damping * torch.maximum(best.masses, best.sizes) / epsilon
        trial = attempt(best.prices - torch.linalg.solve(hessian + torch.diag(brake), best.excess))
        if trial.value < best.value or _closes_in(trial, best):
            best, hessian, damping = trial, None, max(damping / 10, 1e-12)
        else:
            damping *= 10
    else:
        warnings.warn(f"the transport has not converged in {MOST_STEPS} steps; its sizes are approximate", stacklevel=4)
    return best.shares / len(scores), best.sizes


def _closes_in(trial: _Trial, best: _Trial) -> bool:
    """Near the end the descent drowns in rounding, but the excess still tells a good step."""
    rise = trial.value - best.value
    return bool(trial.excess.abs().sum() < best.excess.abs().sum() / 2 and rise < 1e-10 * (1 + best.value.abs()))


def _hessian(at: _Trial, epsilon: float) -> Tensor:
    hessian = (torch.diag(at.masses) - at.shares.T @ at.shares / len(at.shares)) / epsilon + at.curvature
    # All prices may move together without effect; the last term keeps them where they are.
    return hessian + 1 / len(hessian)
