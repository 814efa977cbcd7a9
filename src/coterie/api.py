"""The three-line path: `coterie.cluster(texts, n_clusters=12)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coterie.data.check import check_texts
from coterie.estimator import TextClusterer
from coterie.result import Clustering, describe
from coterie.types import NClusters, Progress, silent


def cluster(
    texts: Sequence[str],
    n_clusters: NClusters,
    *,
    views: Sequence[Sequence[str]] = (),
    truth: Sequence[Any] | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Clustering:
    """Groups texts into exactly `n_clusters` groups, or into as many as there is evidence for ("auto", or a range).

    `options` are those of `TextClusterer`, `views` those of `fit`.
    """
    texts = check_texts(texts)
    model = TextClusterer(n_clusters, **options).fit(texts, truth, views=views, progress=progress)
    progress("describing the groups", 0, 1)
    result = describe(texts, model)
    progress("describing the groups", 1, 1)
    return result
