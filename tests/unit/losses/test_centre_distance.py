"""DCN's penalty and its centres, row after row as the paper writes them."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from coterie.losses.centre_distance import distance_to_assigned, running_means


def test_distance_by_hand() -> None:
    """(3, 4) from (0, 0) is 25, (1, 1) from (1, 3) is 4: 14.5 on average; the other centre counts for nothing."""
    z = torch.tensor([[3.0, 4.0], [1.0, 1.0]])
    centres = torch.tensor([[0.0, 0.0], [9.0, 9.0], [1.0, 3.0]])
    assert float(distance_to_assigned(z, centres, torch.tensor([0, 2]))) == 14.5


def test_no_gradient_moves_the_centres() -> None:
    z, centres = torch.randn(4, 3, requires_grad=True), torch.randn(2, 3, requires_grad=True)
    assigned = torch.tensor([0, 1, 1, 0])
    distance_to_assigned(z, centres, assigned).backward()
    assert centres.grad is None
    assert z.grad is not None
    assert_close(z.grad, 2 * (z - centres[assigned]).detach() / 4)


def test_a_centre_by_hand() -> None:
    """Of 3 rows so far at 0, then 4 and 8: 0 + 4 / 4 = 1, then 1 + (8 - 1) / 5 = 2.4. The other has none."""
    centres, counts = running_means(
        torch.tensor([[0.0], [5.0]]), torch.tensor([3, 2]), torch.tensor([[4.0], [8.0]]), torch.tensor([0, 0])
    )
    assert_close(centres, torch.tensor([[2.4], [5.0]]))
    assert counts.tolist() == [5, 2]


@pytest.mark.parametrize("begun", [[7, 1, 40], [0, 3, 0]])
def test_row_after_row(begun: list[int]) -> None:
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(3, 2, generator=generator, dtype=torch.float64)
    z = torch.randn(20, 2, generator=generator, dtype=torch.float64)
    assigned = torch.randint(0, 2, (20,), generator=generator)  # no row for the last
    expected, counts = centres.clone(), list(begun)
    for row, group in enumerate(assigned.tolist()):
        counts[group] += 1
        expected[group] -= (expected[group] - z[row]) / counts[group]
    moved, after = running_means(centres, torch.tensor(begun), z, assigned)
    assert_close(moved, expected)
    assert after.tolist() == counts
