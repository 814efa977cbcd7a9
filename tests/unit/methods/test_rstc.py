"""RSTC: labels from transport, whose groups may be of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from coterie.losses.transport import self_adaptive_transport
from coterie.methods.rstc import RSTC, RSTCSettings

Make = Callable[..., Any]
SIZES = [30, 8, 2]
GROUPS = np.repeat([0, 1, 2], SIZES)


class Certain(nn.Module):
    """Sees a text's group by its nearest axis, and says so with this much emphasis."""

    def __init__(self, emphasis: float) -> None:
        super().__init__()
        self.emphasis = emphasis

    def forward(self, vectors: Tensor) -> Tensor:
        return self.emphasis * vectors[:, :3]


def test_the_first_labels_are_the_first_groups(model_of: Make, points: Make) -> None:
    model = model_of(RSTC, RSTCSettings(dimensions=8), GROUPS, 3)
    model.refresh(points(40, GROUPS), model.phases()[0])
    np.testing.assert_array_equal(model.labels.numpy(), GROUPS)


def test_later_labels_are_those_of_the_transport(model_of: Make, points: Make) -> None:
    model = model_of(RSTC, RSTCSettings(dimensions=8, balance=0.3, epsilon=0.2), GROUPS, 3)
    vectors = points(40, GROUPS, noise=0.8)
    model.refresh(vectors, model.phases()[1])
    with torch.no_grad():
        log_p = model.scores(vectors).log_softmax(dim=1)
    plan, _ = self_adaptive_transport(log_p, 0.2, 0.3)
    assert torch.equal(model.labels, plan.argmax(dim=1))
    assert not torch.equal(model.labels, log_p.argmax(dim=1)), "they are not the head's own"


@pytest.mark.parametrize(("balance", "equal"), [(None, False), (10.0, True)])
def test_sizes_are_found_and_not_given(balance: float | None, equal: bool, model_of: Make, points: Make) -> None:
    model = model_of(RSTC, RSTCSettings(dimensions=8, balance=balance), GROUPS, 3)
    model.classify = Certain(0.5)
    model.refresh(points(40, GROUPS, noise=0.1), model.phases()[1])
    sizes = model.labels.bincount(minlength=3).tolist()
    if equal:
        assert max(sizes) < 20
    else:
        assert sizes == SIZES


def test_the_more_equal_the_first_groups_the_more_equal_they_stay(model_of: Make) -> None:
    def balance(sizes: list[int], **changes: Any) -> float:
        groups = np.repeat(np.arange(len(sizes)), sizes)
        return float(model_of(RSTC, RSTCSettings(**changes), groups, len(sizes))._balance())

    found = [balance(sizes) for sizes in ([20, 20, 20, 20], [35, 25, 12, 8], [74, 2, 2, 2])]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]
    assert balance([74, 2, 2, 2], balance=0.5) == 0.5


def test_both_augmentations_learn_the_labels_of_their_text(model_of: Make, batch_of: Make, points: Make) -> None:
    model = model_of(RSTC, RSTCSettings(dimensions=8), GROUPS, 3).eval()
    views = [points(40, GROUPS, seed=seed) for seed in range(3)]
    rows = [35, 2, 31, 39]
    phase = model.phases()[0]
    model.refresh(views[0], phase)
    labels = torch.from_numpy(GROUPS[rows])
    by_hand = sum(functional.cross_entropy(model.scores(view[rows]), labels) for view in views[1:])
    assert_close(model.losses(batch_of(views, rows), phase)["class"], by_hand)
