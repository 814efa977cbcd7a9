"""Losses that pull the views of one text (or of one cluster) together and push the others apart.

The papers differ in what the denominator sums over. With N texts in two views there are 2N - 1 others for each row: the
other view of the same text (the positive) and 2N - 2 negatives.

- SCCL sums over all 2N - 1: `instance_contrast`.
- DECCRL prints the N - 1 negatives of the other view alone: `cross_view_contrast`.
- AECL prints the 2N - 2 negatives: `similarity_guided_contrast`, `unguided_contrast`, `cluster_contrast`.

Similarities are cosines. One text alone, without negatives, has nothing to be pushed from: its loss is 0.
"""

from __future__ import annotations

import torch
from torch import Tensor

SHORTEST = 1e-12
"""Rows shorter than this have no direction and are left as they are; scaling them up would blow up their gradients."""

SIMILARITY_FLOOR = 1e-5
"""Added to AECL's similarity matrix, as its authors do: no text of the same group is wholly without weight."""


def instance_contrast(z0: Tensor, z1: Tensor, temperature: float) -> Tensor:
    """SCCL (1)-(2), also known as NT-Xent: the denominator holds the positive too; mean over the 2N rows."""
    within0, across, within1 = _three_blocks(z0, z1, temperature)
    positive = across.diagonal()
    of_0 = positive - torch.logaddexp(positive, _log_negatives(within0, across))
    of_1 = positive - torch.logaddexp(positive, _log_negatives(within1, across.T))
    return -(of_0 + of_1).mean() / 2


def cross_view_contrast(z0: Tensor, z1: Tensor, temperature: float) -> Tensor:
    """DECCRL (2)-(4) as printed: negatives of the other view only, both directions added, mean over the N texts."""
    across = cosines(z0, z1) / temperature
    if len(across) < 2:
        return across.sum() * 0
    positive = across.diagonal()
    return -(2 * positive - _log_negatives(across) - _log_negatives(across.T)).mean()


def similarity_guided_contrast(
    z0: Tensor,
    z1: Tensor,
    h0: Tensor,
    h1: Tensor,
    s0: Tensor,
    s1: Tensor,
    groups: Tensor,
    temperature: float,
) -> Tensor:
    """AECL (6)-(9): texts of the same group are positives too, weighted by how similar attention finds them.

    z are the projections and h the consistent representations of the two views, s the similarity matrices (2), and
    groups the argmax of p(0). A text's similarity to itself is kept, as (7) is printed. (The authors' code also pairs z
    with z and h with h, zeroes the diagonal for these alone, and so keeps it for z with h.) SIMILARITY_FLOOR is added
    to all of s.
    """
    if len(z0) < 2:
        return torch.cat([z0, z1, h0, h1]).sum() * 0
    z0, z1, h0, h1 = (unit_rows(rows) for rows in (z0, z1, h0, h1))
    # Each of the four is in two of the denominators.
    z0_alone, z1_alone, h0_alone, h1_alone = (_log_negatives(rows @ rows.T / temperature) for rows in (z0, z1, h0, h1))
    log_l1 = torch.logaddexp(*_log_shares(z0 @ z1.T / temperature, z0_alone, z1_alone))
    same_group = groups[:, None] == groups[None, :]
    log_l2 = [
        _log_l2(z @ h.T / temperature, z_alone, h_alone, s, same_group)
        for z, h, z_alone, h_alone, s in ((z0, h0, z0_alone, h0_alone, s0), (z1, h1, z1_alone, h1_alone, s1))
    ]
    return -(torch.logaddexp(log_l1, log_l2[0]) + torch.logaddexp(log_l1, log_l2[1])).mean() / 2


def unguided_contrast(z0: Tensor, z1: Tensor, temperature: float) -> Tensor:
    """AECL (6) and (9) without (7), the ablation "No IC": only the other view of the same text is a positive."""
    if len(z0) < 2:
        return torch.cat([z0, z1]).sum() * 0
    return -torch.logaddexp(*_log_shares_of(z0, z1, temperature)).mean()


def cluster_contrast(p0: Tensor, p1: Tensor, temperature: float) -> Tensor:
    """AECL (10)-(11): a column of assignments is alike in both views, and unlike the other columns.

    As printed: the denominator holds the 2M - 2 negatives alone. The authors' code also counts the positive in it.
    """
    if p0.shape[1] < 2:
        return (p0 + p1).sum() * 0
    log_share0, log_share1 = _log_shares_of(p0.T, p1.T, temperature)
    return -(log_share0 + log_share1).mean() / 2


def unit_rows(rows: Tensor) -> Tensor:
    """Rows scaled to length 1; rows of zeros stay zeros and have finite gradients."""
    lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return rows / torch.where(lengths > SHORTEST, lengths, 1.0)


def cosines(a: Tensor, b: Tensor) -> Tensor:
    """Cosine of each row of a with each row of b: AECL (8)."""
    return unit_rows(a) @ unit_rows(b).T


def _three_blocks(a: Tensor, b: Tensor, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    a, b = unit_rows(a), unit_rows(b)
    return a @ a.T / temperature, a @ b.T / temperature, b @ b.T / temperature


def _log_negatives(*blocks: Tensor) -> Tensor:
    """Log of the sum of exp over each row of all blocks, without their diagonals."""
    logs = torch.cat([_without_diagonal(block) for block in blocks], dim=1)
    # One text alone has no negatives; torch's logsumexp of nothing but -inf is -inf with a gradient of 0, as it should.
    return torch.logsumexp(logs, dim=1)


def _without_diagonal(logs: Tensor) -> Tensor:
    return logs.masked_fill(torch.eye(len(logs), dtype=torch.bool, device=logs.device), -torch.inf)


def _log_shares_of(a: Tensor, b: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Logs of the two fractions of (6) and (10): rows of a as anchors, then rows of b."""
    within_a, across, within_b = _three_blocks(a, b, temperature)
    return _log_shares(across, _log_negatives(within_a), _log_negatives(within_b))


def _log_shares(across: Tensor, a_alone: Tensor, b_alone: Tensor) -> tuple[Tensor, Tensor]:
    """The same from similarities across the views and the logs of the negatives within each."""
    positive, (of_a, of_b) = across.diagonal(), _log_denominators(across, a_alone, b_alone)
    return positive - of_a, positive - of_b


def _log_denominators(across: Tensor, a_alone: Tensor, b_alone: Tensor) -> tuple[Tensor, Tensor]:
    others = _without_diagonal(across)
    return (
        torch.logaddexp(a_alone, torch.logsumexp(others, dim=1)),
        torch.logaddexp(b_alone, torch.logsumexp(others, dim=0)),
    )


def _log_l2(across: Tensor, z_alone: Tensor, h_alone: Tensor, s: Tensor, same_group: Tensor) -> Tensor:
    """Log of l_2 (7) of each text in one view, from similarities of z with h."""
    log_weights = torch.log(s + SIMILARITY_FLOOR).masked_fill(~same_group, -torch.inf)
    of_z, of_h = _log_denominators(across, z_alone, h_alone)
    # In both fractions the weights are row i of s: it is text i that looks at the others.
    return torch.logaddexp(
        torch.logsumexp(across + log_weights, dim=1) - of_z, torch.logsumexp(across.T + log_weights, dim=1) - of_h
    )
