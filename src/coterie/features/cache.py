"""Vectors kept on disk by content: a folder per (encoder, settings, texts), memory-mapped, resumable.

`vectors.npy` is written row by row in the order of encoding; `done` holds how many rows of that order are on disk.
Rows are flushed before the count is, so a kill at any moment loses at most the rows since the last count.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from coterie.types import Matrix

LARGEST_BYTES = 4 << 30
"""Beyond this the least recently used entries are removed."""

SPARED_NS = 3600 * 10**9
"""What was used in the last hour may be in use still, or half written: it stays, whatever the size."""


def cache_folder() -> Path:
    """`COTERIE_CACHE` if set, else the user's cache folder, and one of temporary files where the user has no home."""
    given = os.environ.get("COTERIE_CACHE")
    try:
        if given:
            return Path(given).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "coterie"
    except RuntimeError:
        # As in containers that run under a number for which there is no user.
        user = os.getuid() if hasattr(os, "getuid") else "user"
        return Path(tempfile.gettempdir()) / f"coterie-{user}"


def cache_bytes() -> int:
    return _size(cache_folder())


def entry_key(*parts: str) -> str:
    """A folder name for what these parts describe."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


class VectorFile:
    """The vectors of one list of texts, some of them perhaps already there."""

    @classmethod
    @contextmanager
    def open(cls, *parts: str, rows: int, width: int) -> Iterator[VectorFile | None]:
        """The entry of this key, for one process at a time; None when it is in use or the folder cannot be written."""
        folder = cache_folder() / "vectors" / entry_key(*parts)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = (folder / "lock").open("a")
        except OSError:
            yield None
            return
        with lock:
            try:
                file = cls(folder, rows, width) if only_user(lock) else None
            except OSError:
                file = None
            yield file

    def __init__(self, folder: Path, rows: int, width: int) -> None:
        self.folder = folder
        self._count_path = self.folder / "done"
        self._array_path = self.folder / "vectors.npy"
        os.utime(self.folder)
        existing = self._existing(rows, width)
        self.vectors = self._new(rows, width) if existing is None else existing
        self.done = self._read_count()

    def _existing(self, rows: int, width: int) -> Matrix | None:
        try:
            # Opened for reading first: opened for writing, a file that was cut short is filled up with zeros.
            found = np.lib.format.open_memmap(self._array_path, mode="r")
            if found.shape != (rows, width) or found.dtype != np.float32:
                return None
            return np.lib.format.open_memmap(self._array_path, mode="r+")
        except (ValueError, OSError, EOFError):
            return None

    def _new(self, rows: int, width: int) -> Matrix:
        self._count_path.unlink(missing_ok=True)
        # Another process may still read the old file through its map, so it is not written over.
        self._array_path.unlink(missing_ok=True)
        make_room(self.folder.parent, rows * width * 4, LARGEST_BYTES)
        vectors = np.lib.format.open_memmap(self._array_path, mode="w+", dtype=np.float32, shape=(rows, width))
        if hasattr(os, "posix_fallocate"):
            # Reserved now, a full disk is an error here; found out while writing to the map, it would kill us.
            try:
                with self._array_path.open("r+b") as file:
                    os.posix_fallocate(file.fileno(), 0, self._array_path.stat().st_size)
            except OSError:
                self._array_path.unlink(missing_ok=True)
                raise
        return vectors

    def _read_count(self) -> int:
        try:
            return min(int(self._count_path.read_text()), len(self.vectors))
        except (OSError, ValueError):
            return 0

    def record(self, done: int) -> None:
        """Makes the first `done` rows durable, then says so; where the disk is full, the rows are only not kept."""
        temporary = self.folder / f"done.{os.getpid()}"
        try:
            self.vectors.flush()  # type: ignore[attr-defined]
            temporary.write_text(str(done))
            temporary.replace(self._count_path)
        except OSError:
            return
        self.done = done


def only_user(lock: IO[str]) -> bool:
    """Locks the file for this process; False when another has it."""
    try:
        import fcntl
    except ImportError:  # Windows: two writers write the same bytes, so nothing is wrong in the end
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def make_room(folder: Path, needed: int, largest: int) -> None:
    """Removes the least recently used entries of a folder, be they files or folders, until `needed` more bytes fit."""
    entries = sorted((path.stat().st_mtime_ns, path) for path in folder.iterdir())
    sizes = {path: _size(path) for _, path in entries}
    total = sum(sizes.values()) + needed
    for used, path in entries:
        if total <= largest or used > time.time_ns() - SPARED_NS:
            return
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        total -= sizes[path]


def _size(path: Path) -> int:
    """Of a file, or of all files below a folder."""
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file())
