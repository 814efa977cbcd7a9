"""Two steps: any features, then any clusterer, with or without UMAP in between.

Names such as `tfidf+kmeans`, `sif+ahc` or `minilm+umap+kmeans` say what is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.errors import ConfigError
from coterie.features.checkpoints import Pooling
from coterie.methods.base import Assigner, Features, Fit, as_evidence
from coterie.methods.linear import learnt_groups
from coterie.methods.nearest_centre import NearestCentre
from coterie.methods.settings import OwnSettings
from coterie.types import Matrix, Progress, silent

RESTARTS = 10
"""How often k-means starts anew, for whatever is compared with one another."""

MANY_ROWS = 200_000
"""From here on `kmeans` works on mini-batches."""

UMAP_DIMENSIONS = 10
FEWEST_FOR_UMAP = 3
"""Fewer rows have no neighbourhoods to lay out."""

BY_CENTRES = ("kmeans", "minibatch", "spherical")


@dataclass(frozen=True)
class EncoderSettings(OwnSettings):
    """What `minilm+...` can be told.

    `pooling`: a text's vector is the mean over its tokens or the first one; None: as the encoder was published.
    """

    pooling: Pooling | None = None


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
        return self.grouped(self.features.fit_transform(texts, progress), n_clusters, progress)

    def grouped(self, vectors: Matrix, n_clusters: int, progress: Progress = silent) -> Fit:
        """The second step, for vectors that the features have made."""
        from coterie.clusterers.agglomerative import Agglomerative, about_cells

        progress("clustering", 0, 1)
        space = umap_space(vectors, self.random_state) if self.umap else vectors
        fitted = self._estimator(len(space), n_clusters).fit(space)
        if self.clusterer in BY_CENTRES and not self.umap:
            centres = np.asarray(fitted.cluster_centers_, dtype=np.float32)
            assigner: Assigner = NearestCentre.at(centres, vectors, n_clusters)
        else:
            assigner = learnt_groups(vectors, np.asarray(fitted.labels_, dtype=np.int64), n_clusters)
        progress("clustering", 1, 1)
        notes = about_cells(fitted.n_cells_, len(space)) if isinstance(fitted, Agglomerative) else []
        # Features that are trained have a history.
        return Fit(self.features, assigner, vectors, as_evidence(notes), list(getattr(self.features, "history", ())))

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


def umap_space(vectors: Matrix, random_state: int) -> Matrix:
    """UMAP after PCA to 50 dimensions; for clustering only, never to place new texts."""
    from sklearn.decomposition import PCA

    try:
        from umap import UMAP
    except ImportError as error:
        raise ConfigError("methods with 'umap' need umap-learn: pip install umap-learn") from error
    if len(vectors) < FEWEST_FOR_UMAP:
        return vectors
    narrow = min(50, *vectors.shape)
    reduced = PCA(narrow, random_state=random_state).fit_transform(vectors)
    neighbours = min(15, len(vectors) - 1)
    # Spectral initialisation needs more rows than dimensions.
    init = "spectral" if len(vectors) > 4 * UMAP_DIMENSIONS else "random"
    layout = UMAP(
        n_neighbors=neighbours, n_components=UMAP_DIMENSIONS, min_dist=0.0, metric="cosine", init=init,
        random_state=random_state, n_jobs=1,
    )  # fmt: skip
    return np.asarray(layout.fit_transform(reduced), dtype=np.float32)
