"""DEC: unsupervised deep embedding for clustering analysis (Xie, Girshick and Farhadi, ICML 2016).

An autoencoder is trained, then its decoder is put away: codes are drawn to centres, more strongly the surer they are.

    (1)      Student-t assignment of codes to centres    `losses.student_t.student_t`
    (2)      KL divergence of the target                 `losses.student_t.kl_to_target`
    (3)      target over all texts, once an epoch        `TargetedCentres.renew_target`
    (6)-(9)  a pair of layers under dropout              `nn.autoencoder.Autoencoder.one_pair`

It ends when fewer than 0.1% of the texts change group in an epoch.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from coterie.engine.phase import Phase
from coterie.losses.student_t import kl_to_target, student_t
from coterie.methods.autoencoding import CLUSTERING, AutoencoderSettings, Autoencoding
from coterie.methods.centres import TargetedCentres
from coterie.methods.deep_model import TrainedSettings

ALPHA = 1.0


class DEC(TargetedCentres, Autoencoding):
    settings: AutoencoderSettings
    settings_class: ClassVar[type[TrainedSettings]] = AutoencoderSettings
    only_for_training: ClassVar[tuple[str, ...]] = (
        *TargetedCentres.only_for_training,
        *Autoencoding.only_for_training,
    )

    @property
    def alpha(self) -> float:
        return ALPHA

    def clustering_weights(self) -> dict[str, float]:
        return {"cluster": 1.0}

    def clustering_losses(self, x: Tensor, codes: Tensor, rows: Tensor) -> dict[str, Tensor]:
        assigned = student_t(codes, self.centres, self.alpha)
        return {"cluster": kl_to_target(assigned, self.target[rows])}

    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        super().refresh(vectors, phase)
        if phase.name == CLUSTERING:
            self.renew_target(vectors)
