"""DEC, IDEC, DCN and Self-Train on vectors whose groups are known.

Blobs are the easy case. Where k-means on the vectors fails, an autoencoder can help in two ways, and not in a third:

- *Folded* groups, compact on a sheet that is bent through many dimensions: the code flattens the sheet, so all four
  find the groups, from k-means on the codes as published.
- Long *bands* side by side: k-means cuts them across, on the codes too. From first groups that are right, DEC draws
  every band together, which the bands' means alone do not.
- Two interleaved *moons* are beyond all four: a group is what lies nearest to one centre, and the code keeps the shape
  of a moon. They may do better than k-means; none finds the moons.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score
from torch import nn

from coterie.clusterers import KMeans
from coterie.engine.loop import Training
from coterie.engine.workers import Workers
from coterie.methods.base import Fit
from coterie.methods.deep_model import Task
from coterie.methods.on_features import DeepOnFeatures
from coterie.nn.texts import StillTexts
from coterie.registry import model_class
from coterie.types import Matrix

METHODS = ["dec", "idec", "dcn", "self-train"]
SMALL = {"layers": (64, 64, 5), "batch_size": 100, "pretraining_epochs": 150, "epochs": 60}


class Points:
    """Text i is point i, for features and encoder alike."""

    kind, pooling, max_length, precision = "points", "mean", 128, "fp32"
    checkpoint = SimpleNamespace(fingerprint="points")

    def __init__(self, points: Matrix) -> None:
        self.points = points

    def encode(self, texts: Sequence[str], progress: object = None) -> Matrix:
        return self.points[[int(text.split()[-1]) for text in texts]]

    fit_transform = transform = encode

    def with_weights(self, tuned: dict[str, Any]) -> Points:
        return self

    def in_8_bits(self) -> Points:
        return self


def centred(points: np.ndarray) -> Matrix:
    """Of length 1 on average."""
    points = points - points.mean(axis=0)
    return np.asarray(points / np.sqrt((points**2).sum(axis=1).mean()), dtype=np.float32)


def blobs(noise: float = 1.0) -> tuple[Matrix, np.ndarray]:
    random, truth = np.random.default_rng(0), np.arange(300) % 5
    return centred(5 * random.normal(size=(5, 20))[truth] + noise * random.normal(size=(300, 20))), truth


def folded() -> tuple[Matrix, np.ndarray]:
    """Four groups at the corners of a square, which ten waves fold through fifty dimensions."""
    random, truth = np.random.default_rng(2), np.arange(400) % 4
    corners = np.array([[-2, -2], [-2, 2], [2, -2], [2, 2]])
    flat = corners[truth] + 0.45 * random.normal(size=(400, 2))
    directions, mixed, phases = random.normal(size=(2, 10)), random.normal(size=(10, 50)), random.uniform(-3, 3, 10)
    return centred(np.cos(1.4 * flat @ directions + phases) @ mixed), truth


def bands() -> tuple[Matrix, np.ndarray]:
    """Three bands side by side, six times as long as they are apart, in twenty dimensions."""
    random, truth = np.random.default_rng(0), np.arange(300) % 3
    flat = np.stack([random.uniform(-6, 6, 300), 2 * truth + 0.25 * random.normal(size=300)], axis=1)
    turned = flat @ np.linalg.qr(random.normal(size=(20, 2)))[0].T
    return centred(turned + 0.05 * random.normal(size=(300, 20))), truth


def moons() -> tuple[Matrix, np.ndarray]:
    """Two half circles that reach into each other, in twenty dimensions."""
    random, truth = np.random.default_rng(0), np.arange(300) % 2
    angle = np.pi * random.uniform(size=300)
    flat = np.stack([np.cos(angle) + truth, np.sin(angle) * (1 - 2 * truth) + 0.4 * truth], axis=1)
    turned = (flat + 0.05 * random.normal(size=(300, 2))) @ np.linalg.qr(random.normal(size=(20, 2)))[0].T
    return centred(turned + 0.02 * random.normal(size=(300, 20))), truth


def k_means(points: Matrix, groups: int) -> np.ndarray:
    return np.asarray(KMeans(groups, n_init=20, random_state=0).fit(points).labels_)


def fitted(method: str, points: Matrix, groups: int, **settings: Any) -> Fit:
    model, reader = model_class(method), Points(points)
    chosen = model.settings_class(**{**SMALL, **settings})
    deep = DeepOnFeatures(method, model, chosen, reader, features=reader, effort="fast", random_state=0)
    return deep.fit([f"point {row}" for row in range(len(points))], groups)


@pytest.mark.parametrize("init", ["kmeans", "two-view"])
@pytest.mark.parametrize("method", METHODS)
def test_blobs(method: str, init: str, own_folder: Path, head_kept: None) -> None:
    points, truth = blobs()
    fit = fitted(method, points, 5, init=init, pair_epochs=10, pretraining_epochs=30)
    assert fit.assigner.kind == "head"
    assert adjusted_rand_score(truth, fit.labels) > 0.95


@pytest.mark.parametrize("method", METHODS)
def test_folded_groups_that_k_means_does_not_find(method: str, own_folder: Path, head_kept: None) -> None:
    points, truth = folded()
    assert adjusted_rand_score(truth, k_means(points, 4)) < 0.75
    fit = fitted(method, points, 4, init="kmeans", pretraining="joint")
    assert adjusted_rand_score(truth, fit.labels) > 0.93


def test_bands_that_k_means_cuts_across() -> None:
    points, truth = bands()
    assert adjusted_rand_score(truth, k_means(points, 3)) < 0.1
    means = np.stack([points[truth == group].mean(axis=0) for group in range(3)])
    nearest = ((points[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    assert adjusted_rand_score(truth, nearest) < 0.85
    settings = model_class("dec").settings_class(**SMALL, pretraining="joint")
    torch.manual_seed(0)
    model = model_class("dec")(settings, Task(20, 3, 300, "fast", 0))
    model.begin(truth)
    texts = StillTexts([points], Workers().device)
    Training(model, nn.Module(), texts, judge=lambda labels: 0.0, keep_best=False).run()
    with torch.no_grad():
        labels = model.scores(torch.from_numpy(points)).argmax(dim=1).numpy()
    assert adjusted_rand_score(truth, labels) > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_moons_are_told_better_than_by_k_means(method: str, own_folder: Path, head_kept: None) -> None:
    """Though by none of them well: a group is what lies nearest to one centre."""
    points, truth = moons()
    found = adjusted_rand_score(truth, k_means(points, 2))
    assert found < 0.4
    fit = fitted(method, points, 2, init="kmeans", pretraining="joint")
    assert adjusted_rand_score(truth, fit.labels) > found + 0.02


@pytest.mark.parametrize(
    ("method", "own"), [("dec", {}), ("idec", {"gamma": 1.0}), ("dcn", {"penalty": 1.0}), ("self-train", {})]
)
def test_clustering_draws_the_codes_of_a_group_together(method: str, own: dict[str, float]) -> None:
    points, truth = blobs(noise=8)

    def looseness(codes: Matrix) -> float:
        """Variance within the groups, as a share of all."""
        means = np.stack([codes[truth == group].mean(axis=0) for group in range(5)])
        return float(((codes - means[truth]) ** 2).sum() / ((codes - codes.mean(axis=0)) ** 2).sum())

    settings = model_class(method).settings_class(**SMALL, **own, init="kmeans", pretraining="joint")
    torch.manual_seed(0)
    model = model_class(method)(settings, Task(20, 5, 300, "fast", 0))
    model.begin(k_means(points, 5))
    texts = StillTexts([points], Workers().device)
    watched = Training(model, nn.Module(), texts, judge=lambda labels: 0.0, keep_best=False, watch=looseness).run()
    *_, pretrained, clustered = [entry["watched"] for entry in watched.history if "watched" in entry]
    assert clustered < 0.97 * pretrained
