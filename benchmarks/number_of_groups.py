"""The number of groups, chosen without labels, against the true one, HDBSCAN's guess and BERTopic's.

COTERIE_DATA=folder python benchmarks/number_of_groups.py [set ...]
The rule was made on one half of the sets (`DESIGNED_ON`); the other half was looked at when it was finished.
BERTopic is not a dependency: it is asked where it is installed, in an environment that has both with the same torch,
and is given the same encoder's vectors. It and HDBSCAN leave rows out, which is said beside their numbers.
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np

from common import EIGHT, bench_set, record
from coterie import TextClusterer
from coterie.clusterers import Density
from coterie.clusterers.choose_k import STAGE
from coterie.data.duplicates import find_duplicates
from coterie.features.graph import main_part, smoothed_space
from coterie.features.transformer import TransformerEncoder
from coterie.features.two_views import TwoViews
from coterie.metrics.external import external_scores
from coterie.types import Matrix

SETS = [*EIGHT, "bbc", "dbpedia14", "trec6", "reuters_r8"]
DESIGNED_ON = {"tweet", "searchsnippets", "biomedical", "googlenews_s", "dbpedia14", "bbc"}
NEAR = 0.2
SMALLEST_GROUP = 15
PCA_DIMENSIONS = 50


class Clock:
    """A progress that takes the time from the first word of a stage to its last."""

    def __init__(self) -> None:
        self.first: dict[str, float] = {}
        self.last: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.first.setdefault(stage, time.perf_counter())
        self.last[stage] = time.perf_counter()

    def seconds(self, stage: str) -> float:
        return round(self.last[stage] - self.first[stage], 1)


def ours(texts: list[str], truth: list[str]) -> dict[str, Any]:
    clock = Clock()
    model = TextClusterer("auto").fit(texts, progress=clock)
    scores = external_scores(truth, model.labels_.tolist())
    return {
        "k": model.n_clusters_,
        "seconds_to_choose": clock.seconds(STAGE),
        "acc": round(100 * scores["acc"], 1),
        "nmi": round(100 * scores["nmi"], 1),
        "why": next(entry["note"] for entry in model.evidence_ if "note" in entry),
        "tried": [entry for entry in model.evidence_ if "k" in entry],
    }


def hdbscan(vectors: Matrix) -> dict[str, Any]:
    started = time.perf_counter()
    found = Density(min_cluster_size=SMALLEST_GROUP).fit(vectors)
    groups = 0 if found.n_noise_ == len(vectors) else int(found.labels_.max()) + 1
    return {
        "k": groups,
        "rows_left_out_percent": round(100 * found.n_noise_ / len(vectors), 1),
        "seconds": round(time.perf_counter() - started, 1),
    }


def bertopic(texts: list[str], encoded: Matrix) -> dict[str, Any]:
    from bertopic import BERTopic

    started = time.perf_counter()
    topics = np.array(BERTopic().fit_transform(texts, encoded)[0])
    return {
        "k": len(set(topics.tolist()) - {-1}),
        "rows_left_out_percent": round(100 * float((topics == -1).mean()), 1),
        "seconds": round(time.perf_counter() - started, 1),
    }


def measured(name: str) -> dict[str, Any]:
    truth, texts = bench_set(name)
    guesses = {"coterie": ours(texts, truth)}
    # Repeated texts would be dense groups of their own, for everybody.
    different = [texts[row] for row in find_duplicates(texts).kept]
    encoder = TransformerEncoder()
    encoded = encoder.encode(different)
    guesses["hdbscan_on_smoothed"] = hdbscan(smoothed_space(TwoViews(encoder).fit_transform(different)))
    guesses["hdbscan_on_pca"] = hdbscan(main_part(encoded, PCA_DIMENSIONS))
    if find_spec("bertopic"):
        guesses["bertopic"] = bertopic(different, encoded)
    true = len(set(truth))
    for guess in guesses.values():
        guess["near"] = bool(abs(guess["k"] - true) <= NEAR * true)
    return {
        "texts": len(texts),
        "different": len(different),
        "true": true,
        "designed_on": name in DESIGNED_ON,
        **guesses,
    }


def main() -> None:
    names = sys.argv[1:] or SETS
    sets: dict[str, Any] = {}
    for name in names:
        sets[name] = measured(name)
        told = {key: value["k"] for key, value in sets[name].items() if isinstance(value, dict)}
        print(name, "true", sets[name]["true"], told, file=sys.stderr, flush=True)
    guessers = sorted({key for one in sets.values() for key, value in one.items() if isinstance(value, dict)})
    halves = {"all": sets.values(), "not_designed_on": [one for one in sets.values() if not one["designed_on"]]}
    near = {
        half: {"sets": len(rows), **{guesser: sum(one[guesser]["near"] for one in rows) for guesser in guessers}}
        for half, rows in halves.items()
    }
    record("number_of_groups", {"near_means": f"within {NEAR:.0%} of the true number", "near": near, "by_set": sets})


if __name__ == "__main__":
    main()
