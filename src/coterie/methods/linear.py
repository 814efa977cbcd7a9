"""A linear classifier that has learnt a grouping.

Groups that come from a step with no function behind it (linkage, smoothing over a graph, UMAP) are taught to softmax
regression on the texts' own vectors. It agrees with them on all but a few rows between two groups, takes k x d
numbers to store, and treats a new text as it treats the old ones. Measured beside nearest centres and nearest
neighbours in `docs/methods/duet.md`.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from coterie.methods.base import Assigner
from coterie.methods.confidence import fitting_temperature, probabilities_of
from coterie.methods.nearest_centre import NearestCentre
from coterie.types import Labels, Matrix, State

PENALTY = 1e-4
"""Weight of |W|^2 / k beside the mean cross-entropy: little, since the groups are to be kept as they are."""


def learnt_groups(vectors: Matrix, labels: Labels, n_clusters: int) -> Assigner:
    """An assigner for groups that were not made by centres: a linear classifier, or centres where it loses a group."""
    classifier = LinearClassifier.of_groups(vectors, labels, n_clusters)
    return classifier or NearestCentre.of_groups(vectors, labels, n_clusters)


class LinearClassifier:
    """p(group | x) = softmax((W x + b) / temperature)."""

    kind: ClassVar[str] = "linear"

    def __init__(self, weights: Matrix, bias: NDArray[np.float32], temperature: float = 1.0) -> None:
        self.weights, self.bias, self.temperature = weights, bias, temperature

    @classmethod
    def of_groups(cls, vectors: Matrix, labels: Labels, n_clusters: int) -> Self | None:
        """A classifier that has rows of `vectors` in every group; None where it cannot tell a tiny group apart."""
        if n_clusters == 1 or len(np.unique(labels)) < n_clusters:
            return None
        for penalty in (PENALTY, PENALTY / 100):
            classifier = cls(*regression(vectors, labels, n_clusters, penalty))
            answers = classifier.probabilities(vectors).argmax(axis=1)
            if len(np.unique(answers)) == n_clusters:
                classifier.temperature = fitting_temperature(vectors, classifier._scores)
                return classifier
        return None

    def probabilities(self, vectors: Matrix) -> Matrix:
        return probabilities_of(vectors, self._scores, self.temperature)

    def renumber(self, order: Labels) -> None:
        self.weights, self.bias = np.ascontiguousarray(self.weights[order]), self.bias[order]

    def state(self) -> State:
        return State({"temperature": self.temperature}, {"weights": self.weights, "bias": self.bias})

    @classmethod
    def from_state(cls, state: State) -> Self:
        return cls(state.arrays["weights"], state.arrays["bias"], float(state.config["temperature"]))

    def _scores(self, vectors: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(vectors @ self.weights.T + self.bias)


def regression(vectors: Matrix, labels: Labels, n_clusters: int, penalty: float) -> tuple[Matrix, NDArray[np.float32]]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    # For two groups scikit-learn learns one row w, the log odds of the second: W is (-w/2, w/2), |W|^2 half of |w|^2.
    share = 0.5 if n_clusters == 2 else 1.0
    model = LogisticRegression(C=n_clusters / (2 * share * penalty * len(vectors)), max_iter=60)
    with warnings.catch_warnings():
        # 60 steps give nearly every row its group back; more would only sharpen answers that are then tempered.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Many small groups are what was asked for, not a regression in disguise.
        warnings.filterwarnings("ignore", message="The number of unique classes")
        model.fit(vectors, labels)
    weights, bias = model.coef_, model.intercept_
    if n_clusters == 2:
        weights, bias = np.vstack([-weights, weights]) / 2, np.concatenate([-bias, bias]) / 2
    return np.asarray(weights, dtype=np.float32), np.asarray(bias, dtype=np.float32)
