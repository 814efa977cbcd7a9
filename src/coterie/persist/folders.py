"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie.data.atomic import writing_errors_named


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A draft folder that takes the place of `target` when the block ends well, and vanishes when it does not.

    A folder that is already at `target` is kept until the draft is complete.
    """
    draft = target.with_name(f".{target.name}.coterie-{secrets.token_hex(4)}")
    with writing_errors_named(str(target)):
        draft.mkdir(parents=True)
    try:
        yield draft
        with writing_errors_named(str(target)):
            _put_in_place(draft, target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _put_in_place(draft: Path, target: Path) -> None:
    if not target.exists():
        os.replace(draft, target)
        return
    replaced = target.with_name(f"{draft.name}-replaced")
    os.replace(target, replaced)
    os.replace(draft, target)
    shutil.rmtree(replaced, ignore_errors=True)
