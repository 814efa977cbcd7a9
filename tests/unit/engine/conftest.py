"""Something small to train: points for texts, a linear encoder, and a model of two layers that notes what it sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from coterie.engine.batch import Batch, Rows
from coterie.engine.loop import Training
from coterie.engine.phase import Model, Phase
from coterie.losses.contrastive import instance_contrast

ROWS, WIDTH, GROUPS = 23, 6, 3


class PointTexts:
    """Texts whose views are points; the encoder is a layer on them."""

    def __init__(self, encoder: nn.Module, views: Tensor) -> None:
        self.encoder, self.views = encoder, views
        self.encoded: list[tuple[int, list[int]]] = []

    def __len__(self) -> int:
        return self.views.shape[1]

    def encode(self, view: int, rows: Rows) -> Tensor:
        self.encoded.append((view, rows.tolist()))
        return torch.as_tensor(self.encoder(self.views[view][torch.from_numpy(rows)]))

    def encode_all(self, view: int, rows: Rows) -> Tensor:
        with torch.no_grad():
            return torch.as_tensor(self.encoder(self.views[view][torch.from_numpy(rows)]))


class ToyModel(Model):
    """A contrast of two views (`project`) and the groups of the points by their first coordinates (`assign`)."""

    counted: Tensor

    def __init__(self, phases: list[Phase], truth: Tensor, dropout: float) -> None:
        super().__init__()
        self.given, self.truth = phases, truth
        self.project, self.assign = nn.Linear(WIDTH, 4), nn.Linear(WIDTH, GROUPS)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("counted", torch.zeros(()))
        self.refreshed: list[tuple[str, Tensor]] = []
        self.batches: list[tuple[str, list[int]]] = []
        self.with_gradient: list[bool] = []
        self.step_losses: list[float] = []
        self.spoil: Callable[[dict[str, Tensor]], dict[str, Tensor]] = lambda losses: losses

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"project": list(self.project.parameters()), "assign": list(self.assign.parameters())}

    def phases(self) -> list[Phase]:
        return self.given

    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        self.refreshed.append((phase.name, vectors.clone()))
        self.counted += 1

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        self.batches.append((phase.name, batch.rows.tolist()))
        early = torch.rand(())  # drawn before the first vectors
        first, second = self.drop(batch.vectors(0)), self.drop(batch.vectors(1))
        self.with_gradient.append(first.requires_grad)
        losses = {
            "contrast": instance_contrast(self.project(first), self.project(second), 0.5) * (1 + early),
            "class": functional.cross_entropy(self.assign(first), self.truth[batch.rows]) + 0 * self.counted,
        }
        losses = self.spoil({name: losses[name] for name in phase.weights})
        self.step_losses.append(sum(float(loss.detach()) for loss in losses.values()))
        return losses

    def scores(self, vectors: Tensor) -> Tensor:
        return torch.as_tensor(self.assign(vectors))

    def observations(self, batch: Batch, groups: Tensor) -> dict[str, float]:
        return {"observed": float(groups.double().mean())}


def build(phases: list[Phase], seed: int = 0, rows: int = ROWS, dropout: float = 0.3, **options: Any) -> Training:
    """A training of always the same points, model and encoder, whatever its own seed."""
    generator = torch.Generator().manual_seed(5)
    points = torch.randn(2, rows, WIDTH, generator=generator)
    truth = torch.arange(rows) % GROUPS
    points[:, torch.arange(rows), truth] += 3
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        encoder = nn.Linear(WIDTH, WIDTH)
        model = ToyModel(phases, truth, dropout)
    options = {"judge": lambda labels: float((labels == truth.numpy()).mean()), **options}
    return Training(model, encoder, PointTexts(encoder, points), seed=seed, **options)


def weights_of(training: Training) -> dict[str, np.ndarray]:
    parts = {"model": training.model, "encoder": training.encoder}
    return {
        f"{part}.{name}": tensor.detach().numpy().copy()
        for part, module in parts.items()
        for name, tensor in module.state_dict().items()
    }


def make_phase(name: str = "only", epochs: int = 2, **options: Any) -> Phase:
    rates = {"encoder": 0.01, "project": 0.02, "assign": 0.03}
    return Phase(
        **{"name": name, "epochs": epochs, "rates": rates, "weights": {"contrast": 1.0, "class": 1.0}, "batch_size": 8}
        | options
    )


@pytest.fixture
def toy() -> Callable[..., Any]:
    """toy(phases, seed=0, ...) -> a Training."""
    return build


@pytest.fixture
def phase() -> Callable[..., Phase]:
    """phase("name", epochs, ...) -> a Phase that trains everything."""
    return make_phase


@pytest.fixture
def weights() -> Callable[[Training], dict[str, np.ndarray]]:
    """Every weight and buffer, copied."""
    return weights_of
