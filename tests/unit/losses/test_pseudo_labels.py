"""Learning from confident answers, by hand and against torch's own cross-entropy."""

from __future__ import annotations

import math

import pytest
import torch

from coterie.losses.pseudo_labels import confident_cross_entropy, pseudo_labels, soft_cross_entropy


def test_pseudo_labels_by_hand() -> None:
    """Above the threshold, not at it; labels are given for all rows."""
    p = torch.tensor([[0.97, 0.03], [0.25, 0.75], [0.05, 0.95], [0.0, 1.0]], dtype=torch.float64, requires_grad=True)
    labels, keep = pseudo_labels(p, 0.95)
    assert labels.tolist() == [0, 1, 1, 1]
    assert keep.tolist() == [True, False, False, True]
    assert labels.dtype == torch.int64
    assert not labels.requires_grad


def test_by_hand() -> None:
    """Two of three rows are kept; the mean is over all three."""
    p = torch.tensor([[0.5, 0.5], [0.1, 0.9], [0.2, 0.8]], dtype=torch.float64)
    loss = confident_cross_entropy(p.log(), torch.tensor([0, 1, 0]), torch.tensor([True, False, True]))
    assert loss.item() == pytest.approx(-(math.log(0.5) + math.log(0.2)) / 3)


def test_is_torchs_when_all_are_kept() -> None:
    scores = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.tensor([0, 1, 2, 3, 0, 1])
    loss = confident_cross_entropy(torch.log_softmax(scores, dim=1), labels, torch.ones(6, dtype=torch.bool))
    assert loss.item() == pytest.approx(torch.nn.functional.cross_entropy(scores, labels).item())


def test_gradients() -> None:
    scores = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    labels, keep = torch.tensor([0, 1, 2, 0]), torch.tensor([True, False, True, True])
    assert torch.autograd.gradcheck(
        lambda x: confident_cross_entropy(torch.log_softmax(x, dim=1), labels, keep), (scores,)
    )


def test_rows_not_kept_do_not_learn() -> None:
    """Not even one with a probability of 0, whose -log is infinite."""
    log_p = torch.tensor([[0.0, -math.inf], [-1.0, -0.5]], requires_grad=True)
    loss = confident_cross_entropy(log_p, torch.tensor([1, 0]), torch.tensor([False, True]))
    assert loss.item() == pytest.approx(0.5)
    loss.backward()
    assert log_p.grad is not None
    assert log_p.grad.tolist() == [[0, 0], [-0.5, 0]]


def test_nothing_kept() -> None:
    scores = torch.randn(3, 2, generator=torch.Generator().manual_seed(0)).requires_grad_()
    loss = confident_cross_entropy(
        torch.log_softmax(scores, dim=1), torch.zeros(3, dtype=torch.int64), torch.zeros(3) > 0
    )
    assert loss.item() == 0
    loss.backward()
    assert scores.grad is not None
    assert not scores.grad.any()


def test_probabilities_that_would_underflow() -> None:
    scores = torch.tensor([[1000.0, 0.0]], requires_grad=True)
    loss = confident_cross_entropy(torch.log_softmax(scores, dim=1), torch.tensor([1]), torch.tensor([True]))
    assert loss.item() == 1000
    loss.backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[1, -1]]


def test_soft_labels_by_hand() -> None:
    """Rows (0.5, 0.5) to (0.25, 0.75), and (0.1, 0.9) to (1, 0): log 2, and log 10; the mean of the two."""
    log_p = torch.tensor([[0.5, 0.5], [0.1, 0.9]]).log().requires_grad_()
    q = torch.tensor([[0.25, 0.75], [1.0, 0.0]], requires_grad=True)
    loss = soft_cross_entropy(log_p, q)
    assert float(loss.detach()) == pytest.approx((math.log(2) + math.log(10)) / 2, abs=1e-6)
    loss.backward()
    assert q.grad is None, "targets are constants"
    assert log_p.grad is not None
    assert log_p.grad.tolist() == [pytest.approx([-0.125, -0.375]), pytest.approx([-0.5, 0])]
