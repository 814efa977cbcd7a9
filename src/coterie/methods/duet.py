"""Duet: two views, smoothed over the neighbourhood graph, and a choice between two clusterings that needs no labels."""

from __future__ import annotations

from collections.abc import Sequence

from coterie.clusterers import Agglomerative, KMeans
from coterie.features.graph import neighbour_graph, smoothed
from coterie.features.transformer import TransformerEncoder
from coterie.features.two_views import TwoViews
from coterie.methods.assign import NearestCentre
from coterie.methods.base import Fit
from coterie.metrics.internal import silhouette
from coterie.types import Progress, silent


class Duet:
    def __init__(self, encoder: TransformerEncoder, *, n_init: int = 5, random_state: int = 0) -> None:
        self.encoder, self.n_init, self.random_state = encoder, n_init, random_state

    def fit(self, texts: Sequence[str], n_clusters: int, progress: Progress = silent) -> Fit:
        features = TwoViews(self.encoder, self.random_state)
        vectors = features.fit_transform(texts, progress)
        graph = neighbour_graph(vectors)
        z5 = smoothed(vectors, graph, 0.8, 5)
        z3 = smoothed(vectors, graph, 0.5, 3)
        candidates = {
            "k-means": KMeans(n_clusters, n_init=self.n_init, random_state=self.random_state).fit(z5).labels_,
            "average linkage": Agglomerative(n_clusters, random_state=self.random_state).fit(z3).labels_,
        }
        scores = {name: silhouette(vectors, labels) for name, labels in candidates.items()}
        best = max(scores, key=lambda name: scores[name])
        evidence = [
            {"candidate": name, "criterion": "silhouette", "score": score, "kept": name == best}
            for name, score in scores.items()
        ]
        assigner = NearestCentre.of_groups(vectors, candidates[best], n_clusters)
        return Fit(features, assigner, vectors, assigner.probabilities(vectors), evidence)
