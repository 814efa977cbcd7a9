"""Topics of clusters: what is gathered equals what all words would give, at a fraction of the memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from scipy.sparse import random as sparse
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from coterie.nn.topics import HIDDEN, Bags, ClusterTopics, Inference, scaled_words

CPU = torch.device("cpu")
COUNTS = np.array([[2, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 3], [1, 1, 1, 1, 0], [0, 0, 0, 0, 0]], np.float32)
GROUPS = torch.tensor([2, 2, 0, 2, 0])


def module(topics: int = 3) -> ClusterTopics:
    torch.manual_seed(0)
    return ClusterTopics(torch.randn(5, 6), latent=4, topics=topics)


def bags() -> Bags:
    return Bags.of(csr_matrix(COUNTS), CPU)


def test_bags_know_whose_words_they_hold() -> None:
    assert bags().texts.tolist() == [0, 0, 2, 2, 3, 3, 3, 3]
    assert bags().words.tolist() == [0, 2, 1, 4, 0, 1, 2, 3]
    assert_close(bags().shares, torch.tensor([2 / 3, 1 / 3, 1 / 4, 3 / 4, 1 / 4, 1 / 4, 1 / 4, 1 / 4]))


def test_words_about_their_mean_have_a_mean_length_of_four() -> None:
    vectors = np.array([[3, 0], [5, 0], [4, 3], [4, -3]], dtype=np.float32)
    assert_close(scaled_words(vectors), torch.tensor([[-2.0, 0], [2, 0], [0, 6], [0, -6]]))


def test_the_first_layer_sees_the_normalised_bag() -> None:
    torch.manual_seed(0)
    infer = Inference(words=5, topics=2)
    infer.first_bias.data.normal_()
    shares = torch.from_numpy(COUNTS / np.maximum(COUNTS.sum(axis=1, keepdims=True), 1))
    assert_close(infer.hidden(bags()), torch.relu(shares @ infer.first.weight + infer.first_bias))


def test_a_topic_is_made_from_the_centre_and_its_own_vector() -> None:
    topics, centres = module(), torch.randn(2, 4)
    made = topics.topics(centres)
    assert made.shape == (2, 3, 6)
    assert_close(made[1, 2], topics.generate(torch.cat([centres[1], topics.topic_vectors[2]])))
    assert_close(topics.log_beta(centres).exp().sum(dim=2), torch.ones(2, 3))


def test_gathered_probabilities_are_those_of_the_whole_vocabulary() -> None:
    topics, centres = module(), torch.randn(4, 4)
    everything = topics.log_beta(centres)
    order, found = topics._log_beta_of(bags(), GROUPS, centres)
    assert sorted(order.tolist()) == list(range(8))
    texts, words = bags().texts[order], bags().words[order]
    assert_close(found, everything[GROUPS[texts], :, words])


def test_a_text_is_reconstructed_through_the_topics_of_its_own_cluster() -> None:
    """With one topic nothing is drawn: the loss is the surprise at the words, which all words together give too."""
    topics, centres = module(topics=1), torch.randn(4, 4, requires_grad=True)
    log_beta = topics.log_beta(centres)[GROUPS, 0]
    loss, kl = topics.losses(bags(), GROUPS, centres)
    wanted = -(torch.from_numpy(COUNTS) * log_beta).sum() / 5
    assert_close(loss, wanted)
    assert_close(torch.autograd.grad(loss, centres)[0], torch.autograd.grad(wanted, centres)[0])
    other, _ = topics.losses(bags(), GROUPS.flip(0), centres)
    assert abs((other - loss).item()) > 1e-3
    mean, log_variance = topics.infer(bags())
    assert_close(kl, (mean**2 + log_variance.exp() - 1 - log_variance).sum() / 2 / 5)


def test_all_clusters_reconstruct_as_far_as_a_text_is_theirs() -> None:
    topics, centres = module(), torch.randn(4, 4)
    settled = torch.full((5, 4), -torch.inf)
    settled[torch.arange(5), GROUPS] = 0
    torch.manual_seed(5)
    alone = topics.losses(bags(), GROUPS, centres)
    torch.manual_seed(5)
    assert_close(topics.losses_of_all(bags(), settled, centres), alone)
    torch.manual_seed(5)
    unsettled = torch.full((5, 4), 0.25).log().requires_grad_()
    loss, _ = topics.losses_of_all(bags(), unsettled, centres)
    torch.manual_seed(5)
    each = [topics.losses(bags(), torch.full((5,), cluster), centres)[0] for cluster in range(4)]
    assert loss < torch.stack(each).mean(), "the clusters that expect a text's words count for more"
    (gradient,) = torch.autograd.grad(loss, unsettled)
    assert gradient[[0, 2, 3]].abs().min() > 0, "and draw it to them"


def test_mixtures_are_drawn_around_their_mean() -> None:
    """With a known spread and words that are all alike in one topic, the drawn mixture can be read off the loss."""
    topics, centres = module(topics=2), torch.randn(4, 4)
    torch.manual_seed(5)
    loss, _ = topics.losses(bags(), GROUPS, centres)
    torch.manual_seed(5)
    mean, log_variance = topics.infer(bags())
    theta = (mean + torch.randn(5, 2) * (log_variance / 2).exp()).softmax(dim=1)
    expected = (topics.log_beta(centres).exp()[GROUPS] * theta[:, :, None]).sum(dim=1).log()
    assert_close(loss, -(torch.from_numpy(COUNTS) * expected).sum() / 5)


class Largest(TorchDispatchMode):
    """Notes how many numbers the largest tensor has that any operation makes, forwards or backwards."""

    numbers = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = operation(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else (made,):
            if isinstance(tensor, torch.Tensor):
                self.numbers = max(self.numbers, tensor.numel())
        return made


@pytest.mark.parametrize("settled", [True, False])
def test_nothing_as_large_as_all_words_in_all_topics_is_made_or_kept(settled: bool) -> None:
    """As many as k = 152, T = 5 and 30,000 words make."""
    clusters, topics, words = 152, 5, 30_000
    module = ClusterTopics(torch.randn(words, 24), latent=12, topics=topics)
    centres = torch.randn(clusters, 12, requires_grad=True)
    counts = sparse(200, words, density=12 / words, format="csr", dtype=np.float32, random_state=0)
    its_own = {tensor.untyped_storage().data_ptr() for tensor in (*module.parameters(), *module.buffers())}
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes() // 4
        return tensor

    with Largest() as made, torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        if settled:
            loss, kl = module.losses(Bags.of(counts, CPU), torch.arange(200) % clusters, centres)
        else:
            loss, kl = module.losses_of_all(Bags.of(counts, CPU), torch.zeros(200, clusters), centres)
        between = sum(numbers for storage, numbers in kept.items() if storage not in its_own)
        (loss + kl).backward()
    assert made.numbers == words * HIDDEN, "no more than the gradient of the first layer of the mixtures"
    # A text has few words, but where its cluster is not settled, each is looked up in the topics of all.
    assert between < clusters * topics * words / (20 if settled else 5)
