"""How far the true labels themselves get on the vectors that everything here starts from.

    COTERIE_DATA=FOLDER python benchmarks/ceilings.py [SET ...]

Softmax regression is taught the true labels of four fifths of a set and asked for those of the last fifth, five times.
Its answers are scored as groups are, ACC / NMI. No method here sees a label, so little more can be expected of any with
the same vectors; training the encoder makes other ones. Written to `results/ceilings.json`, set by set.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from common import EIGHT, bench_set, keep
from coterie.features.transformer import TransformerEncoder
from coterie.features.two_views import TwoViews
from coterie.metrics.external import external_scores
from coterie.types import Labels, Matrix

FOLDS = 5
PENALTY = 10.0
"""scikit-learn's C: unit vectors need less of a penalty than its default of 1."""
SETS = [*EIGHT, "agnews_desc", "bbc_sentences", "googlenews_ts_orig", "trec6", "dbpedia14", "yelp5"]


def main(names: list[str]) -> None:
    sets: dict[str, Any] = {}
    for name in names or SETS:
        sets[name] = measure(name)
        keep("ceilings", {"folds": FOLDS, "C": PENALTY, "sets": sets})
        print(name, sets[name], flush=True)


def measure(name: str) -> dict[str, Any]:
    truth, texts = bench_set(name)
    classes, codes = np.unique(truth, return_inverse=True)
    encoder = TransformerEncoder()
    spaces = {"encoder": encoder.encode(texts), "two views": TwoViews(encoder).fit_transform(texts)}
    found = {space: scored(codes, foretold(vectors, codes)) for space, vectors in spaces.items()}
    return {"rows": len(texts), "classes": len(classes), **found}


def foretold(vectors: Matrix, codes: Labels) -> Labels:
    """The class of each text by a model that has not seen it."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    answers: Labels = cross_val_predict(LogisticRegression(C=PENALTY, max_iter=100), vectors, codes, cv=folds)
    return answers


def scored(codes: Labels, answers: Labels) -> dict[str, float]:
    scores = external_scores(codes.tolist(), answers.tolist())
    return {name: round(100 * scores[name], 2) for name in ("acc", "nmi")}


if __name__ == "__main__":
    main(sys.argv[1:])
