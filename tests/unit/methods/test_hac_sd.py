"""HAC-SD: what is kept of the similarities, first groups, and a classifier that places what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from coterie.clusterers.isolation import is_outlier
from coterie.errors import InputError
from coterie.methods import hac_sd
from coterie.methods.hac_sd import HacSd, HacSdSettings, _at_most, sparse_distances
from coterie.metrics.external import accuracy
from coterie.vectors import unit_rows


class Given:
    """Features that are given: text i is row i."""

    kind = "given"

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows.astype(np.float32)

    def fit_transform(self, texts: Sequence[str], progress: Any = None) -> np.ndarray:
        return self.rows


def blobs(rows: int = 240, spread: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    centres = 4 * np.eye(6)[:4]
    return make_blobs(rows, centers=centres, cluster_std=spread, random_state=0)


def method(rows: np.ndarray, **settings: Any) -> HacSd:
    return HacSd(HacSdSettings(**settings), lambda name: Given(rows), random_state=0)


def test_similarities_that_stand_out_are_kept_by_hand() -> None:
    # Two pairs of neighbours and nothing else in common: with k = 4, one of three similarities a text is kept.
    rows = unit_rows(np.array([[1, 0.1, 0], [1, -0.1, 0], [0, 0.1, 1], [0, -0.1, 1]], dtype=np.float32))
    distances = sparse_distances(rows, 4, 0)
    cosine = rows @ rows.T
    assert distances[0, 1] == pytest.approx(1 - cosine[0, 1], abs=1e-6)
    assert distances[2, 3] == pytest.approx(1 - cosine[2, 3], abs=1e-6)
    np.testing.assert_array_equal(distances[:2, 2:], 1)
    np.testing.assert_array_equal(distances, distances.T)


def test_a_text_keeps_as_many_as_a_group_has_on_average() -> None:
    rows = unit_rows(np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32))
    for k in (3, 10):
        kept = sparse_distances(rows, k, 0) < 1
        # Each keeps 300 / k by its own choice; what the other side keeps comes on top of that.
        assert 300 / k * 0.8 <= kept.sum(axis=1).mean() <= 2 * 300 / k
        np.testing.assert_array_equal(kept, kept.T)


def test_groups_are_found() -> None:
    rows, truth = blobs()
    fit = method(rows).fit(["text"] * len(rows), 4)
    assert accuracy(truth, fit.labels) > 0.97
    changes = [entry["sizes_changed"] for entry in fit.history]
    assert len(changes) < 50, "it settled"
    assert changes[-1] < 0.05 <= min(changes[:-1], default=1.0)


def test_beyond_the_limit_micro_clusters_stand_for_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, truth = blobs(400)
    monkeypatch.setattr(hac_sd, "MOST_ROWS", 200)
    fit = method(rows).fit(["text"] * 400, 4)
    assert accuracy(truth, fit.labels) > 0.97
    assert fit.evidence == [{"note": "linkage of 50 micro-clusters instead of 400 texts, to save memory"}]


def test_iterations_put_misplaced_texts_right() -> None:
    rows, truth = blobs()
    wrong = truth.copy()
    wrong[::12] = (wrong[::12] + 1) % 4
    solved = method(rows)
    labels = wrong
    for turn in range(6):
        labels = solved._placed_anew(unit_rows(rows.astype(np.float32)), labels, 4, turn)
    assert accuracy(truth, labels) > accuracy(truth, wrong) + 0.05


def test_what_trains_is_no_outlier_and_not_too_much_of_a_group() -> None:
    random = np.random.default_rng(0)
    rows = np.vstack([random.normal(size=(40, 3)), [[50, 50, 50]]]).astype(np.float32)
    inside = method(rows)._without_outliers(rows, np.arange(41))
    assert 40 not in inside
    assert len(inside) > 30
    assert len(_at_most(inside, 7.9, random)) == 7
    assert set(_at_most(inside, 7.9, random)) <= set(inside)
    assert _at_most(np.array([5]), 0.5, random).tolist() == [5]


def test_only_groups_that_changed_are_searched_for_outliers(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []

    def watched(rows: np.ndarray, random_state: int) -> np.ndarray:
        searched.append(len(rows))
        return is_outlier(rows, random_state)

    monkeypatch.setattr(hac_sd, "is_outlier", watched)
    rows, _ = blobs()
    solved, unit = method(rows), unit_rows(rows.astype(np.float32))
    labels = np.repeat([0, 1, 2, 3], [100, 60, 50, 30])
    solved._placed_anew(unit, labels, 4, 0)
    assert searched == [100, 60, 50, 30]
    labels[0] = 1
    solved._placed_anew(unit, labels, 4, 1)
    assert searched[4:] == [99, 61]


def test_fewer_different_texts_than_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hac_sd, "MOST_ROWS", 20)
    for different, k in ((1, 2), (2, 5), (3, 4)):
        rows = np.eye(6)[np.arange(60) % different]
        with pytest.raises(InputError, match=f"{k} groups were asked for, but this method sees only {different} diff"):
            method(rows).fit(["text"] * 60, k)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_any_number_of_groups(k: int) -> None:
    rows, _ = blobs(60)
    assert len(set(method(rows).fit(["text"] * 60, k).labels.tolist())) == k


def test_the_turns_come_to_an_end_for_who_watches_them_and_a_second_fit_knows_nothing_of_the_first() -> None:
    (rows, _), stages = blobs(), []
    solved = method(rows)
    solved._inside = {np.flatnonzero(_ == group).tobytes(): np.array([0]) for group in range(4)}
    again = solved.fit(["text"] * len(rows), 4, lambda *stage: stages.append(stage))
    assert stages[-1] == ("iterative classification", 50, 50)
    np.testing.assert_array_equal(again.labels, method(rows).fit(["text"] * len(rows), 4).labels)


def test_no_turns_leave_the_first_groups() -> None:
    rows, truth = blobs()
    fit = method(rows, turns=0).fit(["text"] * len(rows), 4)
    assert fit.history == []
    assert accuracy(truth, fit.labels) > 0.9
