"""UFT: unsupervised fine-tuning for text clustering (Huang et al., COLING 2020).

Some tokens of every text are masked. The encoder learns to tell them, which keeps it a language model of these texts,
while the texts' vectors are drawn to centres.

    (1)      masked-LM loss + clustering loss        `UFT.phases`
    L_m      -log p of the masked tokens             `losses.tokens`, at the masked places only
    (2)      KL(P || Q)                              `losses.student_t.kl_to_target`
    (3)      Q, Student-t assignment                 `losses.student_t.student_t`
    (4)      the group with the highest q            `TargetedCentres.scores`
    (5)      P, once an epoch, of unmasked texts     `TargetedCentres.renew_target`

Ablations (Table 2): `masked_lm=False`, `pooling="cls"`. Deviations: `docs/methods/uft.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from coterie.engine.batch import Batch
from coterie.engine.phase import ENCODER, Phase
from coterie.losses.student_t import kl_to_target, student_t
from coterie.losses.tokens import mean_surprise
from coterie.methods.centres import TargetedCentres
from coterie.methods.deep_model import DeepSettings, Task, given
from coterie.methods.tuning import SMALLEST_BATCH, Tuning, TuningSettings
from coterie.nn import masked_head
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.masked_words import MaskedWords
from coterie.nn.texts import TrainingTexts
from coterie.types import Progress

PUBLISHED_BATCH = 16
"""(2) is a sum over the texts of a batch: ours is the mean times this, so that it does not depend on the batch."""
SETTLED = 0.001
NEW_HEAD, JOINT = "masked words", "joint"


@dataclass(frozen=True)
class UFTSettings(TuningSettings):
    """The paper's settings; None where the effort decides. There are no other views; `dropout` is BERT's own."""

    augment: Literal["none", "dropout"] = "none"  # type: ignore[assignment]
    alpha: float = 1.0
    masked_share: float = 0.1
    masked_lm: bool = True
    epochs: int | None = None

    of_trained_encoder: ClassVar[tuple[str, ...]] = (
        *TuningSettings.of_trained_encoder, "augment", "masked_share", "masked_lm",
    )  # fmt: skip

    def idle(self) -> dict[str, str]:
        return {"augment_rate": f"augment={self.augment}"}


class UFT(TargetedCentres, Tuning):
    settings: UFTSettings
    settings_class: ClassVar[type[DeepSettings]] = UFTSettings
    only_for_training: ClassVar[tuple[str, ...]] = (*TargetedCentres.only_for_training, "turn")
    augmentations: ClassVar[int] = 0
    stays_near_start: ClassVar[bool] = True
    sizes_by_effort: ClassVar[dict[str, int]] = {"fast": 400, "balanced": 256, "full": 16}
    encoder_rates: ClassVar[dict[str, float]] = {"fast": 3e-5, "balanced": 3e-5, "full": 3e-5}
    head_rates: ClassVar[dict[str, float]] = {"fast": 1e-3, "balanced": 3e-4, "full": 3e-5}
    epochs_by_effort: ClassVar[dict[str, int]] = {"fast": 10, "balanced": 6, "full": 10}

    def __init__(self, settings: UFTSettings, task: Task) -> None:
        super().__init__(settings, task)
        self.masked: MaskedWords | None = None

    def rates(self, *new: str) -> dict[str, float]:
        """At `balanced` the published rate is taken for the smallest batch, and grows with the root of the batch that
        the effort takes: so the noise of Adam's steps in an epoch stays as large."""
        rates = super().rates(*new)
        asked = self.settings.encoder_rate is not None or self.settings.batch_size is not None
        if self.task.effort == "balanced" and not asked:
            rates[ENCODER] *= math.sqrt(self.batch_size / SMALLEST_BATCH)
        return rates

    def join(self, encoder: TrainableEncoder, texts: TrainingTexts, progress: Progress) -> None:
        chosen, task = self.settings, self.task
        self.masked = MaskedWords(
            encoder, texts, share=chosen.masked_share, telling=chosen.masked_lm,
            views=max(1, self.noised_views(chosen, task.effort, self._epochs)),
            seed=task.random_state, progress=progress,
        )  # fmt: skip

    def leave(self) -> None:
        self.masked = None

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        words = [] if self.masked is None else list(self.masked.parameters())
        return {"centres": [self.centres], "words": words}

    def phases(self) -> list[Phase]:
        """A new head learns to tell masked words while the encoder stands still; then (1)."""
        telling = self.masked is not None and self.masked.telling
        rates = self.rates("centres", "words") if telling else self.rates("centres")
        weights = {"cluster": float(PUBLISHED_BATCH), **({"masked": 1.0} if telling else {})}
        phases = [Phase(JOINT, self._epochs, rates, weights, self.batch_size, stop_below=SETTLED)]
        if self.masked is not None and self.masked.is_new:
            rate, size = {"words": masked_head.RATE}, self.masked.texts_at_once
            first = Phase(NEW_HEAD, masked_head.EPOCHS, rate, {"masked": 1.0}, size, decay="linear", judged=False)
            phases.insert(0, first)
        return phases

    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        self.next_turn()
        if phase.name == JOINT:
            self.start_at_first_groups(vectors)
            self.renew_target(vectors)

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        if self.masked is None:
            return {"cluster": self._cluster(batch, batch.vectors(0))}
        turn = self.rotated(self.masked.lessons if phase.name == NEW_HEAD else len(self.masked.views))
        if not self.masked.telling:
            return {"cluster": self._cluster(batch, self.masked.vectors(batch, turn))}
        vectors, surprise = self.masked.read(batch, turn)
        if phase.name == NEW_HEAD:
            return {"masked": mean_surprise(surprise[self.masked.learnt(batch, turn)])}
        return {"cluster": self._cluster(batch, vectors), "masked": mean_surprise(surprise)}

    def _cluster(self, batch: Batch, vectors: Tensor) -> Tensor:
        assigned = student_t(self.places(vectors), self.centres, self.alpha)
        return kl_to_target(assigned, self.target[batch.rows])

    def survey(self, vectors: Tensor, phase: Phase | None) -> dict[str, Any]:
        told = self.masked.accuracy() if self.masked and phase and phase.name == NEW_HEAD else None
        return {} if told is None else {"held_out": told}

    @property
    def _epochs(self) -> int:
        return given(self.settings.epochs, self.epochs_by_effort[self.task.effort])
