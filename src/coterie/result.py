"""`Clustering`: what a person gets back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.duplicates import Duplicates, find_duplicates
from coterie.data.junk import find_junk
from coterie.data.messages import texts_in_groups
from coterie.data.times import days_of
from coterie.describe.examples import group_borderline, group_examples
from coterie.describe.hierarchy import Hierarchy, group_hierarchy, nearest_groups
from coterie.describe.map import text_map
from coterie.describe.shares import by_value, over_time
from coterie.describe.words import group_words
from coterie.edits import Edits, divided
from coterie.methods.base import Answers, notes_among
from coterie.types import Labels, Matrix, Progress, silent

if TYPE_CHECKING:
    import polars as pl

    from coterie.estimator import TextClusterer
    from coterie.methods.topics import Topic

WORDS_IN_NAME = 3


@dataclass(frozen=True)
class Borderline:
    """A text at the border of its group: the other group it might be in, and how probable both are."""

    text: str
    confidence: float
    other: int
    other_confidence: float


@dataclass(frozen=True)
class Group:
    """One group: its number, how many texts it has, its words with scores, telling texts, what is next to it, its
    topics if it has any, and the name that a person gave it."""

    id: int
    size: int
    words: list[tuple[str, float]]
    examples: list[str]
    confidence: float
    borderline: list[Borderline] = field(default_factory=list)
    nearest: list[tuple[int, float]] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)
    given_name: str | None = None

    @property
    def name(self) -> str:
        """The name that it was given, or its first words, or its number where it has none."""
        return group_name(self.id, [word for word, _ in self.words], self.given_name)

    def heading(self, n_words: int) -> str:
        """The name that it was given, and its words."""
        words = ", ".join(word for word, _ in self.words[:n_words])
        return f"{self.given_name}: {words}" if self.given_name else words

    def to_dict(self) -> dict[str, Any]:
        words = [{"word": word, "score": score} for word, score in self.words]
        topics = {"topics": [topic.to_dict() for topic in self.topics]} if self.topics else {}
        return {
            "id": self.id,
            "name": self.name,
            **({"given_name": self.given_name} if self.given_name else {}),
            "size": self.size,
            "confidence": round(self.confidence, 4),
            "words": words,
            "examples": self.examples,
            "borderline": [asdict(text) for text in self.borderline],
            "nearest": [{"id": other, "similarity": similarity} for other, similarity in self.nearest],
            **topics,
        }


@dataclass(frozen=True)
class Clustering:
    """Texts with their groups. `model` sorts new texts the same way."""

    texts: list[str]
    model: TextClusterer
    groups: list[Group]
    _drawn: list[Matrix] = field(default_factory=list, repr=False, compare=False)

    @property
    def labels(self) -> Labels:
        return self.model.labels_

    @property
    def probabilities(self) -> Matrix:
        return self.model.probabilities_

    @property
    def confidence(self) -> NDArray[np.float32]:
        """The probability of each text's own group."""
        return self.answers.confidence

    @property
    def answers(self) -> Answers:
        return Answers(self.labels, self.probabilities)

    @property
    def edits(self) -> Edits:
        """What was done to the groups since the fit; `edits.log` has it in order."""
        return self.model.edits_

    @property
    def evidence(self) -> list[dict[str, Any]]:
        """What was tried, how it scored, and what was kept."""
        return self.model.evidence_

    @property
    def notes(self) -> list[str]:
        """What a person should know before trusting the groups."""
        return notes_among(self.evidence)

    @property
    def map(self) -> Matrix:
        """Two coordinates in -1 to 1 for each text, near where texts are alike; drawn when first asked for."""
        return self.draw_map()

    def draw_map(self, progress: Progress = silent) -> Matrix:
        """The map, telling how far the drawing has come."""
        if not self._drawn:
            self._drawn.append(text_map(self.model.vectors_, self.model.random_state, progress))
        return self._drawn[0]

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The tree of the groups; `hierarchy.cut(n)` says which of n larger groups each is in."""
        return group_hierarchy(self.model.vectors_, self.labels)

    @cached_property
    def duplicates(self) -> Duplicates:
        """Which rows repeat which, word for word or nearly."""
        return find_duplicates(self.texts)

    @cached_property
    def junk(self) -> NDArray[np.bool_]:
        """Whether a text holds hardly anything to group by, such as "n/a" or "12345"; it has a group all the same."""
        return find_junk(self.texts)

    def over_time(self, values: Any) -> pl.DataFrame:
        """The groups over time, `values` being a date for each text: counts and shares by group and period.

        Columns: cluster, name, period (null for texts without a date), count, share_of_period, share_of_group.
        """
        shares = over_time(self.labels, days_of(values), [group.id for group in self.groups])
        return shares.table([group.name for group in self.groups])

    def by(self, values: Any) -> pl.DataFrame:
        """The groups by a value for each text: cluster, name, value, count, share_of_value, share_of_group."""
        shares = by_value(self.labels, values, [group.id for group in self.groups])
        return shares.table([group.name for group in self.groups])

    def merge(self, groups: Sequence[int]) -> Clustering:
        """With these groups as one, which has the number of the first; all other groups keep theirs."""
        return self._edited(self.edits.merged(groups))

    def split(self, group: int, into: int) -> Clustering:
        """With a group in `into` parts: the largest keeps its number, the others get new ones."""
        return self._edited(divided(self.model, self.texts, group, into))

    def rename(self, group: int, name: str) -> Clustering:
        """With a name of your own for a group."""
        return self._edited(self.edits.renamed({group: name}))

    def undo(self) -> Clustering:
        """Without the last edit; again and again, back to what the fit found."""
        return self._edited(self.edits.undone())

    def _edited(self, edits: Edits) -> Clustering:
        model = self.model.with_edits(edits)
        if edits.regroupings == self.edits.regroupings:
            groups = [replace(group, given_name=edits.names.get(group.id)) for group in self.groups]
            return replace(self, model=model, groups=groups)
        # The map shows where texts are, whatever their groups.
        return replace(describe(self.texts, model), _drawn=self._drawn)

    def predict(self, texts: Sequence[str]) -> Labels:
        return self.model.predict(texts)

    def save(self, folder: str | os.PathLike[str]) -> None:
        self.model.save(folder)

    def to_table(self) -> pl.DataFrame:
        """One row a text: text, cluster, confidence."""
        import polars as pl

        return pl.DataFrame({"text": self.texts, "cluster": self.labels, "confidence": self.confidence})

    def _repr_html_(self) -> str:
        """How a notebook shows it: a map and a table."""
        from coterie.report.notebook import notebook_html

        return notebook_html(self)

    def __repr__(self) -> str:
        lines = [texts_in_groups(len(self.texts), len(self.groups))]
        for group in self.groups:
            lines.append(f"{group.id:>4}  {group.size:>6,}  {group.heading(6)}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def group_name(group: int, words: Sequence[str], given: str | None) -> str:
    return given or ", ".join(words[:WORDS_IN_NAME]) or f"group {group}"


def describe(texts: Sequence[str], model: TextClusterer) -> Clustering:
    """The result of a fitted model on its own training texts."""
    answers = Answers(model.labels_, model.probabilities_)
    # Numbers of groups that were merged into others are not in use.
    ids, places = np.unique(model.labels_, return_inverse=True)
    words = group_words(texts, places, len(ids))
    examples = group_examples(texts, model.vectors_, places, len(ids))
    borderline = group_borderline(texts, answers.probabilities[:, ids], places)
    nearest = nearest_groups(model.vectors_, model.labels_)
    confidence = answers.confidence
    groups = [
        Group(
            id=group,
            size=int((places == place).sum()),
            words=words[place],
            examples=[texts[row] for row in examples[place]],
            confidence=float(confidence[places == place].mean()),
            borderline=[
                Borderline(
                    texts[row],
                    _rounded(confidence[row]),
                    int(ids[other]),
                    _rounded(answers.probabilities[row, ids[other]]),
                )
                for row, other in borderline[place]
            ],
            nearest=nearest[place],
            topics=_topics(texts, model, group),
            given_name=model.edits_.names.get(group),
        )
        for place, group in enumerate(ids.tolist())
    ]
    return Clustering(list(texts), model, groups)


def _topics(texts: Sequence[str], model: TextClusterer, group: int) -> list[Topic]:
    """The topics of a group as it was fitted; of one that was edited since, those of its texts."""
    if model.topics_ is None:
        return []
    rows = np.flatnonzero(model.labels_ == group)
    if np.array_equal(rows, np.flatnonzero(model.fitted_labels_ == group)):
        return model.topics_.of_group(group)
    return model.topics_.of_texts([texts[row] for row in rows.tolist()], model.fitted_labels_[rows])


def _rounded(probability: np.float32) -> float:
    return round(float(probability), 4)
