"""`Clustering`: what a person gets back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.describe.examples import group_examples
from coterie.describe.words import group_words
from coterie.types import Labels, Matrix

if TYPE_CHECKING:
    import polars as pl

    from coterie.estimator import TextClusterer
    from coterie.methods.topics import Topic


@dataclass(frozen=True)
class Group:
    """One group: its number, how many texts it has, its words with scores, telling texts, its topics if it has any."""

    id: int
    size: int
    words: list[tuple[str, float]]
    examples: list[str]
    confidence: float
    topics: list[Topic] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        words = [{"word": word, "score": score} for word, score in self.words]
        topics = {"topics": [topic.to_dict() for topic in self.topics]} if self.topics else {}
        return {
            "id": self.id,
            "size": self.size,
            "confidence": round(self.confidence, 4),
            "words": words,
            "examples": self.examples,
            **topics,
        }


@dataclass(frozen=True)
class Clustering:
    """Texts with their groups. `model` sorts new texts the same way."""

    texts: list[str]
    model: TextClusterer
    groups: list[Group]

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

    def predict(self, texts: Sequence[str]) -> Labels:
        return self.model.predict(texts)

    def save(self, folder: str | os.PathLike[str]) -> None:
        self.model.save(folder)

    def to_table(self) -> pl.DataFrame:
        """One row a text: text, cluster, confidence."""
        import polars as pl

        return pl.DataFrame({"text": self.texts, "cluster": self.labels, "confidence": self.confidence})

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
    confidence = model.probabilities_.max(axis=1)
    groups = [
        Group(
            id=group,
            size=int((labels == group).sum()),
            words=words[group],
            examples=[texts[row] for row in examples[group]],
            confidence=float(confidence[labels == group].mean()),
            topics=model.topics_.of_group(group) if model.topics_ else [],
        )
        for group in range(n_clusters)
    ]
    return Clustering(list(texts), model, groups)
