"""ADSL's labels and attention, by hand and as its text says they behave."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch.testing import assert_close

from coterie.losses.soft_labels import (
    Update,
    document_attention,
    soft_labels,
    updated_labels,
    weighted_cross_entropy,
)

CENTROIDS = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])


def test_soft_labels_by_hand() -> None:
    # (1, 0): squared distances 1, 4 and 17, so q = 1, 1/4, 1/17; with alpha = 1 they sum to 1.25 + 1/17.
    total = 1.25 + 1 / 17
    expected = torch.tensor([[1 / total, 0.25 / total, 1 / 17 / total]])
    assert_close(soft_labels(torch.tensor([[1.0, 0.0]]), CENTROIDS, alpha=1.0), expected)
    squared = torch.tensor([[1, 1 / 16, 1 / 289]]) / (1 + 1 / 16 + 1 / 289)
    assert_close(soft_labels(torch.tensor([[1.0, 0.0]]), CENTROIDS, alpha=2.0), squared)


def test_a_text_on_a_centroid_belongs_to_it_alone() -> None:
    assert_close(soft_labels(CENTROIDS[1:2], CENTROIDS, alpha=10.0), torch.tensor([[0.0, 1.0, 0.0]]))


def test_the_larger_alpha_the_harder_the_labels() -> None:
    z = torch.tensor([[1.4, 0.3], [0.2, 1.9]])
    tops = [soft_labels(z, CENTROIDS, alpha).max(dim=1).values for alpha in (0.0, 1.0, 10.0, 1000.0)]
    assert_close(tops[0], torch.full((2,), 1 / 3))
    for softer, harder in itertools.pairwise(tops):
        assert (harder > softer).all()
    assert_close(tops[-1], torch.ones(2))


def test_labels_far_from_the_origin_are_exact() -> None:
    far = torch.tensor([[10_000.0, 0.0], [10_001.0, 0.0]])
    expected = torch.tensor([[0.5625 / 0.625, 0.0625 / 0.625]])
    assert_close(soft_labels(torch.tensor([[10_000.25, 0.0]]), far, alpha=1.0), expected)


def test_updated_labels_by_hand() -> None:
    original, p = torch.tensor([[0.8, 0.2]]), torch.tensor([[0.1, 0.9]])
    assert_close(updated_labels(original, p, 0.5, "normalised"), torch.tensor([[0.85 / 1.5, 0.65 / 1.5]]))
    first = 1 / (1 + math.exp(0.65 - 0.85))
    assert_close(updated_labels(original, p, 0.5, "softmax"), torch.tensor([[first, 1 - first]]))


@pytest.mark.parametrize(("update", "left"), [("softmax", math.exp(1.85) / (math.exp(1.85) + 19)), ("normalised", 1.0)])
def test_the_printed_softmax_forgets_what_is_certain(update: Update, left: float) -> None:
    """(5) with 20 groups, where labels and network are both sure of the same one: a quarter is left of it."""
    certain = torch.eye(20)[:1]
    assert float(updated_labels(certain, certain, 0.85, update).max()) == pytest.approx(left)


def test_attention_by_hand() -> None:
    v, groups = torch.tensor([1.0, 2.0, 3.0, 5.0, 0.0, 2.0]), torch.tensor([0, 1, 1, 0, 1, 2])
    # Group 0: 1 and 25 of 26, twice; group 1: 4, 9 and 0 of 13, three times; group 2: one text alone. Group 3 has none.
    expected = torch.tensor([2 / 26, 12 / 13, 27 / 13, 50 / 26, 0, 1])
    assert_close(document_attention(v, groups, 4), expected)


def test_all_texts_weigh_the_same_before_training_whatever_the_size_of_their_group() -> None:
    groups = torch.tensor([0] * 90 + [1] * 9 + [2])
    assert_close(document_attention(torch.ones(100), groups, 3), torch.ones(100))


def test_a_text_that_does_not_fit_its_label_loses_attention() -> None:
    v = torch.ones(4, requires_grad=True)
    beta = document_attention(v, torch.zeros(4, dtype=torch.long), 1)
    (beta * torch.tensor([0.1, 0.1, 0.1, 3.0])).mean().backward()
    assert v.grad is not None
    # d/dv_i of the mean of 4 weighted losses: v_i (loss_i - mean loss) / 2.
    assert_close(v.grad, 0.5 * (torch.tensor([0.1, 0.1, 0.1, 3.0]) - 0.825))


def test_weighted_cross_entropy_by_hand() -> None:
    log_p = torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    labels = torch.tensor([[0.5, 0.5], [1.0, 0.0]])
    by_hand = (2 * -0.5 * (math.log(0.25) + math.log(0.75)) + 3 * math.log(2)) / 2
    assert_close(weighted_cross_entropy(log_p, labels, torch.tensor([2.0, 3.0])), torch.tensor(by_hand))
