"""Folders that appear whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie.data.atomic import writing_errors_named
from coterie.errors import ConfigError


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A draft folder that takes the place of `target` when the block ends well, and vanishes when it does not.

    A folder that is already at `target` is kept until the draft is complete.
    """
    shown_name = str(target)
    target = Path(os.path.realpath(target))  # through a link, so that the link stays one
    _remove_leftovers(target)
    draft = target.with_name(f".{target.name}.coterie-{os.getpid()}-{secrets.token_hex(4)}")
    new_parents = [path for path in target.parents if not path.exists()]
    try:
        with writing_errors_named(shown_name):
            draft.mkdir(parents=True)
        yield draft
        with writing_errors_named(shown_name):
            _put_in_place(draft, target)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        for folder in new_parents:
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, ConfigError):  # the user knows nothing of the draft
            raise ConfigError(str(error).replace(str(draft), shown_name)) from error
        raise


def _remove_leftovers(target: Path) -> None:
    """Drafts of processes that were killed; one that is still at work keeps its own."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.coterie-*-*"):
        owner = path.name.rsplit(".coterie-", 1)[1].split("-")[0]
        if owner.isdigit() and not path.name.endswith("-replaced") and not _is_alive(int(owner)):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # elsewhere the call below would end the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # there, but another user's
        return True
    return True


def _put_in_place(draft: Path, target: Path) -> None:
    if not target.exists():
        os.replace(draft, target)
        return
    replaced = target.with_name(f"{draft.name}-replaced")
    os.replace(target, replaced)
    try:
        os.replace(draft, target)
    except BaseException:
        os.replace(replaced, target)
        raise
    shutil.rmtree(replaced, ignore_errors=True)
