"""The runner on a tiny plan: every cell in its own process, resumed after a kill, failures as results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from coterie import estimator, own_code
from coterie.bench import cell as cell_module
from coterie.bench import runner
from coterie.bench.cell import _is_trained, run_cell, strict_json
from coterie.bench.data import LabelledTexts
from coterie.bench.plan import Cell, Plan, read_plan
from coterie.bench.runner import read_cell, read_cells, run_plan
from coterie.errors import ConfigError, ModelFormatError
from coterie.estimator import TextClusterer
from coterie.methods.base import Fit
from coterie.methods.deep import TRAINED_HEAD, with_trained_encoder
from coterie.methods.nearest_centre import NearestCentre
from coterie.own_code import code_digest
from coterie.registry import Effort

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
        f'[[runs]]\nmethods = ["tfidf+kmeans"]\ndata = [{{ {data} }}]\nk = 1000\n',
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
    assert "1,000" in broken["error"]
    assert broken["versions"]

    # Again: what failed is tried again, and nothing else is run or written.
    finished = [folder / cell.file_name for cell in plan.cells[:2]]
    before = [path.stat().st_mtime_ns for path in finished]
    begun: list[Cell] = []
    assert [fresh for _, _, fresh in run_plan(plan, folder, begun=begun.append)] == [False, False, True]
    assert begun == [plan.cells[2]]
    assert [path.stat().st_mtime_ns for path in finished] == before

    # A file that is another one under the same name is measured anew, and only once.
    path = Path(plan.cells[0].data["file"])  # type: ignore[index]
    path.write_text(path.read_text(encoding="utf-8") + "bread,one more loaf of bread\n", encoding="utf-8")
    again = list(run_plan(plan, folder))
    assert [(fresh, result.get("rows")) for _, result, fresh in again] == [(True, 37), (True, 37), (True, None)]
    assert [fresh for _, _, fresh in run_plan(plan, folder)] == [False, False, True]

    # A result that was deleted is missing, and run again.
    finished[0].unlink()
    assert [result["status"] for result in read_cells([folder])] == ["missing", "done", "failed"]
    assert [fresh for _, _, fresh in run_plan(plan, folder)] == [True, False, True]


def left_behind(folder: Path, *cells: Cell, status: str = "done", planned: Sequence[Cell] = ()) -> None:
    """A folder as if these cells had been run in it, and the others planned."""
    folder.mkdir(exist_ok=True)
    listed = {cell.file_name: cell.as_json() for cell in (*cells, *planned)}
    (folder / "plan.json").write_text(json.dumps(listed))
    for cell in cells:
        (folder / cell.file_name).write_text(json.dumps({"cell": cell.as_json(), "status": status}))


def found_in(*folders: Path) -> list[tuple[str, str]]:
    return [(Cell(**result["cell"]).row, result["status"]) for result in read_cells(list(folders))]


def test_a_folder_has_what_is_planned_now_and_what_has_a_result(tmp_path: Path) -> None:
    run, dropped, unlisted, now = (Cell("m", "tweet", label=label, k=k) for k, label in enumerate("ABCD", start=2))
    left_behind(tmp_path, unlisted)
    left_behind(tmp_path, run, planned=[dropped])
    assert found_in(tmp_path) == [("A, k=2", "done"), ("B, k=3", "missing"), ("C, k=4", "done")]
    next(run_plan(Plan("x", (replace(run, label="A2"), now)), tmp_path))
    listed = json.loads((tmp_path / "plan.json").read_text("utf-8"))
    assert [cell["label"] for cell in listed.values()] == ["A2", "C", "D"]


def test_a_cell_of_two_folders_counts_once(tmp_path: Path) -> None:
    cell, only = Cell("m", "tweet", label="first"), Cell("m", "agnews", label="only here")
    left_behind(tmp_path / "a", cell, only)
    left_behind(tmp_path / "b", replace(cell, label="second"), status="failed")
    left_behind(tmp_path / "c", planned=[replace(cell, label="third")])
    named = [("third", "done"), ("only here", "done")]
    assert found_in(tmp_path / "a", tmp_path / "b", tmp_path / "c") == named
    assert found_in(tmp_path / "b", tmp_path / "c") == [("third", "failed")]


def test_of_two_results_the_latest_counts(tmp_path: Path) -> None:
    cell = Cell("m", "tweet")
    for folder, date in (("a", "2026-02-01"), ("b", "2026-03-01"), ("c", "2026-01-01")):
        left_behind(tmp_path / folder, cell)
        (tmp_path / folder / cell.file_name).write_text(
            json.dumps({"cell": cell.as_json(), "status": "done", "date": date})
        )
    (found,) = read_cells([tmp_path / folder for folder in "abc"])
    assert found["date"] == "2026-03-01"


def test_a_result_outlives_a_bad_end_of_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell("m", "tweet")
    own = json.dumps({"cell": cell.as_json(), "status": "done"})
    program = tmp_path / "ends_badly.py"
    program.write_text(f"import sys\nopen(sys.argv[3], 'w').write({own!r})\nsys.exit(139)\n")
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(wrapper))
    ((_, result, fresh),) = run_plan(Plan("x", (cell,)), tmp_path / "out")
    assert (result["status"], fresh) == ("done", True)


def test_several_at_a_time_share_the_processor(plan_file: Path, tmp_path: Path) -> None:
    plan = read_plan(plan_file)
    alone = [result for _, result, _ in run_plan(plan, tmp_path / "alone")]
    found = [*run_plan(plan, tmp_path / "together", jobs=2)]
    assert [cell for cell, _, _ in found] == list(plan.cells), "in the order of the plan"
    assert [result.get("scores") for _, result, _ in found] == [result.get("scores") for result in alone]


def test_each_of_several_has_its_share_of_the_cores_that_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(7)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert "OMP_NUM_THREADS" not in runner._Processes(jobs=1).own
    assert runner._Processes(jobs=3).own["OMP_NUM_THREADS"] == "2"
    assert runner._Processes(jobs=9).own["OMP_NUM_THREADS"] == "1"
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert runner._Processes(jobs=3).own["OMP_NUM_THREADS"] == "5", "as the user has it"


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
    assert "k=1000  seed 0: failed: " in again.stdout
    assert lines[-1].endswith("1 of them failed")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes the way of Linux")
def test_interrupted(plan_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "coterie", "bench", "run", str(plan_file), "--out", str(folder)]
    runner = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert waited(lambda: children(runner.pid))
    runner.send_signal(signal.SIGINT)
    _, said = runner.communicate(timeout=LIMIT_SECONDS)
    assert runner.returncode == 130
    assert said == (
        f"coterie: stopped. Cells that were finished are kept in {folder}; the same command goes on with the others.\n"
    )


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


def test_what_a_process_that_died_was_to_replace_is_gone(
    texts_file: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan("x", (Cell("tfidf+kmeans", texts_file, k=3),))
    ((cell, result, _),) = run_plan(plan, tmp_path / "out")
    assert result["status"] == "done", result
    with open(texts_file["file"], "a", encoding="utf-8") as file:
        file.write("one more\n")
    stand_in = tmp_path / "python"
    stand_in.write_text("#!/bin/sh\nkill -9 $$\n")
    stand_in.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stand_in))
    ((_, result, fresh),) = run_plan(plan, tmp_path / "out")
    assert fresh
    assert result["status"] == "failed", "the scores of the file as it was"
    assert read_cell(tmp_path / "out" / cell.file_name) == result


def test_read_outs_of_a_trained_method(texts_file: dict[str, str]) -> None:
    quick = {"contrast_epochs": 1, "guided_epochs": 1, "joint_epochs": 1, "batch_size": 36, "init": "kmeans"}
    result = run_cell(Cell("aecl", texts_file, settings=quick))
    assert result["status"] == "done", result
    assert result["scores"].keys() == {"kept", "untrained", "head", "kmeans"}
    assert [entry["phase"] for entry in result["history"]] == ["contrast", "pseudo-labels", "joint"]
    # Nothing of the encoder is trained at this effort: k-means on it is k-means on the untrained one.
    assert result["scores"]["kmeans"] == result["scores"]["untrained"]
    json.dumps(strict_json(result), allow_nan=False)


@pytest.mark.parametrize(
    ("method", "quick", "read_outs"),
    [
        ("adsl", {"epochs": 1}, {"kept", "untrained", "kmeans"}),
        ("hac-sd", {"turns": 1}, {"kept", "untrained"}),
        ("tsdae+kmeans", {"adaptation_epochs": 1}, {"kept", "untrained"}),
        ("tfidf+kmeans", {}, {"kept"}),
    ],
)
def test_read_outs_of_other_methods(
    method: str, quick: dict[str, int], read_outs: set[str], texts_file: dict[str, str]
) -> None:
    result = run_cell(Cell(method, texts_file, settings=quick))
    assert result["status"] == "done", result
    assert result["scores"].keys() == read_outs


def test_auto_has_the_read_outs_of_a_training_where_it_trains() -> None:
    def fit(*candidates: str) -> Fit:
        made = Fit(None, NearestCentre.of_groups(np.eye(2), np.array([0, 1]), 2), np.eye(2))  # type: ignore[arg-type]
        made.candidates = dict.fromkeys(candidates, made)
        return made

    assert _is_trained("auto", fit("start", TRAINED_HEAD))
    assert not _is_trained("auto", fit())


def test_a_cell_knows_the_code_that_made_it(
    texts_file: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_cell(Cell("tfidf+kmeans", texts_file))["versions"]["code"] == code_digest()
    monkeypatch.setattr(own_code, "FOLDER", tmp_path)
    fresh = code_digest.__wrapped__
    (tmp_path / "a.py").write_text("one")
    first = fresh()
    (tmp_path / "notes.txt").write_text("no code")
    assert fresh() == first
    (tmp_path / "a.py").write_text("two")
    assert fresh() != first


@pytest.mark.parametrize("effort", ["fast", "balanced"])  # one autoencoder, three of them
def test_a_cell_knows_what_the_next_will_find_in_the_cache(
    texts_file: dict[str, str], effort: Effort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    assert [run_cell(Cell("ae+kmeans", texts_file, effort=effort))["encoded"] for _ in range(2)] == [True, False]
    assert not run_cell(Cell("tfidf+kmeans", texts_file))["encoded"]


def test_fewer_rows_and_another_k(texts_file: dict[str, str]) -> None:
    result = run_cell(Cell("tfidf+kmeans", texts_file, rows=20, k=5))
    assert (result["rows"], result["k"], result["groups"]) == (20, 5, 5)


def test_a_file_sorted_by_label_is_read_in_another_order(texts_file: dict[str, str]) -> None:
    path = Path(texts_file["file"])
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([header, *sorted(lines)]) + "\n", encoding="utf-8")
    result = run_cell(Cell("tfidf+kmeans", texts_file, rows=12))
    assert result["k"] == 3
    assert len(result["file_sha256"]) == 64


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


def test_read_outs_are_of_the_candidates_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(labels: list[int], rows: list[int]) -> Any:
        return SimpleNamespace(labels=np.array(labels), vectors=np.eye(2, dtype=np.float32)[rows], candidates={})

    fit = made([0, 0, 0, 0], [0, 1, 0, 1])
    fit.candidates = {TRAINED_HEAD: made([0, 0, 1, 0], [0, 0, 1, 1])}
    monkeypatch.setattr(cell_module, "_fit", lambda *args, **options: made([0, 1, 0, 1], [0, 1, 0, 1]))
    found = cell_module._read_outs(Cell("aecl", "tweet"), fit, 2, LabelledTexts(list("aabb"), list("wxyz")))
    assert {name: scores["acc"] for name, scores in found.items()} == {"untrained": 0.5, "head": 0.75, "kmeans": 1.0}
    # Without a head, what k-means finds on the trained encoder is still there.
    fit.candidates = {with_trained_encoder("kmeans"): made([0, 0, 1, 0], [0, 0, 1, 1])}
    found = cell_module._read_outs(Cell("clusterbert", "tweet"), fit, 2, LabelledTexts(list("aabb"), list("wxyz")))
    assert {name: scores["acc"] for name, scores in found.items()} == {"untrained": 0.5, "kmeans": 1.0}


def test_a_cell_is_fitted_with_its_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The papers' plans name the papers' encoders, and an ablation how they are pooled: the untrained one's too."""
    asked = []

    class Asked(TextClusterer):
        def fitted(self, *_: Any, **__: Any) -> Any:
            asked.append((self.method, self.encoder, self.settings))
            made = SimpleNamespace(labels=np.array([0, 1]), evidence=[], history=[], vectors=np.eye(2), candidates={})
            made.candidates = {TRAINED_HEAD: made}
            return made

    monkeypatch.setattr(estimator, "TextClusterer", Asked)
    monkeypatch.setattr(cell_module, "_texts", lambda cell: LabelledTexts(["a", "b"], ["x", "y"]))
    result = run_cell(Cell("uft", "trec6", encoder="bert-base-uncased", settings={"pooling": "cls", "epochs": 1}))
    assert result["status"] == "done", result
    assert asked == [
        ("uft", "bert-base-uncased", {"pooling": "cls", "epochs": 1}),
        ("minilm+kmeans", "bert-base-uncased", {"pooling": "cls"}),
    ]


def test_other_files_of_the_folder_are_left_alone(tmp_path: Path) -> None:
    left_behind(tmp_path, Cell("m", "tweet"))
    (tmp_path / "package.json").write_text("{}")
    assert [result["status"] for result in read_cells([tmp_path])] == ["done"]


def test_cells_of_a_file_before_it_changed_are_no_results_beside_later_ones(
    texts_file: dict[str, str], tmp_path: Path
) -> None:
    first, second = (Cell("tfidf+kmeans", texts_file, seed) for seed in (0, 1))
    assert _statuses(tmp_path, first) == ["done"]
    with open(texts_file["file"], "a", encoding="utf-8") as file:
        file.write("lawn,the roses and the roses and the roses\n")
    assert _statuses(tmp_path, second) == ["missing", "done"]
    assert _statuses(tmp_path, first, second) == ["done", "done"]


def test_a_result_stays_while_its_file_is_away(texts_file: dict[str, str], tmp_path: Path) -> None:
    cell, path = Cell("tfidf+kmeans", texts_file), Path(texts_file["file"])
    assert _statuses(tmp_path, cell) == ["done"]
    path.rename(tmp_path / "away.csv")
    assert [fresh for _, _, fresh in run_plan(Plan("x", (cell,)), tmp_path / "out")] == [False]
    (tmp_path / "away.csv").rename(path)
    assert [fresh for _, _, fresh in run_plan(Plan("x", (cell,)), tmp_path / "out")] == [False]


def test_changed_word_vectors_are_measured_again(texts_file: dict[str, str], tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    words = ["flour", "yeast", "dough", "oven", "platform", "ticket", "carriage", "rail", "roses", "compost", "pruning"]

    def write(seed: int) -> None:
        rows = np.random.default_rng(seed).normal(size=(len(words), 4)).round(3)
        vectors.write_text(
            "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, rows, strict=True))
        )

    first, second = (Cell("sif+kmeans", texts_file, seed, word_vectors=str(vectors)) for seed in (0, 1))
    write(0)
    assert _statuses(tmp_path, first) == ["done"]
    write(1)
    assert _statuses(tmp_path, second) == ["missing", "done"]
    runs = list(run_plan(Plan("x", (first, second)), tmp_path / "out"))
    assert [fresh for _, _, fresh in runs] == [True, False]


def _statuses(folder: Path, *cells: Cell) -> list[str]:
    """Of all cells of the folder, by seed, once these were run."""
    for _, result, _ in run_plan(Plan("x", cells), folder / "out"):
        assert result["status"] == "done", result
    found = sorted(read_cells([folder / "out"]), key=lambda result: result["cell"]["seed"])
    return [result["status"] for result in found]
