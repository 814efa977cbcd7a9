"""What methods that tune the encoder by telling words share: settings left to the effort, and noise that rotates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from coterie.engine.phase import ENCODER
from coterie.features.checkpoints import Pooling
from coterie.methods.deep_model import DeepModel, DeepSettings, Task, given

FIXED_VIEWS = 3
"""Noised views where lower layers are frozen: what those make of a view is computed once and used every third epoch."""
STEPS_AN_EPOCH = 60
"""As far as batches of 64 allow, at `balanced`, where small sets have smaller batches for it: a head that begins from
nothing needs about twice as many to know all groups."""
SMALLEST_BATCH = 64


@dataclass(frozen=True)
class TuningSettings(DeepSettings):
    """`batch_size`, `encoder_rate` and `head_rate` (of everything that is new) are left to the effort.

    `pooling`: a text's vector is the mean over its tokens or the first one; None: as the encoder was published.
    """

    batch_size: int | None = None  # type: ignore[assignment]
    encoder_rate: float | None = None
    head_rate: float | None = None
    pooling: Pooling | None = None


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
        return min(size, max(SMALLEST_BATCH, self.task.rows // STEPS_AN_EPOCH))

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
