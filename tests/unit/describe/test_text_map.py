"""The map: forces against their definitions, and what a reader relies on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from coterie.describe import map as maps
from coterie.describe.map import text_map
from coterie.features.graph import neighbour_graph
from coterie.types import Matrix


@pytest.fixture(scope="module")
def blobs() -> tuple[Matrix, np.ndarray]:
    """Six groups of 40 around far directions, in an order that does not follow them."""
    random = np.random.default_rng(0)
    labels = random.permutation(np.repeat(np.arange(6), 40))
    return (np.eye(12)[labels] + 0.15 * random.normal(size=(240, 12))).astype(np.float32), labels


def pairs(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    apart = points[:, None] - points[None]
    return apart, 1 / (1 + (apart**2).sum(axis=2))


@pytest.mark.parametrize(
    ("rows", "spread", "allowed"),
    [(800, 1e-3, 1e-9), (800, 1.0, 0.01), (800, 10.0, 0.05), (800, 40.0, 0.05), (5, 1.0, 1e-9), (5, 1e4, 1e-9)],
)
def test_repulsion_is_that_of_all_pairs(rows: int, spread: float, allowed: float) -> None:
    points = np.random.default_rng(1).normal(scale=spread, size=(rows, 2))
    apart, near = pairs(points)
    exact = (apart * (near**2)[:, :, None]).sum(axis=1) / (near.sum() - len(points))
    error = np.abs(maps._push(points) - exact).max() / np.abs(exact).max()
    assert error < allowed


def test_attraction_is_that_of_the_graph(blobs: tuple[Matrix, np.ndarray]) -> None:
    graph = neighbour_graph(blobs[0])
    points = np.random.default_rng(2).normal(size=(240, 2))
    apart, near = pairs(points)
    exact = (graph.toarray()[:, :, None] * near[:, :, None] * apart).sum(axis=1)
    np.testing.assert_allclose(maps._pull(points, graph), exact, atol=1e-9)


def test_neighbours_on_the_map_are_of_one_group(blobs: tuple[Matrix, np.ndarray]) -> None:
    vectors, labels = blobs
    points = text_map(vectors)
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1)[:, :10]
    assert (labels[near] == labels[:, None]).mean() > 0.99


def test_what_is_far_stays_far() -> None:
    """Texts along an arc: the further along it, the further on the map."""
    random = np.random.default_rng(3)
    angles = random.uniform(0, 2, size=240)
    vectors = np.column_stack([np.cos(angles), np.sin(angles), 0.05 * random.normal(size=(240, 3))]).astype(np.float32)
    points = text_map(vectors)
    on_map = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert spearmanr(np.abs(angles[:, None] - angles[None]).ravel(), on_map.ravel())[0] > 0.9


def test_same_rows_same_map_and_it_fills_its_frame(blobs: tuple[Matrix, np.ndarray]) -> None:
    points = text_map(blobs[0])
    np.testing.assert_array_equal(points, text_map(blobs[0].copy()))
    assert points.dtype == np.float32
    assert np.abs(points).max() == pytest.approx(1)
    width, height = points.max(axis=0) - points.min(axis=0)
    assert width == pytest.approx(2, abs=1e-5) or height == pytest.approx(2, abs=1e-5)
    assert points[:, 0].std() > points[:, 1].std()


def test_equal_rows_share_a_place(blobs: tuple[Matrix, np.ndarray]) -> None:
    vectors = np.concatenate([blobs[0], blobs[0][::-1], blobs[0][:1].repeat(30, axis=0)])
    points = text_map(vectors)
    np.testing.assert_array_equal(points[240:480], points[:240][::-1])
    assert (points[480:] == points[0]).all()
    assert len(np.unique(points[:240], axis=0)) == 240


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 17])
def test_few_rows_have_places_of_their_own(rows: int) -> None:
    vectors = np.random.default_rng(4).normal(size=(rows, 8)).astype(np.float32)
    points = text_map(vectors)
    assert points.shape == (rows, 2)
    assert np.isfinite(points).all()
    assert np.abs(points).max() <= 1
    assert len(np.unique(points, axis=0)) == rows


def test_one_dimension_and_rows_that_are_all_equal() -> None:
    assert np.isfinite(text_map(np.arange(12, dtype=np.float32)[:, None])).all()
    assert (text_map(np.ones((9, 4), dtype=np.float32)) == 0).all()


def test_rows_beyond_the_limit_are_put_among_their_like(
    blobs: tuple[Matrix, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, labels = blobs
    monkeypatch.setattr(maps, "MOST_ROWS", 120)
    points = text_map(vectors)
    np.testing.assert_array_equal(points, text_map(vectors))
    assert len(points) == 240
    centres = np.array([np.median(points[labels == group], axis=0) for group in range(6)])
    nearest = ((points[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.95


def test_progress_is_told(blobs: tuple[Matrix, np.ndarray]) -> None:
    told: list[tuple[str, int, int]] = []
    text_map(blobs[0], progress=lambda *step: told.append(step))
    assert told[0][:2] == ("drawing the map", 0)
    assert told[-1][1] == told[-1][2]
