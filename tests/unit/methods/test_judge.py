"""What is kept in the end: convincing gains only, in every space, but for what was made as the start was."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import silhouette_samples

from coterie.methods import judge as judge_module
from coterie.methods.judge import FELL, NO_GAIN, Judge, best_of, is_gain, standard_error_by_group, together
from coterie.metrics.internal import silhouette


class FixedJudge(Judge):
    """Silhouettes as they are given, by the name that stands for the labels."""

    def __init__(self, each: dict[str, Any]) -> None:
        self.each = each
        self.rows = np.arange(4)

    def of_each(self, labels: Any) -> Any:
        return np.asarray(self.each[labels.item(0)], dtype=float)


def named(name: str) -> Any:
    return SimpleNamespace(labels=np.array([name] * 2 + [f"{name}'"] * 2))


@pytest.mark.parametrize(
    ("head", "again", "kept"),
    [
        (([0.4] * 4, [0.9] * 4), ([0.5] * 4, [0.9] * 4), "start"),  # a gain only where training made the space
        (([0.6] * 4, [0.4] * 4), ([0.4] * 4, [0.9] * 4), "start"),
        (([0.6] * 4, [0.6] * 4), ([0.4] * 4, [0.9] * 4), "head"),
        (([0.6] * 4, [0.6] * 4), ([0.51] * 4, [0.9] * 4), "again"),
        # All of the gain is of one group: that may be chance.
        (([0.5, 0.5, 0.7, 0.7], [0.6] * 4), ([0.4] * 4, [0.9] * 4), "start"),
        (([0.6, 0.6, 0.7, 0.7], [0.6] * 4), ([0.4] * 4, [0.9] * 4), "head"),
    ],
)
def test_what_came_of_training_must_be_better_in_both_spaces(head: Any, again: Any, kept: str) -> None:
    check_kept(head, again, kept, None)


@pytest.mark.parametrize(
    ("head", "again", "kept"),
    [
        (([0.4] * 4, [0.9] * 4), ([0.46] * 4, [0.7] * 4), "again"),  # 0.32 > 0.25; the head lost in one space
        (([0.4] * 4, [0.9] * 4), ([0.46] * 4, [0.54] * 4), "start"),  # 0.2484 < 0.25, with the same arithmetic mean
        (([0.4] * 4, [0.9] * 4), ([0.44] * 4, [0.9] * 4), "start"),  # 0.40 > 0.25, but an eighth is lost in the first
        (([0.6] * 4, [0.6] * 4), ([0.9] * 4, [0.44] * 4), "again"),  # 0.396 > 0.36; the second may lose as much
        (([0.6] * 4, [0.6] * 4), ([0.7] * 4, [0.5] * 4), "head"),  # 0.36 > 0.35
        (([0.4] * 4, [0.9] * 4), ([0.4, 0.4, 0.6, 0.6], [0.5, 0.5, 0.6, 0.6]), "again"),  # a gain of one group will do
        (([0.4] * 4, [0.9] * 4), ([-0.1] * 4, [-0.9] * 4), "start"),
        (([0.4] * 4, [0.9] * 4), ([0.5] * 4, [0.5] * 4), "start"),  # of equals the start
    ],
)
def test_what_was_made_as_the_start_was_must_be_better_on_the_whole(head: Any, again: Any, kept: str) -> None:
    check_kept(head, again, kept, "again")


def check_kept(head: Any, again: Any, kept: str, made_alike: str | None) -> None:
    spaces = [FixedJudge({"start": [0.5] * 4, "head": head[space], "again": again[space]}) for space in (0, 1)]
    candidates = {name: named(name) for name in ("start", "head", "again")}
    fit, evidence = best_of(candidates, spaces, made_alike)
    assert fit.labels[0] == kept
    assert [entry["candidate"] for entry in evidence if entry["kept"]] == [kept]
    means = [[0.5, 0.5], *(np.round([np.mean(each) for each in side], 4).tolist() for side in (head, again))]
    assert [entry["by_space"] for entry in evidence] == means


def test_why_a_higher_score_is_not_kept_is_said() -> None:
    each = {"start": [0.5] * 4, "higher": [0.5, 0.5, 0.7, 0.7], "lower": [0.4] * 4}
    candidates = {name: named(name) for name in each}
    fit, evidence = best_of(candidates, [FixedJudge(each)])
    assert fit.labels[0] == "start"
    assert [entry["candidate"] for entry in evidence if "because" in entry] == ["higher"]
    fit, evidence = best_of(candidates, [FixedJudge(each)], wanted="lower")
    assert fit.labels[0] == "lower"
    assert not any("because" in entry for entry in evidence)


def test_what_fell_in_the_space_before_training_is_told_from_what_is_no_gain() -> None:
    before = {"start": [0.5] * 4, "head": [0.4] * 4, "again": [0.4] * 4}
    after = {"start": [0.5] * 4, "head": [0.9] * 4, "again": [0.9] * 4}
    candidates = {name: named(name) for name in before}
    _, evidence = best_of(candidates, [FixedJudge(before), FixedJudge(after)], "again")
    assert [entry.get("because") for entry in evidence] == [None, NO_GAIN, FELL]


def test_together() -> None:
    assert together([0.2, 0.8]) == pytest.approx(0.4)
    assert together([-0.2]) == -0.2
    assert together([-0.2, -0.8]) == together([0.5, -0.1]) == 0


def test_standard_error_by_hand() -> None:
    # Mean 3; sums of differences by group -3 and 3: sqrt(18 * 2 / 1) / 4.
    values = np.array([1.0, 2.0, 3.0, 6.0])
    assert standard_error_by_group(values, np.array([5, 5, 7, 7])) == pytest.approx(1.5)
    # Every value a group of its own: the ordinary standard error.
    ordinary = values.std(ddof=1) / np.sqrt(4)
    assert standard_error_by_group(values, np.arange(4)) == pytest.approx(ordinary)
    assert standard_error_by_group(values, np.zeros(4, dtype=int)) == np.inf


def test_a_judge_looks_at_the_centred_space() -> None:
    generator = np.random.default_rng(0)
    labels = np.arange(60) % 3
    space = (generator.normal(size=(60, 5)) + np.eye(3, 5)[labels] + 4).astype(np.float32)
    judge = Judge(space, 0)
    assert judge(labels) == pytest.approx(silhouette(space - space.mean(axis=0), labels))
    assert judge(labels) == pytest.approx(judge.of_each(labels).mean())
    assert judge(np.zeros(60, dtype=int)) == -1
    gain = judge.of_each(labels) - judge.of_each(generator.permutation(labels))
    assert is_gain(gain, labels)
    assert not is_gain(gain * 0, labels)


def test_a_sample_is_judged_by_its_own_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_module, "JUDGED_ROWS", 20)
    random = np.random.default_rng(0)
    labels = random.integers(3, size=60)
    space = (random.normal(size=(60, 5)) + 3 * np.eye(3, 5)[labels]).astype(np.float32)
    judge = Judge(space, 0)
    assert len(judge.rows) == 20
    own = space[judge.rows] - space[judge.rows].mean(axis=0)
    expected = silhouette_samples(own, labels[judge.rows], metric="cosine")
    np.testing.assert_allclose(judge.of_each(labels), expected, atol=1e-5)
