"""VaSCL (Zhang et al., ACL Findings 2022): augmentation without texts, by the most confusing step in vector space.

A text's neighbourhood is its nearest texts in the batch. Its virtual augmentation is its own vector moved a fixed way
in the direction that makes it hardest to tell from the neighbourhood, and the loss asks to tell it all the same.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from coterie.losses.contrastive import cosines, unit_rows


def virtual_neighbourhood_loss(
    vectors: Tensor,
    neighbours: int,
    radius: float,
    temperature: float,
    generator: torch.Generator | None = None,
    head: Callable[[Tensor], Tensor] = lambda rows: rows,
) -> Tensor:
    """Discrimination of each text and its virtual augmentation from the K neighbours of the text in both forms.

    -log exp(sim(e_i, e_i') / t) / [exp(sim(e_i, e_i') / t) + sum over k near i of exp(sim(e_i, e_k) / t) +
    exp(sim(e_i, e_k') / t)], the same with e_i and e_i' exchanged, and the mean over the 2N. Steps are taken in the
    space of `vectors`, similarities are cosines after `head`: in VaSCL the projection head, with temperature 0.05,
    K 16, and radius 15 for vectors of BERT's length. The step is a constant for gradients; the authors also detach
    the vectors, so that this loss trains the head alone.
    """
    near = nearest_in_batch(vectors, neighbours)
    step = confusing_step(vectors, near, radius, temperature, generator, head)
    plain, moved = head(vectors), head(vectors + step)
    across = cosines(plain, moved) / temperature
    of_plain = _surprise(across.diagonal(), near, cosines(plain, plain) / temperature, across)
    of_moved = _surprise(across.diagonal(), near, cosines(moved, moved) / temperature, across.T)
    return (of_plain + of_moved).mean() / 2


@torch.no_grad()
def nearest_in_batch(vectors: Tensor, neighbours: int) -> Tensor:
    """Row numbers of each row's nearest others by cosine; all others when there are fewer."""
    similarity = cosines(vectors, vectors).fill_diagonal_(-torch.inf)
    return similarity.topk(min(neighbours, len(vectors) - 1), dim=1).indices


def confusing_step(
    vectors: Tensor,
    near: Tensor,
    radius: float,
    temperature: float,
    generator: torch.Generator | None = None,
    head: Callable[[Tensor], Tensor] = lambda rows: rows,
) -> Tensor:
    """A step of the given length for each row, up the gradient of its neighbourhood discrimination loss.

    The gradient is taken a random step of the same length away: at the text itself, its own similarity has none. The
    loss is -log of exp(sim(e_i', e_i) / t) over the same plus the sum of exp(sim(e_i', e_k) / t) over the neighbours.
    """
    still = vectors.detach()
    noise = torch.randn(still.shape, generator=generator, dtype=still.dtype, device=still.device)
    start = radius * unit_rows(noise)
    with torch.enable_grad():
        moved = (still + start).requires_grad_()
        across = cosines(head(moved), head(still).detach()) / temperature
        (uphill,) = torch.autograd.grad(_surprise(across.diagonal(), near, across).sum(), moved)
    # The gradient of a well separated row is tiny but has a direction: its largest entry is brought to 1 first.
    largest = uphill.abs().amax(dim=1, keepdim=True)
    direction = unit_rows(uphill / torch.where(largest > 0, largest, 1.0))
    # Where the loss is flat every direction is as good: the random one stays.
    return torch.where(largest > 0, radius * direction, start)


def _surprise(positive: Tensor, near: Tensor, *similarities: Tensor) -> Tensor:
    """-log of the positive's share among itself and the neighbours' entries of the similarity matrices."""
    logs = [positive[:, None], *(similarity.gather(1, near) for similarity in similarities)]
    return torch.logsumexp(torch.cat(logs, dim=1), dim=1) - positive
