"""Scores against a truth, on tables worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from coterie.data.numbered import numbered
from coterie.errors import InputError
from coterie.metrics import external
from coterie.metrics.external import accuracy, contingency, external_scores, purity

# Classes a (4 rows), b (3), c (3) in groups 0 (5 rows), 1 (3), 2 (2):  a: 3 1 0   b: 2 1 0   c: 0 1 2
TRUTH = list("aaaabbbccc")
GROUPS = [0, 0, 0, 1, 0, 0, 1, 1, 2, 2]


def test_table() -> None:
    assert contingency(TRUTH, GROUPS).tolist() == [[3, 1, 0], [2, 1, 0], [0, 1, 2]]


def test_accuracy_and_purity_by_hand() -> None:
    """Best matching a-0, b-1, c-2: 3 + 1 + 2; purest classes 3 + 1 + 2."""
    assert accuracy(TRUTH, GROUPS) == pytest.approx(0.6)
    assert purity(TRUTH, GROUPS) == pytest.approx(0.6)


def test_accuracy_takes_a_class_once_purity_often() -> None:
    truth, groups = [0, 0, 0, 0, 1], [0, 0, 1, 1, 2]
    assert accuracy(truth, groups) == pytest.approx(3 / 5)
    assert purity(truth, groups) == 1


def test_greedy_matching_would_be_wrong() -> None:
    """Taking the largest cell first (5) leaves 0; the best is 4 + 4."""
    truth = [0] * 9 + [1] * 4
    groups = [0] * 5 + [1] * 4 + [0] * 4
    assert accuracy(truth, groups) == pytest.approx(8 / 13)


@pytest.mark.parametrize("groups", [[0] * 10, list(range(10))])
def test_other_numbers_of_groups(groups: list[int]) -> None:
    one = len(set(groups)) == 1
    assert accuracy(TRUTH, groups) == pytest.approx(0.4 if one else 0.3)
    assert purity(TRUTH, groups) == pytest.approx(0.4 if one else 1)


def test_nmi_is_geometric() -> None:
    table = np.array([[3, 1, 0], [2, 1, 0], [0, 1, 2]]) / 10
    rows, columns = table.sum(1), table.sum(0)
    mutual = sum(
        table[i, j] * math.log(table[i, j] / rows[i] / columns[j]) for i in range(3) for j in range(3) if table[i, j]
    )
    entropies = [-float((share * np.log(share)).sum()) for share in (rows, columns)]
    scores = external_scores(TRUTH, GROUPS)
    assert scores["nmi"] == pytest.approx(mutual / math.sqrt(entropies[0] * entropies[1]))
    assert scores["nmi_arithmetic"] == pytest.approx(2 * mutual / sum(entropies))
    assert scores["nmi"] != pytest.approx(scores["nmi_arithmetic"], abs=1e-6)


def test_ari_by_hand() -> None:
    """Pairs together in both: 3 + 1 + 1; in the truth 6 + 3 + 3 = 12; in the groups 10 + 3 + 1 = 14; of 45 in all."""
    expected = 12 * 14 / 45
    assert external_scores(TRUTH, GROUPS)["ari"] == pytest.approx((5 - expected) / (13 - expected))


def test_perfect_groups() -> None:
    scores = external_scores(["x", "y", "y", "z"], [7, 3, 3, 5])
    assert set(scores) == {"acc", "nmi", "nmi_arithmetic", "ari", "purity", "ami"}
    assert all(value == pytest.approx(1) for value in scores.values())


def test_labels_of_any_type() -> None:
    mixed = [None, "a", 3, None, "a"]
    assert accuracy(mixed, [0, 1, 2, 0, 1]) == 1
    assert accuracy(np.array([1.5, 2.5, 1.5]), ("b", "a", "b")) == 1


def test_different_numbers_of_rows() -> None:
    for score in (accuracy, purity, external_scores):
        with pytest.raises(InputError, match="3 true labels for 2 rows: give one for each row"):
            score([1, 2, 3], [1, 2])


def test_no_rows() -> None:
    for score in (accuracy, purity, external_scores):
        with pytest.raises(InputError, match="no rows to score"):
            score([], [])


@pytest.mark.parametrize("score", [accuracy, purity, external_scores, contingency])
def test_ids_are_refused_before_they_fill_the_memory(score: Callable[..., object]) -> None:
    ids = np.arange(8_000)
    with pytest.raises(InputError, match=r"8,000 different true labels and 8,000 different groups.*look like ids"):
        score(ids, ids)


def test_ids_of_few_groups_are_scored() -> None:
    assert purity(np.arange(8_000), np.arange(8_000) % 4) == pytest.approx(4 / 8_000)


def test_labels_are_numbered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(external, "numbered", lambda values: (seen.append(values), numbered(values))[1])
    external_scores(TRUTH, GROUPS)
    assert seen == [TRUTH, GROUPS]
