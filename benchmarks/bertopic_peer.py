"""Groups of 20,000 StackOverflow titles end to end: Coterie's default against BERTopic, same encoder, same run.

BERTopic is not a dependency: run this in an environment that has both, with the same torch.
COTERIE_DATA=folder python benchmarks/bertopic_peer.py
Each contender runs in a process of its own, from texts to labels, loading included, Coterie's cache empty.
Twice in turns; the better time of each counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from common import bench_set, record

K = 20
ROUNDS = 2
CONTENDERS = ("coterie", "bertopic", "bertopic_kmeans")


def coterie(texts: list[str]) -> list[int]:
    from coterie import TextClusterer

    return TextClusterer(K).fit(texts).labels_.tolist()


def bertopic(texts: list[str], **options: Any) -> list[int]:
    from bertopic import BERTopic
    from sentence_transformers import SentenceTransformer

    from coterie.features.checkpoints import bundled_folder

    model = SentenceTransformer(str(bundled_folder()), device="cpu")
    return [int(topic) for topic in BERTopic(embedding_model=model, **options).fit_transform(texts)[0]]


def bertopic_kmeans(texts: list[str]) -> list[int]:
    from sklearn.cluster import KMeans

    return bertopic(texts, hdbscan_model=KMeans(K, n_init=10, random_state=0))


def run_one(name: str) -> None:
    """In the child: fit, score, print one line of JSON."""
    from coterie.metrics.external import external_scores
    from coterie.persist.environment import peak_memory_mb

    truth, texts = bench_set("stackoverflow")
    started = time.perf_counter()
    labels = {"coterie": coterie, "bertopic": bertopic, "bertopic_kmeans": bertopic_kmeans}[name](texts)
    seconds = time.perf_counter() - started
    scores = external_scores(truth, labels)
    print(
        json.dumps(
            {
                "seconds": round(seconds, 1),
                "peak_memory_mb": round(peak_memory_mb()),
                "acc": round(100 * scores["acc"], 1),
                "nmi": round(100 * scores["nmi"], 1),
                "groups": len(set(labels) - {-1}),
                "rows_left_out_percent": round(100 * sum(label == -1 for label in labels) / len(labels), 1),
            }
        )
    )


def main() -> None:
    import os
    import tempfile

    results: dict[str, Any] = {}
    for name in CONTENDERS * ROUNDS:
        with tempfile.TemporaryDirectory() as empty_cache:
            child = subprocess.run(
                [sys.executable, __file__, name],
                capture_output=True,
                text=True,
                check=True,
                env=os.environ | {"COTERIE_CACHE": empty_cache},
            )
        found = json.loads(child.stdout.strip().splitlines()[-1])
        print(name, found, file=sys.stderr)
        if name not in results or found["seconds"] < results[name]["seconds"]:
            results[name] = found
    ours = results["coterie"]["seconds"]
    ratios = {name: round(results[name]["seconds"] / ours, 2) for name in CONTENDERS[1:]}
    record("bertopic_peer", {"texts": 20_000, "k": K, "contenders": results, "times_as_long_as_coterie": ratios})


if __name__ == "__main__":
    run_one(sys.argv[1]) if len(sys.argv) > 1 else main()
