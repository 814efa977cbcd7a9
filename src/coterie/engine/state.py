"""How far a training has come: into a checkpoint, out of it again, the same in every process."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import torch
from torch import Tensor, nn

from coterie.engine.checkpoint import Checkpoints, NoCheckpoints, Saved
from coterie.engine.workers import Workers
from coterie.types import Labels


@dataclass
class Position:
    """The next step to be done."""

    phase: int = 0
    epoch: int = 0
    step: int = 0


@dataclass
class TrainingState:
    """What a training knows beside the weights as they are now and what its optimizer remembers.

    `labels` are the groups of the last look, `compared` those that it takes to see whether training has settled, and
    `steps_since` how many steps ago they were; `sums` those of this epoch's losses by name, `epoch_started` a time of
    this process' own clock.
    """

    position: Position = field(default_factory=Position)
    history: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)
    best_score: float | None = None
    labels: Labels | None = None
    compared: Labels | None = None
    steps_since: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    epoch_started: float = 0.0

    def saved(self, weights: dict[str, Tensor], optimizer: torch.optim.Optimizer | None) -> Saved:
        document = {
            "position": asdict(self.position),
            "history": self.history,
            "notes": self.notes,
            "best_score": self.best_score,
            "steps_since": self.steps_since,
            "sums": self.sums,
            "elapsed": time.monotonic() - self.epoch_started,
        }
        saved = Saved(document, weights)
        saved.add("best", self.best)
        if optimizer is not None:
            for index, state in optimizer.state_dict()["state"].items():
                saved.add(f"optimizer/{index}", state)
        seen = {"last": self.labels, "compared": self.compared}
        saved.add("labels", {name: torch.tensor(groups) for name, groups in seen.items() if groups is not None})
        return saved

    @classmethod
    def of(cls, saved: Saved) -> Self:
        document = saved.document
        labels = {name: groups.numpy() for name, groups in saved.part("labels").items()}
        return cls(
            position=Position(**document["position"]),
            history=document["history"],
            notes=document["notes"],
            best=saved.part("best"),
            best_score=document["best_score"],
            labels=labels.get("last"),
            compared=labels.get("compared"),
            steps_since=document["steps_since"],
            sums=document["sums"],
            epoch_started=time.monotonic() - float(document["elapsed"]),
        )


def load_optimizer(optimizer: torch.optim.Optimizer, saved: Saved) -> None:
    """What the optimizer remembered; its rates follow from the position."""
    state = optimizer.state_dict()
    indices = {int(name.split("/")[0]) for name in saved.part("optimizer")}
    state["state"] = {index: saved.part(f"optimizer/{index}") for index in indices}
    optimizer.load_state_dict(state)


def weights_of(model: nn.Module, encoder: nn.Module) -> dict[str, Tensor]:
    """A copy of all of the model, and of the encoder what is trained."""
    parts = {"model": model.state_dict(), "encoder": _trained(encoder)}
    return {
        f"{part}/{name}": tensor.detach().cpu().clone()
        for part, tensors in parts.items()
        for name, tensor in tensors.items()
    }


def load_weights(model: nn.Module, encoder: nn.Module, weights: Saved) -> None:
    model.load_state_dict(weights.part("model"))
    tensors = weights.part("encoder")
    with torch.no_grad():
        for name, parameter in _trained(encoder).items():
            parameter.copy_(tensors[name])


def _trained(encoder: nn.Module) -> dict[str, nn.Parameter]:
    return {name: parameter for name, parameter in encoder.named_parameters() if parameter.requires_grad}


def last_saved(checkpoints: Checkpoints | NoCheckpoints, workers: Workers) -> Saved | None:
    """What the first process finds, in every process."""
    saved = checkpoints.load() if workers.is_main else None
    if workers.count == 1:
        return saved
    packed = workers.from_main(None if saved is None else saved.packed())
    return None if packed is None else Saved.unpacked(packed)
