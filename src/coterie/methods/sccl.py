"""SCCL: supporting clustering with contrastive learning (Zhang et al., NAACL 2021).

Two augmentations of a text are drawn together by a contrastive head while the text itself is drawn to its cluster's
centre. With `augment="dropout"` the two are the same text under different dropout.

    (1)-(2)  instance contrast                       `losses.contrastive.instance_contrast`
    (3)-(5)  Student-t assignment, target, KL        `losses.student_t`
    (6)      contrast + eta x clustering             `SCCL.phases`

Deviation: the target is computed over all texts once an epoch, as in DEC; the published code does so over each batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from coterie.engine.batch import Batch
from coterie.engine.phase import ENCODER, Phase
from coterie.losses.contrastive import instance_contrast
from coterie.losses.student_t import kl_to_target, student_t
from coterie.methods.centres import TargetedCentres
from coterie.methods.deep_model import DeepSettings, Task, given
from coterie.nn.heads import two_layers

STEPS = {"fast": 1000, "balanced": 100, "full": 1000}
ENCODER_RATES = {"fast": 1e-5, "balanced": 3e-5, "full": 1e-5}
SETTLED = 0.001


@dataclass(frozen=True)
class SCCLSettings(DeepSettings):
    """The paper's settings; `epochs` and `encoder_rate` are left to the effort."""

    eta: float = 10.0
    temperature: float = 0.5
    alpha: float = 1.0
    dimensions: int = 128
    head_rate: float = 1e-3
    encoder_rate: float | None = None
    epochs: int | None = None


class SCCL(TargetedCentres):
    settings: SCCLSettings
    settings_class: ClassVar[type[DeepSettings]] = SCCLSettings
    augmentations: ClassVar[int] = 2
    only_for_training: ClassVar[tuple[str, ...]] = (*TargetedCentres.only_for_training, "contrast")

    def __init__(self, settings: SCCLSettings, task: Task) -> None:
        super().__init__(settings, task)
        width = task.width
        self.contrast = two_layers(width, settings.dimensions)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"heads": [*self.contrast.parameters(), self.centres]}

    def phases(self) -> list[Phase]:
        chosen, effort = self.settings, self.task.effort
        rates = {ENCODER: given(chosen.encoder_rate, ENCODER_RATES[effort]), "heads": chosen.head_rate}
        weights = {"contrast": 1.0, "cluster": chosen.eta}
        epochs = given(chosen.epochs, self.epochs_of(STEPS[effort]))
        return [Phase("joint", epochs, rates, weights, self.batch_size, stop_below=SETTLED)]

    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        self.start_at_first_groups(vectors)
        self.renew_target(vectors)

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        first, second = (self.contrast(self.view(batch, view, phase)) for view in (1, 2))
        assigned = student_t(self.places(batch.vectors(0)), self.centres, self.alpha)
        return {
            "contrast": instance_contrast(first, second, self.settings.temperature),
            "cluster": kl_to_target(assigned, self.target[batch.rows]),
        }
