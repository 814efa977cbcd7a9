"""What methods with a centre for every group share."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from coterie.engine.phase import ROWS_AT_ONCE
from coterie.losses.student_t import log_student_t, student_t, target_distribution
from coterie.methods.deep_model import DeepModel, Task


class Centres(DeepModel):
    """A centre for every group, first at the mean of the first groups. A text belongs to the nearest."""

    only_for_training: ClassVar[tuple[str, ...]] = ("first_groups", "placed")
    draws_together: ClassVar[bool] = True
    placed: Tensor

    def __init__(self, settings: Any, task: Task) -> None:
        super().__init__(settings, task)
        self.centres = nn.Parameter(torch.zeros(task.n_clusters, self.place_width))
        self.register_buffer("placed", torch.zeros((), dtype=torch.bool))

    @property
    def place_width(self) -> int:
        """Coordinates of a place."""
        return self.task.width

    def places(self, vectors: Tensor) -> Tensor:
        """Where texts with these vectors are among the centres."""
        return torch.as_tensor(self.scale * vectors)

    @torch.no_grad()
    def all_places(self, vectors: Tensor) -> Tensor:
        """The same for any number of texts."""
        return torch.cat([self.places(part) for part in torch.split(vectors, ROWS_AT_ONCE)])

    def represented(self, vectors: Tensor) -> Tensor:
        return self.all_places(vectors)

    @torch.no_grad()
    def start_at_first_groups(self, vectors: Tensor) -> None:
        """Once: each centre goes to the mean of its first group."""
        if self.placed:
            return
        self.centres.copy_(self.means_of(self.first_groups, vectors))
        self.placed.fill_(True)

    def nearness(self, places: Tensor) -> Tensor:
        """Minus half the squared distance to each centre, but for what is the same for all of them."""
        return places @ self.centres.T - (self.centres**2).sum(dim=1) / 2

    @torch.no_grad()
    def means_of(self, groups: Tensor, vectors: Tensor) -> Tensor:
        """The mean of each group in the space of the centres."""
        sums = torch.zeros_like(self.centres).index_add_(0, groups, self.all_places(vectors))
        return sums / groups.bincount(minlength=len(sums)).clamp_min(1)[:, None]

    def scores(self, vectors: Tensor) -> Tensor:
        return self.nearness(self.places(vectors))


class TargetedCentres(Centres):
    """Texts are assigned to the centres by Student's t, and every text has a target."""

    only_for_training: ClassVar[tuple[str, ...]] = (*Centres.only_for_training, "target")
    target: Tensor

    def __init__(self, settings: Any, task: Task) -> None:
        super().__init__(settings, task)
        self.register_buffer("target", torch.zeros(task.rows, task.n_clusters))

    @property
    def alpha(self) -> float:
        """Degrees of freedom of the assignment."""
        return float(self.settings.alpha)

    def scores(self, vectors: Tensor) -> Tensor:
        return log_student_t(self.places(vectors), self.centres, self.alpha)

    @torch.no_grad()
    def renew_target(self, vectors: Tensor) -> None:
        """The target distribution over all texts."""
        parts = [
            student_t(part, self.centres, self.alpha) for part in torch.split(self.all_places(vectors), ROWS_AT_ONCE)
        ]
        self.target.copy_(target_distribution(torch.cat(parts)))
