"""What other second steps make of the vectors that a method ends with (ClusterBERT, Table 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from coterie.bench.plan import SECOND_STEPS, Cell
from coterie.clusterers import KMeans
from coterie.features.transformer import TransformerEncoder
from coterie.methods.deep import TRAINED_HEAD
from coterie.methods.idec import IDEC, IDECSettings
from coterie.methods.on_features import DeepOnFeatures
from coterie.methods.two_step import RESTARTS, umap_space
from coterie.types import Labels, Matrix, Progress, State, silent


def second_steps(texts: Sequence[str], vectors: Matrix, k: int, cell: Cell) -> dict[str, Labels]:
    """k-means after UMAP, and IDEC's head with UMAP before it and without; the head only where it has learnt."""
    flat = umap_space(vectors, cell.seed)
    by_kmeans = np.asarray(KMeans(k, n_init=RESTARTS, random_state=cell.seed).fit(flat).labels_)
    found = (by_kmeans, _by_idec(texts, vectors, k, cell), _by_idec(texts, _of_unit_size(flat), k, cell))
    return {name: labels for name, labels in zip(SECOND_STEPS, found, strict=True) if labels is not None}


def _of_unit_size(vectors: Matrix) -> Matrix:
    """About their mean and of length 1 on average, as the texts' own vectors are."""
    centred = vectors - vectors.mean(axis=0)
    return np.asarray(centred / max(float(np.linalg.norm(centred, axis=1).mean()), 1e-12), dtype=np.float32)


def _by_idec(texts: Sequence[str], vectors: Matrix, k: int, cell: Cell) -> Labels | None:
    settings = IDECSettings(init="kmeans", undo=False)
    encoder = TransformerEncoder(cell.encoder, pooling=cell.settings.get("pooling"))
    method = DeepOnFeatures(
        "idec", IDEC, settings, encoder, features=_Given(vectors), effort=cell.effort, random_state=cell.seed
    )
    head = method.fit(texts, k).candidates.get(TRAINED_HEAD)
    return head.labels if head else None


class _Given:
    """Vectors that are there already, as features of the texts that they were made of, and of no others."""

    kind: ClassVar[str] = "given"

    def __init__(self, vectors: Matrix) -> None:
        self.vectors = vectors

    def fit_transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        return self.vectors

    def transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        return self.vectors

    def state(self) -> State:
        return State({}, {"vectors": self.vectors})

    @classmethod
    def from_state(cls, state: State) -> Self:
        return cls(state.arrays["vectors"])
