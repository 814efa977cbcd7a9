"""Trained methods that read vectors which stand still: any features, and no encoder to train."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from coterie.engine.workers import Workers
from coterie.features.checkpoints import Pooling
from coterie.features.transformer import TransformerEncoder
from coterie.methods.base import Features, Fit
from coterie.methods.deep import Deep
from coterie.methods.deep_model import TrainedSettings
from coterie.nn.texts import StillTexts
from coterie.registry import FeatureName
from coterie.types import Labels, Matrix, Progress, silent

if TYPE_CHECKING:
    from coterie.features.counted import CountedWords


@dataclass(frozen=True)
class FeatureSettings(TrainedSettings):
    """`features`: what every text is turned into, by the names of the methods in two steps; `pooling`: of the encoder,
    as there."""

    features: FeatureName = "minilm"
    pooling: Pooling | None = None


class DeepOnFeatures(Deep):
    """The encoder only gives first groups (`init="two-view"`) and the space in which groupings are judged."""

    def __init__(self, *args: Any, features: Features, **options: Any) -> None:
        super().__init__(*args, **options)
        self.features = features

    def fit(self, texts: Sequence[str], n_clusters: int, progress: Progress = silent) -> Fit:
        self._vectors = self.features.fit_transform(texts, progress)
        fit = super().fit(texts, n_clusters, progress)
        # Features that are trained have a history.
        fit.history = [*getattr(self.features, "history", ()), *fit.history]
        return fit

    @property
    def _layers(self) -> int:
        return 0

    def _augmentations(self) -> int:
        return 0

    def _read(self, encoder: TransformerEncoder, texts: Sequence[str], progress: Progress) -> tuple[Features, Matrix]:
        return self.features, self._vectors

    def _encodable(
        self, views: Sequence[Sequence[str]], workers: Workers, progress: Progress
    ) -> tuple[nn.Module, StillTexts]:
        return nn.Module(), StillTexts([self._vectors], workers.device)

    def _key(
        self,
        n_clusters: int,
        views: Sequence[Sequence[str]],
        first_groups: Labels,
        words: CountedWords | None = None,
    ) -> list[str]:
        # Of the vectors rather than of all that they came from: word vectors are a file, which may change.
        digest = hashlib.sha256(np.ascontiguousarray(self._vectors).data)
        return [*super()._key(n_clusters, views, first_groups, words), digest.hexdigest()]
