"""Files are there whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from coterie.data.atomic import atomic_file, write_json_atomic, write_text_atomic
from coterie.errors import ConfigError


def test_text_and_json(tmp_path: Path) -> None:
    write_text_atomic(tmp_path / "a.txt", "é\n")
    write_json_atomic(tmp_path / "a.json", {"k": ["é", 1, None]})
    assert (tmp_path / "a.txt").read_bytes() == "é\n".encode()
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == {"k": ["é", 1, None]}
    assert sorted(os.listdir(tmp_path)) == ["a.json", "a.txt"]


@pytest.mark.parametrize("value", [float("nan"), object()])
def test_values_that_are_not_json_leave_the_old_file(tmp_path: Path, value: object) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises((ValueError, TypeError)):
        write_json_atomic(path, [value])
    assert path.read_text() == "old"


def test_mode_of_the_old_file_is_kept_and_new_files_follow_the_umask(tmp_path: Path) -> None:
    old, new, plain = tmp_path / "old", tmp_path / "new", tmp_path / "plain"
    old.write_text("x")
    old.chmod(0o640)
    plain.write_text("x")
    write_text_atomic(old, "y")
    write_text_atomic(new, "y")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == plain.stat().st_mode


def test_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text_atomic(tmp_path / "link", "y")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "y"


def test_longest_name_works(tmp_path: Path) -> None:
    write_text_atomic(tmp_path / ("x" * 255), "y")
    with pytest.raises(ConfigError, match="name is too long"):
        write_text_atomic(tmp_path / ("x" * 256), "y")
    assert os.listdir(tmp_path) == ["x" * 255]


def test_error_in_the_block(tmp_path: Path) -> None:
    def interrupted() -> None:
        with atomic_file(tmp_path / "a") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "your disk quota is used up"),
        (errno.EACCES, "no permission"),
        (errno.EROFS, "the disk is read-only"),
        (errno.EIO, "Input/output error"),
    ],
)
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_faults_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, code: int, advice: str) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(code, os.strerror(code))

    path = tmp_path / "a"
    path.write_text("old")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(ConfigError) as caught:
        write_text_atomic(path, "new")
    assert f"{path}: nothing could be written: {advice}" in str(caught.value)
    assert os.listdir(tmp_path) == ["a"]
    assert path.read_text() == "old"


def test_targets_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this is a folder"):
        write_text_atomic(tmp_path, "x")
    with pytest.raises(ConfigError, match="device"):
        write_text_atomic("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_missing_folder(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    with pytest.raises(ConfigError) as caught:
        write_text_atomic(tmp_path / "result" / "a.txt", "x")
    assert f"there is no folder {tmp_path / 'result'}" in str(caught.value)
    assert f"Did you mean {tmp_path / 'results'}?" in str(caught.value)
