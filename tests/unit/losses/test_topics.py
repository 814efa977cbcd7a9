"""The bound that topics are learnt by: numbers worked out by hand, and torch's own softmax as the oracle."""

from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from coterie.losses import topics as losses
from coterie.losses.topics import gaussian_kl, log_normalisers, mixture_reconstruction_loss, reconstruction_loss


@pytest.mark.parametrize("block", [1, 2, 100])
def test_normalisers_by_hand(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "WORDS_AT_ONCE", block)
    words = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    topics = torch.tensor([[0.0, 0.0], [math.log(2), 0.0]], requires_grad=True)
    found = log_normalisers(topics, words)
    assert_close(found.detach(), torch.tensor([math.log(3), math.log(5)]))  # 1 + 1 + 1, and 2 + 1 + 2
    found[1].backward()
    # The mean word under the probabilities 2/5, 1/5, 2/5; nothing for the topic that was not asked for.
    assert_close(topics.grad, torch.tensor([[0.0, 0.0], [0.8, 0.6]]))


def test_normalisers_as_torch_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "WORDS_AT_ONCE", 7)
    random = torch.Generator().manual_seed(0)
    words = torch.randn(31, 4, generator=random, dtype=torch.float64)
    topics = torch.randn(5, 4, generator=random, dtype=torch.float64, requires_grad=True)
    assert_close(log_normalisers(topics, words), torch.logsumexp(topics @ words.T, dim=1))
    assert torch.autograd.gradcheck(lambda given: log_normalisers(given, words), topics)


def test_normalisers_of_far_off_topics_are_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "WORDS_AT_ONCE", 1)
    topics = torch.tensor([[500.0], [-500.0]], requires_grad=True)
    found = log_normalisers(topics, torch.tensor([[1.0], [-1.0], [1.0]]))
    assert_close(found.detach(), torch.tensor([500 + math.log(2), 500.0]))
    found.sum().backward()
    assert_close(topics.grad, torch.tensor([[1.0], [-1.0]]))


def test_memory_of_the_normalisers_does_not_grow_with_the_words() -> None:
    kept: list[int] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor.numel())
        return tensor

    topics = torch.zeros(40, 3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        log_normalisers(topics, torch.zeros(9000, 3))
    assert max(kept) == 40 * 3


def test_reconstruction_by_hand() -> None:
    log_theta = torch.tensor([[0.25, 0.75], [0.5, 0.5], [0.1, 0.9], [0.9, 0.1]]).log()
    log_beta = torch.tensor([[0.5, 0.1], [0.4, 0.2], [0.1, 0.3]]).log()
    counts, texts = torch.tensor([3.0, 2.0, 1.0]), torch.tensor([1, 0, 1])
    # Text 0 has one word, expected with 1/4 * 4/10 + 3/4 * 2/10 = 1/4, twice. Text 1 has one with 3/10 thrice and one
    # with 2/10 once. Texts 2 and 3 have no words.
    wanted = (2 * math.log(4) + 3 * math.log(10 / 3) + math.log(5)) / 4
    assert_close(reconstruction_loss(log_beta, counts, texts, log_theta), torch.tensor(wanted))


def test_reconstruction_with_clusters_summed_out_by_hand() -> None:
    log_theta = torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    log_assigned = torch.tensor([[0.6, 0.4], [0.9, 0.1]]).log()
    counts, texts = torch.tensor([2.0, 1.0]), torch.tensor([0, 0])
    log_beta = torch.tensor([[[0.4, 0.2], [0.1, 0.5]], [[0.8, 0.0], [0.2, 0.2]]]).log()
    # Text 0: cluster 0 expects its first word with 1/4 and its second with 1/5, cluster 1 with 2/5 and 1/5. Text 1 has
    # no words, so any cluster expects all of it.
    wanted = -math.log(0.6 * 0.25**2 * 0.2 + 0.4 * 0.4**2 * 0.2) / 2
    found = mixture_reconstruction_loss(log_beta, counts, texts, log_theta, log_assigned)
    assert_close(found, torch.tensor(wanted))


def test_kl_by_hand() -> None:
    mean, log_variance = torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([[0.0, math.log(4)], [0.0, 0.0]])
    # (1 + 1 - 1 - 0) / 2 + (0 + 4 - 1 - ln 4) / 2 for the first text; the second is the prior itself.
    assert_close(gaussian_kl(mean, log_variance), torch.tensor((2 - math.log(2)) / 2))
    prior = torch.distributions.Normal(0.0, 1.0)
    drawn = torch.distributions.Normal(mean, (log_variance / 2).exp())
    assert_close(gaussian_kl(mean, log_variance), torch.distributions.kl_divergence(drawn, prior).sum(dim=1).mean())
