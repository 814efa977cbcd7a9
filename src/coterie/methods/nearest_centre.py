"""An assigner by centres: the nearest one, and how sure that is."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from coterie.clusterers.kmeans import nearest_centres
from coterie.errors import InputError
from coterie.methods.confidence import fitting_temperature, probabilities_of
from coterie.types import Labels, Matrix, State
from coterie.vectors import group_means

INDISTINCT = 1e-6
"""Squared distance below which float32 cannot tell which of two centres is nearer."""


class TooFewDifferentError(InputError):
    """Only `found` texts have vectors that differ, and more groups were asked for."""

    def __init__(
        self, n_clusters: int, found: int,
        why: str = "the others have the same words, or differ in case, emoji or far down only",
    ) -> None:  # fmt: skip
        super().__init__(
            f"texts: {n_clusters:,} groups were asked for, but this method sees only {found:,} different "
            f"{'text' if found == 1 else 'texts'} ({why}). Ask for at most {found:,}."
        )
        self.n_clusters, self.found = n_clusters, found


class NearestCentre:
    """p(group | x) = softmax((x c - |c|^2 / 2) / temperature): the nearer the centre, the likelier."""

    kind: ClassVar[str] = "nearest-centre"

    def __init__(self, centres: Matrix, temperature: float = 1.0) -> None:
        self.centres, self.temperature = centres, temperature

    @classmethod
    def of_groups(cls, vectors: Matrix, labels: Labels, n_clusters: int) -> Self:
        """Centres at the group means, every group with at least one row of `vectors` nearest to it."""
        means, _ = group_means(vectors, labels)
        return cls.at(means, vectors, n_clusters)

    @classmethod
    def at(cls, centres: Matrix, vectors: Matrix, n_clusters: int) -> Self:
        """These centres, moved where no row of `vectors` is nearest to one, and more where there are too few."""
        assigner = cls(_all_in_use(vectors, centres, n_clusters))
        assigner.temperature = fitting_temperature(vectors, assigner._scores)
        return assigner

    def probabilities(self, vectors: Matrix) -> Matrix:
        return probabilities_of(vectors, self._scores, self.temperature)

    def renumber(self, order: Labels) -> None:
        self.centres = np.ascontiguousarray(self.centres[order])

    def state(self) -> State:
        return State({"temperature": self.temperature}, {"centres": self.centres})

    @classmethod
    def from_state(cls, state: State) -> Self:
        return cls(state.arrays["centres"], float(state.config["temperature"]))

    def _scores(self, vectors: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(vectors @ self.centres.T - (self.centres**2).sum(axis=1) / 2)


def _all_in_use(vectors: Matrix, centres: Matrix, n_clusters: int) -> Matrix:
    """Moves centres that no row is nearest to onto far-off rows, so that exactly `n_clusters` groups come out.

    Which are used is told by the answers that will be given: of two centres in one place, rounding decides.
    """
    centres = np.vstack([centres, np.zeros((n_clusters - len(centres), vectors.shape[1]), dtype=vectors.dtype)])
    for _ in range(n_clusters):
        labels = NearestCentre(centres).probabilities(vectors).argmax(axis=1)
        used = np.bincount(labels, minlength=n_clusters) > 0
        if used.all():
            return centres
        _, distances = nearest_centres(vectors, centres)
        centres[np.flatnonzero(~used)[0]] = vectors[distances.argmax()]
    return _farthest_rows(vectors, n_clusters)


def _farthest_rows(vectors: Matrix, n_clusters: int) -> Matrix:
    """Rows that are all different, each as far as possible from those before it."""
    chosen = [0]
    closest = ((vectors - vectors[0]) ** 2).sum(axis=1)
    while len(chosen) < n_clusters:
        row = int(closest.argmax())
        if closest[row] <= INDISTINCT:
            raise TooFewDifferentError(n_clusters, len(chosen))
        chosen.append(row)
        closest = np.minimum(closest, ((vectors - vectors[row]) ** 2).sum(axis=1))
    return np.asarray(vectors[chosen])
