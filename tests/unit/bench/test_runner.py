"""The runner on a tiny plan: every cell in its own process, resumed after a kill, failures as results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie.bench.cell import run_cell, strict_json
from coterie.bench.plan import Cell, Plan, read_plan
from coterie.bench.runner import read_cells, run_plan
from coterie.errors import ConfigError, ModelFormatError

LIMIT_SECONDS = 240


@pytest.fixture
def texts_file(tmp_path: Path) -> dict[str, str]:
    themes = {
        "bread": "flour yeast dough oven",
        "train": "platform ticket carriage rail",
        "lawn": "roses compost pruning",
    }
    lines = [
        f"{theme},the {words.split()[row % 3]} and the {words.split()[(row + 1) % 3]} of {theme} {row}"
        for row in range(12)
        for theme, words in themes.items()
    ]
    path = tmp_path / "tiny.csv"
    path.write_text("theme,message\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return {"file": str(path), "text": "message", "label": "theme"}


@pytest.fixture
def plan_file(texts_file: dict[str, str], tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    data = ", ".join(f"{key} = {json.dumps(value)}" for key, value in texts_file.items())
    path.write_text(
        f'[[runs]]\nmethods = ["tfidf+kmeans"]\ndata = [{{ {data} }}]\nseeds = [0, 1]\n'
        f'[[runs]]\nmethods = ["no-such-method"]\ndata = [{{ {data} }}]\n',
        encoding="utf-8",
    )
    return path


def test_every_cell_is_measured_and_a_failure_is_a_result(plan_file: Path, tmp_path: Path) -> None:
    plan, folder = read_plan(plan_file), tmp_path / "out"
    first, second, broken = (result for _, result, _ in run_plan(plan, folder))
    for result in (first, second):
        assert result["status"] == "done"
        assert (result["rows"], result["k"], result["groups"]) == (36, 3, 3)
        assert result["scores"].keys() == {"kept"}
        assert result["scores"]["kept"]["acc"] == 1.0
        assert result["seconds"] > 0
        assert result["peak_memory_mb"] > 20
        assert result["versions"]["coterie"]
        assert result["machine"]["cores"] == os.cpu_count()
    assert broken["status"] == "failed"
    assert "'no-such-method' is not known" in broken["error"]
    assert broken["versions"]

    # Again: nothing is run, nothing is written.
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.json") if path.name != "plan.json"}
    assert [fresh for _, _, fresh in run_plan(plan, folder)] == [False, False, False]
    assert {path.name: path.stat().st_mtime_ns for path in folder.glob("*.json") if path.name != "plan.json"} == before

    # A result that was deleted is missing, and run again.
    (folder / plan.cells[2].file_name).unlink()
    assert [result["status"] for result in read_cells([folder])] == ["done", "done", "missing"]
    assert [fresh for _, _, fresh in run_plan(plan, folder)] == [False, False, True]


def test_several_at_a_time_share_the_processor(plan_file: Path, tmp_path: Path) -> None:
    plan = read_plan(plan_file)
    alone = [result for _, result, _ in run_plan(plan, tmp_path / "alone")]
    found = [*run_plan(plan, tmp_path / "together", jobs=2)]
    assert [cell for cell, _, _ in found] == list(plan.cells), "in the order of the plan"
    assert [result.get("scores") for _, result, _ in found] == [result.get("scores") for result in alone]
    threads = str(max(1, (os.cpu_count() or 1) // 2))
    assert {result["machine"]["threads"] for _, result, _ in found} == {threads}


def test_what_is_stopped_in_the_middle_is_no_failure(plan_file: Path, tmp_path: Path) -> None:
    plan, folder = read_plan(plan_file), tmp_path / "out"
    running = run_plan(plan, folder, jobs=2)
    next(running)
    running.close()  # as an interrupt does
    states = [json.loads(path.read_text("utf-8")) for path in folder.glob("*.json") if path.name != "plan.json"]
    assert all("killed" not in state.get("error", "") for state in states)
    assert [result["status"] for _, result, _ in run_plan(plan, folder)] == ["done", "done", "failed"]


def ended(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def children(process: int) -> list[int]:
    """Of any of its threads."""
    listed = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    return [int(child) for one in listed for child in one.split()]


def waited(what: Any) -> bool:
    until = time.monotonic() + LIMIT_SECONDS
    while not what() and time.monotonic() < until:
        time.sleep(0.02)
    return bool(what())


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes the way of Linux")
def test_killed_and_resumed(plan_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "coterie", "bench", "run", str(plan_file), "--out", str(folder)]
    first, second, _ = (folder / cell.file_name for cell in read_plan(plan_file).cells)
    runner = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert waited(first.exists)
    assert waited(lambda: children(runner.pid))
    cells = children(runner.pid)
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    # The cell does not go on without its runner.
    assert waited(lambda: all(map(ended, cells)))
    written = first.read_bytes()
    again = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert again.returncode == 0, again.stderr
    assert first.read_bytes() == written
    assert json.loads(second.read_text("utf-8"))["status"] == "done"
    lines = again.stdout.splitlines()
    assert lines[0].endswith("(was there)")
    assert "failed: method 'no-such-method' is not known" in again.stdout
    assert lines[-1].endswith("1 of them failed")


def test_a_process_that_dies_is_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell whose process is gone without a word, as when memory runs out."""
    stand_in = tmp_path / "python"
    stand_in.write_text("#!/bin/sh\nkill -9 $$\n")
    stand_in.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stand_in))
    ((_, result, fresh),) = run_plan(Plan("x", (Cell("tfidf+kmeans", "tweet"),)), tmp_path / "out")
    assert fresh
    assert result["status"] == "failed"
    assert "memory" in result["error"]
    stand_in.write_text("#!/bin/sh\necho it broke >&2\nexit 7\n")
    ((_, result, _),) = run_plan(Plan("x", (Cell("tfidf+kmeans", "agnews"),)), tmp_path / "out")
    assert result["error"] == "the process ended with code 7: it broke"


def test_read_outs_of_a_trained_method(texts_file: dict[str, str]) -> None:
    quick = {"contrast_epochs": 1, "guided_epochs": 1, "joint_epochs": 1, "batch_size": 36, "init": "kmeans"}
    result = run_cell(Cell("aecl", texts_file, settings=quick))
    assert result["status"] == "done", result
    assert result["scores"].keys() == {"kept", "untrained", "head", "kmeans"}
    assert [entry["phase"] for entry in result["history"]] == ["contrast", "pseudo-labels", "joint"]
    # Nothing of the encoder is trained at this effort: k-means on it is k-means on the untrained one.
    assert result["scores"]["kmeans"] == result["scores"]["untrained"]
    json.dumps(strict_json(result), allow_nan=False)


def test_fewer_rows_and_another_k(texts_file: dict[str, str]) -> None:
    result = run_cell(Cell("tfidf+kmeans", texts_file, rows=20, k=5))
    assert (result["rows"], result["k"], result["groups"]) == (20, 5, 5)


def test_a_column_that_is_not_there(texts_file: dict[str, str]) -> None:
    result = run_cell(Cell("tfidf+kmeans", {**texts_file, "label": "them"}))
    assert result["status"] == "failed"
    assert "theme" in result["error"]


def test_numbers_that_json_has_not() -> None:
    value = {"a": [1.0, float("nan"), (np.inf, None)], 2: "x"}
    assert strict_json(value) == {"a": [1.0, None, [None, None]], "2": "x"}


def test_folders_that_hold_no_cells(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no plan was run in it"):
        read_cells([tmp_path])
    (tmp_path / "plan.json").write_text('{"a.json": {"method": "m", "nonsense": 1}}')
    with pytest.raises(ModelFormatError, match="not a list of planned cells"):
        read_cells([tmp_path])
    (tmp_path / "plan.json").write_text('{"a.json": {"method": "m", "data": "tweet"}}')
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(ModelFormatError, match="not a cell of a benchmark"):
        read_cells([tmp_path])
