"""`Clustering`: what a person gets back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.duplicates import Duplicates, find_duplicates
from coterie.data.junk import find_junk
from coterie.data.times import days_of
from coterie.describe.examples import group_borderline, group_examples
from coterie.describe.hierarchy import Hierarchy, group_hierarchy, nearest_groups
from coterie.describe.map import text_map
from coterie.describe.shares import by_value, over_time
from coterie.describe.words import group_words
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
    """One group: its number, how many texts it has, its words with scores, telling texts, what is next to it, and its
    topics if it has any."""

    id: int
    size: int
    words: list[tuple[str, float]]
    examples: list[str]
    confidence: float
    borderline: list[Borderline] = field(default_factory=list)
    nearest: list[tuple[int, float]] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its first words, or its number where it has none."""
        return ", ".join(word for word, _ in self.words[:WORDS_IN_NAME]) or f"group {self.id}"

    def to_dict(self) -> dict[str, Any]:
        words = [{"word": word, "score": score} for word, score in self.words]
        topics = {"topics": [topic.to_dict() for topic in self.topics]} if self.topics else {}
        return {
            "id": self.id,
            "name": self.name,
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
        return np.asarray(self.probabilities.max(axis=1))

    @property
    def evidence(self) -> list[dict[str, Any]]:
        """What was tried, how it scored, and what was kept."""
        return self.model.evidence_

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
        """Which rows repeat which, word for word or all but."""
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
        lines = [f"{len(self.texts):,} texts in {len(self.groups):,} groups"]
        for group in self.groups:
            words = ", ".join(word for word, _ in group.words[:6])
            lines.append(f"{group.id:>4}  {group.size:>6,}  {words}")
        return "\n".join(lines)


def describe(texts: Sequence[str], model: TextClusterer) -> Clustering:
    """The result of a fitted model on its own training texts."""
    labels, n_clusters = model.labels_, model.probabilities_.shape[1]
    words = group_words(texts, labels, n_clusters)
    examples = group_examples(texts, model.vectors_, labels, n_clusters)
    probabilities = model.probabilities_
    borderline = group_borderline(texts, probabilities, labels)
    nearest = nearest_groups(model.vectors_, labels)
    confidence = probabilities.max(axis=1)
    groups = [
        Group(
            id=group,
            size=int((labels == group).sum()),
            words=words[group],
            examples=[texts[row] for row in examples[group]],
            confidence=float(confidence[labels == group].mean()),
            borderline=[
                Borderline(texts[row], _rounded(confidence[row]), other, _rounded(probabilities[row, other]))
                for row, other in borderline[group]
            ],
            nearest=nearest[group],
            topics=model.topics_.of_group(group) if model.topics_ else [],
        )
        for group in range(n_clusters)
    ]
    return Clustering(list(texts), model, groups)


def _rounded(probability: np.float32) -> float:
    return round(float(probability), 4)
