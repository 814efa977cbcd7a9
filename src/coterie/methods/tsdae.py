"""TSDAE: a sentence encoder adapted to texts by rebuilding them from their vector (Wang et al., EMNLP Findings 2021).

Words are deleted from a text (ratio 0.6), what is left is encoded, and a decoder that is given nothing but that one
vector has to tell the whole text, word by word. Its layers are the encoder's own. It is ClusterBERT's first stage,
whose equation (1) is its loss, and features of their own (`tsdae+kmeans`).

    the noise                        `augment.deletion`
    the decoder, tied weights        `nn.decoder.Decoder`
    (1) cross-entropy to the text    `losses.tokens`

Deviations: `docs/methods/clusterbert.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from coterie.engine.batch import Batch
from coterie.engine.phase import Phase
from coterie.features.transformer import TransformerEncoder
from coterie.losses.tokens import mean_surprise
from coterie.methods.deep import MOST_AUGMENTATIONS, Deep
from coterie.methods.deep_model import Augment, DeepSettings, Task, given
from coterie.methods.tuning import Tuning, TuningSettings
from coterie.nn.decoder import Decoder
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.marks import Marks
from coterie.nn.texts import TrainingTexts
from coterie.types import Matrix, Progress, silent

ADAPTATION = "adaptation"


@dataclass(frozen=True)
class TSDAESettings(TuningSettings):
    """The paper's settings; None where the effort decides. One token in `told_every` is rebuilt in an epoch."""

    augment: Augment = "deletion"
    adaptation_epochs: int = 2
    told_every: int | None = None


class TSDAE(Tuning):
    settings: TSDAESettings
    settings_class: ClassVar[type[DeepSettings]] = TSDAESettings
    only_for_training: ClassVar[tuple[str, ...]] = (*Tuning.only_for_training, "turn")
    layers_by_effort: ClassVar[dict[str, int | Literal["all"]]] = {"fast": 1, "balanced": 2, "full": "all"}
    sizes_by_effort: ClassVar[dict[str, int]] = {"fast": 64, "balanced": 64, "full": 8}
    encoder_rates: ClassVar[dict[str, float]] = {"fast": 1e-4, "balanced": 1e-4, "full": 2e-5}
    head_rates: ClassVar[dict[str, float]] = {"fast": 3e-3, "balanced": 3e-3, "full": 2e-5}
    steps_by_effort: ClassVar[dict[str, int]] = {"fast": 3, "balanced": 3, "full": 1}

    def __init__(self, settings: TSDAESettings, task: Task) -> None:
        super().__init__(settings, task)
        self.decoder: Decoder | None = None
        self.places: list[Marks] = []

    @classmethod
    def views_wanted(cls, settings: Any, effort: str) -> int:
        """A fresh deletion for every epoch, or a few that rotate."""
        if settings.augment == "dropout":
            return 0
        return min(MOST_AUGMENTATIONS, cls.noised_views(settings, effort, max(1, cls.epochs_in_all(settings))))

    @classmethod
    def epochs_in_all(cls, settings: Any) -> int:
        return int(settings.adaptation_epochs)

    def join(self, encoder: TrainableEncoder, texts: TrainingTexts, progress: Progress) -> None:
        texts.read_causally(progress)
        following = Marks.following(texts.tokens)
        step = given(self.settings.told_every, self.steps_by_effort[self.task.effort])
        self.places = [following.every(step, turn) for turn in range(step)]
        self.decoder = Decoder(encoder, following.ids)

    def leave(self) -> None:
        self.decoder, self.places = None, []

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"decoder": [] if self.decoder is None else list(self.decoder.parameters())}

    def phases(self) -> list[Phase]:
        epochs, rates = self.settings.adaptation_epochs, self.rates("decoder")
        weights, size = {"reconstruction": 1.0}, self.batch_size
        return [Phase(ADAPTATION, epochs, rates, weights, size, judged=False, look_every=max(1, epochs))]

    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        self.next_turn()

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        return {"reconstruction": self.reconstruction(batch, self.noised(batch, phase), self.told())}

    def noised(self, batch: Batch, phase: Phase) -> Tensor:
        """The vectors of the texts with words deleted."""
        return self.view(batch, 1 + self.rotated(self.views_wanted(self.settings, self.task.effort)), phase)

    def reconstruction(self, batch: Batch, vectors: Tensor, marks: Marks) -> Tensor:
        """(1): how little expected the texts' own words are to a decoder that knows these vectors."""
        assert self.decoder is not None
        states = batch.decoded(self.decoder, vectors, marks)
        return mean_surprise(self.decoder.head.surprise(states, batch.tokens(marks)))

    def told(self) -> Marks:
        """The places that are rebuilt in this epoch: some of every text."""
        return self.places[self.places_turn(int(self.turn) - 1)]

    def places_turn(self, epoch: int) -> int:
        """Which places are told: not always the same ones with the same view, so one more turn for every round."""
        views = max(1, self.views_wanted(self.settings, self.task.effort))
        return (epoch + epoch // views) % len(self.places)


class TSDAEFeatures(TransformerEncoder):
    """The encoder's vectors after TSDAE on the texts of the fit; saved and loaded as the tuned encoder that it is."""

    history: Sequence[dict[str, Any]] = ()

    def __init__(self, encoder: TransformerEncoder, settings: TSDAESettings, effort: str, random_state: int) -> None:
        super().__init__(
            encoder.name, pooling=encoder._pooling, max_length=encoder.max_length, precision=encoder.precision,
            cache=encoder.cache,
        )  # fmt: skip
        self._method = Deep("tsdae", TSDAE, settings, encoder, effort=effort, random_state=random_state)

    def fit_transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        features, vectors, self.history = self._method.tune(texts, progress)
        self.tuned = features.tuned
        self.__dict__.pop("_model", None)  # that of other weights
        return vectors
