"""Two steps: any features, then any clusterer, with or without UMAP in between.

Names such as `tfidf+kmeans`, `sif+ahc` or `minilm+umap+kmeans` say what is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from coterie.errors import ConfigError
from coterie.methods.assign import NearestCentre, learnt_groups
from coterie.methods.base import Features, Fit
from coterie.types import Labels, Matrix, Progress, silent

MANY_ROWS = 200_000
"""From here on `kmeans` works on mini-batches."""


class TwoStep:
    """Features, perhaps UMAP, then a clusterer; labels come from centres or a classifier in the features' space."""

    def __init__(
        self,
        features: Features,
        clusterer: str,
        *,
        umap: bool = False,
        n_init: int = 5,
        random_state: int = 0,
    ) -> None:
        self.features, self.clusterer, self.umap = features, clusterer, umap
        self.n_init, self.random_state = n_init, random_state

    def fit(self, texts: Sequence[str], n_clusters: int, progress: Progress = silent) -> Fit:
        vectors = self.features.fit_transform(texts, progress)
        progress("clustering", 0, 1)
        space = umap_space(vectors, self.random_state) if self.umap else vectors
        labels = self._cluster(space, n_clusters)
        by_centres = not self.umap and self.clusterer in ("kmeans", "minibatch", "spherical")
        make = NearestCentre.of_groups if by_centres else learnt_groups
        assigner = make(vectors, labels, n_clusters)
        progress("clustering", 1, 1)
        return Fit(self.features, assigner, vectors, assigner.probabilities(vectors))

    def _cluster(self, space: Matrix, n_clusters: int) -> Labels:
        return np.asarray(self._estimator(len(space), n_clusters).fit(space).labels_, dtype=np.int64)

    def _estimator(self, rows: int, n_clusters: int) -> Any:
        from sklearn.cluster import MiniBatchKMeans

        from coterie.clusterers import Agglomerative, Density, KMeans, SphericalKMeans

        many = self.clusterer == "kmeans" and rows >= MANY_ROWS
        seed = self.random_state
        make: dict[str, Callable[[], Any]] = {
            "kmeans": lambda: KMeans(n_clusters, n_init=self.n_init, random_state=seed),
            "minibatch": lambda: MiniBatchKMeans(n_clusters, n_init=self.n_init, batch_size=4096, random_state=seed),
            "spherical": lambda: SphericalKMeans(n_clusters, n_init=self.n_init, random_state=seed),
            "ahc": lambda: Agglomerative(n_clusters, linkage="average", random_state=seed),
            "ward": lambda: Agglomerative(n_clusters, linkage="ward", random_state=seed),
            "hdbscan": lambda: Density(n_clusters, random_state=seed),
        }
        return make["minibatch" if many else self.clusterer]()


def umap_space(vectors: Matrix, random_state: int, dimensions: int = 10) -> Matrix:
    """UMAP after PCA to 50 dimensions; for clustering only, never to place new texts."""
    from sklearn.decomposition import PCA

    try:
        from umap import UMAP
    except ImportError as error:
        raise ConfigError("methods with 'umap' need umap-learn: pip install 'coterie[umap]'") from error
    narrow = min(50, *vectors.shape)
    reduced = PCA(narrow, random_state=random_state).fit_transform(vectors)
    neighbours = min(15, len(vectors) - 1)
    # Spectral initialisation needs more rows than dimensions.
    init = "spectral" if len(vectors) > 4 * dimensions else "random"
    layout = UMAP(
        n_neighbors=neighbours, n_components=dimensions, min_dist=0.0, metric="cosine", init=init,
        random_state=random_state, n_jobs=1,
    )  # fmt: skip
    return np.asarray(layout.fit_transform(reduced), dtype=np.float32)
