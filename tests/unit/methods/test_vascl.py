"""VaSCL: groups that keep their numbers, and views without texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from coterie.losses.contrastive import instance_contrast
from coterie.methods import vascl
from coterie.methods.deep import Deep
from coterie.methods.sccl import SCCL, SCCLSettings
from coterie.methods.vascl import VaSCL, VaSCLSettings

Make = Callable[..., Any]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 0, 2]])
def test_groups_keep_their_numbers(order: list[int], model_of: Make, points: Make) -> None:
    place = np.arange(30) % 3
    groups = np.array(order)[place]
    model, vectors = model_of(VaSCL, VaSCLSettings(dimensions=8), groups, 3), points(30, place)
    (phase,) = model.phases()
    model.refresh(vectors, phase)
    for seed in (0, 1, 2):  # the encoder has moved a little
        with torch.no_grad():
            moved = points(30, place, seed=seed)
            model.settle(moved)
            np.testing.assert_array_equal(model.scores(moved).argmax(dim=1).numpy(), groups)


def test_the_centres_are_those_of_k_means(model_of: Make, points: Make) -> None:
    place = np.arange(30) % 3
    wrong = np.where(np.arange(30) < 3, (place + 1) % 3, place)  # three texts begin in a wrong group
    model, vectors = model_of(VaSCL, VaSCLSettings(dimensions=8), wrong, 3), points(30, place)
    model.refresh(vectors, model.phases()[0])
    with torch.no_grad():
        model.settle(vectors)
    means = torch.stack([vectors[torch.from_numpy(place == group)].mean(dim=0) for group in range(3)])
    torch.testing.assert_close(model.centres.detach() / 12**0.5, means, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "model", "settings", "views"),
    [
        ("vascl", VaSCL, VaSCLSettings(epochs=2), [0, 1]),
        ("sccl", SCCL, SCCLSettings(epochs=2, augment="dropout"), [1, 2]),
    ],
)
def test_dropout_makes_two_views_of_one_text(
    name: str, model: Any, settings: Any, views: list[int], fake_encoder: Any, themed: Any, monkeypatch: Any
) -> None:
    """With an encoder that stands still, too, which has no dropout of its own."""
    seen: list[torch.Tensor] = []
    view = model.view

    def noting(self: Any, batch: Any, number: int, phase: Any) -> torch.Tensor:
        assert number in views
        seen.append(view(self, batch, number, phase).detach())
        return seen[-1]

    monkeypatch.setattr(model, "view", noting)
    method = Deep(name, model, settings, fake_encoder, effort="fast", random_state=0)
    fit = method.fit(themed[0], 4)
    assert len(fit.history) > 0
    assert {tuple(texts) for texts in fake_encoder.encoded} == {tuple(themed[0])}, "no other texts were needed"
    pairs = list(zip(seen[::2], seen[1::2], strict=True))
    assert len(pairs) >= 2
    for first, second in pairs:
        assert first.shape == second.shape
        assert not torch.equal(first, second)
        cosine = torch.nn.functional.cosine_similarity(first, second)
        assert cosine.mean() > 0.7, "they are the same text"


def test_its_losses_are_of_the_projected_views_and_of_the_neighbours(
    model_of: Callable[..., Any],
    batch_of: Callable[..., Any],
    points: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = np.arange(24) % 3
    chosen = VaSCLSettings(dimensions=8, augment="eda", neighbours=3, radius=2.0, temperature=0.3)
    model = model_of(VaSCL, chosen, groups, 3).eval()
    asked: list[Any] = []

    def virtual(vectors: Any, *options: Any, head: Any) -> Any:
        asked.append((vectors, options, head))
        return vectors.sum()

    monkeypatch.setattr(vascl, "virtual_neighbourhood_loss", virtual)
    views, rows = [points(24, groups, seed=seed) for seed in (0, 1)], [3, 17, 4]
    loss = model.losses(batch_of(views, rows), model.phases()[0])["contrast"]
    one, two = (view[rows] * 12**0.5 for view in views)
    assert_close(loss, instance_contrast(model.contrast(one), model.contrast(two), 0.3))
    assert_close(asked[0][0], one)
    assert asked[0][1:] == ((3, 2.0, 0.3), model.contrast)
