"""Scores of any two labellings: the best matching by brute force, and no matter how groups are numbered."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.metrics.external import accuracy, contingency, external_scores, purity
from coterie.metrics.internal import silhouette

Pairs = list[tuple[int, int]]
labellings = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


def columns(pairs: Pairs) -> tuple[list[int], list[int]]:
    return [truth for truth, _ in pairs], [group for _, group in pairs]


@given(labellings)
def test_accuracy_is_the_best_of_all_matchings(pairs: Pairs) -> None:
    best = max(sum(names[group] == truth for truth, group in pairs) for names in permutations(range(4)))
    assert accuracy(*columns(pairs)) == pytest.approx(best / len(pairs))


@given(labellings)
def test_purity_is_the_commonest_class_of_each_group(pairs: Pairs) -> None:
    pure = sum(
        max(sum(pair == (truth, group) for pair in pairs) for truth in range(4)) for group in {g for _, g in pairs}
    )
    assert purity(*columns(pairs)) == pytest.approx(pure / len(pairs))


@given(labellings)
def test_table_counts_every_row_once(pairs: Pairs) -> None:
    truth, groups = columns(pairs)
    table = contingency(truth, groups)
    assert table.shape == (len(set(truth)), len(set(groups)))
    assert table.sum() == len(pairs)
    for i, one in enumerate(sorted(set(truth))):
        for j, other in enumerate(sorted(set(groups))):
            assert table[i, j] == pairs.count((one, other))


@given(labellings)
def test_nmi_is_the_formula(pairs: Pairs) -> None:
    truth, groups = columns(pairs)
    n = len(pairs)
    mutual = sum(
        pairs.count(pair) / n * math.log(n * pairs.count(pair) / truth.count(pair[0]) / groups.count(pair[1]))
        for pair in set(pairs)
    )
    product = math.prod(-sum(v.count(x) / n * math.log(v.count(x) / n) for x in set(v)) for v in (truth, groups))
    scores = external_scores(truth, groups)
    if product > 1e-12:
        assert scores["nmi"] == pytest.approx(mutual / math.sqrt(product), abs=1e-9)
    assert 0 <= scores["nmi"] <= 1 + 1e-12


@settings(max_examples=60)
@given(labellings, st.permutations(range(4)), st.permutations("wxyz"), st.randoms(use_true_random=False))
def test_numbering_and_order_are_no_matter(pairs: Pairs, numbers: list[int], names: list[str], random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    before = external_scores(*columns(pairs))
    after = external_scores([names[truth] for truth, _ in shuffled], [numbers[group] for _, group in shuffled])
    assert after == pytest.approx(before, abs=1e-9)
    assert before["purity"] >= before["acc"] - 1e-12


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.permutations(range(3)))
def test_silhouette_is_bounded_and_ignores_numbering(seed: int, numbers: list[int]) -> None:
    random = np.random.default_rng(seed)
    vectors, labels = random.normal(size=(20, 4)).astype(np.float32), random.integers(0, 3, 20)
    labels[:3] = [0, 1, 2]
    score = silhouette(vectors, labels)
    assert -1 <= score <= 1
    assert silhouette(vectors, np.array(numbers)[labels]) == pytest.approx(score, abs=1e-6)
