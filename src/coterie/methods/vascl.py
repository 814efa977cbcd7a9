"""VaSCL: virtual augmentation supported contrastive learning (Zhang et al., ACL Findings 2022).

A text is its own positive under another dropout, and beside that it must be told from its nearest texts in the batch
after a step in the most confusing direction (`losses.virtual`). VaSCL learns representations; the groups are those of
k-means on them, carried on from epoch to epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from coterie.clusterers import KMeans
from coterie.engine.batch import Batch
from coterie.engine.phase import ENCODER, Phase
from coterie.losses.contrastive import instance_contrast
from coterie.losses.virtual import virtual_neighbourhood_loss
from coterie.methods.centres import Centres
from coterie.methods.deep_model import Augment, DeepSettings, Task, given
from coterie.nn.heads import two_layers

STEPS = {"fast": 500, "balanced": 100, "full": 1000}
ENCODER_RATES = {"fast": 5e-6, "balanced": 3e-5, "full": 5e-6}


@dataclass(frozen=True)
class VaSCLSettings(DeepSettings):
    """The paper's settings; `radius` is for vectors of BERT's length, to which ours are scaled."""

    augment: Augment = "dropout"
    temperature: float = 0.05
    neighbours: int = 16
    radius: float = 15.0
    dimensions: int = 128
    head_rate: float = 5e-4
    encoder_rate: float | None = None
    epochs: int | None = None


class VaSCL(Centres):
    settings: VaSCLSettings
    settings_class: ClassVar[type[DeepSettings]] = VaSCLSettings
    augmentations: ClassVar[int] = 1
    draws_together: ClassVar[bool] = False
    only_for_training: ClassVar[tuple[str, ...]] = (*Centres.only_for_training, "contrast")

    def __init__(self, settings: VaSCLSettings, task: Task) -> None:
        super().__init__(settings, task)
        width = task.width
        self.contrast = two_layers(width, settings.dimensions)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"heads": list(self.contrast.parameters())}

    def phases(self) -> list[Phase]:
        chosen, effort = self.settings, self.task.effort
        rates = {ENCODER: given(chosen.encoder_rate, ENCODER_RATES[effort]), "heads": chosen.head_rate}
        epochs = given(chosen.epochs, self.epochs_of(STEPS[effort]))
        return [Phase("contrast", epochs, rates, {"contrast": 1.0, "virtual": 1.0}, self.batch_size)]

    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        self.start_at_first_groups(vectors)

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        chosen = self.settings
        first, second = (self.view(batch, view, phase) for view in (0, 1))
        return {
            "contrast": instance_contrast(self.contrast(first), self.contrast(second), chosen.temperature),
            "virtual": virtual_neighbourhood_loss(
                first, chosen.neighbours, chosen.radius, chosen.temperature, head=self.contrast
            ),
        }

    def settle(self, vectors: Tensor) -> None:
        """k-means from where the centres were, so that a group keeps its number."""
        means = KMeans(self.task.n_clusters, init=self.centres.detach().cpu().numpy() / self.scale)
        found = means.fit(vectors.cpu().numpy()).cluster_centers_
        self.centres.copy_(self.scale * torch.from_numpy(found).to(self.centres))
