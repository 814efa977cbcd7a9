"""What every augmenter can do, and views that are made once and kept on disk."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from coterie.data.atomic import atomic_file
from coterie.data.check import check_texts
from coterie.errors import ConfigError
from coterie.features.cache import cache_folder, make_room
from coterie.types import Progress, silent

LARGEST_BYTES = 1 << 30
"""Beyond this the least recently used views are removed."""


class Augmenter(Protocol):
    """Texts to one view of each; equal texts have equal views."""

    def describe(self) -> str:
        """Kind, version and every setting: two augmenters with the same description give the same views."""

    def augment(self, texts: Sequence[str], progress: Progress = silent) -> list[str]:
        """One view a text, in order, none of them empty."""


def fixed_view(augmenter: Augmenter, texts: Sequence[str], progress: Progress = silent) -> list[str]:
    """The augmenter's view of these texts, made once and kept on disk for the next run.

    Where the cache folder cannot be written the view is made every time.
    """
    texts = check_texts(texts)
    path = cache_folder() / "views" / f"{digest_of([augmenter.describe(), *texts])[:32]}.json.gz"
    kept = _read(path, len(texts))
    if kept is not None:
        progress("augmenting", len(texts), len(texts))
        return kept
    view = augmenter.augment(texts, progress)
    # Errors of the file are ConfigErrors that name it; the user did not ask for this file.
    with contextlib.suppress(OSError, ConfigError):
        _write(path, view)
    return view


def digest_of(texts: Iterable[str]) -> str:
    """A name for these texts in this order."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode()
        # With its length, or two texts could pass for one.
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _read(path: Path, rows: int) -> list[str] | None:
    """The view in a file; None when there is none, or when it is damaged."""
    try:
        view = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError, zlib.error, RecursionError):
        return None
    if not isinstance(view, list) or len(view) != rows:
        return None
    if not all(isinstance(text, str) and text.strip() for text in view):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return view


def _write(path: Path, view: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = gzip.compress(json.dumps(view, ensure_ascii=False).encode(), compresslevel=4, mtime=0)
    if len(data) > LARGEST_BYTES:
        return
    make_room(path.parent, len(data), LARGEST_BYTES)
    with atomic_file(path) as file:
        file.write(data)
