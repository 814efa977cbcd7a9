"""DCN: towards k-means-friendly spaces (Yang et al., ICML 2017).

An autoencoder whose codes are drawn to the centres that they are assigned to, the mean over the texts of

    |g(f(x)) - x|^2 / d + lambda / 2 |f(x) - m_s(x)|^2    `losses.centre_distance.distance_to_assigned`

with x of d coordinates of about 1, which is the paper's error for x of length 1;

by turns, for every batch: a step of the network f, g with assignments s and centres m as they are; then the nearest
centre for every text of the batch; then each centre m <- m - (m - f(x)) / c, where c counts the texts that it has had
(`losses.centre_distance.running_means`). No gradient moves the centres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from coterie.engine.batch import Batch
from coterie.engine.phase import Phase
from coterie.losses.centre_distance import distance_to_assigned, running_means
from coterie.methods.autoencoding import CLUSTERING, AutoencoderSettings, Autoencoding
from coterie.methods.deep_model import Task, TrainedSettings


@dataclass(frozen=True)
class DCNSettings(AutoencoderSettings):
    penalty: float = 0.1


class DCN(Autoencoding):
    settings: DCNSettings
    settings_class: ClassVar[type[TrainedSettings]] = DCNSettings
    only_for_training: ClassVar[tuple[str, ...]] = (*Autoencoding.only_for_training, "assigned", "counts")
    trains_centres: ClassVar[bool] = False
    assigned: Tensor
    counts: Tensor

    def __init__(self, settings: DCNSettings, task: Task) -> None:
        super().__init__(settings, task)
        self.register_buffer("assigned", torch.zeros(task.rows, dtype=torch.long))
        self.register_buffer("counts", torch.zeros(task.n_clusters, dtype=torch.long))

    def clustering_weights(self) -> dict[str, float]:
        return {"reconstruction": 1.0, "distance": self.settings.penalty / 2}

    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        begun = bool(self.placed)
        super().refresh(vectors, phase)
        if self.placed and not begun:
            self.assigned.copy_(self.first_groups)
            self.counts.copy_(self.first_groups.bincount(minlength=self.task.n_clusters))

    def clustering_losses(self, x: Tensor, codes: Tensor, rows: Tensor) -> dict[str, Tensor]:
        return {
            "reconstruction": functional.mse_loss(self.autoencoder.decode(codes), x),
            "distance": distance_to_assigned(codes, self.centres, self.assigned[rows]),
        }

    def after_step(self, batch: Batch, phase: Phase) -> None:
        if phase.name != CLUSTERING:
            return
        codes = self.places(batch.vectors(0))
        assigned = self.nearness(codes).argmax(dim=1)
        centres, counts = running_means(self.centres, self.counts, codes, assigned)
        self.assigned[batch.rows] = assigned
        self.centres.copy_(centres)
        self.counts.copy_(counts)
