"""RSTC: pseudo-labels by self-adaptive optimal transport (Zheng et al., ACL 2023).

A classifier on the encoder learns, on two augmentations of every text, the labels that optimal transport makes of its
own predictions for the text. The sizes of the clusters are found by the transport itself, not given.

    pseudo-labels      `losses.transport.self_adaptive_transport`, over all texts once an epoch
    class-wise part    cross-entropy of both augmentations to the pseudo-labels
    instance-wise part `losses.contrastive.instance_contrast`, with weight eta

The classifier first learns the first groups, as published (there k-means).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from coterie.engine.batch import Batch
from coterie.engine.phase import ENCODER, Phase
from coterie.losses.contrastive import instance_contrast
from coterie.losses.transport import self_adaptive_transport
from coterie.methods.deep_model import DeepModel, DeepSettings, Task, given
from coterie.nn.heads import two_layers

FIRST_STEPS = 120
STEPS = {"fast": 500, "balanced": 100, "full": 1000}
ENCODER_RATES = {"fast": 5e-6, "balanced": 3e-5, "full": 5e-6}
SETTLED = 0.01
FIRST, TRANSPORT = "first groups", "transport"


@dataclass(frozen=True)
class RSTCSettings(DeepSettings):
    """The published settings. `balance` pulls the clusters towards equal sizes; the first groups' sizes choose it."""

    batch_size: int = 200
    eta: float = 10.0
    temperature: float = 1.0
    epsilon: float = 0.1
    balance: float | None = None
    dimensions: int = 128
    head_rate: float = 5e-4
    encoder_rate: float | None = None
    epochs: int | None = None


class RSTC(DeepModel):
    settings: RSTCSettings
    settings_class: ClassVar[type[DeepSettings]] = RSTCSettings
    only_for_training: ClassVar[tuple[str, ...]] = ("first_groups", "labels", "contrast")
    augmentations: ClassVar[int] = 2
    labels: Tensor

    def __init__(self, settings: RSTCSettings, task: Task) -> None:
        super().__init__(settings, task)
        width = task.width
        self.contrast = two_layers(width, settings.dimensions)
        self.classify = two_layers(width, task.n_clusters)
        self.register_buffer("labels", torch.zeros(task.rows, dtype=torch.long))

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"heads": [*self.contrast.parameters(), *self.classify.parameters()]}

    def phases(self) -> list[Phase]:
        chosen, effort = self.settings, self.task.effort
        heads = {"heads": chosen.head_rate}
        encoder = {ENCODER: given(chosen.encoder_rate, ENCODER_RATES[effort])}
        weights = {"contrast": chosen.eta, "class": 1.0}
        first, epochs = self.epochs_of(FIRST_STEPS), given(chosen.epochs, self.epochs_of(STEPS[effort]))
        early = encoder if effort == "full" else {}
        return [
            Phase(FIRST, first, {**early, **heads}, weights, self.batch_size, candidate=False),
            Phase(TRANSPORT, epochs, {**encoder, **heads}, weights, self.batch_size, stop_below=SETTLED),
        ]

    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        if phase.name == FIRST:
            self.labels.copy_(self.first_groups)
            return
        with torch.no_grad():
            plan, _ = self_adaptive_transport(self.log_p(vectors), self.settings.epsilon, self._balance())
        self.labels.copy_(plan.argmax(dim=1))

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        first, second = (self.view(batch, view, phase) for view in (1, 2))
        labels = self.labels[batch.rows]
        surprise = [functional.cross_entropy(self.classify(view), labels) for view in (first, second)]
        contrast = instance_contrast(self.contrast(first), self.contrast(second), self.settings.temperature)
        return {"contrast": contrast, "class": surprise[0] + surprise[1]}

    def scores(self, vectors: Tensor) -> Tensor:
        return torch.as_tensor(self.classify(self.scale * vectors))

    def _balance(self) -> float:
        """Published as reg2 / log-alpha: 1/10 for balanced sets, 0.1/10 for slight and 0.1/100 for heavy imbalance."""
        return given(self.settings.balance, self.by_evenness(0.1, 0.01, 0.001))
