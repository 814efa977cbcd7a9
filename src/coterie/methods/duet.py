"""Duet: two views of every text, smoothed over their neighbourhood, and a choice between two clusterings.

Our own method, and the default. In six steps, each named in `docs/methods/duet.md` with what it is worth:

1. Two views side by side: the encoder's vector and the words (`features.two_views`).
2. A graph of each text's 15 nearest neighbours (`features.graph`).
3. Every vector is mixed five times with the mean of its neighbours': what neighbours share stays, what is only a
   text's own fades.
4. Two clusterings of the smoothed vectors. k-means is right when groups are of like size and cuts large groups when
   they are not; average linkage follows the sizes and fails when groups touch.
5. The one with the larger silhouette is kept, measured in the space of step 1, which neither was made in. But the
   silhouette praises groups of like size: where k-means itself finds uneven ones, and linkage more uneven ones still,
   linkage is kept. No labels are needed; the scores are shown.
6. The groups are spread along a second graph, of the nearest neighbours in the whole space of step 1: rare words, which
   the main directions leave out, have a say in where a text between two groups belongs.

A linear classifier learns the groups on the vectors of step 1 and gives the final labels, so that new texts are placed
just as the old ones were.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.clusterers import Agglomerative, KMeans
from coterie.clusterers.agglomerative import about_cells
from coterie.clusterers.spreading import spread_groups
from coterie.features.graph import neighbour_graph, smoothed_space
from coterie.features.transformer import TransformerEncoder
from coterie.features.two_views import TwoViews
from coterie.methods.base import Fit, as_evidence
from coterie.methods.linear import learnt_groups
from coterie.metrics.internal import evenness, silhouette
from coterie.types import Labels, Matrix, Progress, silent

MOST_ROWS = 30_000
"""Beyond this the groups are found in a random sample of the texts; the classifier then sorts all of them."""

UNEVEN = (0.75, 0.92)
MORE_UNEVEN = 0.9
"""k-means makes groups of like size wherever it can. Where its groups are less even than this nevertheless, and
linkage's at most so many times as even as those, the true ones are most likely far from equal. Where they are less even
still, k-means has found the sizes by itself."""

K_MEANS, LINKAGE = "k-means", "average linkage"
UNEQUAL = "the groups seem to be of unequal size, which k-means evens out"
"""Why k-means with a higher score is not kept."""

STAGES = 4


class Duet:
    """k-means starts `patience` x (500 / k, from 5 to 40) times: few groups are quick but fickle."""

    def __init__(self, encoder: TransformerEncoder, *, patience: int = 1, random_state: int = 0) -> None:
        self.encoder, self.patience, self.random_state = encoder, patience, random_state

    def fit(self, texts: Sequence[str], n_clusters: int, progress: Progress = silent) -> Fit:
        features = TwoViews(self.encoder, self.random_state)
        vectors = features.fit_transform(texts, progress)
        sample = vectors[self._sample(texts)]
        progress("finding groups", 0, STAGES)
        candidates, notes = self.candidates(sample, n_clusters, progress)
        centred = sample - sample.mean(axis=0)
        scores = silhouettes_of(candidates, centred)
        best = chosen(candidates, scores)
        groups = spread_groups(candidates[best], neighbour_graph(centred), n_clusters)
        assigner = learnt_groups(sample, groups, n_clusters)
        progress("finding groups", STAGES, STAGES)
        evidence = [
            {"candidate": name, "criterion": "silhouette", "score": round(score, 4), "kept": name == best}
            | ({"because": UNEQUAL} if score > scores[best] else {})
            for name, score in scores.items()
        ]
        return Fit(features, assigner, vectors, [*evidence, *as_evidence(notes)])

    def _sample(self, texts: Sequence[str]) -> Labels:
        if len(texts) <= MOST_ROWS:
            return np.arange(len(texts))
        return np.sort(np.random.default_rng(self.random_state).choice(len(texts), MOST_ROWS, replace=False))

    def candidates(
        self, vectors: Matrix, n_clusters: int, progress: Progress = silent
    ) -> tuple[dict[str, Labels], list[str]]:
        """Steps 2 to 4: both clusterings, by name, and a note where memory had a say in them."""
        space = smoothed_space(vectors)
        progress("finding groups", 1, STAGES)
        restarts = self.patience * min(max(500 // n_clusters, 5), 40)
        k_means = KMeans(n_clusters, n_init=restarts, random_state=self.random_state).fit(space)
        progress("finding groups", 2, STAGES)
        linkage = Agglomerative(n_clusters, linkage="average", random_state=self.random_state).fit(space)
        progress("finding groups", 3, STAGES)
        notes = about_cells(linkage.n_cells_, len(space)) if linkage.short_of_memory_ else []
        return {K_MEANS: k_means.labels_, LINKAGE: linkage.labels_}, notes


def silhouettes_of(candidates: dict[str, Labels], centred: Matrix) -> dict[str, float]:
    # With one group, or as many as texts, there is no silhouette, and the candidates are alike.
    return {name: float(np.nan_to_num(silhouette(centred, labels))) for name, labels in candidates.items()}


def chosen(candidates: dict[str, Labels], silhouettes: dict[str, float]) -> str:
    """Step 5: which clustering is kept."""
    uneven = follows_sizes(candidates[K_MEANS], candidates[LINKAGE])
    return LINKAGE if uneven else max(candidates, key=lambda name: silhouettes[name])


def follows_sizes(k_means: Labels, linkage: Labels) -> bool:
    """Whether groups are so uneven that the clustering is to be believed that follows their sizes."""
    least, most = UNEVEN
    own, other = (evenness(np.bincount(labels)) for labels in (k_means, linkage))
    return least <= own < most and other < MORE_UNEVEN * own
