"""What every trained method shares: first groups, views, training, and a comparison with where it began.

Training can make things worse. So there are several candidates in the end: the groups that training began with, those
of the trained head, and, where the encoder was trained, those that the beginning's own procedure finds with the trained
encoder, and k-means where that is the published read-out. `judge` tells which of them is kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import numpy as np
import torch
from torch import nn

from coterie.engine.batch import seed_torch
from coterie.engine.checkpoint import forget_checkpoints
from coterie.engine.loop import Outcome, indifferent
from coterie.engine.resumable import tell_of, train, training_key
from coterie.engine.workers import Workers
from coterie.errors import ConfigError
from coterie.features.transformer import TransformerEncoder
from coterie.features.two_views import TwoViews
from coterie.methods.base import Features, Fit, as_evidence, notes_among
from coterie.methods.deep_model import DROPOUT, DeepModel, Task, TrainedSettings
from coterie.methods.duet import Duet
from coterie.methods.head import Head
from coterie.methods.judge import Judge, Witness, best_of, least_left
from coterie.methods.linear import learnt_groups
from coterie.methods.nearest_centre import TooFewDifferentError
from coterie.methods.two_step import RESTARTS, TwoStep
from coterie.nn.encoder import TrainableEncoder, first_trainable
from coterie.nn.families import read_architecture
from coterie.nn.layers import takes_bfloat16
from coterie.nn.texts import StillTexts, TrainingTexts
from coterie.types import Labels, Look, Matrix, Progress, silent

if TYPE_CHECKING:
    from coterie.features.counted import CountedWords

MOST_AUGMENTATIONS = 8
NEVER_TOLD = "the trained head never told half of the groups apart, and is left out"
NEVER_TRAINED = "nothing was trained whose groups could be kept, so there is no trained head"
TRAINED_HEAD = "trained head"
"""The candidate that the head of the trained model gives, with the vectors of the trained encoder."""


class Deep:
    """A trained method as `fit` sees it."""

    def __init__(
        self, name: str, model: type[DeepModel], settings: TrainedSettings, encoder: TransformerEncoder, *,
        effort: str, random_state: int, views: Sequence[Sequence[str]] = (), truth: Labels | None = None,
        watch: Look | None = None, word_vectors: str | None = None,
    ) -> None:  # fmt: skip
        self.name, self.model, self.encoder = name, model, encoder
        self.settings: Any = settings
        self.effort, self.random_state, self.views, self.truth = effort, random_state, views, truth
        self.watch, self.word_vectors = watch, word_vectors
        wanted = self._augmentations()
        if views and len(views) != wanted:
            raise ConfigError(
                f"the method {name!r} learns from {wanted} augmented columns, and {len(views)} were given"
            )

    def fit(self, texts: Sequence[str], n_clusters: int, progress: Progress = silent) -> Fit:
        self._check_layers()
        words = self._words(texts, progress)
        start, before = self._groups_by(self.encoder, texts, n_clusters, progress)
        judge = Judge(before, self.random_state)
        views = [texts, *(self.views or self._augmented(texts, progress))]
        key = self._key(n_clusters, views, start.labels, words)
        model, encoder, outcome = self._train(views, n_clusters, start.labels, words, judge, key, progress)
        features = self.encoder.with_weights(encoder.tuned_weights() if _is_trained(encoder) else {})
        candidates: dict[str, Fit] = {f"{self.settings.init} start": start}
        judges: list[Witness] = [judge]
        notes = [*notes_among(start.evidence), *outcome.notes]
        try:
            head, about_head = self._head(features, texts, n_clusters, model, outcome, progress)
            again: dict[str, Fit] = {}
            # Stopped by a guard before there was a state to go back to, an encoder is not worth a look.
            if _is_trained(encoder) and (head or not outcome.notes):
                again, after = self._grouped_again(features, texts, n_clusters, progress)
                judges.append(Judge(after, self.random_state))
            candidates |= {**head, **again}
            notes += [*about_head, *(note for one in again.values() for note in notes_among(one.evidence))]
        except TooFewDifferentError as error:
            notes.append(f"after training only {error.found:,} texts can be told apart: what it gave is left out")
        judges += model.witnesses()
        wanted = None if self.settings.undo else self._published(candidates)
        fit, evidence = best_of(candidates, judges, self._made_as_the_start, wanted)
        fit.candidates = candidates
        fit.history, fit.evidence = outcome.history, [*evidence, *as_evidence(dict.fromkeys(notes))]
        if words is not None and words.vectors.size:  # which topics are made of
            self._learn_topics(model, fit, features.encode(texts, progress), progress)
        forget_checkpoints(*key)
        return fit

    def _grouped_again(
        self, features: TransformerEncoder, texts: Sequence[str], n_clusters: int, progress: Progress
    ) -> tuple[dict[str, Fit], Matrix]:
        """The groups by `init` with the trained encoder, those by k-means if they are read too, and the space now."""
        fit, space = self._groups_by(features, texts, n_clusters, progress)
        found = {with_trained_encoder(self.settings.init): fit}
        if self.model.reads_kmeans and with_trained_encoder("kmeans") not in found:
            found[with_trained_encoder("kmeans")] = self._kmeans(features, texts, n_clusters, progress)
        return found, space

    @property
    def _made_as_the_start(self) -> str | None:
        """The candidate that is compared with the start like with like.

        There is none where the start knows the words and training drew texts together: an encoder with such contrasts
        outvotes the words when the two views are put side by side again, and its space praises what comes of it.
        """
        init = self.settings.init
        return None if init == "two-view" and self.model.draws_together else with_trained_encoder(init)

    def _published(self, candidates: Collection[str]) -> str | None:
        """The paper's own read-out, if training came to one."""
        names = [with_trained_encoder("kmeans"), TRAINED_HEAD] if self.model.reads_kmeans else [TRAINED_HEAD]
        return next((name for name in names if name in candidates), None)

    def _groups_by(
        self, encoder: TransformerEncoder, texts: Sequence[str], n_clusters: int, progress: Progress
    ) -> tuple[Fit, Matrix]:
        """The groups by `init`, and the space of the two views, in which groupings are judged."""
        seed = self.random_state
        if self.settings.init == "two-view":
            fit = Duet(encoder, random_state=seed).fit(texts, n_clusters, progress)
            return fit, fit.vectors
        fit = self._kmeans(encoder, texts, n_clusters, progress)
        return fit, TwoViews(encoder, seed).fit_transform(texts, progress)

    def _read(self, encoder: TransformerEncoder, texts: Sequence[str], progress: Progress) -> tuple[Features, Matrix]:
        """What the model reads, and the texts as that."""
        return encoder, encoder.encode(texts, progress)

    def _kmeans(self, encoder: TransformerEncoder, texts: Sequence[str], n_clusters: int, progress: Progress) -> Fit:
        features, vectors = self._read(encoder, texts, progress)
        means = TwoStep(features, "kmeans", n_init=RESTARTS, random_state=self.random_state)
        return means.grouped(vectors, n_clusters, progress)

    def tune(self, texts: Sequence[str], progress: Progress) -> tuple[TransformerEncoder, Matrix, list[dict[str, Any]]]:
        """The encoder trained on these texts without any groups, its vectors of them, and the history."""
        self._check_layers()
        views = [texts, *self._augmented(texts, progress)]
        no_groups = np.zeros(len(texts), dtype=np.int64)
        key = self._key(1, views, no_groups)
        _, encoder, outcome = self._train(views, 1, no_groups, None, indifferent, key, progress)
        tell_of(outcome)
        features = self.encoder.with_weights(encoder.tuned_weights() if _is_trained(encoder) else {})
        # Its last checkpoint stays: what comes after may be stopped, and other clusterers ask for the same training.
        return features, features.encode(texts, progress), outcome.history

    def _train(
        self,
        views: Sequence[Sequence[str]],
        n_clusters: int,
        first_groups: Labels,
        words: CountedWords | None,
        judge: Callable[[Labels], float],
        key: Sequence[str],
        progress: Progress,
    ) -> tuple[DeepModel, nn.Module, Outcome]:
        workers = Workers()
        encoder, training_texts = self._encodable(views, workers, progress)
        word_width = None if words is None else words.vectors.shape[1]
        task = Task(training_texts.width, n_clusters, len(views[0]), self.effort, self.random_state, word_width)
        with torch.random.fork_rng(devices=[]):
            seed_torch([self.random_state])
            model = self.model(self.settings, task)
            if words is not None:
                model.read(words)
            if isinstance(training_texts, TrainingTexts):
                model.join(training_texts.encoder, training_texts, progress)
        first_groups = workers.labels_of_main(first_groups)
        model.to(workers.device).begin(first_groups)
        undo, trained = self.settings.undo, _is_trained(encoder)
        outcome = train(
            model, encoder, training_texts, key, workers=workers, judge=judge, seed=self.random_state, truth=self.truth,
            # A trained encoder is judged when all is done, in both spaces; published are last states.
            keep_best=undo and not trained, watch=self.watch, progress=progress,
            floor=least_left(judge(first_groups)) if undo and trained and self.model.stays_near_start else None,
        )  # fmt: skip
        model.leave()
        return model.cpu(), encoder.cpu(), outcome

    def _encodable(
        self, views: Sequence[Sequence[str]], workers: Workers, progress: Progress
    ) -> tuple[nn.Module, StillTexts | TrainingTexts]:
        """The encoder as far as it is trained, and the texts as it reads them."""
        layers = self._layers
        if layers == 0:
            # A view is the text disturbed, and 8 bits disturb it far less: it is encoded in half the time.
            quick = self.encoder.in_8_bits()
            vectors = [self.encoder.encode(views[0], progress), *(quick.encode(view, progress) for view in views[1:])]
            return nn.Module(), StillTexts(vectors, workers.device)
        encoder = TrainableEncoder(
            self.encoder.checkpoint,
            trainable_layers=layers,
            pooling=self.encoder.pooling,
            dropout=DROPOUT if self.settings.augment == "dropout" else 0.0,
            bf16=takes_bfloat16(self.settings.bf16),
        )
        # All views go forward before one goes backward.
        encoder.saved_bytes //= 1 + self.model.augmentations
        tokens = [self.encoder.tokens(view, progress) for view in views]
        return encoder, TrainingTexts(encoder.to(workers.device), tokens, progress)

    @property
    def _layers(self) -> int | Literal["all"]:
        return self.model.trained_layers(self.settings, self.effort)

    def _check_layers(self) -> None:
        """Before anything is encoded: whether so many layers of this encoder can be trained."""
        if self._layers != 0:
            first_trainable(self._layers, read_architecture(self.encoder.checkpoint).layers)

    def _augmentations(self) -> int:
        """How many other views of every text are learnt from."""
        return self.model.views_wanted(self.settings, self.effort)

    def _augmented(self, texts: Sequence[str], progress: Progress) -> list[list[str]]:
        from coterie.augment import fixed_view, make_augmenters

        chosen, wanted = self.settings, self._augmentations()
        if wanted == 0:
            return []
        # The views differ by the seed, and no view of one training is one of the next seed's.
        seeds = [self.random_state * MOST_AUGMENTATIONS + draw for draw in range(wanted)]
        makers = make_augmenters(chosen.augment, self.encoder, texts, chosen.augment_rate, seeds, progress)
        return [fixed_view(maker, texts, progress) for maker in makers]

    def _words(self, texts: Sequence[str], progress: Progress) -> CountedWords | None:
        from coterie.features.counted import counted_words

        wanted = self.model.words_wanted(self.settings)
        if wanted is None:
            return None
        encoder = self.encoder if wanted.with_vectors else None
        return counted_words(texts, wanted.most, encoder, self.word_vectors, progress)

    def _learn_topics(self, model: DeepModel, fit: Fit, vectors: Matrix, progress: Progress) -> None:
        """Of the groups that were kept, whichever they are: those are the ones that a person sees."""
        from coterie.methods.topics import learn_topics

        learner = model.topics_of(fit.labels, torch.from_numpy(np.array(vectors)))
        if learner is not None:
            fit.topics, outcome = learn_topics(learner, vectors, self.random_state, progress)
            fit.history = [*fit.history, *outcome.history]
            fit.evidence = [*fit.evidence, *as_evidence(outcome.notes)]

    def _key(
        self,
        n_clusters: int,
        views: Sequence[Sequence[str]],
        first_groups: Labels,
        words: CountedWords | None = None,
    ) -> list[str]:
        digest = hashlib.sha256(first_groups.tobytes())
        if words is not None:
            digest.update(words.vectors.tobytes())
        for view in views:
            digest.update(json.dumps(list(view)).encode())
        settings = json.dumps({**asdict(self.settings), "effort": self.effort, "seed": self.random_state})
        own, rounded = self.encoder, self._layers != 0 and takes_bfloat16(self.settings.bf16)
        encoder = f"{own.checkpoint.fingerprint} {own.pooling} {own.max_length} {own.precision} {rounded}"
        parts = [self.name, settings, encoder, str(n_clusters), digest.hexdigest()]
        return training_key(*parts, truth=self.truth, watch=self.watch)

    def _head(
        self, encoder: TransformerEncoder, texts: Sequence[str], n_clusters: int, model: DeepModel, outcome: Outcome,
        progress: Progress,
    ) -> tuple[dict[str, Fit], list[str]]:  # fmt: skip
        """The groups of the trained head, where training came to one, and what is to be said of it."""
        if outcome.score is None:
            return {}, [] if outcome.notes else [NEVER_TOLD if outcome.looked else NEVER_TRAINED]
        features, vectors = self._read(encoder, texts, progress)
        with torch.no_grad():
            model.settle(torch.from_numpy(np.array(vectors)))
        fit = Fit(features, Head.of(model, self.name, vectors), vectors)
        told = len(np.unique(fit.labels))
        if told == n_clusters:
            return {TRAINED_HEAD: fit}, []
        labels = filled_up(fit.labels, vectors, n_clusters)
        fit = Fit(features, learnt_groups(vectors, labels, n_clusters), vectors)
        note = f"the trained head tells {told} groups apart: the widest were cut in two to have {n_clusters}"
        return {TRAINED_HEAD: fit}, [note]


def filled_up(labels: Labels, vectors: Matrix, n_clusters: int) -> Labels:
    """Exactly `n_clusters` groups: while there are too few, the group that is spread the widest is cut in two."""
    from coterie.clusterers import KMeans

    _, labels = np.unique(labels, return_inverse=True)
    labels = np.asarray(labels, dtype=np.int64)
    for new in range(int(labels.max()) + 1, n_clusters):
        spread = [
            float(((vectors[labels == group] - vectors[labels == group].mean(axis=0)) ** 2).sum())
            for group in range(new)
        ]
        widest = np.flatnonzero(labels == int(np.argmax(spread)))
        if (vectors[widest] == vectors[widest[0]]).all():
            raise TooFewDifferentError(n_clusters, new)
        halves = KMeans(2, n_init=3, random_state=0).fit(vectors[widest]).labels_
        labels[widest[halves == 1]] = new
    return labels


def with_trained_encoder(init: str) -> str:
    """What the candidate is called that is made as this start is, with the trained encoder."""
    return f"{init}, trained encoder"


def _is_trained(encoder: nn.Module) -> TypeGuard[TrainableEncoder]:
    return isinstance(encoder, TrainableEncoder)
