"""DEC's assignment, target and loss written out in plain loops."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.stats import entropy
from torch import Tensor

from coterie.losses.student_t import kl_to_target, log_student_t, student_t, target_distribution


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_hand(z: Tensor, centres: Tensor, alpha: float) -> list[list[float]]:
    rows = []
    for point in z.tolist():
        kernel = []
        for centre in centres.tolist():
            square = sum((x - y) ** 2 for x, y in zip(point, centre, strict=True))
            kernel.append((1 + square / alpha) ** (-(alpha + 1) / 2))
        rows.append([value / sum(kernel) for value in kernel])
    return rows


@pytest.mark.parametrize("alpha", [1.0, 10.0, 0.5])
def test_student_t_by_hand(alpha: float) -> None:
    z, centres = normal(5, 3, seed=1) + 2, normal(4, 3, seed=2)
    expected = torch.tensor(by_hand(z, centres, alpha), dtype=torch.float64)
    assert torch.allclose(student_t(z, centres, alpha), expected, rtol=1e-12)


def test_student_t_on_a_line() -> None:
    """1 from one centre and 3 from the other: 1/2 against 1/10."""
    q = student_t(torch.tensor([[1.0]]), torch.tensor([[0.0], [4.0]]))
    assert q.tolist()[0] == pytest.approx([5 / 6, 1 / 6])


def test_student_t_far_from_the_origin() -> None:
    """In float32, a shift of everything by 1000 must not drown the distances."""
    z, centres = normal(5, 3, seed=1), normal(4, 3, seed=2)
    shifted = student_t((z + 1000).float(), (centres + 1000).float())
    assert torch.allclose(shifted.double(), student_t(z, centres), atol=1e-3)


def test_target_distribution_by_hand() -> None:
    q = torch.softmax(normal(5, 3), dim=1)
    rows = q.tolist()
    sizes = [sum(row[j] for row in rows) for j in range(3)]
    for i, row in enumerate(rows):
        weight = [row[j] ** 2 / sizes[j] for j in range(3)]
        assert target_distribution(q)[i].tolist() == pytest.approx([w / sum(weight) for w in weight], rel=1e-12)


def test_target_distribution_of_many_rows_in_float32() -> None:
    q = torch.softmax(normal(20_000, 3), dim=1)
    assert torch.allclose(target_distribution(q.float()), target_distribution(q).float(), rtol=1e-5)
    assert target_distribution(q.float()).dtype == torch.float32


def test_target_distribution_of_an_empty_cluster() -> None:
    target = target_distribution(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    assert target.tolist() == [[1, 0], [1, 0]]


def test_target_is_a_constant() -> None:
    q = torch.softmax(normal(4, 3), dim=1).requires_grad_()
    assert not target_distribution(q).requires_grad
    target = q * 1
    kl_to_target(q, target).backward()
    assert q.grad is not None
    assert torch.allclose(q.grad, torch.full_like(q, -1 / 4))


def test_kl_is_scipys() -> None:
    q, target = torch.softmax(normal(5, 3, seed=1), dim=1), torch.softmax(normal(5, 3, seed=2), dim=1)
    expected = entropy(target.numpy(), q.numpy(), axis=1).mean()
    assert kl_to_target(q, target).item() == pytest.approx(expected, rel=1e-12)


def test_kl_by_hand() -> None:
    """KL of (1/4, 3/4) from (1/2, 1/2), and 0 of a row from itself: the mean over the two rows."""
    q = torch.tensor([[0.5, 0.5], [0.1, 0.9]], dtype=torch.float64)
    target = torch.tensor([[0.25, 0.75], [0.1, 0.9]], dtype=torch.float64)
    expected = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    assert kl_to_target(q, target).item() == pytest.approx(expected / 2)


def test_gradients() -> None:
    z, centres = normal(4, 3, seed=1).requires_grad_(), normal(2, 3, seed=2).requires_grad_()
    target = target_distribution(student_t(z, centres, 2.0))
    assert torch.autograd.gradcheck(lambda a, b: kl_to_target(student_t(a, b, 2.0), target), (z, centres))


@pytest.mark.parametrize("z", [[[0.0, 0.0]], [[1e10, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]])
def test_hard_cases_are_finite(z: list[list[float]]) -> None:
    """On a centre, between equal centres, and very far away."""
    points = torch.tensor(z, requires_grad=True)
    centres = torch.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]], requires_grad=True)
    q = student_t(points, centres)
    assert torch.allclose(q.sum(dim=1), torch.ones(len(z)))
    loss = kl_to_target(q, target_distribution(q))
    assert torch.isfinite(loss)
    loss.backward()
    for tensor in (points, centres):
        assert tensor.grad is not None
        assert torch.isfinite(tensor.grad).all()


def test_kl_at_zero_and_one_is_finite() -> None:
    q = torch.tensor([[1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    loss = kl_to_target(q, torch.tensor([[0.0, 1.0], [0.0, 1.0]]))
    assert torch.isfinite(loss)
    loss.backward()
    assert q.grad is not None
    assert torch.isfinite(q.grad).all()


@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_the_logarithm(alpha: float) -> None:
    z, centres = normal(6, 3), normal(4, 3, seed=1)
    torch.testing.assert_close(log_student_t(z, centres, alpha), student_t(z, centres, alpha).log())


def test_the_logarithm_where_a_probability_is_too_small_for_a_number() -> None:
    z = torch.tensor([[0.0, 0.0]], requires_grad=True)
    centres = torch.tensor([[0.0, 0.0], [30.0, 0.0]])
    assert student_t(z, centres, 1000.0)[0, 1] == 0
    # -(alpha + 1) / 2 log(1 + 900 / alpha), with alpha = 1000; the other centre has nearly all of it.
    found = log_student_t(z, centres, 1000.0)
    assert found[0, 1].item() == pytest.approx(-500.5 * math.log(1.9), rel=1e-5)
    found[0, 1].backward()
    assert z.grad is not None
    assert torch.isfinite(z.grad).all()
    assert z.grad[0, 0] > 0
