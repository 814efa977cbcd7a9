"""DECCRL: deep embedded clustering with cluster-level representation learning (Yin et al., COLING 2022).

Texts are drawn to their cluster's centre and two augmentations of a text to each other, as in SCCL, in a space of L
dimensions. Beside that the centres have to explain the texts' words: each centre makes the word distributions of T
topics, a variational autoencoder on the bag of words mixes them, and a text is reconstructed through the topics of its
cluster. So clusters come with their topics.

    (1)       latent space H = FC_e(encoder)              `DECCRL.places`
    (2)-(4)   contrast between two augmentations          `losses.contrastive.cross_view_contrast`
    (5)-(9)   Student-t assignment, target, KL            `losses.student_t`
    (10)-(11) topics of a cluster, words of a topic       `nn.topics.ClusterTopics`, `losses.topics.log_normalisers`
    (12)-(15) reconstruction through the clusters         `nn.topics.ClusterTopics`, `losses.topics`
    (16)      all of it, weighted                         `DECCRL.phases`

The text's cluster k in (12) is drawn, and summed out here with the probabilities o_i (5): so a text is drawn to the
clusters whose topics expect its words. While the topics first learn alone, it is the likeliest one. L is half the width
of the word vectors, and at most the encoder's. `crl` chooses what Table 3 compares. What differs from the paper is
listed in `docs/methods/deccrl.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from coterie.engine.batch import Batch
from coterie.engine.phase import ENCODER, Phase
from coterie.features.counted import CountedWords
from coterie.losses.contrastive import cross_view_contrast
from coterie.losses.student_t import kl_to_target, log_student_t
from coterie.methods.centres import TargetedCentres
from coterie.methods.deep_model import DeepSettings, Task, WordsWanted, given
from coterie.methods.topics import TopicLearner
from coterie.nn.heads import two_layers
from coterie.nn.topics import Bags, ClusterTopics, scaled_words
from coterie.types import Labels

TOPIC_STEPS = 300
STEPS = {"fast": 1000, "balanced": 200, "full": 1000}
ENCODER_RATES = {"fast": 1e-5, "balanced": 3e-5, "full": 1e-5}
WARMUP = 0.05
"""Share of the steps over which a phase that goes on with learnt topics raises its rates: the first steps of a new Adam
are as long as the rate allows, whatever the gradient."""
TOPICS, JOINT, FINAL = "reconstruction", "joint", "topics of the groups"


@dataclass(frozen=True)
class DECCRLSettings(DeepSettings):
    """The paper's settings; `lambda_c`, `lambda_r` and the learning rates are not printed there.

    `crl`: how the centres are held to the texts: by the topics (`etm`), by an autoencoder of the latent space
    (`latent`), or not at all (None). `topics` is T, `words` the most words of the vocabulary.
    """

    batch_size: int = 200
    crl: Literal["etm", "latent"] | None = "etm"
    topics: int = 5
    words: int = 30_000
    lambda_c: float = 10.0
    lambda_r: float = 10.0
    temperature: float = 0.5
    alpha: float = 1.0
    dimensions: int = 128
    head_rate: float = 1e-3
    topic_rate: float = 5e-3
    encoder_rate: float | None = None
    epochs: int | None = None
    topic_epochs: int | None = None

    def idle(self) -> dict[str, str]:
        of_topics = () if self.crl == "etm" else ("topics", "words")
        of_any = () if self.crl else ("lambda_r", "topic_rate", "topic_epochs")
        return {**super().idle(), **dict.fromkeys((*of_topics, *of_any), f"crl={str(self.crl).lower()}")}


class DECCRL(TargetedCentres):
    settings: DECCRLSettings
    settings_class: ClassVar[type[DeepSettings]] = DECCRLSettings
    augmentations: ClassVar[int] = 2
    only_for_training: ClassVar[tuple[str, ...]] = (
        *TargetedCentres.only_for_training,
        "topics",
        "contrast",
        "autoencoder",
    )
    words: CountedWords
    topics: ClusterTopics

    def __init__(self, settings: DECCRLSettings, task: Task) -> None:
        super().__init__(settings, task)
        latent = self.place_width
        self.project = nn.Linear(task.width, latent)
        self.contrast = two_layers(latent, settings.dimensions)
        if settings.crl == "latent":
            half = max(1, latent // 2)
            self.autoencoder = nn.Sequential(nn.Linear(latent, half), nn.ReLU(), nn.Linear(half, latent))

    @property
    def place_width(self) -> int:
        # More directions than the encoder has would be empty.
        return min(max(1, (self.task.word_width or self.task.width) // 2), self.task.width)

    @classmethod
    def words_wanted(cls, settings: Any) -> WordsWanted | None:
        return WordsWanted(settings.words, with_vectors=True) if settings.crl == "etm" else None

    def read(self, words: CountedWords) -> None:
        self.words = words
        self.topics = ClusterTopics(scaled_words(words.vectors), self.centres.shape[1], self.settings.topics)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        crl = {"etm": "topics", "latent": "autoencoder"}.get(self.settings.crl or "")
        return {
            "heads": [*self.project.parameters(), *self.contrast.parameters(), self.centres],
            "reconstruction": list(getattr(self, crl).parameters()) if crl else [],
        }

    def phases(self) -> list[Phase]:
        """What reconstructs learns first, with everything else still; then all together (16)."""
        chosen, effort = self.settings, self.task.effort
        rates = {ENCODER: given(chosen.encoder_rate, ENCODER_RATES[effort]), "heads": chosen.head_rate}
        rebuilding = {"reconstruction": chosen.topic_rate}
        losses = {"etm": ("reconstruction", "kl"), "latent": ("reconstruction",), None: ()}[chosen.crl]
        rebuilt = dict.fromkeys(losses, chosen.lambda_r)
        weights = {"contrast": 1.0, "cluster": chosen.lambda_c, **rebuilt}
        first = self._topic_epochs() if chosen.crl else 0
        epochs = given(chosen.epochs, self.epochs_of(STEPS[effort]))
        return [
            Phase(TOPICS, first, rebuilding, rebuilt, self.batch_size, judged=False),
            Phase(JOINT, epochs, {**rates, **rebuilding}, weights, self.batch_size, warmup=WARMUP),
        ]

    @torch.no_grad()
    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        if not self.placed:
            self._keep_distances(self.scale * vectors)
        self.start_at_first_groups(vectors)
        self.renew_target(vectors)

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        chosen = self.settings
        h = self.places(batch.vectors(0))
        log_assigned = log_student_t(h, self.centres, self.alpha)
        assigned = log_assigned.exp()
        losses = {}
        if phase.name == JOINT:
            first, second = (self.contrast(self.project(self.view(batch, view, phase))) for view in (1, 2))
            losses["contrast"] = cross_view_contrast(first, second, chosen.temperature)
            losses["cluster"] = kl_to_target(assigned, self.target[batch.rows])
        if chosen.crl == "etm":
            bags = Bags.of(self.words.counts[batch.rows.cpu().numpy()], batch.rows.device)
            if phase.name == JOINT:
                rebuilt = self.topics.losses_of_all(bags, log_assigned, self.centres)
            else:
                rebuilt = self.topics.losses(bags, assigned.argmax(dim=1), self.centres)
            losses["reconstruction"], losses["kl"] = rebuilt
        elif chosen.crl == "latent":
            losses["reconstruction"] = surprise_at_places(h, self.autoencoder(h))
        return losses

    def places(self, vectors: Tensor) -> Tensor:
        h: Tensor = self.project(self.scale * vectors)
        return h

    def topics_of(self, groups: Labels, vectors: Tensor) -> TopicLearner | None:
        """Whichever groups were kept, the topics go on from their means."""
        rates, weights = {"topics": self.settings.topic_rate}, {"reconstruction": 1.0, "kl": 1.0}
        phase = Phase(
            FINAL, self._topic_epochs(), rates, weights, self.batch_size, warmup=WARMUP, decay="linear", judged=False
        )
        centres = self.means_of(torch.from_numpy(groups), vectors)
        return TopicLearner(self.topics, centres, groups, self.words, phase)

    def _topic_epochs(self) -> int:
        return given(self.settings.topic_epochs, self.epochs_of(TOPIC_STEPS))

    def _keep_distances(self, vectors: Tensor) -> None:
        """FC_e starts as the L main directions of all texts: the first groups lie there as they do in the encoder."""
        mean = vectors.mean(dim=0)
        centred = (vectors - mean).double()
        directions = torch.linalg.eigh(centred.T @ centred).eigenvectors.flip(1).T[: len(self.project.weight)]
        self.project.weight.copy_(directions)
        self.project.bias.copy_(-self.project.weight @ mean)


def surprise_at_places(h: Tensor, expected: Tensor) -> Tensor:
    """Half the squared distance, mean over the texts: -log N(h; expected, 1) but for a constant.

    So `lambda_r` weighs with either `crl` how little a whole text is expected: its words (15), or its place.
    """
    return ((expected - h) ** 2).sum(dim=1).mean() / 2
