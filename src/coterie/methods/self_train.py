"""Self-Train: a self-training approach for short text clustering (Hadifar et al., RepL4NLP 2019).

SIF vectors (`features.sif`), an autoencoder d-500-500-2000-20 trained as a whole, and DEC's self-training: the target
distribution over all texts is what the encoder learns next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from coterie.methods.autoencoding import AutoencoderSettings, Steps
from coterie.methods.dec import DEC
from coterie.methods.deep import TrainedSettings
from coterie.registry import FeatureName


@dataclass(frozen=True)
class SelfTrainSettings(AutoencoderSettings):
    features: FeatureName = "sif"
    batch_size: int = 64
    layers: tuple[int, ...] = (500, 500, 2000, 20)
    pretraining: Literal["greedy", "joint"] = "joint"


class SelfTrain(DEC):
    settings: SelfTrainSettings
    settings_class: ClassVar[type[TrainedSettings]] = SelfTrainSettings
    steps: ClassVar[dict[str, Steps]] = {
        "fast": Steps(100, 1000, 600),
        "balanced": Steps(300, 2500, 1500),
        "full": Steps(1000, 4500, 1500),
    }
