"""Folders that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie.data.atomic import draft_beside, replaced_name, writing_errors_named
from coterie.errors import ConfigError


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
        if isinstance(error, ConfigError):  # the user knows nothing of the draft
            raise ConfigError(str(error).replace(str(draft), shown_name)) from error
        raise


def _put_in_place(draft: Path, target: Path, replace: bool, shown_name: str) -> None:
    if not replace or not target.exists():
        try:
            os.replace(draft, target)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise ConfigError(
                    f"{shown_name}: something else was put there meanwhile. Name a new folder."
                ) from error
            raise
        return
    replaced = replaced_name(draft)
    os.replace(target, replaced)
    try:
        os.replace(draft, target)
    except BaseException:
        os.replace(replaced, target)
        raise
    shutil.rmtree(replaced, ignore_errors=True)
