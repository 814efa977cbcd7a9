"""IDEC: improved deep embedded clustering with local structure preservation (Guo et al., IJCAI 2017).

DEC whose autoencoder goes on reconstructing while its codes are drawn to centres, so that the codes still say what was
read: L = L_r + gamma L_c, the reconstruction with weight 1 and DEC's divergence with weight gamma.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn import functional

from coterie.methods.autoencoding import AutoencoderSettings
from coterie.methods.dec import DEC
from coterie.methods.deep_model import TrainedSettings


@dataclass(frozen=True)
class IDECSettings(AutoencoderSettings):
    gamma: float = 0.1


class IDEC(DEC):
    settings: IDECSettings
    settings_class: ClassVar[type[TrainedSettings]] = IDECSettings

    def clustering_weights(self) -> dict[str, float]:
        return {"reconstruction": 1.0, "cluster": self.settings.gamma}

    def clustering_losses(self, x: Tensor, codes: Tensor, rows: Tensor) -> dict[str, Tensor]:
        reconstruction = functional.mse_loss(self.autoencoder.decode(codes), x)
        return {"reconstruction": reconstruction, **super().clustering_losses(x, codes, rows)}
