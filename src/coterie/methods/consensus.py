"""Consensus: a network taught by the texts on which several pre-clusterings agree (Chen et al.; ADSL's reference [19]).

    groupings   several features, several clusterers, the same number of groups
    consensus   groups are matched one to one with those of the first; a text is a training sample where all agree
    network     learns the agreed group of the training samples, one-hot
    groups      agglomerative clustering of the network's vectors h of all texts

Deviation: the network is ADSL's dense CNN; the authors' is a recurrent convolutional one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from coterie.clusterers.matching import numbered_like
from coterie.engine.batch import Batch
from coterie.engine.phase import ENCODER, Phase
from coterie.errors import InputError
from coterie.losses.pseudo_labels import confident_cross_entropy
from coterie.methods.self_taught import (
    Clusterer,
    Learner,
    Lesson,
    PreClustering,
    SelfTaughtSettings,
    Unsupervised,
)
from coterie.types import Labels


@dataclass(frozen=True)
class ConsensusSettings(SelfTaughtSettings):
    """Only the settings that all of the family have."""


class Consensus(Learner):
    settings: ConsensusSettings
    settings_class: ClassVar[type[SelfTaughtSettings]] = ConsensusSettings
    groups: Tensor
    agreed: Tensor

    def __init__(self, settings: ConsensusSettings, lesson: Lesson) -> None:
        super().__init__(settings, lesson)
        self.classify = nn.Linear(lesson.width, lesson.groups)
        self.register_buffer("groups", torch.zeros(lesson.rows, dtype=torch.long))
        self.register_buffer("agreed", torch.zeros(lesson.rows, dtype=torch.bool))

    @staticmethod
    def pre_clusterings(settings: Any) -> list[tuple[Unsupervised, Clusterer]]:
        return [("ae", "ward"), ("ae", "kmeans"), ("lda", "kmeans")]

    def begin(self, found: Sequence[PreClustering]) -> None:
        self.groups.copy_(torch.from_numpy(found[0].groups))
        self.agreed.copy_(torch.from_numpy(agreement([part.groups for part in found], self.lesson.groups)))
        if not self.agreed.any():
            raise InputError(
                "consensus: there is no text on which all pre-clusterings agree, so there is nothing to learn from: "
                "ask for fewer groups, or take another method"
            )

    def remarks(self) -> list[str]:
        untaught = int((self.groups[self.agreed].bincount(minlength=self.lesson.groups) == 0).sum())
        without = f"; {untaught:,} of {self.lesson.groups:,} groups have none of these" if untaught else ""
        return [f"the pre-clusterings agree on {self.agreed.float().mean():.0%} of the texts{without}"]

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"classifier": list(self.classify.parameters())}

    def phases(self) -> list[Phase]:
        rates = {ENCODER: self.settings.rate, "classifier": self.settings.rate}
        return [Phase("agreed groups", self.epochs(), rates, {"agreed": 1.0}, self.batch_size)]

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        log_p = self.scores(batch.vectors()).log_softmax(dim=1)
        return {"agreed": confident_cross_entropy(log_p, self.groups[batch.rows], self.agreed[batch.rows])}

    def scores(self, vectors: Tensor) -> Tensor:
        return torch.as_tensor(self.classify(vectors))


def agreement(groupings: Sequence[Labels], n_groups: int) -> NDArray[np.bool_]:
    """Which texts are in the same group everywhere, when groups are matched so that as many texts as can be are."""
    first, *others = groupings
    return np.asarray(np.all([numbered_like(other, first, n_groups) == first for other in others], axis=0))
