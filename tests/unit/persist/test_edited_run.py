"""A run that is edited: all of its files follow, or none of them; a kill at any moment leaves a whole run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import coterie
from coterie.data.atomic import draft_beside, replaced_name
from coterie.errors import ConfigError, ModelFormatError
from coterie.persist import edited_run, folders
from coterie.persist.edited_run import EditedRun
from coterie.persist.new_run import write_run
from coterie.persist.run import Run

THEMES = {
    "bread": ("flour", "yeast", "dough", "oven", "crust"),
    "train": ("platform", "ticket", "conductor", "carriage", "timetable"),
    "garden": ("roses", "compost", "pruning", "seedlings", "lawn"),
}
TEXTS = [
    f"the {words[row % 5]} and the {words[(row + 1 + row // 5) % 5]} of number {row} {theme}"
    for row in range(15)
    for theme, words in THEMES.items()
]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fitted") / "run"
    texts = [*TEXTS, TEXTS[0], TEXTS[1].upper() + "!"]  # the last is nearly the second
    frame = pl.DataFrame({"id": [f"{i:03}" for i in range(47)], "text": texts, "=theme": ["a", "b"] * 23 + ["c"]})
    write_run(
        folder, coterie.cluster(texts, 3, method="tfidf+kmeans"), frame, text_column="text", truth_column="=theme",
        input_name="in.csv", stage_seconds={}, started=time.monotonic(), force=False, outliers_below=0.6,
    )  # fmt: skip
    return folder


@pytest.fixture
def folder(fitted: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fitted, tmp_path / "run"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_file_follows_and_undo_gives_every_byte_back(folder: Path, fitted: Path) -> None:
    before = Run.open(folder)
    frame, metrics = before.assignments(), before.metrics()
    edited = EditedRun(before)
    edited.write(edited.model.edits_.renamed({2: "names"}))
    named = contents(folder)
    assert {name for name, data in named.items() if contents(fitted).get(name) != data} == {
        "clusters.json", "report.html", "model/edits.json", "model/edits.safetensors",
    }  # fmt: skip
    edited = EditedRun(Run.open(folder))
    edited.write(edited.model.edits_.merged([0, 1]))
    edited = EditedRun(Run.open(folder))
    edited.write(edited.divided(0, 3))
    run = Run.open(folder)
    after = run.assignments()
    assert after.columns == frame.columns == ["id", "text", "=theme", "cluster", "confidence", "outlier"]
    assert after.select("id", "text", "=theme").equals(frame.select("id", "text", "=theme"))
    assert after["cluster"].to_list() == run.model().predict(after["text"]).tolist() == run.model().labels_.tolist()
    assert set(after["cluster"]) == {0, 2, 3, 4}
    assert after["outlier"].to_list() == [value < 0.6 for value in after["confidence"]]
    assert {group["id"]: group["size"] for group in run.groups()} == dict(after["cluster"].value_counts().iter_rows())
    assert {group for _, *pair in run.merges() for group in pair} == {0, 2, 3, 4}
    now = run.metrics()
    assert (now["n_clusters"], now["rows"], now["seconds"]) == (4, 47, metrics["seconds"])
    assert now["outliers"] == after["outlier"].sum()
    assert now["silhouette"] != metrics["silhouette"]
    assert list(now) == list(metrics)
    csv = pl.read_csv(folder / "assignments.csv", infer_schema=False)
    assert csv["cluster"].to_list() == [str(label) for label in after["cluster"]]
    assert run.edits() == ["group 2 named “names”", "groups 0 and 1 merged into 0", "group 0 split into 0, 3 and 4"]
    assert run.groups_added() == len(run.groups()) - len(Run.open(fitted).groups()) == 1
    for _ in range(2):
        edited = EditedRun(Run.open(folder))
        edited.write(edited.model.edits_.undone())
    assert contents(folder) == named
    edited = EditedRun(Run.open(folder))
    edited.write(edited.model.edits_.undone())
    assert contents(folder) == contents(fitted)


def test_other_files_modes_and_links_in_the_folder_stay(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    (folder / "latest").symlink_to("notes.txt")
    folder.chmod(0o750)
    edited = EditedRun(Run.open(folder))
    edited.write(edited.model.edits_.merged([0, 1]))
    assert (folder / "notes.txt").read_text() == "mine"
    assert (folder / "latest").is_symlink()
    assert folder.stat().st_mode & 0o777 == 0o750
    assert os.listdir(folder.parent) == ["run"]


def test_an_error_on_the_way_leaves_the_run_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(folder)

    def full_disk(path: Path, value: object) -> None:
        raise ConfigError(f"{path}: nothing could be written: the disk is full")

    edited = EditedRun(Run.open(folder))
    monkeypatch.setattr(edited_run, "write_json_atomic", full_disk)
    with pytest.raises(ConfigError, match="the disk is full") as told:
        edited.write(edited.model.edits_.merged([0, 1]))
    assert ".coterie-" not in str(told.value)
    assert contents(folder) == before
    assert os.listdir(folder.parent) == ["run"]


def test_of_two_at_once_the_second_is_told(folder: Path) -> None:
    first, second = (EditedRun(Run.open(folder)) for _ in range(2))
    first.write(first.model.edits_.merged([0, 1]))
    after_first = contents(folder)
    with pytest.raises(ConfigError, match="another program has edited this run meanwhile"):
        second.write(second.model.edits_.merged([0, 2]))
    assert contents(folder) == after_first


def test_a_run_whose_texts_are_others(folder: Path) -> None:
    table = pl.read_parquet(folder / "assignments.parquet")
    table.with_columns(text=pl.col("text").reverse()).write_parquet(folder / "assignments.parquet")
    with pytest.raises(ModelFormatError, match="not the texts of the fit"):
        EditedRun(Run.open(folder))


def test_from_within_the_folder_it_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigError, match="you are in this folder"):
        EditedRun(Run.open(Path()))


DYING = """
import os, signal, sys
from pathlib import Path
from coterie.persist import folders
from coterie.persist.edited_run import EditedRun
from coterie.persist.run import Run

exchange = folders._exchanged

def dying(draft, target):
    if sys.argv[2] == "after":
        assert exchange(draft, target)
    os.kill(os.getpid(), signal.SIGKILL)

folders._exchanged = dying
edited = EditedRun(Run.open(Path(sys.argv[1])))
edited.write(edited.model.edits_.merged([0, 1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere folders cannot be exchanged")
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_a_whole_run_is_there(folder: Path, fitted: Path, when: str) -> None:
    """At the moment that counts; `test_run_folders.py` has all the others."""
    done = subprocess.run([sys.executable, "-c", DYING, str(folder), when], timeout=240)
    assert done.returncode == -signal.SIGKILL
    assert len(os.listdir(folder.parent)) == 2  # the run, and a draft or the old run
    if when == "before":
        assert contents(folder) == contents(fitted)
    edited = EditedRun(Run.open(folder))
    assert edited.run.edits() == ([] if when == "before" else ["groups 0 and 1 merged into 0"])
    edited.write(edited.model.edits_.merged([0, 2]))
    edited.write(edited.model.edits_.undone())
    if when == "after":
        edited.write(edited.model.edits_.undone())
    assert contents(folder) == contents(fitted)
    assert os.listdir(folder.parent) == ["run"]


def test_a_run_that_was_moved_aside_is_found_again(folder: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    before = contents(folder)
    aside = replaced_name(Path(str(draft_beside(folder)).replace(f"-{os.getpid()}-", f"-{child.pid}-")))
    folder.rename(aside)
    Run.open(folder)
    assert contents(folder) == before


def test_where_folders_cannot_be_exchanged_they_are_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_exchanged", lambda draft, target: False)
    edited = EditedRun(Run.open(folder))
    edited.write(edited.model.edits_.merged([0, 1]))
    assert Run.open(folder).edits() == ["groups 0 and 1 merged into 0"]
    assert os.listdir(folder.parent) == ["run"]
