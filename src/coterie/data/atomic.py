"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import platform
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from coterie.data.messages import nearest
from coterie.errors import ConfigError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

_REPLACED = "-replaced"
_ADVICE = {
    errno.ENOSPC: "the disk is full; make room or choose another folder",
    errno.EDQUOT: "your disk quota is used up; make room or choose another folder",
    errno.EFBIG: "the file is too large for this disk; choose another folder",
    errno.EACCES: "no permission to write there; choose another folder",
    errno.EPERM: "no permission to write there; choose another folder",
    errno.EROFS: "the disk is read-only; choose another folder",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


class _NamedFile(io.FileIO):
    """A new file whose write errors name the file that the user asked for."""

    def __init__(self, draft: Path, shown_name: str) -> None:
        super().__init__(draft, "xb")
        self._shown_name = shown_name

    def write(self, data: Buffer, /) -> int:
        with writing_errors_named(self._shown_name):
            return super().write(data)


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Give a binary file that takes the place of `path` at the end; after any error `path` is as before."""
    shown_name = os.fspath(path)
    target = Path(os.path.realpath(path))  # through a link, so that the link stays one
    with writing_errors_named(shown_name):
        _check_target(target)
        draft = draft_beside(target)
        file = io.BufferedWriter(_NamedFile(draft, shown_name))
    try:
        yield file
        with writing_errors_named(shown_name):
            _finish(file, draft, target)
    except BaseException:
        with contextlib.suppress(OSError, ConfigError):
            file.close()
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def draft_beside(target: Path) -> Path:
    """A name for what will become `target`; drafts of it that killed processes left behind are cleared away first."""
    clear_abandoned(target)
    return target.with_name(f".coterie-{_tag(target)}-{os.getpid()}-{_host()}-{secrets.token_hex(4)}")


def clear_abandoned(target: Path) -> None:
    """Clears away drafts of `target` that killed processes left behind.

    What was moved aside to be replaced is put back if its owner was killed before the new one was in place.
    """
    for left in sorted(target.parent.glob(f".coterie-{_tag(target)}-*")) if target.parent.is_dir() else []:
        owner, host, *_ = [*left.name.split("-")[2:], "", ""]
        # Another machine on the same folder has processes of its own under these numbers.
        if host != _host() or not owner.isdigit() or _is_alive(int(owner)):
            continue
        with contextlib.suppress(OSError):
            if left.name.endswith(_REPLACED) and not target.exists():
                os.replace(left, target)
            elif left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink()


def _tag(target: Path) -> str:
    return hashlib.sha256(target.name.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _host() -> str:
    return hashlib.sha256(platform.node().encode("utf-8", "surrogateescape")).hexdigest()[:8]


def replaced_name(draft: Path) -> Path:
    """Where the old one waits while the draft takes its place."""
    return draft.with_name(draft.name + _REPLACED)


def write_text_atomic(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with atomic_file(path) as file:
        file.write(text.encode("utf-8"))


def write_json_atomic(path: str | os.PathLike[str], value: Any) -> None:
    """Write strict JSON, whole or not at all. NaN and infinity are not JSON: ValueError."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    write_text_atomic(path, text + "\n")


@contextmanager
def writing_errors_named(name: str) -> Iterator[None]:
    """Turn an error of the operating system into one that names the output and says what to do."""
    try:
        yield
    except BrokenPipeError:  # the reader of standard output has gone, as with `| head`: no fault of the user's
        raise
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, error.strerror or str(error))
        raise ConfigError(f"{name}: nothing could be written: {advice}.") from error


def _finish(file: IO[bytes], draft: Path, target: Path) -> None:
    file.flush()
    os.fsync(file.fileno())
    file.close()
    if target.exists():
        shutil.copymode(target, draft)
    os.replace(draft, target)
    _sync_folder(target.parent)


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # elsewhere the call below would end the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # there, but another user's
        pass
    return True


def _check_target(target: Path) -> None:
    if target.is_dir():
        raise ConfigError(f"{target}: this is a folder. Name a file in it.")
    if target.exists() and not target.is_file():
        raise ConfigError(f"{target}: this is a device or a pipe. Name a file.")
    if not target.parent.is_dir():
        folder = target.parent
        siblings = [entry.name for entry in folder.parent.iterdir()] if folder.parent.is_dir() else []
        guess = nearest(folder.name, siblings)
        hint = f" Did you mean {folder.with_name(guess)}?" if guess else ""
        raise ConfigError(f"{target}: there is no folder {folder}.{hint} Make it first with `mkdir -p`.")


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
