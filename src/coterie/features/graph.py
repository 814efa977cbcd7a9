"""The neighbourhood graph of texts, and vectors smoothed over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coterie.types import Matrix
from coterie.vectors import unit_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

NEIGHBOURS = 15
SEARCH_DIMENSIONS = 50
NEIGHBOURS_SHARE = 0.8
SMOOTHING_STEPS = 5
DIMENSIONS = 128


def smoothed_space(vectors: Matrix) -> Matrix:
    """Where groups are looked for: the vectors smoothed over their graph, in the 128 main directions.

    Neighbours are looked for in the 50 main directions, which have what texts are about without their chance details.
    """
    graph = neighbour_graph(main_part(vectors, SEARCH_DIMENSIONS))
    return main_part(smoothed(vectors, graph, NEIGHBOURS_SHARE, SMOOTHING_STEPS), DIMENSIONS)


def neighbour_graph(vectors: Matrix) -> csr_matrix:
    """Symmetric weights in 0 to 1 between each text and its nearest by cosine.

    A weight falls off with the distance beyond the nearest neighbour, on a scale of each text's own, so that dense and
    thin regions are treated alike; the two directions are joined as probabilities of independent events.
    """
    from scipy.sparse import csr_matrix

    neighbours, similarities = nearest_neighbours(vectors, min(NEIGHBOURS, len(vectors) - 1))
    weights = _local_weights(np.maximum(1 - similarities, 0).astype(np.float64))
    rows = np.repeat(np.arange(len(vectors)), neighbours.shape[1])
    one_way = csr_matrix((weights.ravel(), (rows, neighbours.ravel())), shape=(len(vectors), len(vectors)))
    other_way = one_way.T.tocsr()
    return (one_way + other_way - one_way.multiply(other_way)).tocsr()


def smoothed(vectors: Matrix, graph: csr_matrix, share: float, steps: int) -> Matrix:
    """Vectors mixed `steps` times with the weighted mean of their neighbours, which counts for `share`; length 1.

    What a text shares with its neighbours stays, what only it has fades: groups become denser and further apart.
    """
    means = means_of_neighbours(graph)
    for _ in range(steps):
        vectors = (1 - share) * vectors + share * (means @ vectors)
    return np.asarray(unit_rows(vectors), dtype=np.float32)


def means_of_neighbours(graph: csr_matrix) -> csr_matrix:
    """What rows are multiplied by to have the weighted mean of each one's neighbours."""
    from scipy.sparse import diags

    degree = np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1e-12)
    return (diags(1 / degree) @ graph).tocsr().astype(np.float32)


def nearest_neighbours(
    vectors: Matrix, count: int, asked: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], Matrix]:
    """For each row asked for (None: all) the `count` most similar other rows by cosine, nearest first, and how similar.

    Exact.
    """
    from sklearn.neighbors import NearestNeighbors

    rows = unit_rows(np.asarray(vectors))
    asked = np.arange(len(rows)) if asked is None else asked
    # Between unit vectors |x - y|^2 = 2 - 2 cos, so the order is the same.
    search = NearestNeighbors(n_neighbors=count + 1, algorithm="brute", metric="sqeuclidean").fit(rows)
    distances, found = search.kneighbors(rows[asked])
    # A row finds itself; where many rows are equal it may be crowded out, and then the farthest is one too many.
    surplus = found == asked[:, None]
    surplus[~surplus.any(axis=1), -1] = True
    shape = (len(asked), count)
    return found[~surplus].reshape(shape), np.asarray(1 - distances[~surplus].reshape(shape) / 2, dtype=np.float32)


def main_part(vectors: Matrix, dimensions: int) -> Matrix:
    """The vectors about their mean, in the directions in which they vary most."""
    centred = vectors - vectors.mean(axis=0)
    if min(centred.shape) <= dimensions:
        return np.asarray(centred)
    _, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    return np.asarray(centred @ directions[:, ::-1][:, :dimensions].astype(np.float32), dtype=np.float32)


def _local_weights(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(-(d - nearest) / scale), the scale of each row such that its weights add up to log2(neighbours + 1)."""
    count = distances.shape[1]
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1)
    beyond = np.maximum(distances - np.where(np.isfinite(nearest), nearest, 0)[:, None], 0)
    low, high, scale = np.zeros(len(beyond)), np.full(len(beyond), np.inf), np.ones(len(beyond))
    for _ in range(40):
        too_wide = np.exp(-beyond / scale[:, None]).sum(axis=1) > np.log2(count + 1)
        high, low = np.where(too_wide, scale, high), np.where(too_wide, low, scale)
        scale = np.where(np.isinf(high), scale * 2, (low + np.where(np.isinf(high), low, high)) / 2)
    scale = np.maximum(scale, 1e-3 * np.maximum(distances.mean(axis=1), 1e-6))
    return np.asarray(np.exp(-beyond / scale[:, None]))
