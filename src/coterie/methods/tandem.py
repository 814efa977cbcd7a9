"""Tandem: the encoder and the words teach each other. Our own.

The encoder knows what a text is about, its words which texts go together in this very corpus, and they err on different
texts. Both learn the same groups, those of Duet to begin with; then, once an epoch, what they say together is what the
encoder learns next. As in Duet a text has a share in what its neighbours are; and as such teaching lets large groups
grow, they keep the sizes they began with.

    p_e    softmax of a linear head on the vector of the text as it is               `Tandem.scores`
    p_w    naive Bayes on its words, taught by the groups of all other texts         `methods.told_by_words`
    s      p_e p_w, scaled to sum to 1, mixed with its mean over the neighbours in both views
    q      s, scaled so that its columns sum to the sizes of the first groups        `losses.transport`
    loss   cross-entropy of p_e, of two augmentations of the text, to q

The words are taught by argmax q of the epoch before. Ablations, each by its name: `ablation="no-words"` (s from p_e
alone, neighbours in the encoder's view), `"no-neighbours"`, `"no-sizes"`. What came of it: `docs/methods/tandem.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from coterie.engine.batch import Batch
from coterie.engine.phase import ENCODER, Phase
from coterie.features.counted import CountedWords
from coterie.features.graph import NEIGHBOURS_SHARE, means_of_neighbours, neighbour_graph
from coterie.features.two_views import side_by_side, space_of_counts
from coterie.losses.pseudo_labels import soft_cross_entropy
from coterie.losses.transport import transport_to_sizes
from coterie.methods.deep_model import DeepModel, DeepSettings, Task, WordsWanted, given
from coterie.methods.judge import Witness
from coterie.methods.same_vectors import OfSameVectors
from coterie.methods.told_by_words import JudgedByWords, told_by_words
from coterie.types import Matrix

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FIRST_STEPS = 100
STEPS = 120
FEWEST_EPOCHS = 4
"""So often q is made anew at least, however many steps an epoch has."""
ENCODER_RATES = {"fast": 3e-5, "balanced": 3e-5, "full": 1e-5}
FIRST, TOGETHER = "first groups", "together"


@dataclass(frozen=True)
class TandemSettings(DeepSettings):
    """`words`: the commonest ones, of those that stand in two texts at least. None: left to the effort."""

    batch_size: int = 200
    words: int = 30_000
    head_rate: float = 5e-4
    encoder_rate: float | None = None
    epochs: int | None = None
    ablation: Literal["no-words", "no-neighbours", "no-sizes"] | None = None

    def idle(self) -> dict[str, str]:
        return {**super().idle(), **({"words": "ablation=no-words"} if self.ablation == "no-words" else {})}


class Tandem(DeepModel):
    settings: TandemSettings
    settings_class: ClassVar[type[DeepSettings]] = TandemSettings
    only_for_training: ClassVar[tuple[str, ...]] = ("first_groups", "groups", "target")
    augmentations: ClassVar[int] = 2
    groups: Tensor
    target: Tensor
    words: csr_matrix
    word_view: Matrix

    def __init__(self, settings: TandemSettings, task: Task) -> None:
        super().__init__(settings, task)
        self.head = nn.Linear(task.width, task.n_clusters)
        self.register_buffer("groups", torch.zeros(task.rows, dtype=torch.long))
        self.register_buffer("target", torch.zeros(task.rows, task.n_clusters))
        self._means = OfSameVectors(self._means_in_both_views)

    @classmethod
    def words_wanted(cls, settings: Any) -> WordsWanted | None:
        return None if settings.ablation == "no-words" else WordsWanted(settings.words, with_vectors=False)

    def read(self, words: CountedWords) -> None:
        self.words = (words.counts > 0).astype(np.float64)
        self.word_view = space_of_counts(words.counts, self.task.random_state)

    def witnesses(self) -> list[Witness]:
        return [] if self.settings.ablation == "no-words" else [JudgedByWords(self.words)]

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"head": list(self.head.parameters())}

    def phases(self) -> list[Phase]:
        chosen, effort = self.settings, self.task.effort
        head = {"head": chosen.head_rate}
        encoder = {ENCODER: given(chosen.encoder_rate, ENCODER_RATES[effort])}
        epochs = given(chosen.epochs, max(FEWEST_EPOCHS, self.epochs_of(STEPS)))
        weights = {"groups": 1.0}
        return [
            Phase(FIRST, self.epochs_of(FIRST_STEPS), head, weights, self.batch_size, candidate=False),
            Phase(TOGETHER, epochs, {**head, **encoder}, weights, self.batch_size),
        ]

    @torch.no_grad()
    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        if phase.name == FIRST:
            self.groups.copy_(self.first_groups)
            self.target.copy_(functional.one_hot(self.groups, self.task.n_clusters))
            return
        shares = self._told_by_both(vectors)
        if self.settings.ablation != "no-neighbours":
            of_neighbours = torch.from_numpy(self._means(vectors) @ shares.numpy())
            shares = (1 - NEIGHBOURS_SHARE) * shares + NEIGHBOURS_SHARE * of_neighbours
        if self.settings.ablation != "no-sizes":
            shares = transport_to_sizes(shares.log(), self.first_groups.bincount(minlength=self.task.n_clusters).cpu())
        self.target.copy_(shares)
        self.groups.copy_(self.target.argmax(dim=1))

    def _told_by_both(self, vectors: Tensor) -> Tensor:
        """p_e p_w, scaled."""
        log_p = self.log_p(vectors).cpu()
        if self.settings.ablation != "no-words":
            told = told_by_words(self.words, self.groups.cpu().numpy(), self.task.n_clusters)
            log_p = log_p + torch.from_numpy(told)
        return log_p.softmax(dim=1)

    def leave(self) -> None:
        self._means.forget()

    def _means_in_both_views(self, vectors: Tensor) -> csr_matrix:
        encoded = vectors.cpu().numpy()
        views = encoded if self.settings.ablation == "no-words" else side_by_side(encoded, self.word_view)
        return means_of_neighbours(neighbour_graph(views - views.mean(axis=0)))

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        target = self.target[batch.rows]
        views = [self.head(self.view(batch, view, phase)).log_softmax(dim=1) for view in (1, 2)]
        return {"groups": soft_cross_entropy(views[0], target) + soft_cross_entropy(views[1], target)}

    def taught(self) -> Tensor:
        return self.groups

    def scores(self, vectors: Tensor) -> Tensor:
        return torch.as_tensor(self.head(self.scale * vectors))
