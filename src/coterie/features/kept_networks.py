"""Networks that features have trained, on disk: the same texts asked for other groups need not train them again."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from torch import Tensor

from coterie.data.atomic import atomic_file
from coterie.engine.checkpoint import Saved
from coterie.engine.workers import Workers
from coterie.errors import CoterieError
from coterie.features.cache import cache_folder, entry_key, make_room

LARGEST_BYTES = 1 << 30
"""Beyond this the least recently used are removed."""


def kept_network(workers: Workers, *parts: str) -> dict[str, Tensor] | None:
    """The weights that were kept under these parts; None when there are none, or only damaged ones."""
    data = None
    if workers.is_main:
        with contextlib.suppress(OSError):
            data = _path(*parts).read_bytes()
            os.utime(_path(*parts))
    # All or none of the processes must train, and not all need see the same disk.
    data = workers.from_main(data)
    saved = None if data is None else Saved.unpacked(data)
    return None if saved is None else saved.tensors


def keep_network(workers: Workers, weights: dict[str, Tensor], *parts: str) -> None:
    """Where the disk is full or cannot be written, nothing is kept."""
    if not workers.is_main:
        return
    data, path = Saved({}, weights).packed(), _path(*parts)
    with contextlib.suppress(CoterieError, OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        make_room(path.parent, len(data), LARGEST_BYTES)
        with atomic_file(path) as file:
            file.write(data)


def _path(*parts: str) -> Path:
    return cache_folder() / "networks" / f"{entry_key(*parts)}.safetensors"
