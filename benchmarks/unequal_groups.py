"""How the default fares where groups are of unequal size, and whether it chooses well between its two clusterings.

COTERIE_DATA=folder python benchmarks/unequal_groups.py
Samples of a million titles by community, others than those by which the rule for unequal groups was made (see the
research log), and no part of any other choice: `k` communities, the largest `ratio` times the smallest, sizes falling
evenly in between on a log scale. For every sample the scores of what Duet keeps, of each of its two clusterings carried
through its last steps, of k-means on the encoder, and how even the groups of both are. True k; labels are for the
scores only.
Results are written after every sample; the same command goes on where it stopped.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from common import RESULTS, bench_set, keep
from coterie.clusterers import KMeans
from coterie.clusterers.spreading import spread_groups
from coterie.features.graph import neighbour_graph
from coterie.features.transformer import TransformerEncoder
from coterie.features.two_views import TwoViews
from coterie.methods.duet import K_MEANS, LINKAGE, Duet, chosen, silhouettes_of
from coterie.methods.linear import learnt_groups
from coterie.metrics.external import external_scores
from coterie.metrics.internal import evenness
from coterie.types import Labels, Matrix, Progress, silent

NAME = "unequal_groups"
RATIOS, NUMBERS, DRAWS = (1, 5, 20, 60), (5, 8, 12, 20), 3
COMMUNITIES, TITLES = 80, 300
MOST_TEXTS = 2400
SMALLEST = 3
ENCODER, KEPT, BETTER = "minilm+kmeans", "duet", "better of the two"
BY_SILHOUETTE = "higher silhouette"


class Known:
    """An encoder for texts whose vectors are known."""

    def __init__(self, texts: Sequence[str], vectors: Matrix) -> None:
        self.place = {text: row for row, text in enumerate(texts)}
        self.vectors = vectors

    def encode(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        return self.vectors[[self.place[text] for text in texts]]


def pool() -> dict[str, list[str]]:
    """Titles of some communities that have enough of them; none stands in two."""
    labels, texts = bench_set("reddit_titles_1m")
    titles: dict[str, dict[str, None]] = {}
    for label, text in zip(labels, texts, strict=True):
        titles.setdefault(label, {})[text] = None
    large = sorted(label for label, own in titles.items() if len(own) >= TITLES)
    chosen = np.random.default_rng(0).choice(len(large), COMMUNITIES, replace=False)
    return {large[one]: list(titles[large[one]])[:TITLES] for one in sorted(chosen)}


def sample(titles: dict[str, list[str]], ratio: int, k: int, draw: int) -> tuple[list[str], list[str]]:
    """Labels and texts."""
    random = np.random.default_rng([ratio, k, draw])
    largest = min(TITLES, MOST_TEXTS // k)
    sizes = np.maximum(np.round(largest * ratio ** -np.linspace(0, 1, k)), SMALLEST).astype(int)
    rows = [
        (label, text)
        for label, size in zip(random.choice(sorted(titles), k, replace=False), sizes, strict=True)
        for text in random.choice(titles[str(label)], size, replace=False)
    ]
    order = random.permutation(len(rows))
    return [str(rows[row][0]) for row in order], [str(rows[row][1]) for row in order]


def measured(encoder: Known, truth: list[str], texts: list[str], k: int) -> dict[str, Any]:
    started = time.perf_counter()
    vectors = TwoViews(encoder).fit_transform(texts)  # type: ignore[arg-type]
    centred = vectors - vectors.mean(axis=0)
    graph = neighbour_graph(centred)
    found, _ = Duet(encoder).candidates(vectors, k)  # type: ignore[arg-type]
    scores = {name: _scores(truth, _final(vectors, groups, graph, k)) for name, groups in found.items()}
    silhouettes = silhouettes_of(found, centred)
    by_silhouette, kept = max(found, key=lambda name: silhouettes[name]), chosen(found, silhouettes)
    k_means = KMeans(k, n_init=10, random_state=0).fit(encoder.encode(texts)).labels_
    return {
        "texts": len(texts),
        "scores": {
            ENCODER: _scores(truth, k_means),
            **scores,
            BY_SILHOUETTE: scores[by_silhouette],
            KEPT: scores[kept],
        },
        "silhouettes": {name: round(score, 4) for name, score in silhouettes.items()},
        "kept": kept,
        "evenness": {name: round(evenness(np.bincount(groups)), 4) for name, groups in found.items()},
        "seconds": round(time.perf_counter() - started, 1),
    }


def _final(vectors: Matrix, groups: Labels, graph: Any, k: int) -> Labels:
    """Spread and learnt, as Duet does with the groups that it keeps."""
    return learnt_groups(vectors, spread_groups(groups, graph, k), k).probabilities(vectors).argmax(axis=1)


def _scores(truth: list[str], groups: Labels) -> dict[str, float]:
    scores = external_scores(truth, groups.tolist())
    return {name: round(100 * scores[name], 2) for name in ("acc", "nmi")}


def summary(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean scores by ratio; `better of the two` is picked by ACC, which nobody without labels can do."""
    found: dict[str, Any] = {}
    for ratio in sorted({one["ratio"] for one in samples}):
        own = [one for one in samples if one["ratio"] == ratio]
        ways = {name: [one["scores"][name] for one in own] for name in own[0]["scores"]}
        either = [[one["scores"][name] for name in (K_MEANS, LINKAGE)] for one in own]
        ways[BETTER] = [max(scores, key=lambda score: score["acc"]) for scores in either]
        found[str(ratio)] = {"samples": len(own)} | {
            name: {score: round(statistics.mean(one[score] for one in rows), 1) for score in ("acc", "nmi")}
            for name, rows in ways.items()
        }
    return found


def main() -> None:
    path = RESULTS / f"{NAME}.json"
    samples = json.loads(path.read_text(encoding="utf-8"))["samples"] if path.exists() else []
    done = {(one["ratio"], one["k"], one["draw"]) for one in samples}
    titles = pool()
    texts = [title for own in titles.values() for title in own]
    encoder = Known(texts, TransformerEncoder().encode(texts))
    for draw in range(DRAWS):
        for k in NUMBERS:
            for ratio in RATIOS:
                if (ratio, k, draw) in done:
                    continue
                truth, rows = sample(titles, ratio, k, draw)
                samples.append({"ratio": ratio, "k": k, "draw": draw, **measured(encoder, truth, rows, k)})
                keep(NAME, {"by_ratio": summary(samples), "samples": samples})
                print(json.dumps(samples[-1]), file=sys.stderr, flush=True)
    print(json.dumps(summary(samples), indent=2))


if __name__ == "__main__":
    main()
