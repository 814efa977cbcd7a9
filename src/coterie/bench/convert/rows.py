"""What the converters share: rows, one line a text, and the bytes of a finished file."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from coterie.errors import InputError

Row = tuple[str, ...]
"""A label, a text, and perhaps other wordings of the text."""

EMPTY_TEXT = "."
"""What stands for a text that is empty in the source, as AECL's own loader has it."""

_CONTROL = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], " ")


class SourceFile(NamedTuple):
    path: str
    data: bytes


def one_line(text: str) -> str:
    """The text with tabs, line breaks and control characters as spaces, and none at the ends."""
    return text.translate(_CONTROL).strip()


def collapsed(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(one_line(text).split())


def decoded(file: SourceFile, encoding: str = "utf-8-sig") -> str:
    try:
        return file.data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file.path}: byte {error.start:,} is not {encoding}, so this is not the file that the record means. "
            "Download it again."
        ) from error


def records_of(file: SourceFile, least: int) -> Iterator[list[str]]:
    """The records of a CSV file, each of `least` columns or more."""
    records = csv.reader(io.StringIO(decoded(file), newline=""))
    for number in count(1):
        try:
            record = next(records, None)
        except csv.Error as error:
            raise InputError(f"{file.path}: row {number:,} cannot be read ({error})") from error
        if record is None:
            return
        if len(record) < least:
            raise InputError(f"{file.path}: row {number:,} has {len(record)} columns, not {least} or more")
        yield record


def columns_of(file: SourceFile, names: Sequence[str]) -> Iterator[list[str]]:
    """The columns of these names, row by row, of a CSV file with a header."""
    records = records_of(file, least=1)
    header = next(records, [])
    missing = [name for name in names if name not in header]
    if missing:
        raise InputError(f"{file.path}: there is no column {missing[0]!r}, only {', '.join(map(repr, header))}")
    places = [header.index(name) for name in names]
    for number, record in enumerate(records, start=1):
        if len(record) <= max(places):
            raise InputError(f"{file.path}: row {number:,} has {len(record)} columns, not {len(header)}")
        yield [record[place] for place in places]


def tsv_bytes(headings: Sequence[str], rows: Iterable[Row]) -> bytes:
    """The content of a data set: UTF-8, a header, LF line ends, no quoting."""
    lines = ["\t".join(headings), *("\t".join(row) for row in rows)]
    return ("\n".join(lines) + "\n").encode("utf-8")


def gzip_bytes(content: bytes) -> bytes:
    """Compressed so that the same content gives the same bytes: level 9, no name, no time, no operating system."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=9, mtime=0) as file:
        file.write(content)
    return packed.getvalue()
