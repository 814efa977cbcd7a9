"""What ADSL, STCC and Consensus share: a network on words that learns what unsupervised features have found.

Unsupervised features are clustered; a model makes of that something to learn; a densely connected CNN on the words of
the texts learns it; its vectors h are clustered in turn. No transformer has any part in it.

Training can make things worse. So the groups that it began with and those in h are compared by their silhouettes in a
space in which neither was found, that of the words; see `judge`. No labels are needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from coterie.augment.base import digest_of
from coterie.clusterers import Agglomerative, KMeans
from coterie.clusterers.agglomerative import about_cells
from coterie.engine.batch import batch_count, seed_torch
from coterie.engine.checkpoint import forget_checkpoints
from coterie.engine.loop import Outcome
from coterie.engine.phase import Model
from coterie.engine.resumable import train, training_key
from coterie.engine.workers import Workers
from coterie.errors import InputError
from coterie.features.two_views import space_of_words
from coterie.features.word_network import WordNetwork
from coterie.methods.base import Features, Fit, as_evidence
from coterie.methods.judge import Judge, best_of
from coterie.methods.nearest_centre import NearestCentre, TooFewDifferentError
from coterie.methods.settings import OwnSettings
from coterie.methods.two_step import RESTARTS
from coterie.nn.dense_cnn import WordTexts
from coterie.nn.layers import takes_bfloat16
from coterie.types import Labels, Look, Matrix, Progress, silent
from coterie.vectors import squares_overflow

Unsupervised = Literal["ae", "kate", "lda", "stems"]
Clusterer = Literal["ward", "kmeans"]
EPOCHS = {"fast": 18, "balanced": 36, "full": 60}
LEAST_STEPS = 300
TRAINED_NETWORK = "trained network"
"""What the groups in h are said to be on, in the evidence."""


@dataclass(frozen=True)
class SelfTaughtSettings(OwnSettings):
    """What all of them can be told.

    `epochs` are left to the effort, and more of them where texts are few. A text is read to its word `max_words`.
    `undo=False` keeps what was trained even where the beginning looks better. `bf16`: products of 16-bit numbers in
    training; None where the processor has them.
    """

    epochs: int | None = None
    batch_size: int = 64
    rate: float = 1e-3
    max_words: int = 256
    undo: bool = True
    bf16: bool | None = None


@dataclass(frozen=True)
class PreClustering:
    """Unsupervised features, the texts as those, and the groups found there."""

    features: Features
    vectors: Matrix
    groups: Labels


@dataclass(frozen=True)
class Lesson:
    """What a learner is built for: h has `width` coordinates; `groups` were found in features with `code` of them."""

    width: int
    groups: int
    code: int
    rows: int
    effort: str


class Learner(Model):
    """The head on h, and what it has to learn."""

    settings_class: ClassVar[type[SelfTaughtSettings]] = SelfTaughtSettings
    clusterer: ClassVar[Clusterer] = "ward"
    """What finds the groups in h."""

    def __init__(self, settings: Any, lesson: Lesson) -> None:
        super().__init__()
        self.settings, self.lesson = settings, lesson

    @staticmethod
    def pre_clusterings(settings: Any) -> list[tuple[Unsupervised, Clusterer]]:
        """What is clustered beforehand, and by what."""
        return [(settings.features, "ward")]

    @staticmethod
    def groups_before(settings: Any, n_clusters: int, rows: int) -> int:
        """How many groups are to be found beforehand in so many texts."""
        return n_clusters

    def begin(self, found: Sequence[PreClustering]) -> None:
        """Makes of what was found beforehand something to learn."""
        raise NotImplementedError

    def remarks(self) -> list[str]:
        """What a person should know of it."""
        return []

    @property
    def batch_size(self) -> int:
        return min(int(self.settings.batch_size), self.lesson.rows)

    def epochs(self) -> int:
        if self.settings.epochs is not None:
            return int(self.settings.epochs)
        return max(EPOCHS[self.lesson.effort], round(LEAST_STEPS / batch_count(self.lesson.rows, self.batch_size)))


class FailedTrainingError(InputError):
    """A network whose vectors cannot be grouped as asked: why, and what to do about it."""

    def __init__(self, why: str, advice: str) -> None:
        super().__init__(f"{why}: {advice}")
        self.why = why


class SelfTaught:
    """A method of this family as `fit` sees it; `unsupervised` makes features by their name."""

    def __init__(
        self, name: str, learner: type[Learner], settings: SelfTaughtSettings,
        unsupervised: Callable[[str], Features], *,
        word_vectors: str | None, effort: str, random_state: int, truth: Labels | None = None,
        watch: Look | None = None,
    ) -> None:  # fmt: skip
        self.name, self.learner, self.settings, self.unsupervised = name, learner, settings, unsupervised
        self.word_vectors, self.effort, self.random_state, self.truth = word_vectors, effort, random_state, truth
        self.watch = watch
        self.notes: list[str] = []

    def fit(self, texts: Sequence[str], n_clusters: int, progress: Progress = silent) -> Fit:
        count = self.learner.groups_before(self.settings, n_clusters, len(texts))
        self.notes = []
        # Before the features are trained, which takes longest: the file of word vectors may be a wrong one.
        network = self._untrained(texts)
        found = self._found(texts, count, progress)
        candidates = self._start(found[0], n_clusters)
        judge = Judge(space_of_words(texts, self.random_state), self.random_state)
        key, outcome = self._teach(network, texts, found, count, judge, progress)
        candidates |= self._trained(network, network.transform(texts), n_clusters)
        *_, trained = candidates
        fit, evidence = best_of(candidates, [judge], wanted=None if self.settings.undo else trained)
        fit.candidates = candidates
        notes = dict.fromkeys([*self.notes, *outcome.notes])
        fit.history, fit.evidence = outcome.history, [*evidence, *as_evidence(notes)]
        forget_checkpoints(*key)
        return fit

    def _untrained(self, texts: Sequence[str]) -> WordNetwork:
        return WordNetwork.untrained(
            texts, word_vectors=self.word_vectors, longest=self.settings.max_words,
            bf16=takes_bfloat16(self.settings.bf16), random_state=self.random_state,
        )  # fmt: skip

    def _found(self, texts: Sequence[str], groups: int, progress: Progress) -> list[PreClustering]:
        """Every pre-clustering; features that several of them use are made once."""
        made: dict[str, tuple[Features, Matrix]] = {}
        found = []
        for name, clusterer in self.learner.pre_clusterings(self.settings):
            if name not in made:
                features = self.unsupervised(name)
                made[name] = features, features.fit_transform(texts, progress)
            features, vectors = made[name]
            found.append(PreClustering(features, vectors, self._clustered(vectors, clusterer, groups)))
        return found

    def _teach(
        self, network: WordNetwork, texts: Sequence[str], found: Sequence[PreClustering], groups: int, judge: Judge,
        progress: Progress,
    ) -> tuple[list[str], Outcome]:  # fmt: skip
        workers, seed = Workers(), self.random_state
        found = [replace(part, groups=workers.labels_of_main(part.groups)) for part in found]
        training_texts = WordTexts(network.network.to(workers.device), network.tokens(texts))
        with torch.random.fork_rng(devices=[]):
            seed_torch([seed])
            lesson = Lesson(training_texts.width, groups, found[0].vectors.shape[1], len(texts), self.effort)
            model = self.learner(self.settings, lesson)
        model.begin(found)
        self.notes += model.remarks()
        key = self._key(texts, found, network)
        outcome = train(
            model.to(workers.device), network.network, training_texts, key, workers=workers,
            judge=judge, seed=seed, truth=self.truth, watch=self.watch, keep_best=False, progress=progress,
        )  # fmt: skip
        network.network.cpu()
        return key, outcome

    def _start(self, before: PreClustering, n_clusters: int) -> dict[str, Fit]:
        """What training begins with; texts that cannot be told apart are told of before it."""
        features, by = self.learner.pre_clusterings(self.settings)[0]
        groups = before.groups
        if groups.max() + 1 != n_clusters:  # others were asked for beforehand
            groups = self._clustered(before.vectors, by, n_clusters)
        start = NearestCentre.of_groups(before.vectors, groups, n_clusters)
        return {f"{by} on {features}": Fit(before.features, start, before.vectors)}

    def _trained(self, network: WordNetwork, vectors: Matrix, n_clusters: int) -> dict[str, Fit]:
        """What the network gives, unless it gives nothing."""
        try:
            found = self._by_network(network, vectors, n_clusters)
        except FailedTrainingError as failed:
            if not self.settings.undo:
                raise
            self.notes.append(f"{failed.why}: the groups from before training were kept")
            return {}
        return {f"{self.learner.clusterer} on {TRAINED_NETWORK}": found}

    def _by_network(self, network: WordNetwork, vectors: Matrix, n_clusters: int) -> Fit:
        if squares_overflow(vectors, len(vectors)):
            raise FailedTrainingError(
                "the trained network's numbers are too large, or none at all",
                f"give a rate below {self.settings.rate:g}, or leave undo on",
            )
        try:
            labels = self._clustered(vectors, self.learner.clusterer, n_clusters)
            return Fit(network, NearestCentre.of_groups(vectors, labels, n_clusters), vectors)
        except TooFewDifferentError as error:
            raise FailedTrainingError(
                f"the trained network tells only {error.found:,} texts apart, and {n_clusters:,} groups were asked for",
                f"ask for at most {error.found:,}, or leave undo on. Words that only one text has are not read",
            ) from error

    def _clustered(self, vectors: Matrix, clusterer: Clusterer, groups: int) -> Labels:
        if clusterer == "ward":
            return linked(vectors, groups, self.random_state, self.notes)
        return KMeans(groups, n_init=RESTARTS, random_state=self.random_state).fit(vectors).labels_

    def _key(self, texts: Sequence[str], found: Sequence[PreClustering], network: WordNetwork) -> list[str]:
        own = {**asdict(self.settings), "bf16": takes_bfloat16(self.settings.bf16)}
        settings = json.dumps({**own, "effort": self.effort, "seed": self.random_state})
        digest = hashlib.sha256(digest_of(texts).encode())
        for part in found:
            digest.update(np.ascontiguousarray(part.vectors).data)
            digest.update(part.groups.tobytes())
        digest.update(network.network.words.detach().cpu().numpy().data)
        return training_key(self.name, settings, digest.hexdigest(), truth=self.truth, watch=self.watch)


def linked(vectors: Matrix, groups: int, random_state: int, notes: list[str]) -> Labels:
    """Ward's linkage; where it could not be of single texts, that is noted."""
    linkage = Agglomerative(groups, linkage="ward", random_state=random_state).fit(vectors)
    if (found := int(linkage.labels_.max()) + 1) < groups:  # of micro-clusters equal rows are one
        raise TooFewDifferentError(groups, found)
    notes += about_cells(linkage.n_cells_, len(vectors))
    return np.asarray(linkage.labels_)
