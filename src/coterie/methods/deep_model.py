"""What a trained method is made of: what it can be told, what it is built for, and the first groups at hand."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import torch
from torch import Tensor, nn

from coterie.engine.batch import Batch, batch_count
from coterie.engine.phase import ROWS_AT_ONCE, Model, Phase
from coterie.methods.settings import OwnSettings
from coterie.metrics.internal import evenness
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.texts import TrainingTexts
from coterie.types import Labels, Progress

if TYPE_CHECKING:
    from coterie.features.counted import CountedWords
    from coterie.methods.judge import Witness
    from coterie.methods.topics import TopicLearner

Number = TypeVar("Number", int, float)
Init = Literal["two-view", "kmeans"]
Augment = Literal["eda", "wordnet", "deletion", "contextual", "dropout"]
DROPOUT = 0.1
EVEN, NEARLY_EVEN = 0.97, 0.85


@dataclass(frozen=True)
class TrainedSettings(OwnSettings):
    """What every trained method can be told.

    `init`: where the first groups come from, `kmeans` on what the method reads (as published) or `two-view`, the
    default method. `undo=False`: what training has made is kept, as it is in the end and read out as published, even
    where the start or an earlier epoch looks better.
    """

    init: Init = "two-view"
    batch_size: int = 400
    undo: bool = True


@dataclass(frozen=True)
class DeepSettings(TrainedSettings):
    """What every method that may train the encoder can be told.

    `trainable_layers`: 0, the top n, or "all"; None leaves it to the effort. `augment`: how a text's other views are
    made; `dropout` makes none and lets the encoder see the same text differently. `bf16`: products of 16-bit numbers
    where the encoder is trained; None where the processor has them.
    """

    trainable_layers: int | Literal["all"] | None = None
    augment: Augment = "eda"
    augment_rate: float | None = None
    bf16: bool | None = None
    of_trained_encoder: ClassVar[tuple[str, ...]] = ("encoder_rate", "bf16")
    """Settings that mean something only where the encoder is trained."""

    def idle(self) -> dict[str, str]:
        return {"augment_rate": f"augment={self.augment}"} if self.augment == "dropout" else {}


@dataclass(frozen=True)
class Task:
    """What a model is built for."""

    width: int
    n_clusters: int
    rows: int
    effort: str
    random_state: int
    word_width: int | None = None
    """Numbers of a word's vector, where the model learns from words."""


class WordsWanted(NamedTuple):
    """How many words of the texts at most, and whether a vector for each of them."""

    most: int
    with_vectors: bool


class DeepModel(Model):
    """A model with the first groups at hand, and built again from its configuration."""

    settings_class: ClassVar[type[TrainedSettings]] = DeepSettings
    only_for_training: ClassVar[tuple[str, ...]] = ("first_groups",)
    layers_by_effort: ClassVar[dict[str, int | Literal["all"]]] = {"fast": 0, "balanced": 2, "full": "all"}
    sizes_by_effort: ClassVar[dict[str, int]] = {}
    """The batch size, where it is left to the effort."""
    augmentations: ClassVar[int] = 1
    """How many other views of every text it learns from."""
    reads_kmeans: ClassVar[bool] = False
    """Whether k-means on the trained encoder is its main read-out; else that is the head."""
    draws_together: ClassVar[bool] = False
    """Whether texts are drawn to the centres of the groups that the model itself assigns them to."""

    stays_near_start: ClassVar[bool] = False
    """Whether training is to end before its groups are ones that would be undone."""

    first_groups: Tensor

    def __init__(self, settings: Any, task: Task) -> None:
        super().__init__()
        self.settings, self.task = settings, task
        # SBERT's vectors, for which published learning rates were chosen, have coordinates of about 1; ours, length 1.
        self.scale = float(task.width) ** 0.5
        self.blur = nn.Dropout(DROPOUT)
        self.register_buffer("first_groups", torch.zeros(task.rows, dtype=torch.long))

    def config(self) -> dict[str, Any]:
        return {"settings": asdict(self.settings), "task": asdict(self.task)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        return cls(cls.settings_class(**config["settings"]), Task(**config["task"]))

    @classmethod
    def words_wanted(cls, settings: Any) -> WordsWanted | None:
        """The words of the texts that it learns from; None if from none."""
        return None

    def read(self, words: CountedWords) -> None:
        """Takes over the texts' words, where it wants them."""

    def topics_of(self, groups: Labels, vectors: Tensor) -> TopicLearner | None:
        """What learns the topics of these groups, which training ended with, where the model has topics."""
        return None

    def witnesses(self) -> list[Witness]:
        """What has a say, beside the two views, in which grouping is kept."""
        return []

    def begin(self, groups: Labels) -> None:
        """Takes over the groups that training starts from."""
        self.first_groups.copy_(torch.from_numpy(groups))

    @classmethod
    def trained_layers(cls, settings: DeepSettings, effort: str) -> int | Literal["all"]:
        """How many layers of the encoder are trained, from the top."""
        layers = settings.trainable_layers
        return cls.layers_by_effort[effort] if layers is None else layers

    @classmethod
    def views_wanted(cls, settings: DeepSettings, effort: str) -> int:
        """How many other views of every text are to be made, or given."""
        return 0 if settings.augment == "dropout" else cls.augmentations

    def join(self, encoder: TrainableEncoder, texts: TrainingTexts, progress: Progress) -> None:
        """Takes of an encoder that will be trained, and of the texts, what its losses need."""

    def leave(self) -> None:
        """Gives back what `join` took."""

    def view(self, batch: Batch, view: int, phase: Phase) -> Tensor:
        """The vectors of one view, scaled; with `dropout` in the place of augmentation, the text's own seen anew."""
        if self.settings.augment != "dropout":
            return torch.as_tensor(batch.vectors(view) * self.scale)
        vectors = batch.vectors(0) * self.scale
        # An encoder that stands still has no dropout of its own.
        return vectors if phase.trains_encoder else torch.as_tensor(self.blur(vectors))

    def log_p(self, vectors: Tensor) -> Tensor:
        """The logarithm of softmax of the scores of all texts."""
        return torch.cat([self.scores(part).log_softmax(dim=1) for part in torch.split(vectors, ROWS_AT_ONCE)])

    @property
    def batch_size(self) -> int:
        size = given(self.settings.batch_size, self.sizes_by_effort.get(self.task.effort, 1))
        return min(int(size), self.task.rows)

    def epochs_of(self, steps: int) -> int:
        """As many epochs as make about this many steps."""
        return max(1, round(steps / batch_count(self.task.rows, self.batch_size)))

    def by_evenness(self, balanced: float, slight: float, heavy: float) -> float:
        """The value that a paper gives for balanced, slightly and heavily imbalanced sets, told by the first groups."""
        found = evenness(self.first_groups.bincount(minlength=self.task.n_clusters).cpu().numpy())
        return balanced if found > EVEN else slight if found > NEARLY_EVEN else heavy


def given(chosen: Number | None, rule: Number) -> Number:
    """A setting, or what a rule says where it was left open."""
    return rule if chosen is None else chosen
