"""Centres and classifiers that keep every group, and confidences that mean something."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from torch.nn.functional import cross_entropy

from coterie.errors import InputError
from coterie.methods.base import Assigner, labels_of
from coterie.methods.confidence import fitting_temperature, softmax
from coterie.methods.deep_model import Task
from coterie.methods.head import Head
from coterie.methods.linear import LinearClassifier, learnt_groups, regression
from coterie.methods.nearest_centre import NearestCentre
from coterie.registry import model_class
from coterie.vectors import unit_rows


def blobs(std: float, rows: int = 400, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    points, truth = make_blobs(rows, centers=10 * np.eye(k, 6), cluster_std=std, random_state=0)
    return points.astype(np.float32), truth


def test_softmax_by_hand() -> None:
    np.testing.assert_allclose(softmax(np.array([[0.0, np.log(3)], [1000.0, 0.0]])), [[0.25, 0.75], [1, 0]])


def test_nearest_centre_is_nearest() -> None:
    points, truth = blobs(1.0)
    assigner = NearestCentre.of_groups(points, truth, 4)
    distances = ((points[:, None] - assigner.centres[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(labels_of(assigner.probabilities(points)), distances.argmin(axis=1))


def test_unused_centres_are_put_to_use() -> None:
    points, truth = blobs(1.0)
    labels = np.where(truth == 3, 2, truth)
    answers = labels_of(NearestCentre.of_groups(points, labels, 7).probabilities(points))
    assert len(np.unique(answers)) == 7


def test_as_many_groups_as_asked_where_means_fall_together() -> None:
    """Whether a centre is used is a matter of rounding there, and must be that of the answers."""
    for seed in range(140, 146):
        random = np.random.default_rng(seed)
        width = random.choice([8, 50, 100])
        rows = unit_rows(random.normal(size=(30, width)).astype(np.float32))
        rows = np.vstack([rows, rows])[random.permutation(60)]
        k = int(random.integers(3, 26))
        labels = random.integers(0, k, 60)
        labels[:k] = np.arange(k)
        answers = NearestCentre.of_groups(rows, labels, k).probabilities(rows).argmax(axis=1)
        assert len(np.unique(answers)) == k


def test_a_far_off_text_does_not_make_all_others_the_same() -> None:
    points, truth = blobs(0.5, k=5)
    points[0], truth[0] = 1e5, 5
    probabilities = NearestCentre.of_groups(points, truth, 6).probabilities(points)
    np.testing.assert_array_equal(labels_of(probabilities), truth)


def test_too_few_different_rows_are_an_error() -> None:
    points = np.repeat(np.eye(2, dtype=np.float32), 10, axis=0)
    with pytest.raises(InputError, match="sees only 2 different texts"):
        NearestCentre.of_groups(points, np.zeros(20, dtype=np.int64), 3)


@pytest.mark.parametrize("k", [2, 3])
def test_what_the_classifier_minimises(k: int) -> None:
    """The mean cross-entropy plus penalty / k |W|^2, found by another way."""
    points, truth = blobs(6.0, rows=120, k=k)
    rows, answers = torch.from_numpy(points).double(), torch.from_numpy(truth)
    weights = torch.zeros(k, points.shape[1], dtype=torch.double, requires_grad=True)
    bias = torch.zeros(k, dtype=torch.double, requires_grad=True)
    search = torch.optim.LBFGS([weights, bias], max_iter=500, tolerance_grad=1e-10, line_search_fn="strong_wolfe")

    def objective() -> torch.Tensor:
        search.zero_grad()
        loss = cross_entropy(rows @ weights.T + bias, answers) + 0.3 / k * (weights**2).sum()
        loss.backward()
        return loss

    search.step(objective)
    found, _ = regression(points, truth, k, penalty=0.3)
    np.testing.assert_allclose(found, weights.detach().numpy(), atol=2e-3)


@pytest.mark.parametrize("k", [8, 20, 33, 59])
@pytest.mark.parametrize("kind", ["linear", "centres", "head"])
def test_a_row_is_answered_the_same_wherever_it_stands(kind: str, k: int) -> None:
    """A product of matrices rounds by a row's place in it, and a row midway between two groups tells."""
    random = np.random.default_rng(k)
    weights = random.normal(size=(k, 384)).astype(np.float32)
    assigner: Assigner
    if kind == "linear":
        assigner = LinearClassifier(weights, np.zeros(k, dtype=np.float32))
    elif kind == "centres":
        assigner = NearestCentre(weights)
    else:
        model = model_class("rstc").from_config({"settings": {}, "task": asdict(Task(384, k, 1, "fast", 0))})
        assigner = Head(model, "rstc", np.arange(k))
    midway = (weights[0] + weights[1]) / 2
    rows = np.vstack([np.tile(midway, (700, 1)), random.normal(size=(700, 384))]).astype(np.float32)
    order = random.permutation(len(rows))
    answers, shuffled = assigner.probabilities(rows), assigner.probabilities(rows[order])
    np.testing.assert_array_equal(shuffled, answers[order])
    np.testing.assert_array_equal(answers[:700], np.tile(answers[0], (700, 1)))
    np.testing.assert_array_equal(assigner.probabilities(rows[-1:])[0], answers[-1])


@pytest.mark.parametrize("k", [2, 4])
def test_classifier_gives_the_groups_back(k: int) -> None:
    points, truth = blobs(1.0, k=k)
    classifier = LinearClassifier.of_groups(points, truth, k)
    assert classifier is not None
    np.testing.assert_array_equal(labels_of(classifier.probabilities(points)), truth)


def test_where_the_classifier_loses_a_group_centres_take_over() -> None:
    points, truth = blobs(1.0)
    # A group whose only row lies on top of another group's rows cannot be cut off by a plane.
    points[0], truth[0] = points[truth == 1].mean(axis=0), 4
    assigner = learnt_groups(points, truth, 5)
    assert len(np.unique(labels_of(assigner.probabilities(points)))) == 5


def test_groups_that_touch_get_lower_confidence_than_groups_apart() -> None:
    def confidence(std: float) -> float:
        points, truth = blobs(std)
        return float(NearestCentre.of_groups(points, truth, 4).probabilities(points).max(axis=1).mean())

    assert confidence(0.5) > 0.99
    assert confidence(5.0) < 0.95


def test_confidence_foretells_the_groups_of_the_neighbours() -> None:
    points, truth = blobs(4.0, rows=1500)
    assigner = NearestCentre.of_groups(points, truth, 4)
    probabilities = assigner.probabilities(points)
    labels = labels_of(probabilities)
    cosine = points @ points.T / np.outer(*[np.linalg.norm(points, axis=1)] * 2)
    np.fill_diagonal(cosine, -2)
    nearest = np.argsort(-cosine, axis=1)[:, :15]
    agreement = (labels[nearest] == labels[:, None]).mean()
    assert probabilities.max(axis=1).mean() == pytest.approx(agreement, abs=0.03)


def test_temperature_scales_with_the_scores() -> None:
    points, truth = blobs(4.0)
    centres = NearestCentre.of_groups(points, truth, 4)
    once = fitting_temperature(points, lambda rows: rows @ centres.centres.T)
    tenfold = fitting_temperature(points, lambda rows: 10 * (rows @ centres.centres.T))
    assert tenfold == pytest.approx(10 * once, rel=1e-2)
