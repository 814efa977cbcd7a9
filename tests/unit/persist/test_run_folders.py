"""Folders are there whole or not at all, and what is not a run is never replaced."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.data.atomic import draft_beside, replaced_name, write_text_atomic
from coterie.errors import ConfigError, CoterieError, InputError, ModelFormatError
from coterie.persist import folders
from coterie.persist.folders import new_folder, new_version
from coterie.persist.new_run import check_free
from coterie.persist.run import Run


def write_half(folder: Path) -> None:
    with new_folder(folder) as draft:
        (draft / "half").write_text("x")
        raise RuntimeError


def test_error_leaves_nothing_not_even_the_folders_above(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        write_half(tmp_path / "some" / "where" / "run")
    assert os.listdir(tmp_path) == []


def test_error_leaves_the_old_folder(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").write_text("x")
    with pytest.raises(RuntimeError):
        write_half(tmp_path / "run")
    assert os.listdir(tmp_path) == ["run"]
    assert os.listdir(tmp_path / "run") == ["old"]


def test_old_folder_comes_back_when_the_new_one_cannot_be_put_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").write_text("x")
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        if (source / "new").exists():
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(folders, "_exchanged", lambda draft, target: False)
    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(ConfigError, match="the disk is full"), new_folder(tmp_path / "run", replace=True) as draft:
        (draft / "new").write_text("x")
    assert os.listdir(tmp_path) == ["run"]
    assert os.listdir(tmp_path / "run") == ["old"]


def test_errors_name_what_the_user_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        pytest.raises(ConfigError, match=r"^run/missing/a\.txt: there is no folder run/missing"),
        new_folder(Path("run")) as draft,
    ):
        write_text_atomic(draft / "missing" / "a.txt", "x")


@pytest.mark.parametrize("kind", [InputError, ModelFormatError])
def test_no_error_speaks_of_the_draft(kind: type[CoterieError], tmp_path: Path) -> None:
    with (
        pytest.raises(kind, match=f"^{re.escape(str(tmp_path / 'run'))}/map: damaged$"),
        new_folder(tmp_path / "run") as draft,
    ):
        raise kind(f"{draft}/map: damaged")


def test_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with new_folder(tmp_path / "link") as draft:
        (draft / "new").write_text("x")
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]
    assert (tmp_path / "link").is_symlink()
    assert os.listdir(tmp_path / "real") == ["new"]


def test_folder_with_a_config_of_others_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ConfigError, match=r"holds other files \('thesis.txt'\)"):
        check_free(tmp_path, force=True)


def test_the_model_in_a_run_names_the_run(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with pytest.raises(ModelFormatError, match=r"Give a run folder\."):
        Run.open(tmp_path / "model")
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelFormatError, match=re.escape(f"Give {tmp_path}.")):
        Run.open(tmp_path / "model")


def test_empty_and_new_folders_are_free(tmp_path: Path) -> None:
    check_free(tmp_path, force=False)
    check_free(tmp_path / "some" / "where", force=False)


def test_folder_that_we_are_in_is_not_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    for folder in (Path(), tmp_path / "run", Path("..")):
        with pytest.raises(ConfigError, match="you are in this folder"):
            check_free(folder, force=True)


def test_what_was_put_there_meanwhile_is_never_replaced(tmp_path: Path) -> None:
    def write_slowly() -> None:
        with new_folder(tmp_path / "run") as draft:
            (draft / "new").write_text("x")
            (tmp_path / "run").mkdir()
            (tmp_path / "run" / "thesis.txt").write_text("years of work")

    with pytest.raises(ConfigError, match="something else was put there meanwhile"):
        write_slowly()
    assert os.listdir(tmp_path) == ["run"]
    assert os.listdir(tmp_path / "run") == ["thesis.txt"]


def dead_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_drafts_of_other_machines_are_left_alone(tmp_path: Path) -> None:
    """On a folder that several share, their processes have the same numbers."""
    target = tmp_path / "run"
    own = draft_beside(target).name
    tag, owner, host, token = own.removeprefix(".coterie-").split("-")
    assert owner == str(os.getpid())
    foreign = tmp_path / f".coterie-{tag}-{dead_process()}-{host[::-1]}x-{token}"
    foreign.write_text("a draft")
    draft_beside(target)
    assert foreign.exists()


def test_drafts_of_killed_processes_are_cleared_and_those_of_living_ones_kept(tmp_path: Path) -> None:
    target = tmp_path / "run"
    dead = Path(str(draft_beside(target)).replace(f"-{os.getpid()}-", f"-{dead_process()}-"))
    living = draft_beside(target)
    for draft in (dead, living):
        draft.mkdir()
        (draft / "half").write_text("x")
    draft_beside(target)
    assert not dead.exists()
    assert living.exists()


def test_a_run_moved_aside_by_a_killed_process_comes_back(tmp_path: Path) -> None:
    target = tmp_path / "run"
    aside = replaced_name(Path(str(draft_beside(target)).replace(f"-{os.getpid()}-", f"-{dead_process()}-")))
    aside.mkdir()
    (aside / "old").write_text("x")
    draft_beside(target)
    assert os.listdir(tmp_path) == ["run"]
    assert os.listdir(target) == ["old"]


# Children that are each killed at another of the calls that change the disk.
DYING = """
import os, shutil, signal, sys
from pathlib import Path
from coterie.data.atomic import clear_abandoned, write_text_atomic
from coterie.persist import folders

folder = Path(sys.argv[1])
if sys.argv[2] == "two steps":
    folders._exchanged = lambda draft, target: False


def fill():
    for name in ("a", "b", "below/c"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("old")


def change(point):
    calls = 0

    def dying(real):
        def call(*args, **options):
            nonlocal calls
            calls += 1
            if calls == point:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **options)
        return call

    for name in ("replace", "link", "fsync", "mkdir", "unlink", "rmdir"):
        setattr(os, name, dying(getattr(os, name)))
    folders._exchanged = dying(folders._exchanged)
    with folders.new_version(folder) as draft:
        for name in ("a", "below/c"):
            write_text_atomic(draft / name, "new")


fill()
point, code = 1, -signal.SIGKILL
while code == -signal.SIGKILL:
    child = os.fork()
    if child == 0:
        try:
            change(point)
            os._exit(0)
        finally:
            os._exit(7)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    there = folder.exists()
    clear_abandoned(folder)
    print(point, code, there, *((folder / name).read_text() for name in ("a", "b", "below/c")), flush=True)
    shutil.rmtree(folder)
    fill()
    point += 1
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("way", ["exchange", "two steps"])
def test_killed_at_any_moment_the_old_or_the_new_folder_is_whole(tmp_path: Path, way: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(tmp_path / "run"), way], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    *killed, last = [line.split() for line in done.stdout.splitlines()]
    assert last[1:] == ["0", "True", "new", "old", "new"]
    assert len(killed) > 10
    assert {tuple(line[3:]) for line in killed} == {("old", "old", "old"), ("new", "old", "new")}
    if way == "exchange" and sys.platform == "linux":
        assert all(line[2] == "True" for line in killed)
    assert os.listdir(tmp_path) == ["run"]


def test_a_new_version_changes_no_file_of_the_old_one_before_its_time(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "kept").write_text("x")
    (tmp_path / "run" / "changed").write_text("old")
    with new_version(tmp_path / "run") as draft:
        write_text_atomic(draft / "changed", "new")
        (draft / "more").write_text("x")
        assert sorted(os.listdir(tmp_path / "run")) == ["changed", "kept"]
        assert (tmp_path / "run" / "changed").read_text() == "old"
    assert {path.name: path.read_text() for path in (tmp_path / "run").iterdir()} == {
        "kept": "x", "changed": "new", "more": "x",
    }  # fmt: skip


def test_what_may_not_be_written_to_is_refused_before_anything_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    # Whoever runs the tests as root may write anywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: (Path(path), mode) != (tmp_path / "run", os.W_OK))
    with pytest.raises(ConfigError, match="may not be changed"), new_version(tmp_path / "run"):
        raise AssertionError("there is a draft")
    assert os.listdir(tmp_path) == ["run"]
