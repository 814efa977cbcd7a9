"""The evidence lower bound of an embedded topic model (ETM, Dieng et al. 2020), whose words have fixed vectors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

WORDS_AT_ONCE = 4096


def log_normalisers(topics: Tensor, words: Tensor) -> Tensor:
    """DECCRL (11): for each topic vector the log of the sum over all words of exp(topic . word), words being constants.

    The vocabulary is gone through in blocks, and of the probabilities of all words only their mean word is kept, which
    is the gradient: memory does not grow with topics x words.
    """
    return torch.as_tensor(_LogNormalisers.apply(topics, words))  # type: ignore[no-untyped-call]


def reconstruction_loss(log_beta: Tensor, counts: Tensor, texts: Tensor, log_theta: Tensor) -> Tensor:
    """DECCRL (13) and the first term of (15): how little the texts' words are expected, mean over the texts.

    An entry is a word of a text: `log_beta` holds its log-probability in each topic of the text's cluster, `counts` how
    often it stands there, `texts` which row of the mixtures `log_theta` is that text's.
    """
    expected = torch.logsumexp(log_beta + log_theta[texts], dim=1)
    return -(counts * expected).sum() / len(log_theta)


def mixture_reconstruction_loss(
    log_beta: Tensor, counts: Tensor, texts: Tensor, log_theta: Tensor, log_assigned: Tensor
) -> Tensor:
    """The same where a text's cluster is not settled but drawn, with `log_assigned` for each text and cluster.

    The clusters are summed out: -log sum_k o_ik prod_n p(w_in | cluster k). So a text is drawn to the clusters whose
    topics expect its words. `log_beta` holds entries x clusters x topics.
    """
    of_words = torch.logsumexp(log_beta + log_theta[texts][:, None], dim=2)
    of_texts = torch.zeros_like(log_assigned).index_add(0, texts, counts[:, None] * of_words)
    return -torch.logsumexp(log_assigned + of_texts, dim=1).mean()


def gaussian_kl(mean: Tensor, log_variance: Tensor) -> Tensor:
    """The second term of (15): KL of N(mean, variance) from N(0, 1), summed over dimensions, mean over the texts."""
    return (mean**2 + log_variance.exp() - 1 - log_variance).sum(dim=1).mean() / 2


class _LogNormalisers(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, topics: Tensor, words: Tensor) -> Tensor:
        highest = torch.full_like(topics[:, :1], -torch.inf)
        total, mean_word = torch.zeros_like(highest), torch.zeros_like(topics)
        for block in torch.split(words, WORDS_AT_ONCE):
            logits = topics @ block.T
            higher = torch.maximum(highest, logits.amax(dim=1, keepdim=True))
            fade, weights = (highest - higher).exp(), (logits - higher).exp_()
            total = total * fade + weights.sum(dim=1, keepdim=True)
            if ctx.needs_input_grad[0]:
                mean_word = mean_word * fade + weights @ block
            highest = higher
        ctx.save_for_backward(mean_word / total)
        return (highest + total.log()).squeeze(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (mean_word,) = ctx.saved_tensors
        return gradients[0][:, None] * mean_word, None
