"""SCCL: centres from the first groups, and targets over all texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.testing import assert_close

from coterie.losses.contrastive import instance_contrast
from coterie.losses.student_t import kl_to_target, student_t, target_distribution
from coterie.methods.rstc import RSTC, RSTCSettings
from coterie.methods.sccl import SCCL, SCCLSettings

Make = Callable[..., Any]
GROUPS = np.repeat([0, 1, 2], [14, 7, 3])
ROWS = [0, 3, 15, 22, 8]


def test_centres_start_at_the_means_of_the_first_groups_and_only_once(model_of: Make, points: Make) -> None:
    model, vectors = model_of(SCCL, SCCLSettings(dimensions=8), GROUPS, 3), points(24, GROUPS)
    (phase,) = model.phases()
    model.refresh(vectors, phase)
    means = torch.stack([vectors[torch.from_numpy(group == GROUPS)].mean(dim=0) for group in range(3)])
    assert_close(model.centres.detach(), means * 12**0.5)
    model.refresh(points(24, GROUPS, seed=9), phase)
    assert_close(model.centres.detach(), means * 12**0.5)


def test_targets_are_those_of_all_texts(model_of: Make, batch_of: Make, points: Make) -> None:
    model = model_of(SCCL, SCCLSettings(dimensions=8, alpha=2.0, temperature=0.7), GROUPS, 3).eval()
    views = [points(24, GROUPS, seed=seed, noise=0.6) for seed in range(3)]
    (phase,) = model.phases()
    model.refresh(views[0], phase)
    assigned = student_t(views[0] * 12**0.5, model.centres, 2.0)
    assert_close(model.target, target_distribution(assigned))
    losses = model.losses(batch_of(views, ROWS), phase)
    assert_close(losses["cluster"], kl_to_target(assigned[ROWS], target_distribution(assigned)[ROWS]))
    of_the_batch = kl_to_target(assigned[ROWS], target_distribution(assigned[ROWS]))
    assert abs(losses["cluster"] - of_the_batch) > 1e-3
    first, second = (model.contrast(view[ROWS] * 12**0.5) for view in views[1:])
    assert_close(losses["contrast"], instance_contrast(first, second, 0.7))


def test_targets_follow_the_texts_every_epoch(model_of: Make, points: Make) -> None:
    model = model_of(SCCL, SCCLSettings(dimensions=8), GROUPS, 3)
    (phase,) = model.phases()
    model.refresh(points(24, GROUPS), phase)
    before = model.target.clone()
    model.refresh(points(24, GROUPS, seed=9), phase)
    assert not torch.allclose(model.target, before)


def test_the_nearest_centre_has_the_highest_score(model_of: Make, points: Make) -> None:
    model, vectors = model_of(SCCL, SCCLSettings(dimensions=8), GROUPS, 3), points(24, GROUPS)
    model.refresh(vectors, model.phases()[0])
    distances = torch.cdist(vectors * 12**0.5, model.centres.detach())
    assert torch.equal(model.scores(vectors).argmax(dim=1), distances.argmin(dim=1))


def test_what_each_loss_counts(model_of: Callable[..., Any]) -> None:
    groups = np.arange(24) % 3
    assert model_of(SCCL, SCCLSettings(eta=7.0), groups, 3).phases()[0].weights == {"contrast": 1.0, "cluster": 7.0}
    assert model_of(RSTC, RSTCSettings(eta=7.0), groups, 3).phases()[1].weights == {"contrast": 7.0, "class": 1.0}
