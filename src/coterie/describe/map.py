"""The map: every text as a point on a plane, neighbours near each other and groups where they belong.

t-SNE (van der Maaten and Hinton 2008) on the graph of 15 nearest neighbours that Duet uses too, which does as well as
the 90 of a perplexity of 30 and is a sixth of the work. It starts from the two main directions of the texts, so that
far groups stay far (Kobak and Berens 2019), and the repulsion of all pairs is computed on a grid by a fast Fourier
transform (Linderman et al. 2019): right to a few percent, in time that grows with the rows only linearly. Nothing is
random but the sample of rows where there are very many. `docs/report.md` has what it was measured against.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.features.graph import SEARCH_DIMENSIONS, main_part, neighbour_graph
from coterie.types import Matrix, Progress, silent
from coterie.vectors import distinct_rows, unit_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Points = NDArray[np.float64]

MOST_ROWS = 30_000
"""Beyond this a sample is laid out, and every other text is put among the laid-out texts that are most like it."""

FEW_ROWS = 200
"""Up to here the pairs themselves are reckoned with. That is faster, by far where groups of a few texts fly so far
apart that the grid between them is huge."""

STAGE = "drawing the map"
EARLY, LATE = 12.0, 1.5
EARLY_STEPS, LATE_STEPS = 120, 280
GATHERING, SETTLING = 0.5, 0.8
START_SPREAD = 1e-4
NODE_DISTANCE = 0.5
FEWEST_NODES = 24
PLACING_NEIGHBOURS = 5


def text_map(vectors: Matrix, random_state: int = 0, progress: Progress = silent) -> Matrix:
    """Two coordinates in -1 to 1 for each row; equal rows get the same place."""
    distinct, place = distinct_rows(np.asarray(vectors))
    if len(distinct) < 3:
        spots = np.linspace(-1, 1, len(distinct) + 2)[1:-1]
        return np.asarray(np.column_stack([spots, np.zeros_like(spots)])[place], dtype=np.float32)
    if len(distinct) <= MOST_ROWS:
        points = _laid_out(distinct, progress)
    else:
        chosen = np.random.default_rng(random_state).permutation(len(distinct))[:MOST_ROWS]
        chosen.sort()
        points = _placed(distinct, chosen, _laid_out(distinct[chosen], progress))
    return np.asarray(_framed(points), dtype=np.float32)[place]


def _framed(points: Points) -> Points:
    """Turned so that the map is wider than tall, about its middle, and scaled to -1 to 1."""
    _, axes = np.linalg.eigh(np.cov(points.T))
    turned = _own_signs((points - points.mean(axis=0)) @ axes[:, ::-1])
    turned -= (turned.max(axis=0) + turned.min(axis=0)) / 2
    return np.asarray(turned / max(float(np.abs(turned).max()), 1e-12))


def _laid_out(vectors: Matrix, progress: Progress) -> Points:
    """t-SNE: attraction along the graph, exaggerated at first, against the repulsion of all pairs."""
    steps = EARLY_STEPS + LATE_STEPS
    progress(STAGE, 0, steps)
    attraction = neighbour_graph(main_part(vectors, SEARCH_DIMENSIONS)).astype(np.float64)
    attraction.data /= attraction.data.sum()
    points = _start(vectors)
    speed, gain = np.zeros_like(points), np.ones_like(points)
    for step in range(steps):
        early = step < EARLY_STEPS
        exaggeration, momentum = (EARLY, GATHERING) if early else (LATE, SETTLING)
        # The factor 4 of the gradient is in the rate: n / exaggeration of it is what large sets need (Belkina 2019).
        rate = max(len(points) / exaggeration, 50.0)
        force = exaggeration * _pull(points, attraction) - _push(points)
        gain = np.maximum(np.where(np.sign(force) != np.sign(speed), gain + 0.2, gain * 0.8), 0.01)
        speed = momentum * speed - rate * gain * force
        length = np.linalg.norm(speed, axis=1, keepdims=True)
        points = points + speed * np.minimum(1, 5 / np.maximum(length, 1e-12))
        points -= points.mean(axis=0)
        progress(STAGE, step + 1, steps)
    return points


def _start(vectors: Matrix) -> Points:
    main = main_part(vectors, 2).astype(np.float64)[:, :2]
    if main.shape[1] < 2:
        main = np.column_stack([main[:, 0], np.zeros(len(main))])
    main = _own_signs(main)
    return np.asarray(main / max(float(main[:, 0].std()), 1e-12) * START_SPREAD)


def _own_signs(points: Points) -> Points:
    """The sign of an eigenvector is nobody's choice: here the longer tail is on the positive side."""
    return np.asarray(points * np.where((points**3).sum(axis=0) < 0, -1, 1))


def _pull(points: Points, attraction: csr_matrix) -> Points:
    """sum over j of p_ij (y_i - y_j) / (1 + |y_i - y_j|^2)."""
    from scipy.sparse import csr_matrix

    rows = np.repeat(np.arange(len(points)), np.diff(attraction.indptr))
    x, y = points[:, 0], points[:, 1]
    apart = 1 + (x[rows] - x[attraction.indices]) ** 2 + (y[rows] - y[attraction.indices]) ** 2
    weights = csr_matrix((attraction.data / apart, attraction.indices, attraction.indptr), shape=attraction.shape)
    return np.asarray(points * (weights @ np.ones(len(points)))[:, None] - weights @ points)


def _push(points: Points) -> Points:
    """sum over j of (y_i - y_j) / (1 + |y_i - y_j|^2)^2, over Z = sum over all pairs of 1 / (1 + |y_i - y_j|^2)."""
    return _push_of_pairs(points) if len(points) <= FEW_ROWS else _push_on_grid(points)


def _push_of_pairs(points: Points) -> Points:
    apart = points[:, None] - points[None]
    kernel = 1 / (1 + (apart**2).sum(axis=2))
    total = float(kernel.sum()) - len(points)
    return np.asarray((kernel[:, :, None] ** 2 * apart).sum(axis=1) / max(total, 1e-12))


def _push_on_grid(points: Points) -> Points:
    """With K the squared kernel, all of it follows from K applied to the charges 1, x, y and x^2 + y^2."""
    squares = (points**2).sum(axis=1)
    charges = np.column_stack([np.ones(len(points)), points, squares])
    spread, of_itself = _kernel_sums(points, charges)
    total = ((1 + squares) * spread[:, 0] - 2 * (points * spread[:, 1:3]).sum(axis=1) + spread[:, 3]).sum()
    return np.asarray((points * spread[:, :1] - spread[:, 1:3]) / max(float(total) - of_itself, 1e-12))


def _kernel_sums(points: Points, charges: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """For each point the sum of all charges, each times (1 + distance^2)^-2, by way of a grid.

    And what the grid makes of each point's distance to itself, all together: not quite 1 a point.
    """
    from scipy.fft import irfft2, next_fast_len, rfft2

    low = points.min(axis=0)
    span = float((points.max(axis=0) - low).max()) + 1e-9
    nodes = max(FEWEST_NODES, int(np.ceil(span / NODE_DISTANCE)) + 4)
    step = span / (nodes - 4)
    onto_grid = _grid_weights((points - low) / step + 1, nodes)
    size = next_fast_len(2 * nodes, real=True)
    offsets = np.minimum(np.arange(size), size - np.arange(size)) * step
    kernel = rfft2((1 + offsets[:, None] ** 2 + offsets[None, :] ** 2) ** -2.0)
    at_nodes = (onto_grid.T @ charges).T.reshape(-1, nodes, nodes)
    spread = irfft2(rfft2(at_nodes, s=(size, size)) * kernel, s=(size, size))[:, :nodes, :nodes]
    own = onto_grid.data.reshape(-1, 16)
    around = np.arange(4) * step
    distances = (around[:, None] - around[None]) ** 2
    among_nodes = (1 + distances[:, None, :, None] + distances[None, :, None, :]).reshape(16, 16) ** -2.0
    of_itself = float(((own @ among_nodes) * own).sum())
    return np.asarray(onto_grid @ spread.reshape(len(spread), -1).T), of_itself


def _grid_weights(places: Points, nodes: int) -> csr_matrix:
    """How each point lies among the 4 x 4 nodes around it: cubic Lagrange weights in both directions."""
    from scipy.sparse import csr_matrix

    cell = np.clip(np.floor(places).astype(np.int32), 1, nodes - 3)
    t = places - cell
    weights = np.stack(
        [
            -t * (t - 1) * (t - 2) / 6,
            (t + 1) * (t - 1) * (t - 2) / 2,
            -(t + 1) * t * (t - 2) / 2,
            (t + 1) * t * (t - 1) / 6,
        ],
        axis=2,
    )
    around = np.arange(-1, 3, dtype=np.int32)
    columns = (cell[:, 0, None] + around)[:, :, None] * nodes + (cell[:, 1, None] + around)[:, None, :]
    values = weights[:, 0, :, None] * weights[:, 1, None, :]
    starts = np.arange(0, 16 * len(places) + 1, 16, dtype=np.int32)
    return csr_matrix((values.ravel(), columns.ravel(), starts), shape=(len(places), nodes * nodes))


def _placed(vectors: Matrix, chosen: NDArray[np.int64], laid_out: Points) -> Points:
    """All rows: the laid-out ones as they are, each other one amid its most similar laid-out rows."""
    from sklearn.neighbors import NearestNeighbors

    near = unit_rows(main_part(vectors, SEARCH_DIMENSIONS))
    others = np.setdiff1d(np.arange(len(vectors)), chosen)
    search: Any = NearestNeighbors(n_neighbors=PLACING_NEIGHBOURS, algorithm="brute", metric="sqeuclidean")
    found = search.fit(near[chosen]).kneighbors(near[others], return_distance=False)
    points = np.empty((len(vectors), 2))
    points[chosen] = laid_out
    points[others] = np.median(laid_out[found], axis=1)  # a mean could lie between groups, where nothing is
    return points
