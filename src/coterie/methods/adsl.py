"""ADSL: document-level attention based on dynamic soft labels (Chen, Guo, Dai, Ling and Du, Interspeech 2019).

Features of an autoencoder are clustered; how near a text is to the centroids makes its soft label; a densely connected
CNN learns the labels, corrects them every `interval` epochs, and learns for every text how much to believe its
label. Agglomerative clustering of the network's vectors h gives the groups. Equations and where they are:

    (1)-(3)   soft labels                                  `losses.soft_labels.soft_labels`
    (4)-(5)   labels corrected by the network              `losses.soft_labels.updated_labels`, `ADSL.refresh`
    (6)       densely connected CNN, max-pooling           `nn.dense_cnn.DenseCnn`
    (7)       softmax on h                                 `ADSL.scores`
    (8)-(10)  cross-entropy, document-level attention      `losses.soft_labels`

`variant` leaves parts out, by the names of Table 2: `one` learns the nearest centroid, `sl` the soft labels of the
beginning, `dsl` corrects them, `adsl` does all of it.

Deviations: rates fall to 0 in a straight line; a long h is shortened where it is classified, and all have length 1
where they are clustered. The attention of a group sums to its size rather than to 1, so every text weighs 1 at the
start. When labels change, v is set back to 1, but Adam's moments of it are kept. The paper's word vectors are
word2vec's; here they come from a file, or from the texts themselves; words that every English text has are left out.
(5) is as printed; `update="normalised"` divides the sum in (4) by its total instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from coterie.engine.batch import Batch
from coterie.engine.phase import ENCODER, Phase
from coterie.errors import ConfigError
from coterie.losses.soft_labels import (
    Update,
    document_attention,
    soft_labels,
    updated_labels,
    weighted_cross_entropy,
)
from coterie.methods.self_taught import Learner, Lesson, PreClustering, SelfTaughtSettings, Unsupervised
from coterie.vectors import group_means

Variant = Literal["one", "sl", "dsl", "adsl"]
CORRECTED: tuple[Variant, ...] = ("dsl", "adsl")


@dataclass(frozen=True)
class ADSLSettings(SelfTaughtSettings):
    """The paper's settings. `r` groups are found beforehand, by default as many as are asked for."""

    features: Unsupervised = "ae"
    variant: Variant = "adsl"
    r: int | None = None
    alpha: float = 10.0
    delta: float = 0.85
    interval: int = 6
    update: Update = "softmax"
    attention_rate: float = 1e-3

    def idle(self) -> dict[str, str]:
        soft = () if self.variant != "one" else ("alpha",)
        corrected = () if self.variant in CORRECTED else ("delta", "interval", "update")
        attended = () if self.variant == "adsl" else ("attention_rate",)
        return dict.fromkeys((*soft, *corrected, *attended), f"variant={self.variant}")


class ADSL(Learner):
    settings: ADSLSettings
    settings_class: ClassVar[type[SelfTaughtSettings]] = ADSLSettings
    original: Tensor
    labels: Tensor
    groups: Tensor
    done: Tensor

    def __init__(self, settings: ADSLSettings, lesson: Lesson) -> None:
        super().__init__(settings, lesson)
        self.classify = nn.Linear(lesson.width, lesson.groups)
        self.v = nn.Parameter(torch.ones(lesson.rows))
        self.register_buffer("original", torch.zeros(lesson.rows, lesson.groups))
        self.register_buffer("labels", torch.zeros(lesson.rows, lesson.groups))
        self.register_buffer("groups", torch.zeros(lesson.rows, dtype=torch.long))
        self.register_buffer("done", torch.zeros((), dtype=torch.long))

    @staticmethod
    def groups_before(settings: Any, n_clusters: int, rows: int) -> int:
        if settings.r is not None and settings.r > rows:
            raise ConfigError(f"setting r={settings.r:,} for {rows:,} different texts: give at most {rows:,}")
        return settings.r or n_clusters

    def begin(self, found: Sequence[PreClustering]) -> None:
        z, groups = found[0].vectors, found[0].groups
        centroids, _ = group_means(z, groups)
        self.original.copy_(soft_labels(torch.from_numpy(z), torch.from_numpy(centroids), self.settings.alpha))
        if self.settings.variant == "one":
            nearest = self.original.argmax(dim=1)
            self.original.copy_(nn.functional.one_hot(nearest, self.lesson.groups))
        self._teach(self.original)

    def _teach(self, labels: Tensor) -> None:
        self.labels.copy_(labels)
        self.groups.copy_(labels.argmax(dim=1))

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"classifier": list(self.classify.parameters()), "attention": [self.v]}

    def phases(self) -> list[Phase]:
        chosen = self.settings
        rates = {ENCODER: chosen.rate, "classifier": chosen.rate}
        if chosen.variant == "adsl":
            rates["attention"] = chosen.attention_rate
        # Soft labels cannot be learnt beyond their entropy; full steps from there on only make the numbers larger.
        return [Phase("soft labels", self.epochs(), rates, {"labels": 1.0}, self.batch_size, decay="linear")]

    @torch.no_grad()
    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        """(4)-(5), after every `interval` epochs; the later, the more the network's own answers count."""
        chosen, n = self.settings, int(self.done)
        if chosen.variant in CORRECTED and n > 0 and n % chosen.interval == 0:
            share = chosen.delta ** ((phase.epochs - n) / chosen.interval)
            p = self.scores(vectors).softmax(dim=1)
            self._teach(updated_labels(self.original, p, share, chosen.update))
            self.v.fill_(1.0)
        self.done += 1

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        log_p = self.scores(batch.vectors()).log_softmax(dim=1)
        beta = torch.ones_like(self.v)
        if self.settings.variant == "adsl":
            beta = document_attention(self.v, self.groups, self.lesson.groups)
        return {"labels": weighted_cross_entropy(log_p, self.labels[batch.rows], beta[batch.rows])}

    def taught(self) -> Tensor:
        """argmax(y) (figure 4b)."""
        return self.groups

    def scores(self, vectors: Tensor) -> Tensor:
        """(7), of h with a mean square of at most 1.

        Soft labels let h grow, and the gradient with it: from 1 to 2,000 in 18 epochs of newsgroups20, by which time
        all was forgotten. Short ones are left as they are: with all of one length, the labels of single texts are
        learnt by heart before the first correction.
        """
        # In this order, since the root has no gradient at 0.
        h = vectors / (vectors**2).mean(dim=1, keepdim=True).clamp_min(1).sqrt()
        return torch.as_tensor(self.classify(h))
