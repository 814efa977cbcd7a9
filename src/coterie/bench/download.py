"""Files of public repositories over HTTPS: whole and within bounds, or an error of ours."""

from __future__ import annotations

import errno
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from coterie.bench.convert.rows import SourceFile
from coterie.bench.records import Source
from coterie.errors import InputError
from coterie.types import Progress, silent

FILES_AT = "https://raw.githubusercontent.com"
ARCHIVES_AT = "https://codeload.github.com"
TIMEOUT_SECONDS = 30.0
WAITS = (1.0, 4.0)
"""Seconds to wait before each further attempt."""

LARGEST_FILE = 64 << 20
LARGEST_ARCHIVE = 2 << 30
_BLOCK = 1 << 16
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
_WORTH_ANOTHER_ATTEMPT = (408, 429, 500, 502, 503, 504)


class _PassingError(Exception):
    """A failure that may be gone at the next attempt."""


@contextmanager
def source_files(source: Source, progress: Progress = silent) -> Iterator[Iterator[SourceFile]]:
    """The files of a source, one after the other; what was downloaded for it is gone afterwards."""
    with TemporaryDirectory(prefix="coterie-") as folder:
        draft = Path(folder) / "download"
        yield _of_archive(source, draft, progress) if source.archive else _one_by_one(source, draft, progress)


def address_of(source: Source, path: str) -> str:
    return f"{FILES_AT}/{source.repository}/{source.revision}/{quote(path)}"


def archive_address(source: Source) -> str:
    return f"{ARCHIVES_AT}/{source.repository}/tar.gz/{source.revision}"


def download(address: str, target: Path, largest: int, progress: Progress = silent) -> None:
    """Writes what is at the address to a file; tries again when the failure may pass."""
    for wait in (*WAITS, None):
        try:
            return _attempt(address, target, largest, progress)
        except _PassingError as failure:
            if wait is None:
                raise InputError(f"{address}: {failure}. Is there a network? Try again later.") from failure
            time.sleep(wait)


def _attempt(address: str, target: Path, largest: int, progress: Progress) -> None:
    request = urllib.request.Request(address, headers={"User-Agent": "coterie"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            _copy(answer, address, target, largest, progress)
    except urllib.error.HTTPError as error:
        if error.code in _WORTH_ANOTHER_ATTEMPT:
            raise _PassingError(f"the server answered {error.code}") from error
        raise InputError(
            f"{address}: the server answered {error.code} ({error.reason}). The source may be gone or moved."
        ) from error
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
            raise InputError(
                f"{target.parent}: {error.strerror}. Make room there, or name another folder in TMPDIR."
            ) from error
        raise _PassingError(f"the download failed ({getattr(error, 'reason', None) or error})") from error


def _copy(answer: http.client.HTTPResponse, address: str, target: Path, largest: int, progress: Progress) -> None:
    announced = int(answer.headers.get("Content-Length") or 0)
    count = 0
    with target.open("wb") as file:
        while block := answer.read(_BLOCK):
            if not count and block.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
                raise InputError(f"{address}: a web page came back instead of the file. Is there a login or a proxy?")
            count += len(block)
            if max(count, announced) > largest:
                raise InputError(f"{address}: more than {largest:,} bytes, which cannot be the file that is meant")
            file.write(block)
            progress("downloading", count, announced)
    if announced and count != announced:
        raise _PassingError(f"the download ended after {count:,} of {announced:,} bytes")
    if not count:
        raise _PassingError("nothing came back")


def _one_by_one(source: Source, draft: Path, progress: Progress) -> Iterator[SourceFile]:
    for path in source.paths:
        download(address_of(source, path), draft, LARGEST_FILE, progress)
        yield SourceFile(path, draft.read_bytes())


def _of_archive(source: Source, draft: Path, progress: Progress) -> Iterator[SourceFile]:
    """Members that match a pattern, in the order of their paths; nothing is unpacked to disk."""
    import tarfile
    import zlib

    address = archive_address(source)
    download(address, draft, LARGEST_ARCHIVE, progress)
    try:
        with tarfile.open(draft, "r:gz") as archive:
            members = {_below_top(member.name): member for member in archive if member.isfile()}
            wanted = sorted(path for path in members if _matches(path, source.paths))
            if not wanted:
                raise InputError(f"{address}: there is no file {source.paths[0]} in it")
            for path in wanted:
                file = archive.extractfile(members[path])
                if file is not None:
                    yield SourceFile(path, file.read(LARGEST_FILE))
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise InputError(f"{address}: the archive is damaged ({error}). Try again.") from error


def _below_top(name: str) -> str:
    return name.partition("/")[2]


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    """As in a shell: a star stands for anything but a slash."""
    return any(
        path.count("/") == pattern.count("/")
        and all(fnmatchcase(part, piece) for part, piece in zip(path.split("/"), pattern.split("/"), strict=True))
        for pattern in patterns
    )
