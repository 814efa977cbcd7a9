"""Folders that appear whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie.data.atomic import draft_beside, replaced_name, writing_errors_named
from coterie.errors import ConfigError, CoterieError

_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux's renameat2."""


@contextmanager
def new_folder(target: Path, replace: bool = False) -> Iterator[Path]:
    """A draft folder that takes the place of `target` when the block ends well, and vanishes when it does not.

    With `replace` a folder that is already there is kept until the draft is complete; without it, it is an error.
    """
    shown_name = str(target)
    target = Path(os.path.realpath(target))  # through a link, so that the link stays one
    new_parents = [path for path in target.parents if not path.exists()]
    draft = draft_beside(target)
    try:
        with writing_errors_named(shown_name):
            draft.mkdir(parents=True)
        yield draft
        with writing_errors_named(shown_name):
            _put_in_place(draft, target, replace, shown_name)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        for folder in new_parents:
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, CoterieError):  # the user knows nothing of the draft
            raise type(error)(str(error).replace(str(draft), shown_name)) from error
        raise


def _put_in_place(draft: Path, target: Path, replace: bool, shown_name: str) -> None:
    if not replace or not target.exists():
        with contextlib.suppress(OSError):
            target.rmdir()  # empty: not every system puts a folder in the place of another
        try:
            os.replace(draft, target)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise ConfigError(
                    f"{shown_name}: something else was put there meanwhile. Name a new folder."
                ) from error
            raise
        return
    if _exchanged(draft, target):
        shutil.rmtree(draft, ignore_errors=True)
        return
    replaced = replaced_name(draft)
    os.replace(target, replaced)
    try:
        os.replace(draft, target)
    except BaseException:
        os.replace(replaced, target)
        raise
    shutil.rmtree(replaced, ignore_errors=True)


def _exchanged(draft: Path, target: Path) -> bool:
    """Swaps both in one step, so that there is a whole folder at every moment; False where the system cannot."""
    try:
        exchange = ctypes.CDLL(None).renameat2  # Linux only, and not in every C library
    except (OSError, AttributeError, TypeError):
        return False
    return bool(exchange(_HERE, os.fsencode(draft), _HERE, os.fsencode(target), _EXCHANGE) == 0)


@contextmanager
def new_version(folder: Path) -> Iterator[Path]:
    """A draft of a folder with all that is in it, to be changed file by file; it takes its place as a whole.

    Files are shared with the folder until they are written anew, which must be done by `atomic_file`. A folder that may
    not be written to is not replaced either: a copy of it could not even be removed.
    """
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"{folder}: it may not be changed: allow writing to it (`chmod -R u+w`), or edit a copy.")
    with new_folder(folder, replace=True) as draft:
        with writing_errors_named(str(folder)):
            shutil.copytree(folder, draft, symlinks=True, copy_function=_shared, dirs_exist_ok=True)
        yield draft


def _shared(source: str, copy: str) -> None:
    try:
        os.link(source, copy, follow_symlinks=False)
    except OSError:  # a disk without hard links
        shutil.copy2(source, copy, follow_symlinks=False)
