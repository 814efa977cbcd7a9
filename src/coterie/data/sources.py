"""Opening a file or standard input as one stream of decompressed bytes."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import tempfile
import zlib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Protocol

from coterie.data.formats import GZIP_MAGIC, SNIFF_BYTES, SUFFIXES_TO_TYPE, format_of_name, is_gzip_name
from coterie.data.messages import listed, nearest
from coterie.errors import InputError

STANDARD_STREAM = "-"
MAX_GZIP_RATIO = 200
GZIP_BYTES_BEFORE_RATIO_COUNTS = 200 * 1024 * 1024
_BUFFER_BYTES = 256 * 1024
_MAX_NAMES_TO_COMPARE = 10_000
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # two letters or more: C:/ is a drive


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _CheckedReads:
    """Reads that turn the errors of the operating system into ours and count the bytes."""

    def __init__(self, inner: _Readable, name: str) -> None:
        self._inner = inner
        self._name = name
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        try:
            data = self._inner.read(size)
        except OSError as error:
            raise InputError(
                f"{self._name}: reading stopped after {self.count:,} bytes ({_reason(error)}). "
                "Copy the file to a sound disk and try again."
            ) from error
        self.count += len(data)
        return data


class _Inflated:
    """Decompressed reads, with a guard against gzip bombs."""

    def __init__(self, compressed: _CheckedReads, head: bytes, name: str) -> None:
        self._compressed = compressed
        self._gzip = gzip.GzipFile(fileobj=_as_stream(head, compressed), mode="rb")
        self._name = name
        self._count = 0

    def read(self, size: int, /) -> bytes:
        try:
            data = self._gzip.read(size)
        except EOFError as error:
            raise InputError(
                f"{self._name}: the gzip data end in the middle, after {self._count:,} decompressed bytes. "
                "The file was cut off: download or compress it again."
            ) from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InputError(
                f"{self._name}: the gzip data are damaged after {self._count:,} decompressed bytes "
                f"({error}). Download or compress the file again."
            ) from error
        self._count += len(data)
        self._stop_explosion()
        return data

    def _stop_explosion(self) -> None:
        if self._count <= GZIP_BYTES_BEFORE_RATIO_COUNTS:
            return
        if self._count > MAX_GZIP_RATIO * self._compressed.count:
            raise InputError(
                f"{self._name}: {self._compressed.count:,} compressed bytes have grown to {self._count:,}, "
                f"more than {MAX_GZIP_RATIO} times as many, which is typical of a harmful file. "
                "If you trust it, decompress it yourself with `gunzip` and read the result."
            )


class _HeadThenRest(io.RawIOBase):
    """A stream whose first bytes were already taken off, put together again; works on pipes."""

    def __init__(self, head: bytes, rest: _Readable) -> None:
        self._head = memoryview(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        size = len(buffer)
        data: bytes | memoryview = self._head[:size]
        if len(data):
            self._head = self._head[size:]
        else:
            data = self._rest.read(size)
        buffer[: len(data)] = data
        return len(data)


@dataclass(frozen=True)
class Source:
    """An open input. `head` holds the first bytes of `stream`, which still gives them too."""

    name: str
    head: bytes
    stream: io.BufferedReader
    plain_file: Path | None
    _file: IO[bytes] | None

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._file is not None:
            self._file.close()


def open_source(source: str | os.PathLike[str]) -> Source:
    """Open a path, or standard input for `-`, and undo gzip, whatever the name says."""
    if os.fspath(source) == STANDARD_STREAM:
        return _prepare(_standard_input(), "standard input", None, owned=False)
    path = Path(source)
    file = _open_file(path)
    try:
        return _prepare(file, str(path), path, owned=True)
    except BaseException:
        file.close()
        raise


def spool(source: Source) -> IO[bytes]:
    """Copy the stream into an unnamed temporary file, for formats that have to seek."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        while block := source.stream.read(_BUFFER_BYTES):
            copy.write(block)
        copy.seek(0)
    except OSError as error:
        copy.close()
        raise InputError(
            f"{source.name}: no temporary copy could be made in {tempfile.gettempdir()} ({_reason(error)}). "
            "Make room there or set TMPDIR to a folder with room."
        ) from error
    except BaseException:
        copy.close()
        raise
    return copy


def _prepare(file: IO[bytes], name: str, path: Path | None, owned: bool) -> Source:
    reads = _CheckedReads(file, name)
    head = _take(reads)
    compressed = head.startswith(GZIP_MAGIC)
    stream: _Readable = reads
    if compressed:
        stream = _Inflated(reads, head, name)
        head = _take(stream)
    elif path is not None and head and is_gzip_name(path):
        raise InputError(
            f"{name}: the name ends in .gz but the bytes are not gzip. "
            "Take .gz off the name if the file is not compressed, or download it again."
        )
    plain_file = path if path is not None and os.path.isfile(path) and not compressed else None
    return Source(name, head, _as_stream(head, stream), plain_file, file if owned else None)


def _as_stream(head: bytes, rest: _Readable) -> io.BufferedReader:
    return io.BufferedReader(_HeadThenRest(head, rest), _BUFFER_BYTES)


def _take(stream: _Readable) -> bytes:
    head = b""
    while len(head) < SNIFF_BYTES and (block := stream.read(SNIFF_BYTES - len(head))):
        head += block
    return head


def _standard_input() -> IO[bytes]:
    stream: IO[bytes] | None = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise InputError("standard input: nothing is connected to it. Name a file instead of `-`.")
    return stream


def _open_file(path: Path) -> IO[bytes]:
    if os.path.isdir(path):
        raise _folder_error(path)
    try:
        return path.open("rb")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _missing_error(path) from error
    except PermissionError as error:
        raise InputError(f"{path}: no permission to read it. Ask its owner, or change it with `chmod u+r`.") from error
    except OSError as error:
        raise InputError(f"{path}: the file cannot be opened ({_reason(error)}). Check the name.") from error
    except ValueError as error:  # a NUL byte in the name
        raise InputError(f"{str(path)!r} cannot be a file name ({error}). Check the name.") from error


def _missing_error(path: Path) -> InputError:
    if _ADDRESS.match(path.as_posix()):
        return InputError(f"{path}: no such file. Addresses are not read: download the file first.")
    if not path.parent.is_dir():
        return InputError(f"{path}: no such file; there is no folder {path.parent} either. Check the path.")
    guess = nearest(path.name, _names_in(path.parent))
    folder = "this folder" if path.parent == Path() else path.parent
    hint = f"did you mean {path.with_name(guess)}?" if guess else f"check the name in {folder}."
    return InputError(f"{path}: no such file; {hint}")


def _folder_error(path: Path) -> InputError:
    readable = sorted(name for name in _names_in(path) if format_of_name(name))
    advice = f"Name a file that ends in {SUFFIXES_TO_TYPE}; there is none in it."
    if readable:
        advice = f"Name one of the files in it: {listed(readable)}."
    return InputError(f"{path}: this is a folder, not a file. {advice}")


def _names_in(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, _MAX_NAMES_TO_COMPARE) if entry.is_file()]
    except OSError:
        return []  # only a hint is lost


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
