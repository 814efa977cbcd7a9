"""How good DECCRL's topics are, beside the groups' c-TF-IDF words and LDA's topics of the same texts.

    COTERIE_DATA=FOLDER python benchmarks/topics.py [SET ...]

Writes coherence (NPMI) and diversity, and the topics of three groups as in the paper's Table 4, to
`results/topics.json`. Five topics of one group share words, so the diversity of k x T lists is the lower for it: it is
to be read beside LDA's k x T topics, that of the groups' words beside LDA's k.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from common import bench_set, record

SETS = ["agnews", "stackoverflow", "biomedical", "tweet"]
TOPICS = 5
SHOWN = 10
ON_DIVERSITY = "of k x T lists for deccrl and 'lda, k x T topics', of k lists for the others: compare equal numbers"
CLASSES = {
    "stackoverflow": [
        "wordpress", "oracle", "svn", "apache", "excel", "matlab", "visual-studio", "cocoa", "osx", "bash",
        "spring", "hibernate", "scala", "sharepoint", "ajax", "qt", "drupal", "linq", "haskell", "magento",
    ]
}  # fmt: skip
"""Names of the classes that a set only numbers, from 1 (Xu et al. 2015)."""


def main(sets: list[str]) -> None:
    measured = {name: measure(name) for name in sets or SETS}
    record("topics", {"topics_of_a_group": TOPICS, "diversity": ON_DIVERSITY, "sets": measured})


def measure(name: str) -> dict[str, Any]:
    from coterie import cluster
    from coterie.metrics.topics import topic_scores

    truth, texts = bench_set(name)
    if name in CLASSES:
        truth = [CLASSES[name][int(number) - 1] for number in truth]
    k = len(set(truth))
    result = cluster(texts, k, method="deccrl", settings={"topics": TOPICS})
    lists = {
        "deccrl": [words_of(topic) for group in result.groups for topic in group.topics],
        "c-tf-idf": [words_of(group) for group in result.groups],
        "lda, k topics": lda_topics(texts, k),
        "lda, k x T topics": lda_topics(texts, k * TOPICS),
    }
    quality = {
        kind: {"lists": len(words)} | {score: round(value, 4) for score, value in topic_scores(words, texts).items()}
        for kind, words in lists.items()
    }
    return {"texts": len(texts), "k": k, "quality": quality, "groups": three_groups(result, truth)}


def words_of(described: Any) -> list[str]:
    return [word for word, _ in described.words[:SHOWN]]


def lda_topics(texts: list[str], topics: int) -> list[list[str]]:
    from sklearn.decomposition import LatentDirichletAllocation

    from coterie.features.words import learn_words

    counts, vocabulary = learn_words(texts, min_df=2)
    lda = LatentDirichletAllocation(topics, learning_method="online", max_iter=20, random_state=0).fit(counts)
    return [[vocabulary[word] for word in weights.argsort()[::-1][:SHOWN]] for weights in lda.components_]


def three_groups(result: Any, truth: list[str]) -> list[dict[str, Any]]:
    """The three groups that have most of one true label only, and that label."""
    described = []
    for group in result.groups:
        labels = Counter(truth[row] for row in (result.labels == group.id).nonzero()[0])
        label, count = labels.most_common(1)[0]
        topics = [{"weight": topic.weight, "words": words_of(topic)} for topic in group.topics]
        described.append({"label": label, "purity": round(count / group.size, 3), "topics": topics})
    return sorted(described, key=lambda group: -group["purity"])[:3]


if __name__ == "__main__":
    main(sys.argv[1:])
