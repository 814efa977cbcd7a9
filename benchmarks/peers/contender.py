"""One contender in a process of its own: texts to groups, loading included.

    python contender.py NAME TASK.json ANSWER.json

Runs in the contender's own environment, so only that contender may import anything that is not Python's own.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

LDA_WORDS = 10_000


def coterie(task: dict[str, Any]) -> list[int]:
    from coterie import TextClusterer

    return [int(label) for label in TextClusterer(task["k"]).fit(task["texts"]).labels_]


def bertopic(task: dict[str, Any], **options: Any) -> list[int]:
    from bertopic import BERTopic

    model = BERTopic(embedding_model=_encoder(task), **options)
    return [int(topic) for topic in model.fit_transform(task["texts"])[0]]


def bertopic_kmeans(task: dict[str, Any]) -> list[int]:
    return bertopic(task, hdbscan_model=_kmeans(task))


def sentence_transformers_kmeans(task: dict[str, Any]) -> list[int]:
    return [int(label) for label in _kmeans(task).fit_predict(_encoder(task).encode(task["texts"]))]


def lda(task: dict[str, Any]) -> list[int]:
    """The likeliest topic of each text."""
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer

    counts = CountVectorizer(stop_words="english", max_features=LDA_WORDS).fit_transform(task["texts"])
    model = LatentDirichletAllocation(task["k"], learning_method="online", max_iter=20, random_state=0)
    return [int(topic) for topic in model.fit_transform(counts).argmax(axis=1)]


def _encoder(task: dict[str, Any]) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(task["encoder"], device="cpu")


def _kmeans(task: dict[str, Any]) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(task["k"], n_init=10, random_state=0)


def peak_memory_mb() -> float:
    """As `coterie.memory` has it, which a peer's environment has not."""
    status = Path("/proc/self/status")
    if status.exists():
        # The counter below begins with what the program held that started this one.
        return next(
            int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM:")
        )
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)


CONTENDERS = {
    "coterie": coterie,
    "bertopic": bertopic,
    "bertopic+kmeans": bertopic_kmeans,
    "sentence-transformers+kmeans": sentence_transformers_kmeans,
    "lda": lda,
}


def main() -> None:
    name, task_file, answer_file = sys.argv[1:]
    task = json.loads(Path(task_file).read_text(encoding="utf-8"))
    started = time.perf_counter()
    labels = CONTENDERS[name](task)
    seconds = time.perf_counter() - started
    answer = {
        "labels": labels,
        "seconds": round(seconds, 1),
        "peak_memory_mb": round(peak_memory_mb()),
        "packages": {found.metadata["Name"]: found.version for found in distributions()},
    }
    Path(answer_file).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
