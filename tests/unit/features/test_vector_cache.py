"""Vectors on disk: found again by content, completed after a kill, never in the way."""

from __future__ import annotations

import errno
import json
import os
import pwd
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie.features import cache
from coterie.features.cache import VectorFile, cache_bytes, cache_folder
from coterie.features.transformer import TransformerEncoder
from coterie.types import Matrix

ENCODE = """
import json, os, signal, sys
import numpy as np
from coterie.features import transformer
from coterie.features.cache import VectorFile

job = json.loads(sys.argv[1])
transformer.SECONDS_BETWEEN_RECORDS, transformer.TOKEN_BUDGET = 0, 128
records, encoded = 0, 0
record, pooled = VectorFile.record, transformer.TransformerEncoder._pooled

def counting(self, *batch):
    global encoded
    vectors = pooled(self, *batch)
    encoded += len(vectors)
    return vectors

def deadly(self, done):
    global records
    records += 1
    if records == job["kill_at"] and job["before"]:
        os.kill(os.getpid(), signal.SIGKILL)
    record(self, done)
    if records == job["kill_at"]:
        os.kill(os.getpid(), signal.SIGKILL)

transformer.TransformerEncoder._pooled = counting
VectorFile.record = deadly
vectors = transformer.TransformerEncoder(job["folder"]).encode([f"lamp {i} " + "coffee " * (i % 9) for i in range(300)])
np.save(job["out"], vectors)
print(encoded)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one test's own."""
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows the model was run on, batch by batch."""
    rows_of: list[int] = []
    pooled = TransformerEncoder._pooled

    def counting(self: TransformerEncoder, *batch: Any) -> Matrix:
        vectors = pooled(self, *batch)
        rows_of.append(len(vectors))
        return vectors

    monkeypatch.setattr(TransformerEncoder, "_pooled", counting)
    return rows_of


def entries(folder: Path) -> list[Path]:
    return sorted((folder / "vectors").iterdir())


def run(tmp_path: Path, model: Path, name: str, kill_at: int = 0, before: bool = False) -> subprocess.Popen[str]:
    out = tmp_path / f"{name}.npy"
    job = {"folder": str(model), "out": str(out), "kill_at": kill_at, "before": before}
    environment = os.environ | {"COTERIE_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", ENCODE, json.dumps(job)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("before", "kill_at"), [(False, 3), (True, 3)])
def test_killed_run_is_completed(tmp_path: Path, tiny_bert: Path, before: bool, kill_at: int) -> None:
    """Killed before the count of the third batch is on disk, or after: the rest is encoded, to the same bits."""
    killed = run(tmp_path, tiny_bert, "killed", kill_at, before)
    assert killed.wait(60) == -signal.SIGKILL
    assert not (tmp_path / "killed.npy").exists()
    (entry,) = entries(tmp_path / "cache")
    done = int((entry / "done").read_text())
    assert 0 < done < 300
    resumed = run(tmp_path, tiny_bert, "resumed")
    assert int(resumed.communicate(timeout=60)[0]) == 300 - done
    texts = [f"lamp {i} " + "coffee " * (i % 9) for i in range(300)]
    unbroken = TransformerEncoder(str(tiny_bert), cache=False).encode(texts)
    np.testing.assert_array_equal(np.load(tmp_path / "resumed.npy"), unbroken)
    assert (entry / "done").read_text() == "300"


def test_two_processes_at_once(tmp_path: Path, tiny_bert: Path) -> None:
    both = [run(tmp_path, tiny_bert, name) for name in ("first", "second")]
    assert [process.wait(120) for process in both] == [0, 0]
    first, second = (np.load(tmp_path / f"{name}.npy") for name in ("first", "second"))
    np.testing.assert_array_equal(first, second)
    (entry,) = entries(tmp_path / "cache")
    assert (entry / "done").read_text() == "300"
    np.testing.assert_array_equal(np.load(entry / "vectors.npy"), first)


def test_second_call_does_not_run_the_model(
    folder: Path, tiny_bert: Path, corpus: list[str], encoded: list[int]
) -> None:
    first = TransformerEncoder(str(tiny_bert)).encode(corpus)
    assert sum(encoded) == len(corpus)
    second = TransformerEncoder(str(tiny_bert)).encode(corpus)
    assert sum(encoded) == len(corpus)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, TransformerEncoder(str(tiny_bert), cache=False).encode(corpus))
    assert len(entries(folder)) == 1
    assert cache_bytes() > first.nbytes


def test_whatever_changes_the_vectors_changes_the_entry(
    folder: Path, tiny_bert: Path, make_model: Callable[..., Path], corpus: list[str]
) -> None:
    other = make_model("bert", seed=1)
    ways: list[tuple[Path, dict[str, Any], list[str]]] = [
        (tiny_bert, {}, corpus),
        (tiny_bert, {"precision": "int8"}, corpus),
        (tiny_bert, {"pooling": "cls"}, corpus),
        (tiny_bert, {"max_length": 5}, corpus),
        (tiny_bert, {}, [*corpus[:-1], "another lamp"]),
        (tiny_bert, {}, corpus[::-1]),
        (other, {}, corpus),
    ]
    for count, (model, options, texts) in enumerate(ways, start=1):
        cached = TransformerEncoder(str(model), **options).encode(texts)
        assert len(entries(folder)) == count
        again = TransformerEncoder(str(model), **options).encode(texts)
        plain = TransformerEncoder(str(model), cache=False, **options).encode(texts)
        np.testing.assert_array_equal(cached, plain)
        np.testing.assert_array_equal(again, plain)


def test_equal_texts_take_one_row(folder: Path, tiny_bert: Path, corpus: list[str]) -> None:
    vectors = TransformerEncoder(str(tiny_bert)).encode([corpus[0], corpus[1], corpus[0]])
    assert len(np.load(entries(folder)[0] / "vectors.npy")) == 2
    np.testing.assert_array_equal(vectors[0], vectors[2])


def test_vectors_are_read_only(folder: Path, tiny_bert: Path, corpus: list[str]) -> None:
    encoder = TransformerEncoder(str(tiny_bert))
    for _ in range(2):
        vectors = encoder.encode(corpus)
        with pytest.raises(ValueError, match="read-only"):
            vectors[0] = 0


def cut_vectors(entry: Path) -> None:
    whole = (entry / "vectors.npy").read_bytes()
    (entry / "vectors.npy").write_bytes(whole[: len(whole) // 2])


def other_shape(entry: Path) -> None:
    np.save(entry / "vectors.npy", np.zeros((3, 5), np.float32))


def other_type(entry: Path) -> None:
    np.save(entry / "vectors.npy", np.zeros((60, 64), np.float64))


def archive(entry: Path) -> None:
    with (entry / "vectors.npy").open("wb") as file:
        np.savez(file, np.zeros((60, 64), np.float32))


def pickled(entry: Path) -> None:
    np.save(entry / "vectors.npy", np.full((60, 64), None), allow_pickle=True)


def garbage(entry: Path) -> None:
    (entry / "vectors.npy").write_bytes(b"no vectors")


def empty(entry: Path) -> None:
    (entry / "vectors.npy").write_bytes(b"")


def no_vectors(entry: Path) -> None:
    (entry / "vectors.npy").unlink()


def bad_count(entry: Path) -> None:
    (entry / "done").write_text("many")


def huge_count(entry: Path) -> None:
    (entry / "vectors.npy").unlink()
    (entry / "done").write_text("999999")


@pytest.mark.parametrize(
    "damage",
    [cut_vectors, other_shape, other_type, archive, pickled, garbage, empty, no_vectors, bad_count, huge_count],
)
def test_damaged_entry_is_replaced(
    folder: Path, tiny_bert: Path, corpus: list[str], encoded: list[int], damage: Callable[[Path], None]
) -> None:
    expected = np.array(TransformerEncoder(str(tiny_bert)).encode(corpus))
    (entry,) = entries(folder)
    (entry / "foreign.txt").write_text("not ours")
    damage(entry)
    encoded.clear()
    np.testing.assert_array_equal(TransformerEncoder(str(tiny_bert)).encode(corpus), expected)
    assert sum(encoded) == len(corpus)
    np.testing.assert_array_equal(TransformerEncoder(str(tiny_bert)).encode(corpus), expected)
    assert sum(encoded) == len(corpus)


def test_unwritable_cache_is_done_without(
    tmp_path: Path, tiny_bert: Path, corpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "file" / "cache"))
    vectors = TransformerEncoder(str(tiny_bert)).encode(corpus)
    np.testing.assert_array_equal(vectors, TransformerEncoder(str(tiny_bert), cache=False).encode(corpus))
    assert cache_bytes() == 0


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="space cannot be reserved here")
def test_full_disk_is_found_before_writing(
    folder: Path, tiny_bert: Path, corpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    expected = TransformerEncoder(str(tiny_bert), cache=False).encode(corpus)
    monkeypatch.setattr(os, "posix_fallocate", full)
    for _ in range(2):
        np.testing.assert_array_equal(TransformerEncoder(str(tiny_bert)).encode(corpus), expected)
        # A file of holes that was left here would be taken for reserved space by the next run.
        assert not list(folder.rglob("vectors.npy"))


def test_count_that_cannot_be_written_is_no_error(
    folder: Path, tiny_bert: Path, corpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, *args: object, **kwargs: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        vectors = TransformerEncoder(str(tiny_bert)).encode(corpus)
    np.testing.assert_array_equal(vectors, TransformerEncoder(str(tiny_bert), cache=False).encode(corpus))
    assert not (entries(folder)[0] / "done").exists()


def test_entry_is_for_one_at_a_time(folder: Path) -> None:
    with VectorFile.open("a", "b", rows=2, width=3) as file:
        assert file is not None
        with VectorFile.open("a", "b", rows=2, width=3) as second:
            assert second is None
        with VectorFile.open("a", "c", rows=2, width=3) as other:
            assert other is not None
    with VectorFile.open("a", "b", rows=2, width=3) as file:
        assert file is not None


def test_entry_in_use_is_left_alone(
    folder: Path, tiny_bert: Path, corpus: list[str], encoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = np.array(TransformerEncoder(str(tiny_bert)).encode(corpus))
    (entry,) = entries(folder)
    (entry / "done").write_text("0")
    with monkeypatch.context() as patch:
        patch.setattr(cache, "only_user", lambda lock: False)
        np.testing.assert_array_equal(TransformerEncoder(str(tiny_bert)).encode(corpus), expected)
    assert (entry / "done").read_text() == "0"
    assert sum(encoded) == 2 * len(corpus)


def test_rows_and_count_survive(folder: Path) -> None:
    with VectorFile.open("key", rows=4, width=2) as file:
        assert file is not None
        assert file.done == 0
        file.vectors[:3] = [[1, 2], [3, 4], [5, 6]]
        file.record(3)
    with VectorFile.open("key", rows=4, width=2) as file:
        assert file is not None
        assert file.done == 3
        assert file.vectors[:3].tolist() == [[1, 2], [3, 4], [5, 6]]


def make_entry(key: str, rows: int, hours_ago: float) -> Path:
    with VectorFile.open(key, rows=rows, width=256) as file:
        assert file is not None
        file.record(rows)
        entry = file.folder
    then = time.time() - hours_ago * 3600
    os.utime(entry, (then, then))
    return entry


def test_least_recently_used_entries_make_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of about 100 KB each in a cache of 350 KB."""
    monkeypatch.setattr(cache, "LARGEST_BYTES", 350 * 1024)
    oldest = make_entry("oldest", 100, hours_ago=40)
    older = make_entry("older", 100, hours_ago=30)
    old = make_entry("old", 100, hours_ago=20)
    with VectorFile.open("oldest", rows=100, width=256) as used_again:
        assert used_again is not None
    new = make_entry("new", 100, hours_ago=0)
    assert [entry.exists() for entry in (oldest, older, old, new)] == [True, False, True, True]
    assert cache_bytes() <= 350 * 1024
    newer = make_entry("newer", 200, hours_ago=0)
    assert [entry.exists() for entry in (oldest, old, new, newer)] == [True, False, True, True]
    # Entries of the last hour may be in use: they stay, whatever the size.
    newest = make_entry("newest", 200, hours_ago=0)
    assert [entry.exists() for entry in (oldest, new, newer, newest)] == [True, True, True, True]


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("COTERIE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "coterie"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "coterie"


def test_a_user_without_a_home_has_a_folder_of_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unknown(user: int) -> None:
        raise KeyError(user)

    for name in ("COTERIE_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cache_folder().parent == tmp_path
    assert cache_folder().name.startswith("coterie-")
