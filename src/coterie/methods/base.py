"""What every method gives back, and what its parts must be able to do.

A method never reads a file, prints or saves. It learns features (texts to vectors) and an assigner (vectors to
probabilities); the two together are the model, and the labels of the fit are the model's own answers for the
training texts, so predicting them again gives the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from coterie.types import Labels, Matrix, Progress, State, silent

if TYPE_CHECKING:
    from coterie.data.duplicates import Duplicates
    from coterie.methods.topics import GroupTopics


class Features(Protocol):
    """Texts to vectors; a text's vector depends on that text alone."""

    kind: ClassVar[str]

    def fit_transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix: ...

    def transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix: ...

    def state(self) -> State: ...

    @classmethod
    def from_state(cls, state: State) -> Self: ...


class Assigner(Protocol):
    """Vectors to probabilities, one column a group; a vector's row depends on that vector alone."""

    kind: ClassVar[str]

    def probabilities(self, vectors: Matrix) -> Matrix: ...

    def renumber(self, order: Labels) -> None:
        """Group `order[i]` becomes group i."""

    def state(self) -> State: ...

    @classmethod
    def from_state(cls, state: State) -> Self: ...


def as_evidence(notes: Iterable[str]) -> list[dict[str, Any]]:
    """Notes on a fit, as they stand among its evidence."""
    return [{"note": note} for note in notes]


def notes_among(evidence: Iterable[Mapping[str, Any]]) -> list[str]:
    return [entry["note"] for entry in evidence if "note" in entry]


@dataclass
class Fit:
    """A fitted model with its answers for the training texts.

    `evidence` says what was tried and why this was kept; `history` has an entry for every epoch of training;
    `candidates` are the fits that this one was chosen from, by their names in the evidence; `topics` are those of the
    groups, where the method has any.
    """

    features: Features
    assigner: Assigner
    vectors: Matrix
    evidence: list[dict[str, Any]] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    candidates: dict[str, Fit] = field(default_factory=dict, repr=False, compare=False)
    topics: GroupTopics | None = None
    probabilities: Matrix = field(init=False)

    def __post_init__(self) -> None:
        self.probabilities = self.assigner.probabilities(self.vectors)

    @property
    def labels(self) -> Labels:
        return labels_of(self.probabilities)

    def spread(self, texts: Sequence[str], repeated: Duplicates, progress: Progress = silent) -> None:
        """From the texts that were learnt from to all texts: what repeats one word for word has its answer, what is
        only like it, however often, an answer of its own."""
        if len(self.vectors) == len(texts):  # nothing is repeated, or this candidate is the fit itself
            return
        self.vectors = spread_vectors(self.vectors, self.features, texts, repeated, progress)
        self.probabilities = self.assigner.probabilities(self.vectors)
        if self.topics is not None:
            self.topics.weigh(texts, self.labels)

    def number_by_size(self) -> None:
        """Group 0 becomes the largest; of equals, the one whose first text comes first."""
        labels = self.labels
        sizes = np.bincount(labels, minlength=self.probabilities.shape[1])
        first = np.full(len(sizes), len(labels))
        np.minimum.at(first, labels, np.arange(len(labels)))
        order = np.lexsort((first, -sizes)).astype(np.int64)
        self.assigner.renumber(order)
        if self.topics is not None:
            self.topics.renumber(order)
        self.probabilities = self.assigner.probabilities(self.vectors)


class Method(Protocol):
    """Anything that can group texts."""

    def fit(self, texts: Sequence[str], n_clusters: int, progress: Progress = silent) -> Fit: ...


class Answers(NamedTuple):
    """The group of each text, and the probability of every group for it.

    The group is the likeliest one as fitted. Once people have joined and divided groups, another may be likelier.
    """

    labels: Labels
    probabilities: Matrix

    @property
    def confidence(self) -> Matrix:
        """The probability of each text's own group."""
        return np.asarray(np.take_along_axis(self.probabilities, self.labels[:, None], axis=1)[:, 0])


def labels_of(probabilities: Matrix) -> Labels:
    """The likeliest group; of equals the first."""
    return np.asarray(probabilities.argmax(axis=1), dtype=np.int64)


def spread_vectors(
    learnt: Matrix, features: Features, texts: Sequence[str], repeated: Duplicates, progress: Progress = silent
) -> Matrix:
    """Vectors of all texts, from those of the texts that were learnt from."""
    vectors = learnt[np.searchsorted(repeated.kept, repeated.first)]
    alike = [texts[row] for row in repeated.reworded.tolist()]
    if alike:
        # Named apart, for they are never cached: by "encoding" a benchmark tells whether the others were.
        vectors[repeated.reworded] = features.transform(
            alike, lambda stage, done, total: progress(f"near duplicates ({stage})", done, total)
        )
    return vectors
