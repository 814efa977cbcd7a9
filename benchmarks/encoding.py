"""Encoding StackOverflow titles: Coterie in fp32 and int8 against sentence-transformers at its best batch size.

Same checkpoint, same threads, tokenising included in all, no cache. COTERIE_DATA=folder python benchmarks/encoding.py
"""

from __future__ import annotations

import statistics

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from common import bench_set, record, side_by_side
from coterie.features.checkpoints import bundled_folder
from coterie.features.transformer import TransformerEncoder

BATCH_SIZES = (16, 32, 64, 128, 256)
PROBE_TEXTS = 3000
ROUNDS = 3


def main() -> None:
    truth, texts = bench_set("stackoverflow")
    peer = SentenceTransformer(str(bundled_folder()), device="cpu")
    ours = {precision: TransformerEncoder(precision=precision, cache=False) for precision in ("fp32", "int8")}
    for encoder in (*ours.values(), peer):
        encoder.encode(texts[:200])
    probe = side_by_side(
        {str(size): lambda size=size: peer.encode(texts[:PROBE_TEXTS], batch_size=size) for size in BATCH_SIZES}, 2
    )
    best = int(min(probe, key=lambda size: min(probe[size])))
    vectors: dict[str, np.ndarray] = {}

    def keep(name: str, encode: object) -> None:
        vectors[name] = np.asarray(encode())  # type: ignore[operator]

    seconds = side_by_side(
        {
            "sentence-transformers": lambda: keep("peer", lambda: peer.encode(texts, batch_size=best)),
            "fp32": lambda: keep("fp32", lambda: ours["fp32"].encode(texts)),
            "int8": lambda: keep("int8", lambda: ours["int8"].encode(texts)),
        },
        ROUNDS,
    )
    reference = vectors["peer"] / np.linalg.norm(vectors["peer"], axis=1, keepdims=True)
    result = {
        "texts": len(texts),
        "torch_threads": torch.get_num_threads(),
        "peer_batch_size": best,
        "peer_probe_seconds": probe,
        "seconds": seconds,
    }
    for name in ("fp32", "int8"):
        ratios = [a / b for a, b in zip(seconds["sentence-transformers"], seconds[name], strict=True)]
        cosine = (reference * vectors[name]).sum(axis=1)
        result[name] = {
            "times_faster": round(statistics.median(ratios), 2),
            "texts_per_second": round(len(texts) / min(seconds[name])),
            "cosine_mean": float(cosine.mean()),
            "cosine_min": float(cosine.min()),
            "kmeans_nmi": _nmi(vectors[name], truth),
        }
    result["peer_kmeans_nmi"] = _nmi(reference, truth)
    record("encoding", result)


def _nmi(vectors: np.ndarray, truth: list[str]) -> float:
    scores = [
        normalized_mutual_info_score(
            truth, KMeans(20, n_init=5, random_state=seed).fit(vectors).labels_, average_method="geometric"
        )
        for seed in range(3)
    ]
    return round(100 * statistics.mean(scores), 2)


if __name__ == "__main__":
    main()
