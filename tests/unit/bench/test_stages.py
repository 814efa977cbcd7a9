"""What a cell keeps of the stages of a training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from coterie.bench.cell import run_cell
from coterie.bench.plan import Cell
from coterie.bench.stages import MOST_POINTS, Stages, taken_out


def test_a_stage_is_a_map_and_six_scores() -> None:
    """Two far groups of three points, of which one text is in the other group by the truth: 5 of 6 are right.

    The text in the wrong group finds its own last, at ranks 3 to 5, and by the row at right angles to all of the first
    group it is found last, with all of them as far; the middle one of the first group has it nearest, by 0.1 degrees.
    """
    vectors = np.array([[0, 1, 0], [0, 1, 0.1], [0, 1, 0.2], [5, 0, 0], [5, 0, 0.1], [5, 0, 0.2]], dtype=np.float32)
    rows = np.array([1, 2, 4, 5, 6, 9])
    truth = ["?", "a", "a", "?", "b", "b", "b", "?", "?", "b"]
    stages = Stages(truth, k=2, seed=0)
    found = stages(rows, vectors)
    assert found["acc"] == pytest.approx(5 / 6)
    assert 0 < found["nmi"] < 1
    assert found["silhouette"] > 0.9
    # The nearest two of different groups are sqrt(25 + 1) apart, the farthest two of one 0.2.
    assert found["dunn"] == pytest.approx(26**0.5 / 0.2, rel=1e-4)
    in_wrong_group, at_right_angles = (1 / 3 + 2 / 4 + 3 / 5) / 3, (1 + 1 + 3 / 5) / 3
    assert found["map"] == pytest.approx((1 + 1 / 2 + in_wrong_group + at_right_angles + 1 + 1) / 6)
    assert found["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 + 1 + 1) / 6)
    assert found["rows"] == rows.tolist()
    assert np.shape(found["points"]) == (6, 2)
    assert stages.seconds > 0
    assert stages(rows, vectors) == found


def test_of_many_texts_a_sample_the_same_at_every_stage() -> None:
    vectors = np.random.default_rng(3).normal(size=(MOST_POINTS + 50, 3)).astype(np.float32)
    rows = np.arange(len(vectors)) * 2
    stages = Stages([str(number % 2) for number in range(2 * len(vectors))], k=2, seed=0)
    first, second = stages(rows, vectors), stages(rows, -vectors)
    assert len(set(first["rows"])) == MOST_POINTS
    assert first["rows"] == second["rows"]
    assert set(first["rows"]) <= set(rows.tolist())


def test_taken_out_of_the_history() -> None:
    seen = {"rows": [2, 0], "points": [[0, 0], [1, 1]], "acc": 0.5}
    history: list[dict[str, Any]] = [
        {"phase": "start", "epoch": 0, "watched": dict(seen)},
        {"phase": "joint", "epoch": 1},
        {"phase": "joint", "epoch": 2, "watched": dict(seen)},
    ]
    kept = taken_out(history, ["a", "b", "c"])
    assert kept["labels"] == ["c", "a"]
    points = {"points": [[0, 0], [1, 1]], "acc": 0.5}
    assert kept["stages"] == [{"phase": "start", "epoch": 0, **points}, {"phase": "joint", "epoch": 2, **points}]
    assert all("watched" not in entry for entry in history)
    assert taken_out([], []) == {"labels": [], "stages": []}


def test_a_cell_keeps_its_stages(texts_file: dict[str, str]) -> None:
    quick = {"contrast_epochs": 1, "guided_epochs": 2, "joint_epochs": 1, "init": "kmeans"}
    result = run_cell(Cell("aecl", texts_file, settings=quick, keep="stages"))
    assert result["status"] == "done", result
    kept = result["stages"]
    assert [stage["phase"] for stage in kept["stages"]] == ["start", "contrast", "pseudo-labels", "joint"]
    assert result["rows"] == 42
    # Of texts that are there more than once the first is learnt from.
    assert len(kept["labels"]) < 42
    assert set(kept["labels"]) == {"bread", "train"}
    assert all(len(stage["points"]) == len(kept["labels"]) for stage in kept["stages"])
    # At this effort the encoder stands still: what changes is where the model sees the texts.
    assert kept["stages"][0]["points"] != kept["stages"][-1]["points"]
    assert all(0 <= entry["negative_similarity"] <= 1 for entry in result["history"] if entry["losses"])


def test_there_is_nothing_to_watch_without_training(texts_file: dict[str, str]) -> None:
    result = run_cell(Cell("tfidf+kmeans", texts_file, keep="stages"))
    assert result["status"] == "failed"
    assert "no phases that could be watched" in result["error"]


def test_soft_labels_are_scored_in_the_history(texts_file: dict[str, str]) -> None:
    quick = {"epochs": 2, "features": "stems", "undo": False}
    result = run_cell(Cell("adsl", texts_file, settings=quick, keep="stages"))
    assert result["status"] == "done", result
    assert [set(entry["taught"]) for entry in result["history"] if entry["losses"]] == [{"acc", "nmi"}] * 2
    assert [stage["phase"] for stage in result["stages"]["stages"]] == ["start", "soft labels"]
