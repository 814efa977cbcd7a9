"""Arithmetic on rows of vectors that several parts of the package share."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.types import Matrix

ROWS_AT_ONCE = 512
ROWS_ADDED_AT_ONCE = 2_048


def unit_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows scaled to length 1; rows of zeros stay zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    beyond = np.isinf(lengths[:, 0])
    if beyond.any():  # the squares overflow, where the numbers themselves need not
        rows = rows.copy()
        rows[beyond] /= np.abs(rows[beyond]).max(axis=1, keepdims=True)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=rows.dtype)


def squares_overflow(rows: NDArray[Any], weight: float) -> bool:
    """Whether squared distances between rows, `weight` of them added up, can be too much for float32 (or no number)."""
    largest = float(np.abs(rows).max(initial=0))
    # A difference is at most twice the largest number; a comparison with NaN is false.
    return not 4 * weight * rows.shape[1] * largest * largest < float(np.finfo(np.float32).max)


def distinct_rows(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Every row once, in the order of first appearance, and where among them each row is.

    Where no row is twice there, these are the rows themselves, not a copy.
    """
    seen: dict[bytes, int] = {}
    place = np.array([seen.setdefault(_digest(row), len(seen)) for row in rows], dtype=np.int64)
    if len(seen) == len(rows):
        return rows, place
    first = np.unique(place, return_index=True)[1]
    return rows[first], place


def _digest(row: NDArray[Any]) -> bytes:
    """What stands for a row, which as a key would be kept whole."""
    return blake2b(row.tobytes(), digest_size=16).digest()


def group_means(
    rows: NDArray[Any], labels: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Weighted mean and total weight of each group; without weights, every row weighs 1."""
    weights = np.ones(len(rows)) if weights is None else weights
    k = int(labels.max()) + 1
    masses = np.bincount(labels, weights=weights, minlength=k).astype(np.float64)
    sums = group_sums(rows, np.arange(len(rows)), labels, weights, k)
    return np.asarray(sums / np.maximum(masses, 1e-300)[:, None], dtype=rows.dtype), masses


def group_sums(
    rows: NDArray[Any],
    chosen: NDArray[np.int64],
    groups: NDArray[np.int64],
    weights: NDArray[Any],
    n_groups: int,
) -> NDArray[np.float64]:
    """The weighted sums of the chosen rows by their groups, added up in the order of `chosen`.

    They are float64, and so are the rows as they are added: a part of them at a time.
    """
    sums = np.zeros((n_groups, rows.shape[1]))
    step = max(ROWS_ADDED_AT_ONCE, n_groups)  # every part takes the sums along
    for start in range(0, len(chosen), step):
        part = slice(start, start + step)
        sums = _with_more(sums, rows[chosen[part]], groups[part], weights[part])
    return sums


def _with_more(
    sums: NDArray[np.float64], rows: NDArray[Any], groups: NDArray[np.int64], weights: NDArray[Any]
) -> NDArray[np.float64]:
    from scipy.sparse import csr_matrix

    # The sums so far are the first rows, so that everything is added one by one, as if it were in one block.
    k = len(sums)
    entries = np.concatenate([np.ones(k), weights])
    places = (np.concatenate([np.arange(k), groups]), np.arange(k + len(rows)))
    member = csr_matrix((entries, places), shape=(k, k + len(rows)))
    return np.asarray(member @ np.concatenate([sums, rows]))


def in_blocks(vectors: Matrix, function: Callable[[NDArray[np.float64]], NDArray[Any]]) -> Matrix:
    """What a function of rows gives, so that a row is the same alone and in any company.

    Products of matrices round by their shape and by a row's place in them. So every product has the same shape, the
    last block filled up, and the function is given float64: what a place does to it is lost when float32 is made of it.
    """
    parts = []
    for start in range(0, max(1, len(vectors)), ROWS_AT_ONCE):
        part = np.asarray(vectors[start : start + ROWS_AT_ONCE])
        block = np.zeros((ROWS_AT_ONCE, vectors.shape[1]))
        block[: len(part)] = part
        parts.append(np.asarray(function(block)[: len(part)], dtype=np.float32))
    return np.concatenate(parts)
