"""What methods that tune the encoder by telling words share: settings left to the effort, and noise that rotates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from coterie.engine.phase import ENCODER
from coterie.methods.deep_model import DeepModel, DeepSettings, Task, given

FIXED_VIEWS = 3
"""Noised views where lower layers are frozen: what those make of a view is computed once and used every third epoch."""
PUBLISHED_EPOCHS = 2
FEWEST_STEPS = 120
"""What so many epochs should have at least. A head that begins from nothing needs about as many to know all groups:
small sets have smaller batches for it."""
SMALLEST_BATCH = 64


@dataclass(frozen=True)
class TuningSettings(DeepSettings):
    """`batch_size`, `encoder_rate` and `head_rate` (of everything that is new) are left to the effort.

    `pooling`: a text's vector is the mean over its tokens or the first one.
    """

    batch_size: int | None = None  # type: ignore[assignment]
    encoder_rate: float | None = None
    head_rate: float | None = None
    pooling: Literal["mean", "cls"] = "mean"


class Tuning(DeepModel):
    settings: TuningSettings
    encoder_rates: ClassVar[dict[str, float]]
    head_rates: ClassVar[dict[str, float]]
    turn: Tensor

    def __init__(self, settings: Any, task: Task) -> None:
        super().__init__(settings, task)
        self.register_buffer("turn", torch.zeros((), dtype=torch.long))

    def rates(self, *new: str) -> dict[str, float]:
        """Learning rates of the encoder and of these groups of new parameters."""
        effort = self.task.effort
        head_rate = given(self.settings.head_rate, self.head_rates[effort])
        encoder_rate = given(self.settings.encoder_rate, self.encoder_rates[effort])
        return {ENCODER: encoder_rate, **dict.fromkeys(new, head_rate)}

    @property
    def batch_size(self) -> int:
        """As asked for or as the effort has it; at `balanced` no larger than leaves steps enough."""
        size = super().batch_size
        if self.settings.batch_size is not None or self.task.effort != "balanced":
            return size
        most = PUBLISHED_EPOCHS * self.task.rows // FEWEST_STEPS
        return min(size, max(SMALLEST_BATCH, most))

    def next_turn(self) -> None:
        """To be called before every epoch."""
        self.turn += 1

    def rotated(self, views: int) -> int:
        """Which of the views it is the turn of, from 0 on."""
        return (int(self.turn) - 1) % max(1, views)

    @classmethod
    def noised_views(cls, settings: DeepSettings, effort: str, epochs: int) -> int:
        """As many as there are epochs where nothing about a view can be kept, else a few."""
        return epochs if cls.trained_layers(settings, effort) == "all" else min(epochs, FIXED_VIEWS)
