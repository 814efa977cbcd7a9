"""Virtual augmentations: the loss in plain loops, and that the step is the confusing one."""

from __future__ import annotations

import math

import pytest
import torch
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from coterie.losses import virtual
from coterie.losses.virtual import confusing_step, nearest_in_batch, virtual_neighbourhood_loss

Rows = list[list[float]]


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def sim(a: list[float], b: list[float]) -> float:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(x * x for x in b))


def discrimination(i: int, anchor: Rows, other: Rows, sources: list[Rows], near: list[list[int]], t: float) -> float:
    """-log of row i of the other form among itself and the neighbours of i in the given forms."""
    positive = math.exp(sim(anchor[i], other[i]) / t)
    negatives = sum(math.exp(sim(anchor[i], rows[k]) / t) for rows in sources for k in near[i])
    return -math.log(positive / (positive + negatives))


def test_nearest_in_batch_is_scikit_learns() -> None:
    vectors = normal(12, 4)
    nearest = NearestNeighbors(n_neighbors=3, metric="cosine").fit(vectors.numpy()).kneighbors(return_distance=False)
    assert nearest_in_batch(vectors, 3).tolist() == nearest.tolist()


def test_nearest_in_a_small_batch() -> None:
    assert nearest_in_batch(normal(3, 4), 16).sort(dim=1).values.tolist() == [[1, 2], [0, 2], [0, 1]]
    assert nearest_in_batch(normal(1, 4), 16).shape == (1, 0)


@pytest.mark.parametrize("with_head", [False, True])
def test_loss_by_hand(with_head: bool) -> None:
    vectors, weights = normal(5, 3), normal(3, 4, seed=9)

    def head(rows: Tensor) -> Tensor:
        return torch.relu(rows) @ weights + rows.sum(dim=1, keepdim=True) if with_head else rows

    near = nearest_in_batch(vectors, 2)
    step = confusing_step(vectors, near, 0.5, 0.3, seeded(), head)
    plain, moved = head(vectors).tolist(), head(vectors + step).tolist()
    total = 0.0
    for i in range(5):
        total += discrimination(i, plain, moved, [plain, moved], near.tolist(), 0.3)
        total += discrimination(i, moved, plain, [plain, moved], near.tolist(), 0.3)
    found = virtual_neighbourhood_loss(vectors, 2, 0.5, 0.3, seeded(), head)
    assert found.shape == ()
    assert found.item() == pytest.approx(total / 10, rel=1e-12)


def test_the_step_is_along_the_gradient_at_the_random_start() -> None:
    """Against differences of the loss in plain loops."""
    vectors, radius, t = normal(4, 3), 0.7, 0.5
    near = nearest_in_batch(vectors, 2)
    noise = torch.randn(vectors.shape, generator=seeded(3), dtype=torch.float64)
    start = vectors + radius * noise / noise.norm(dim=1, keepdim=True)
    step = confusing_step(vectors, near, radius, t, seeded(3))
    for i in range(4):
        uphill = []
        for j in range(3):
            values = []
            for sign in (1, -1):
                moved = start.clone()
                moved[i, j] += sign * 1e-6
                plain = vectors.tolist()
                values.append(discrimination(i, moved.tolist(), plain, [plain], near.tolist(), t))
            uphill.append((values[0] - values[1]) / 2e-6)
        length = math.sqrt(sum(value**2 for value in uphill))
        assert step[i].tolist() == pytest.approx([radius * value / length for value in uphill], abs=1e-6)


@pytest.mark.parametrize("radius", [0.01, 1.0, 15.0])
def test_steps_have_the_radius(radius: float) -> None:
    vectors = normal(6, 4)
    step = confusing_step(vectors, nearest_in_batch(vectors, 3), radius, 0.05, seeded())
    assert torch.allclose(step.norm(dim=1), torch.full((6,), radius).double())


def test_steps_have_the_radius_where_the_gradient_is_tiny_or_none() -> None:
    """Texts at right angles are told apart without doubt at this temperature; one text alone always is."""
    for vectors in (torch.eye(4), normal(1, 4).float()):
        step = confusing_step(vectors, nearest_in_batch(vectors, 2), 0.1, 0.015, seeded())
        assert torch.allclose(step.norm(dim=1), torch.full((len(vectors),), 0.1))


def test_steps_confuse_more_than_random_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = normal(30, 8)
    confusing = [virtual_neighbourhood_loss(vectors, 5, 0.5, 0.2, seeded(seed)).item() for seed in range(5)]

    def random_step(rows: Tensor, near: Tensor, radius: float, *rest: object) -> Tensor:
        noise = normal(*rows.shape, seed=len(plain))
        return radius * noise / noise.norm(dim=1, keepdim=True)

    plain: list[float] = []
    monkeypatch.setattr(virtual, "confusing_step", random_step)
    for _ in range(5):
        plain.append(virtual_neighbourhood_loss(vectors, 5, 0.5, 0.2).item())
    assert min(confusing) > max(plain)


def test_same_seed_same_loss() -> None:
    vectors = normal(6, 4)
    losses = [virtual_neighbourhood_loss(vectors, 3, 1.0, 0.1, seeded(seed)).item() for seed in (0, 0, 1)]
    assert losses[0] == losses[1] != losses[2]


def test_gradients_with_the_step_held() -> None:
    vectors = normal(4, 3)
    near = nearest_in_batch(vectors, 2)
    step = confusing_step(vectors, near, 0.5, 0.3, seeded())

    def held(rows: Tensor) -> Tensor:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(virtual, "confusing_step", lambda *ignored: step)
            return virtual_neighbourhood_loss(rows, 2, 0.5, 0.3)

    variable = vectors.clone().requires_grad_()
    assert torch.autograd.gradcheck(held, (variable,))
    (expected,) = torch.autograd.grad(held(variable), variable)
    (found,) = torch.autograd.grad(virtual_neighbourhood_loss(variable, 2, 0.5, 0.3, seeded()), variable)
    assert torch.allclose(found, expected)


def test_finding_the_step_leaves_the_head_alone() -> None:
    vectors, head = normal(5, 3), torch.nn.Linear(3, 2).double()
    confusing_step(vectors, nearest_in_batch(vectors, 2), 0.5, 0.3, seeded(), head)
    assert head.weight.grad is None
    with torch.no_grad():
        assert torch.isfinite(virtual_neighbourhood_loss(vectors, 2, 0.5, 0.3, seeded(), head))
    virtual_neighbourhood_loss(vectors, 2, 0.5, 0.3, seeded(), head).backward()
    assert head.weight.grad is not None


def test_one_text_has_no_neighbours() -> None:
    vectors = normal(1, 4).requires_grad_()
    loss = virtual_neighbourhood_loss(vectors, 16, 0.5, 0.1, seeded())
    assert loss.item() == 0
    loss.backward()
    assert vectors.grad is not None
    assert not vectors.grad.any()


@pytest.mark.parametrize("temperature", [1e-3, 1.0])
@pytest.mark.parametrize("rows", [torch.zeros(3, 4), torch.ones(3, 4), torch.eye(4)[:2], torch.eye(4) * 1e-20])
def test_hard_cases_are_finite(rows: Tensor, temperature: float) -> None:
    vectors = rows.clone().requires_grad_()
    loss = virtual_neighbourhood_loss(vectors, 2, 0.1, temperature, seeded())
    assert torch.isfinite(loss)
    loss.backward()
    assert vectors.grad is not None
    assert torch.isfinite(vectors.grad).all()
