"""Topics that belong to clusters: word distributions made from a cluster's centre, mixtures from a bag of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from coterie.losses.topics import gaussian_kl, log_normalisers, mixture_reconstruction_loss, reconstruction_loss
from coterie.nn.heads import two_layers

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from coterie.types import Matrix

HIDDEN = 200
LENGTH_OF_WORDS = 4.0
"""The mean length to which word vectors are scaled. With coordinates of 1 a random topic is a handful of words, with
length 1 it takes thousands of steps until one is more than all words alike."""


@dataclass(frozen=True)
class Bags:
    """Bags of words, one after another: the different words of each text, and how often they stand there."""

    words: Tensor
    counts: Tensor
    texts: Tensor
    """Which text each word belongs to."""
    starts: Tensor
    """Where each text's words begin."""

    @classmethod
    def of(cls, counts: csr_matrix, device: torch.device) -> Bags:
        """`counts` has a row for each text and a column for each word."""
        texts = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        places = (np.asarray(part, dtype=np.int64) for part in (counts.indices, texts, counts.indptr[:-1]))
        words, of_texts, starts = (torch.from_numpy(part).to(device) for part in places)
        return cls(words, torch.from_numpy(counts.data.astype(np.float32)).to(device), of_texts, starts)

    @property
    def shares(self) -> Tensor:
        """The counts, normalised to sum to 1 in each text."""
        totals = self.counts.new_zeros(len(self.starts)).index_add_(0, self.texts, self.counts)
        return self.counts / totals[self.texts]


def scaled_words(vectors: Matrix) -> Tensor:
    """Word vectors about their mean, which a softmax over the words does not see, with a mean length of 4."""
    centred = vectors - vectors.mean(axis=0)
    length = float(np.linalg.norm(centred, axis=1).mean())
    return torch.from_numpy(np.asarray(centred * (LENGTH_OF_WORDS / max(length, 1e-12)), dtype=np.float32))


class Inference(nn.Module):
    """DECCRL (14): the normal distribution of a text's mixture, from its normalised bag of words."""

    def __init__(self, words: int, topics: int) -> None:
        super().__init__()
        # A fully connected layer of which only the rows of the words at hand are read.
        self.first = nn.EmbeddingBag(words, HIDDEN, mode="sum")
        self.first_bias = nn.Parameter(torch.zeros(HIDDEN))
        self.mean = nn.Linear(HIDDEN, topics)
        self.log_variance = nn.Linear(HIDDEN, topics)

    def hidden(self, bags: Bags) -> Tensor:
        of_words: Tensor = self.first(bags.words, bags.starts, per_sample_weights=bags.shares)
        return torch.relu(of_words + self.first_bias)

    def forward(self, bags: Bags) -> tuple[Tensor, Tensor]:
        """Mean and log of the variance."""
        hidden = self.hidden(bags)
        return self.mean(hidden), self.log_variance(hidden)


class ClusterTopics(nn.Module):
    """T topics for every cluster, and the texts' shares in them."""

    words: Tensor

    def __init__(self, words: Tensor, latent: int, topics: int) -> None:
        super().__init__()
        # They follow from the texts: no checkpoint need hold them.
        self.register_buffer("words", words, persistent=False)
        self.topic_vectors = nn.Parameter(torch.randn(topics, latent))
        self.generate = two_layers(2 * latent, words.shape[1])
        self.infer = Inference(len(words), topics)

    def topics(self, centres: Tensor) -> Tensor:
        """(10): a vector for each topic of each cluster, clusters x T x width of the words."""
        clusters, topics = len(centres), len(self.topic_vectors)
        both = [centres[:, None].expand(-1, topics, -1), self.topic_vectors[None].expand(clusters, -1, -1)]
        vectors: Tensor = self.generate(torch.cat(both, dim=2))
        return vectors

    def log_beta(self, centres: Tensor) -> Tensor:
        """(11): the log-probability of every word in each topic, clusters x T x words. For few clusters at a time."""
        return (self.topics(centres) @ self.words.T).log_softmax(dim=2)

    def losses(self, bags: Bags, groups: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
        """(13)-(15): reconstruction of the texts through the topics of their groups, and the KL of their mixtures."""
        log_theta, kl = self._mixtures(bags)
        order, log_beta = self._log_beta_of(bags, groups, centres)
        return reconstruction_loss(log_beta, bags.counts[order], bags.texts[order], log_theta), kl

    def losses_of_all(self, bags: Bags, log_assigned: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
        """The same through the topics of every cluster, each as far as the text is assigned to it."""
        log_theta, kl = self._mixtures(bags)
        topics = self.topics(centres)
        flat = topics.flatten(0, 1)
        log_beta = self.words[bags.words] @ flat.T - log_normalisers(flat, self.words)
        log_beta = log_beta.view(-1, *topics.shape[:2])
        return mixture_reconstruction_loss(log_beta, bags.counts, bags.texts, log_theta, log_assigned), kl

    def _mixtures(self, bags: Bags) -> tuple[Tensor, Tensor]:
        """(14): the log of a drawn mixture for each text, and the KL of what it was drawn from."""
        mean, log_variance = self.infer(bags)
        drawn = mean + torch.randn_like(mean) * (log_variance / 2).exp()
        return drawn.log_softmax(dim=1), gaussian_kl(mean, log_variance)

    def _log_beta_of(self, bags: Bags, groups: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
        """For each word of each text its log-probability in the T topics of the text's group, in order of groups.

        Only the topics of groups that are there are normalised, and only words that are there are looked up.
        """
        present, place = torch.unique(groups, return_inverse=True)
        topics = self.topics(centres[present])
        normalisers = log_normalisers(topics.flatten(0, 1), self.words).view(topics.shape[:2])
        group_of_word = place[bags.texts]
        order = group_of_word.argsort(stable=True)
        entries = torch.split(order, group_of_word.bincount(minlength=len(present)).tolist())
        parts = [
            self.words[bags.words[own]] @ topic.T - normaliser
            for own, topic, normaliser in zip(entries, topics, normalisers, strict=True)
        ]
        return order, torch.cat(parts)
