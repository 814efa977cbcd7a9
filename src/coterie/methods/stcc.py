"""STCC: self-taught convolutional networks for short text clustering (Xu et al., Neural Networks 2017; STC2).

    z          unsupervised features of the texts
    B          1 where a coordinate of z is above its median over all texts, else 0
    network    learns to say the binary code of a text from its words: sigmoid outputs, binary cross-entropy
    groups     k-means on the network's vectors h

Deviations: the network is ADSL's dense CNN, so that the two differ in what is learnt and not in what learns it (the
paper has two convolutions with folding and k-max pooling on 48-dimensional word vectors). Adam with a rate of 1e-3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from coterie.engine.batch import Batch
from coterie.engine.phase import ENCODER, Phase
from coterie.methods.self_taught import (
    Clusterer,
    Learner,
    Lesson,
    PreClustering,
    SelfTaughtSettings,
    Unsupervised,
)


@dataclass(frozen=True)
class STCCSettings(SelfTaughtSettings):
    """`features`: what the binary codes are made of; a batch is the paper's."""

    features: Unsupervised = "ae"
    batch_size: int = 200


class STCC(Learner):
    settings: STCCSettings
    settings_class: ClassVar[type[SelfTaughtSettings]] = STCCSettings
    clusterer: ClassVar[Clusterer] = "kmeans"
    codes: Tensor

    def __init__(self, settings: STCCSettings, lesson: Lesson) -> None:
        super().__init__(settings, lesson)
        self.say = nn.Linear(lesson.width, lesson.code)
        self.register_buffer("codes", torch.zeros(lesson.rows, lesson.code))

    def begin(self, found: Sequence[PreClustering]) -> None:
        self.codes.copy_(binary_codes(torch.from_numpy(found[0].vectors)))

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"output": list(self.say.parameters())}

    def phases(self) -> list[Phase]:
        rates = {ENCODER: self.settings.rate, "output": self.settings.rate}
        # Codes are no groups: there is nothing to judge before the end.
        return [Phase("binary codes", self.epochs(), rates, {"codes": 1.0}, self.batch_size, judged=False)]

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        said, codes = self.say(batch.vectors()), self.codes[batch.rows]
        return {"codes": functional.binary_cross_entropy_with_logits(said, codes)}


def binary_codes(z: Tensor) -> Tensor:
    """1 where a coordinate is above its median over all texts, else 0."""
    return (z > z.median(dim=0).values).to(z.dtype)
