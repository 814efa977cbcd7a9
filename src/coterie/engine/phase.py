"""What a method tells the loop: its phases, its losses by name, and what it needs to see of all texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from torch import Tensor, nn

if TYPE_CHECKING:
    from coterie.engine.batch import Batch

ENCODER = "encoder"
"""The parameter group of the encoder's trainable layers; a model names its own groups as it likes."""


ROWS_AT_ONCE = 2048
"""Of all texts, how many go through a head together: more would only need memory."""


@dataclass(frozen=True)
class Phase:
    """A stretch of training with one set of losses and learning rates.

    `rates` names the parameter groups that are trained and how fast; the others stand still. `weights` names the losses
    and what each counts. With `warmup` the rates rise over that share of the steps; with `decay="linear"` they then
    fall to nothing. A phase whose model has no groups to show yet is not `judged`; one that only prepares the next is
    no `candidate`: its states are never the result. A phase ends early when less than `stop_below` of the texts changed
    group in an epoch, or in as many as make 20 steps; not while rates rise, nor, where it only prepares, while its head
    does not know all groups. Where nothing is made of it in between, all texts need only be looked at after every
    `look_every` epochs; after the last they always are.
    """

    name: str
    epochs: int
    rates: Mapping[str, float]
    weights: Mapping[str, float]
    batch_size: int
    warmup: float = 0.0
    decay: Literal["constant", "linear"] = "constant"
    judged: bool = True
    candidate: bool = True
    stop_below: float | None = None
    look_every: int = 1

    @property
    def trains_encoder(self) -> bool:
        return ENCODER in self.rates

    def with_encoder_still(self) -> Phase:
        """The same where the encoder has nothing to train, and looking at all texts costs next to nothing."""
        return replace(self, rates={name: rate for name, rate in self.rates.items() if name != ENCODER}, look_every=1)

    def rate_factor(self, step: int, steps: int) -> float:
        """What the learning rates are multiplied by at a step of this phase."""
        rising = self.warmup * steps
        if step < rising:
            return (step + 1) / (rising + 1)
        if self.decay == "constant":
            return 1.0
        return max(0.0, (steps - step) / max(1.0, steps - rising))


class Model(nn.Module):
    """The trained part of a method beyond the encoder: heads, centres, targets.

    Whatever must outlive a step is a parameter or a buffer, so that a checkpoint has it.
    """

    only_for_training: ClassVar[tuple[str, ...]] = ()
    """Beginnings of the names of buffers and weights that a finished model does without."""

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """Parameters by the names that the phases' `rates` use."""
        raise NotImplementedError

    def phases(self) -> list[Phase]:
        raise NotImplementedError

    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        """Called before every epoch with the vectors of all texts: the place for centres and targets.

        In a phase that looks at all texts less often (`look_every`) they are those of the last look, or newer where
        the training was stopped since and went on: nothing that must come out the same may be made of them there.
        """

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        """The losses that `phase.weights` names, not yet weighted."""
        raise NotImplementedError

    def after_step(self, batch: Batch, phase: Phase) -> None:
        """Called when a step is done, without gradients: the place for what moves with every batch by its own rule."""

    def settle(self, vectors: Tensor) -> None:
        """Called with the vectors of all texts before scores are asked for: the place for what those depend on."""

    def scores(self, vectors: Tensor) -> Tensor:
        """One column a group, the higher the likelier; a row depends on that row alone."""
        raise NotImplementedError

    def survey(self, vectors: Tensor, phase: Phase | None) -> dict[str, Any]:
        """Figures for the history from the vectors of all texts: before the first epoch (no phase) and after each."""
        return {}

    def represented(self, vectors: Tensor) -> Tensor:
        """All texts where the model sees them, given their vectors: what there is to look at when a phase is over."""
        return vectors

    def taught(self) -> Tensor | None:
        """The group that each text was taught in the epoch just over, where the model is taught groups."""
        return None

    def observations(self, batch: Batch, groups: Tensor) -> dict[str, float]:
        """Figures for the history that no loss shows; `groups` of the batch's texts, true ones where known."""
        return {}
