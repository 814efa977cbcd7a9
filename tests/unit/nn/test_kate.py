"""KATE's competition by hand, and what a finished model does."""

from __future__ import annotations

import torch
from torch.nn import functional
from torch.testing import assert_close

from coterie.nn.kate import Kate, competed


def test_competition_by_hand() -> None:
    z = torch.tensor([[0.9, 0.5, 0.1, -0.8, -0.3, -0.2]])
    # Three winners: two positive (0.9, 0.5), one negative (-0.8). Lost: 0.1 above and 0.5 below zero, times 2.
    assert_close(competed(z, 3, 2.0), torch.tensor([[0.9 + 0.2, 0.5 + 0.2, 0.0, -0.8 - 1.0, 0.0, 0.0]]))


def test_neurons_of_one_sign_leave_the_other_side_empty() -> None:
    z = torch.tensor([[0.4, 0.3, 0.2, 0.1]])
    assert_close(competed(z, 2, 1.0), torch.tensor([[1.0, 0.0, 0.0, 0.0]]))


def test_losers_teach_the_winners_they_lost_to() -> None:
    z = torch.tensor([[0.9, 0.1]], requires_grad=True)
    competed(z, 1, 3.0)[0, 0].backward()
    assert z.grad is not None
    assert z.grad.tolist() == [[1.0, 3.0]]


def test_it_competes_while_it_learns_and_not_afterwards() -> None:
    torch.manual_seed(0)
    kate, x = Kate(7, 5, 2, 6.26), torch.rand(3, 7)
    plain = torch.tanh(functional.linear(x, kate.weight, kate.bias))
    assert_close(kate.encode(x), plain)
    assert_close(kate(x), competed(plain, 2, 6.26) @ kate.weight + kate.out_bias)


def test_it_begins_with_what_all_texts_have_on_average() -> None:
    kate, means = Kate(3, 5, 2, 6.26), torch.tensor([0.5, 0.01, 1.0])
    with torch.no_grad():
        kate.weight.zero_()
    kate.expect(means)
    assert_close(torch.sigmoid(kate(torch.rand(4, 3))), means.clamp(max=1 - 1e-4).expand(4, 3))
