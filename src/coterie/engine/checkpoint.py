"""Where training had got to, on disk: one file, whole or not there, found again by what is being trained.

The same texts with the same settings, seed and versions have the same key, so the same command goes on where a killed
one stopped. safetensors with a JSON header: nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from torch import Tensor

from coterie.data.atomic import atomic_file
from coterie.errors import CoterieError
from coterie.features.cache import cache_folder, entry_key, only_user

LEAST_SECONDS_BETWEEN = 2.0
STATE = "state.safetensors"
LARGEST_SHARE_OF_TIME = 0.03
KEPT_SECONDS = 14 * 24 * 3600
"""A training that nobody came back to for two weeks is given up."""


@dataclass
class Saved:
    """Everything the loop needs to go on: plain values and tensors."""

    document: dict[str, Any]
    tensors: dict[str, Tensor] = field(default_factory=dict)

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors that `add` stored under this name."""
        prefix = name + "/"
        return {key[len(prefix) :]: value for key, value in self.tensors.items() if key.startswith(prefix)}

    def add(self, name: str, tensors: dict[str, Tensor]) -> None:
        self.tensors |= {f"{name}/{key}": value for key, value in tensors.items()}

    def packed(self) -> bytes:
        """As one safetensors file."""
        from safetensors.torch import save

        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.tensors.items()}
        return save(tensors, {"document": json.dumps(self.document)})

    @classmethod
    def unpacked(cls, data: bytes) -> Self | None:
        """What `packed` made; None where it is damaged, or something else."""
        from safetensors import SafetensorError
        from safetensors.torch import load

        try:
            tensors = load(data)
            header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
            return cls(json.loads(header["__metadata__"]["document"]), tensors)
        except (SafetensorError, ValueError, KeyError, TypeError):
            return None


class Checkpoints:
    """The checkpoint of one training; `NoCheckpoints` where there is no place for it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / STATE
        self._last = time.monotonic()
        self._next_after = LEAST_SECONDS_BETWEEN

    @property
    def due(self) -> bool:
        return time.monotonic() - self._last > self._next_after

    def load(self) -> Saved | None:
        """None where there is none yet, or only a damaged one: from the start, then."""
        try:
            return Saved.unpacked(self._path.read_bytes())
        except OSError:
            return None

    def save(self, saved: Saved) -> None:
        """Replaces the last one; where the disk is full, training goes on without."""
        started = time.monotonic()
        with contextlib.suppress(CoterieError, OSError), atomic_file(self._path) as file:
            file.write(saved.packed())
        self._last = time.monotonic()
        self._next_after = max(LEAST_SECONDS_BETWEEN, (self._last - started) / LARGEST_SHARE_OF_TIME)


class NoCheckpoints:
    """Another process is at the same training, or the folder cannot be written: train without."""

    due = False

    def load(self) -> Saved | None:
        return None

    def save(self, saved: Saved) -> None:
        pass


def forget_checkpoints(*parts: str) -> None:
    """When all is done that a training was for."""
    with contextlib.suppress(OSError):
        (_folder(*parts) / STATE).unlink(missing_ok=True)


def _folder(*parts: str) -> Path:
    return cache_folder() / "training" / entry_key(*parts)


@contextmanager
def checkpoints_for(*parts: str) -> Iterator[Checkpoints | NoCheckpoints]:
    """The checkpoints of the training that these parts describe in full."""
    folder = _folder(*parts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("a")
    except OSError:
        yield NoCheckpoints()
        return
    with lock:
        if not only_user(lock):
            yield NoCheckpoints()
            return
        with contextlib.suppress(OSError):
            os.utime(folder)  # begun again: a training that starts elsewhere must not give it up for old
        _give_up_old_ones(folder)
        yield Checkpoints(folder)


def _give_up_old_ones(current: Path) -> None:
    oldest = time.time() - KEPT_SECONDS
    for entry in current.parent.iterdir():
        with contextlib.suppress(OSError):
            if entry != current and max(path.stat().st_mtime for path in (entry, *entry.iterdir())) < oldest:
                shutil.rmtree(entry)
