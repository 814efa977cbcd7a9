"""Contrastive losses against the papers' sums written out, in hard cases, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from coterie.losses.contrastive import (
    SIMILARITY_FLOOR,
    cluster_contrast,
    cosines,
    cross_view_contrast,
    instance_contrast,
    similarity_guided_contrast,
    unguided_contrast,
    unit_rows,
)

Rows = list[list[float]]

TWO_VIEWS = {
    "instance": instance_contrast,
    "cross view": cross_view_contrast,
    "unguided": unguided_contrast,
    "cluster": cluster_contrast,
}


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def sim(a: list[float], b: list[float]) -> float:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(x * x for x in b))


def share(i: int, a: Rows, b: Rows, t: float) -> float:
    """A fraction of AECL (6): row i of a against the negatives among a and b."""
    others = [k for k in range(len(a)) if k != i]
    return math.exp(sim(a[i], b[i]) / t) / sum(
        math.exp(sim(a[i], a[k]) / t) + math.exp(sim(a[i], b[k]) / t) for k in others
    )


def weighted_share(i: int, a: Rows, b: Rows, weights: Rows, groups: list[int], t: float) -> float:
    """A fraction of AECL (7)."""
    top, bottom = 0.0, 0.0
    for k in range(len(a)):
        if groups[k] == groups[i]:
            top += weights[i][k] * math.exp(sim(a[i], b[k]) / t)
        if k != i:
            bottom += math.exp(sim(a[i], a[k]) / t) + math.exp(sim(a[i], b[k]) / t)
    return top / bottom


def guided_by_hand(z: list[Rows], h: list[Rows], s: list[Rows], groups: list[int], t: float) -> float:
    """AECL (9)."""
    n, total = len(z[0]), 0.0
    for i in range(n):
        l1 = share(i, z[0], z[1], t) + share(i, z[1], z[0], t)
        for v in (0, 1):
            l2 = weighted_share(i, z[v], h[v], s[v], groups, t) + weighted_share(i, h[v], z[v], s[v], groups, t)
            total -= math.log(l1 + l2)
    return total / (2 * n)


def guided_case(n: int = 5) -> tuple[list[Tensor], list[Tensor], list[Tensor], Tensor]:
    z, h = [normal(n, 3, seed=1), normal(n, 3, seed=2)], [normal(n, 3, seed=3), normal(n, 3, seed=4)]
    s = [torch.softmax(normal(n, n, seed=seed), dim=1) for seed in (5, 6)]
    return z, h, s, torch.tensor([0, 1, 0, 2, 0, 1][:n])


@pytest.mark.parametrize("temperature", [0.3, 1.0])
def test_instance_contrast_by_hand(temperature: float) -> None:
    """SCCL (1): all 2N - 1 other rows are in the denominator."""
    z0, z1 = normal(4, 3, seed=1), normal(4, 3, seed=2)
    rows, total = [*z0.tolist(), *z1.tolist()], 0.0
    for i in range(8):
        bottom = sum(math.exp(sim(rows[i], rows[k]) / temperature) for k in range(8) if k != i)
        total -= math.log(math.exp(sim(rows[i], rows[(i + 4) % 8]) / temperature) / bottom)
    assert instance_contrast(z0, z1, temperature).item() == pytest.approx(total / 8, rel=1e-12)


def test_instance_contrast_of_two_right_angles() -> None:
    """Two texts at a right angle with equal views: -log e / (e + 1 + 1) for each row."""
    z = torch.eye(2, dtype=torch.float64)
    assert instance_contrast(z, z, 1.0).item() == pytest.approx(math.log(2 + math.e) - 1)
    assert unguided_contrast(z, z, 1.0).item() == pytest.approx(-math.log(2 * math.e / 2))
    assert cross_view_contrast(z, z, 1.0).item() == pytest.approx(-2 * math.log(math.e / 1))


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_cross_view_contrast_by_hand(temperature: float) -> None:
    z0, z1 = normal(4, 3, seed=1), normal(4, 3, seed=2)
    total = 0.0
    for a, b in ((z0.tolist(), z1.tolist()), (z1.tolist(), z0.tolist())):
        for i in range(4):
            bottom = sum(math.exp(sim(a[i], b[m]) / temperature) for m in range(4) if m != i)
            total -= math.log(math.exp(sim(a[i], b[i]) / temperature) / bottom)
    assert cross_view_contrast(z0, z1, temperature).item() == pytest.approx(total / 4, rel=1e-12)


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_similarity_guided_contrast_by_hand(temperature: float) -> None:
    z, h, s, groups = guided_case()
    weights = [[[value + 1e-5 for value in row] for row in matrix.tolist()] for matrix in s]
    expected = guided_by_hand([a.tolist() for a in z], [a.tolist() for a in h], weights, groups.tolist(), temperature)
    found = similarity_guided_contrast(*z, *h, *s, groups, temperature)
    assert found.shape == ()
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_similarity_guided_contrast_does_not_change_its_input() -> None:
    z, h, s, groups = guided_case()
    before = [matrix.clone() for matrix in s]
    similarity_guided_contrast(*z, *h, *s, groups, 1.0)
    assert all(torch.equal(a, b) for a, b in zip(before, s, strict=True))


def test_unguided_contrast_by_hand() -> None:
    z, _, _, _ = guided_case()
    rows = [a.tolist() for a in z]
    total = sum(math.log(share(i, rows[0], rows[1], 0.5) + share(i, rows[1], rows[0], 0.5)) for i in range(5))
    assert unguided_contrast(*z, 0.5).item() == pytest.approx(-total / 5, rel=1e-12)


def test_guided_is_unguided_where_nothing_is_similar() -> None:
    """Groups of one text that is not like itself: only the floor is left of (7)."""
    z, h, s, _ = guided_case()
    s = [matrix - matrix.diagonal().diag() for matrix in s]
    guided = similarity_guided_contrast(*z, *h, *s, torch.arange(5), 1.0).item()
    assert 0 < unguided_contrast(*z, 1.0).item() - guided < 10 * SIMILARITY_FLOOR


def test_cluster_contrast_by_hand() -> None:
    """AECL (10)-(11): columns, not rows."""
    p0, p1 = torch.softmax(normal(6, 3, seed=1), dim=1), torch.softmax(normal(6, 3, seed=2), dim=1)
    a, b = p0.T.tolist(), p1.T.tolist()
    total = 0.0
    for first, second in ((a, b), (b, a)):
        for i in range(3):
            total -= math.log(share(i, first, second, 0.5))
    assert cluster_contrast(p0, p1, 0.5).item() == pytest.approx(total / 6, rel=1e-12)


@pytest.mark.parametrize("name", TWO_VIEWS)
def test_gradients_of_two_views(name: str) -> None:
    z0, z1 = normal(4, 3, seed=1).requires_grad_(), normal(4, 3, seed=2).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: TWO_VIEWS[name](a, b, 0.5), (z0, z1))


def test_gradients_of_the_guided_contrast() -> None:
    """All of z, h and s learn, s where two texts are of one group."""
    z, h, s, groups = guided_case(4)
    inputs = tuple(tensor.requires_grad_() for tensor in (*z, *h, *s))
    assert torch.autograd.gradcheck(lambda *tensors: similarity_guided_contrast(*tensors, groups, 0.5), inputs)
    similarity_guided_contrast(*inputs, groups, 0.5).backward()
    for matrix in s:
        assert matrix.grad is not None
        assert (matrix.grad.diagonal() < 0).all()
        assert matrix.grad[0, 2] < 0


def hard_cases() -> dict[str, tuple[Tensor, Tensor]]:
    zeros = normal(3, 4, seed=1)
    zeros[1] = 0
    return {
        "a row of zeros": (zeros, zeros.clone()),
        "all zeros": (torch.zeros(3, 4), torch.zeros(3, 4)),
        "one row": (normal(1, 4, seed=1), normal(1, 4, seed=2)),
        "two rows": (normal(2, 4, seed=1), normal(2, 4, seed=2)),
        "equal rows": (torch.ones(3, 4), torch.ones(3, 4)),
        "opposite views": (torch.ones(3, 4), -torch.ones(3, 4)),
        "tiny rows": (normal(3, 4, seed=1) * 1e-30, normal(3, 4, seed=2)),
        "huge rows": (normal(3, 4, seed=1) * 1e15, normal(3, 4, seed=2)),
        "one column": (torch.ones(3, 1), torch.ones(3, 1)),
    }


@pytest.mark.parametrize("temperature", [1e-3, 1.0])
@pytest.mark.parametrize("case", hard_cases())
@pytest.mark.parametrize("name", TWO_VIEWS)
def test_hard_cases_are_finite(name: str, case: str, temperature: float) -> None:
    first, second = (view.float().requires_grad_() for view in hard_cases()[case])
    loss = TWO_VIEWS[name](first, second, temperature)
    assert_finite(loss, [first, second])


@pytest.mark.parametrize("temperature", [1e-3, 1.0])
@pytest.mark.parametrize("case", hard_cases())
def test_hard_cases_of_the_guided_contrast_are_finite(case: str, temperature: float) -> None:
    first, second = hard_cases()[case]
    n = len(first)
    # All attention on itself: once the diagonal is zeroed, whole rows of s are 0.
    tensors = [tensor.float().requires_grad_() for tensor in (first, second, second, first, torch.eye(n), torch.eye(n))]
    loss = similarity_guided_contrast(*tensors, torch.zeros(n, dtype=torch.int64), temperature)
    assert_finite(loss, tensors)


def assert_finite(loss: Tensor, inputs: list[Tensor]) -> None:
    assert loss.shape == ()
    assert torch.isfinite(loss)
    loss.backward()
    for tensor in inputs:
        assert tensor.grad is None or torch.isfinite(tensor.grad).all()


def test_small_temperature_by_hand() -> None:
    """exp(1 / 0.005) overflows float32; the loss is about the difference of the similarities over the temperature."""
    z0, z1 = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    assert instance_contrast(z0, z1, 0.005).item() == pytest.approx(200, rel=1e-5)


@pytest.mark.parametrize("loss", [instance_contrast, cross_view_contrast, unguided_contrast])
def test_one_text_has_nothing_to_be_pushed_from(loss: Callable[[Tensor, Tensor, float], Tensor]) -> None:
    z0, z1 = normal(1, 4, seed=1), normal(1, 4, seed=2)
    assert loss(z0, z1, 0.5).item() == 0
    assert cluster_contrast(z0.T, z1.T, 0.5).item() == 0
    guided = similarity_guided_contrast(z0, z1, z0, z1, *torch.ones(2, 1, 1), torch.tensor([0]), 0.5)
    assert guided.item() == 0


def test_closer_views_cost_less() -> None:
    z0, z1 = normal(5, 3, seed=1), normal(5, 3, seed=2)
    for loss in (instance_contrast, cross_view_contrast, unguided_contrast):
        assert loss(z0, z0 + 0.1 * z1, 0.5) < loss(z0, z1, 0.5)


def test_unit_rows_and_cosines() -> None:
    from sklearn.metrics.pairwise import cosine_similarity

    a, b = normal(5, 3, seed=1), normal(4, 3, seed=2)
    a[2] = 0
    assert torch.equal(unit_rows(a)[2], a[2])
    assert torch.allclose(cosines(a, b), torch.from_numpy(cosine_similarity(a.numpy(), b.numpy())))


def test_a_full_batch_of_aecl() -> None:
    """400 texts in float32 agree with float64."""
    tensors = [normal(400, 128, seed=seed) for seed in range(4)]
    tensors += [torch.softmax(normal(400, 400, seed=seed), dim=1) for seed in (4, 5)]
    groups = torch.arange(400) % 20
    exact = similarity_guided_contrast(*tensors, groups, 1.0).item()
    assert similarity_guided_contrast(*(tensor.float() for tensor in tensors), groups, 1.0).item() == pytest.approx(
        exact, rel=1e-5
    )
