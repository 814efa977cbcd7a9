"""AECL: attention-enhanced contrastive learning for short text clustering (Yao and Li, 2025).

A projection G_z, an attention network between the texts of a batch, and a clustering network G_p, on two views of every
text: the text and its augmentation. Equations and where they are:

    (1)-(3)   similarity S and consistent representation H      `nn.attention.SampleAttention`
    (4), (12) pseudo-labels above a threshold, and their loss   `losses.pseudo_labels`
    (5), (13) entropy of rows, and of the mean assignment       `losses.entropy`
    (6)-(9)   similarity-guided contrast                        `losses.contrastive.similarity_guided_contrast`
    (10)-(11) contrast between groups                           `losses.contrastive.cluster_contrast`
    (14)-(15) the three stages                                  `AECL.phases`
    (18)-(19) negative and positive similarity                  `AECL.observations`
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from coterie.clusterers import KMeans
from coterie.engine.batch import Batch
from coterie.engine.phase import ENCODER, ROWS_AT_ONCE, Phase
from coterie.losses.contrastive import cluster_contrast, similarity_guided_contrast, unguided_contrast
from coterie.losses.entropy import missing_balance, row_entropy
from coterie.losses.pseudo_labels import confident_cross_entropy, pseudo_labels
from coterie.methods.deep_model import DeepModel, DeepSettings, Task, given
from coterie.nn.attention import Form, SampleAttention
from coterie.nn.heads import two_layers

Ablation = Literal["no-ic", "no-stage-1", "no-stage-2", "no-pg", "no-rc"]
LEFT_OUT: dict[Ablation | None, tuple[str, ...]] = {
    "no-stage-1": ("contrast_epochs",),
    "no-stage-2": ("guided_epochs",),
    "no-pg": ("lambda2", "threshold"),
    "no-rc": ("lambda3",),
}
"""What an ablation leaves no use for."""
OF_JOINT = ("lambda3", "lambda4", "tau_cluster", "threshold")
"""What only the third stage uses."""
CONTRAST_STEPS = 120
GUIDED_STEPS = 240
JOINT_STEPS = {"fast": 250, "balanced": 100, "full": 250}
PUBLISHED_EPOCHS = 70
ENCODER_RATES = {"fast": 3e-5, "balanced": 3e-5, "full": 5e-6}
SETTLED, AT_REST = 0.01, 0.001
"""The second and the third stage end when fewer texts than this share change group in an epoch."""
CONTRAST, GUIDED, JOINT = "contrast", "pseudo-labels", "joint"


@dataclass(frozen=True)
class AECLSettings(DeepSettings):
    """The paper's settings; None where a rule chooses by the data (`lambda4`, the epochs of the stages).

    `ablation` leaves something out, by the names of the paper's Tables 3 to 5.
    """

    lambda1: float = 10.0
    lambda2: float = 5.0
    lambda3: float = 0.01
    lambda4: float | None = None
    tau_instance: float = 1.0
    tau_cluster: float = 0.5
    threshold: float = 0.95
    dimensions: int = 128
    attention: Form = "block"
    head_rate: float = 5e-4
    encoder_rate: float | None = None
    contrast_epochs: int | None = None
    guided_epochs: int | None = None
    joint_epochs: int | None = None
    ablation: Ablation | None = None

    def idle(self) -> dict[str, str]:
        of_joint = OF_JOINT if self.joint_epochs == 0 else ()
        left_out = LEFT_OUT.get(self.ablation, ())
        return {
            **super().idle(),
            **dict.fromkeys(of_joint, "joint_epochs=0"),
            **dict.fromkeys(left_out, f"ablation={self.ablation}"),
        }


class AECL(DeepModel):
    settings: AECLSettings
    settings_class: ClassVar[type[DeepSettings]] = AECLSettings
    only_for_training: ClassVar[tuple[str, ...]] = ("first_groups", "labels_fixed", "reference_rows")
    labels_fixed: Tensor
    reference: Tensor
    reference_rows: Tensor

    def __init__(self, settings: AECLSettings, task: Task) -> None:
        super().__init__(settings, task)
        width, dimensions = task.width, settings.dimensions
        self.project = two_layers(width, dimensions)
        self.attend = SampleAttention(dimensions, settings.attention)
        self.assign = nn.Sequential(
            nn.Dropout(0.5), nn.Linear(dimensions, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, task.n_clusters),
        )  # fmt: skip
        rows = torch.randperm(task.rows)[: settings.batch_size].sort().values
        self.register_buffer("labels_fixed", torch.zeros((), dtype=torch.bool))
        self.register_buffer("reference_rows", rows)
        self.register_buffer("reference", torch.zeros(len(rows), dimensions))

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {
            "representation": [*self.project.parameters(), *self.attend.parameters()],
            "assignment": list(self.assign.parameters()),
        }

    def phases(self) -> list[Phase]:
        """Contrast alone; then with the first groups as labels (14); then with its own, and all losses (15)."""
        chosen, without = self.settings, self.settings.ablation
        first, second, third = self._epochs()
        early, late = {"representation": chosen.head_rate}, {"assignment": chosen.head_rate}
        encoder = {ENCODER: self._encoder_rate()}
        guide = {} if without == "no-pg" else {"pseudo": chosen.lambda2}
        contrast = {"contrast": chosen.lambda1}
        calm = {} if without == "no-rc" else {"row_entropy": -chosen.lambda3}
        everything = {"cluster": 1.0, **contrast, **guide, **calm, "balance": self._lambda4()}
        size = self.batch_size
        full = encoder if self.task.effort == "full" else {}
        return [
            Phase(CONTRAST, first, {**full, **early}, contrast, size, judged=False),
            Phase(
                GUIDED,
                second,
                {**full, **early, **late},
                {**contrast, **guide},
                size,
                candidate=False,
                stop_below=SETTLED,
            ),
            Phase(JOINT, third, {**encoder, **early, **late}, everything, size, warmup=0.1, stop_below=AT_REST),
        ]

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        chosen = self.settings
        (z0, h0, s0), (z1, h1, s1) = (self._represent(self.view(batch, view, phase)) for view in (0, 1))
        log_p0, log_p1 = self.assign(h0).log_softmax(dim=1), self.assign(h1).log_softmax(dim=1)
        p0, p1 = log_p0.exp(), log_p1.exp()
        losses = {}
        if chosen.ablation == "no-ic":
            losses["contrast"] = unguided_contrast(z0, z1, chosen.tau_instance)
        else:
            groups = p0.argmax(dim=1)
            losses["contrast"] = similarity_guided_contrast(z0, z1, h0, h1, s0, s1, groups, chosen.tau_instance)
        if "pseudo" in phase.weights:
            if phase.name == GUIDED:
                labels, keep = self.first_groups[batch.rows], torch.ones_like(batch.rows, dtype=torch.bool)
            else:
                labels, keep = pseudo_labels(p0, chosen.threshold)
                if chosen.init == "two-view" and self._epochs()[1]:
                    # The first groups know the words too, the network does not: alone, it drifts away from them.
                    # Without stage 2 it has never learnt them, and numbers groups in its own way.
                    keep = keep & (labels == self.first_groups[batch.rows])
            losses["pseudo"] = confident_cross_entropy(log_p1, labels, keep)
        if phase.name == JOINT:
            losses["cluster"] = cluster_contrast(p0, p1, chosen.tau_cluster)
            losses["balance"] = missing_balance(p0) + missing_balance(p1)
        if "row_entropy" in phase.weights:
            losses["row_entropy"] = row_entropy(p0)
        return losses

    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        """As published, k-means after the first stage gives the labels that the second learns."""
        moved = phase.name == GUIDED and phase.trains_encoder and not self.labels_fixed
        if self.settings.init == "kmeans" and moved:
            means = KMeans(self.task.n_clusters, n_init=3, random_state=self.task.random_state)
            self.first_groups.copy_(torch.from_numpy(means.fit(vectors.cpu().numpy()).labels_))
        self.labels_fixed.fill_(phase.name != CONTRAST)

    def settle(self, vectors: Tensor) -> None:
        """The reference: representations of a fixed random batch, which any text attends to."""
        self.reference.copy_(self.project(self.scale * vectors[self.reference_rows]))

    def represented(self, vectors: Tensor) -> Tensor:
        """H, attending to the same batch as `scores`, as it is now."""
        reference = self.project(self.scale * vectors[self.reference_rows])
        parts = torch.split(vectors, ROWS_AT_ONCE)
        return torch.cat([self.attend.towards(self.project(self.scale * part), reference) for part in parts])

    def scores(self, vectors: Tensor) -> Tensor:
        scores: Tensor = self.assign(self.attend.towards(self.project(self.scale * vectors), self.reference))
        return scores

    def observations(self, batch: Batch, groups: Tensor) -> dict[str, float]:
        similarity = self._represent(self.scale * batch.vectors(0))[2]
        negative = float((similarity * (groups[:, None] != groups[None, :])).sum(dim=1).mean())
        return {"negative_similarity": negative, "positive_similarity": 1 - negative}

    def _represent(self, vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z = self.project(vectors)
        h, similarity = self.attend(z)
        return z, h, similarity

    def _epochs(self) -> tuple[int, int, int]:
        """Epochs of the three stages, by rules that count steps rather than epochs (see `docs/methods/aecl.md`)."""
        chosen = self.settings
        first = given(chosen.contrast_epochs, self.epochs_of(CONTRAST_STEPS))
        second = given(chosen.guided_epochs, self.epochs_of(GUIDED_STEPS))
        third = self.epochs_of(JOINT_STEPS[self.task.effort])
        if self.task.effort == "full":
            third = max(third, PUBLISHED_EPOCHS - first - second)
        first = 0 if chosen.ablation == "no-stage-1" else first
        second = 0 if chosen.ablation == "no-stage-2" else second
        return first, second, given(chosen.joint_epochs, third)

    def _lambda4(self) -> float:
        """How hard the groups are pushed towards equal size, by how equal the first groups are."""
        return given(self.settings.lambda4, self.by_evenness(10.0, 0.18, 0.09))

    def _encoder_rate(self) -> float:
        return given(self.settings.encoder_rate, ENCODER_RATES[self.task.effort])
