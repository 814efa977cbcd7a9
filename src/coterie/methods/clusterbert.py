"""ClusterBERT: multi-stage fine-tuning of transformers for deep text clustering.

Three stages. The encoder is adapted to the texts by TSDAE; then a clustering head learns the groups that k-means finds
among the vectors, which are found anew in every round; then it learns its own answers, sharpened. The head and the
decoder are always given the noised text.

    (1)      reconstruction                          `methods.tsdae`
    (2)      p, a linear layer and softmax           `ClusterBERT.scores`
    (3)      cross-entropy of noised p to q          `losses.pseudo_labels.soft_cross_entropy`
    (4)      lambda (3) + (1 - lambda) (1)           `ClusterBERT.phases`
    (5)      q from p of the clean texts             `losses.student_t.target_distribution`

The read-outs, k-means on the vectors (the paper's main one) and the head, are both compared in the end. Ablation
(figure 4): `ablation="no-reconstruction"`. Deviations: `docs/methods/clusterbert.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from coterie.clusterers import KMeans
from coterie.clusterers.matching import numbered_like
from coterie.engine.batch import Batch
from coterie.engine.phase import Phase
from coterie.losses.pseudo_labels import soft_cross_entropy
from coterie.losses.student_t import target_distribution
from coterie.methods.deep_model import DeepSettings, Task, given
from coterie.methods.same_vectors import OfSameVectors
from coterie.methods.tsdae import ADAPTATION, TSDAE, TSDAESettings
from coterie.methods.tuning import STEPS_AN_EPOCH
from coterie.metrics.internal import finite, internal_scores
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.marks import Marks
from coterie.nn.texts import TrainingTexts
from coterie.types import Labels, Matrix, Progress
from coterie.vectors import group_means

CLUSTERING, HARDENING = "clustering", "hardening"
RESTARTS = 3
PUBLISHED_EPOCHS = 2
FEWEST_STEPS = PUBLISHED_EPOCHS * STEPS_AN_EPOCH
"""Of a round: a head that begins from nothing needs about as many to know all groups. Where batches are as small as
they get, small sets have more epochs for it."""
BESIDE_RECONSTRUCTION = ("adaptation_epochs", "told_every", "lambda_clustering", "lambda_hardening")
"""Settings that mean something only where texts are rebuilt: a share of a single loss is none."""


@dataclass(frozen=True)
class ClusterBERTSettings(TSDAESettings):
    """The paper's settings; where it searched, the smaller epochs and the larger rounds. None: see `_epochs`."""

    lambda_clustering: float = 0.8
    lambda_hardening: float = 0.75
    rounds: int = 2
    round_epochs: int | None = None
    hardening_epochs: int | None = None
    ablation: Literal["no-reconstruction"] | None = None
    of_trained_encoder: ClassVar[tuple[str, ...]] = (
        *TSDAESettings.of_trained_encoder, *BESIDE_RECONSTRUCTION, "ablation",
    )  # fmt: skip

    def idle(self) -> dict[str, str]:
        rebuilding = BESIDE_RECONSTRUCTION if self.ablation else ()
        hardening = ("lambda_hardening",) if self.hardening_epochs == 0 else ()
        return {
            **super().idle(),
            **dict.fromkeys(rebuilding, f"ablation={self.ablation}"),
            **dict.fromkeys(hardening, "hardening_epochs=0"),
        }


class ClusterBERT(TSDAE):
    settings: ClusterBERTSettings
    settings_class: ClassVar[type[DeepSettings]] = ClusterBERTSettings
    only_for_training: ClassVar[tuple[str, ...]] = (*TSDAE.only_for_training, "target")
    layers_by_effort: ClassVar[dict[str, int | Literal["all"]]] = {"fast": 0, "balanced": 2, "full": "all"}
    sizes_by_effort: ClassVar[dict[str, int]] = {"fast": 400, "balanced": 256, "full": 8}
    reads_kmeans: ClassVar[bool] = True
    target: Tensor

    def __init__(self, settings: ClusterBERTSettings, task: Task) -> None:
        super().__init__(settings, task)
        self.head = nn.Linear(task.width, task.n_clusters)
        self.register_buffer("target", torch.zeros(task.rows, task.n_clusters))
        # Of the same vectors groups are found once, for the survey and for the round after it.
        self._kmeans = OfSameVectors(self._by_kmeans)
        self._surveyed = OfSameVectors(self._silhouette_and_dunn)
        self._whole_texts: list[Marks] = []

    def join(self, encoder: TrainableEncoder, texts: TrainingTexts, progress: Progress) -> None:
        if self.settings.ablation == "no-reconstruction":
            return
        super().join(encoder, texts, progress)
        # Beside the groups as many tokens are rebuilt, but all of one text: the others need not be decoded.
        following, step = Marks.following(texts.tokens), len(self.places)
        self._whole_texts = [following.of_texts(step, turn) for turn in range(step)]

    def leave(self) -> None:
        super().leave()
        self._whole_texts = []
        self._kmeans.forget()
        self._surveyed.forget()

    @classmethod
    def epochs_in_all(cls, settings: Any) -> int:
        round_epochs, last = (given(n, PUBLISHED_EPOCHS) for n in (settings.round_epochs, settings.hardening_epochs))
        adaptation = 0 if settings.ablation else settings.adaptation_epochs
        return int(adaptation + settings.rounds * round_epochs + last)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {**super().parameter_groups(), "head": list(self.head.parameters())}

    def phases(self) -> list[Phase]:
        """Domain adaptation, clustering, hardening: (4) with another lambda in each, in the first it is 0."""
        chosen, size = self.settings, self.batch_size
        rates = self.rates("decoder", "head")
        epochs = {
            ADAPTATION: chosen.adaptation_epochs if self._rebuilds else 0,
            CLUSTERING: chosen.rounds * self._epochs(chosen.round_epochs),
            HARDENING: self._epochs(chosen.hardening_epochs),
        }
        lambdas = {ADAPTATION: 0.0, CLUSTERING: chosen.lambda_clustering, HARDENING: chosen.lambda_hardening}
        # Clean texts are read at the end of a round, and before every epoch that hardens.
        looks = {ADAPTATION: chosen.adaptation_epochs, CLUSTERING: self._epochs(chosen.round_epochs), HARDENING: 1}

        def phase(stage: str) -> Phase:
            weights, look_every = self._weights(lambdas[stage]), max(1, looks[stage])
            judged = stage != ADAPTATION
            return Phase(stage, epochs[stage], rates, weights, size, judged=judged, look_every=look_every)

        return [phase(stage) for stage in epochs]

    def _epochs(self, chosen: int | None) -> int:
        """As published, unless those would be very few steps."""
        least = 1 if self.task.effort == "full" else self.epochs_of(FEWEST_STEPS)
        return given(chosen, max(PUBLISHED_EPOCHS, least))

    @property
    def _rebuilds(self) -> bool:
        """Not without a decoder: with an encoder that is not trained there is nothing that it could teach."""
        return self.decoder is not None and self.settings.ablation != "no-reconstruction"

    def _weights(self, weight: float) -> dict[str, float]:
        rebuilding = {"reconstruction": 1 - weight} if self._rebuilds else {}
        return {**({"cluster": weight} if weight else {}), **rebuilding}

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        vectors = self.noised(batch, phase)
        losses = {}
        if "cluster" in phase.weights:
            log_p = self.head(vectors).log_softmax(dim=1)
            losses["cluster"] = soft_cross_entropy(log_p, self.target[batch.rows])
        if "reconstruction" in phase.weights:
            marks = self._told_beside_groups() if "cluster" in phase.weights else self.told()
            losses["reconstruction"] = self.reconstruction(batch, vectors, marks)
        return losses

    def _told_beside_groups(self) -> Marks:
        """All of one text in so many, in turns."""
        return self._whole_texts[self.places_turn(self._epochs_after_adaptation)]

    @property
    def _epochs_after_adaptation(self) -> int:
        """How many of the second stage and the third are over."""
        return int(self.turn) - 1 - self.phases()[0].epochs

    @torch.no_grad()
    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        super().refresh(vectors, phase)
        over = self._epochs_after_adaptation
        if phase.name == CLUSTERING and over % self._epochs(self.settings.round_epochs) == 0:
            self._cluster(vectors, is_first=over == 0)
            self.target.copy_(functional.one_hot(self.first_groups, self.task.n_clusters))
        elif phase.name == HARDENING:
            self.target.copy_(target_distribution(self.scores(vectors).softmax(dim=1)))

    def _cluster(self, vectors: Tensor, is_first: bool) -> None:
        """Groups by k-means, as published; from the two-view start on, k-means goes on from the groups there are."""
        groups = self.first_groups.cpu().numpy()
        if self.settings.init == "kmeans":
            found = self._kmeans(vectors)
        elif is_first:
            return
        else:
            found = continued(vectors.cpu().numpy(), groups, self.task.n_clusters)
        # A group that is mostly the same keeps its number, or the head would have to learn all of them anew.
        self.first_groups.copy_(torch.from_numpy(numbered_like(found, groups, self.task.n_clusters)))

    def _by_kmeans(self, vectors: Tensor) -> Labels:
        means = KMeans(self.task.n_clusters, n_init=RESTARTS, random_state=self.task.random_state)
        return np.asarray(means.fit(vectors.cpu().numpy()).labels_, dtype=np.int64)

    def survey(self, vectors: Tensor, phase: Phase | None) -> dict[str, Any]:
        """Silhouette and Dunn index of k-means on the vectors (figure 3)."""
        return self._surveyed(vectors)

    def _silhouette_and_dunn(self, vectors: Tensor) -> dict[str, Any]:
        return finite(internal_scores(vectors.cpu().numpy(), self._kmeans(vectors)))

    def scores(self, vectors: Tensor) -> Tensor:
        return torch.as_tensor(self.head(self.scale * vectors))


def continued(points: Matrix, groups: Labels, n_clusters: int) -> Labels:
    """k-means from the means of these groups."""
    found, _ = group_means(points, groups)
    means = np.zeros((n_clusters, points.shape[1]), dtype=points.dtype)
    means[: len(found)] = found
    return np.asarray(KMeans(n_clusters, init=means).fit(points).labels_, dtype=np.int64)
