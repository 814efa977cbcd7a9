"""Which format a table has: from the suffix of its name, or else from its first bytes."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import PurePath

from coterie.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"
SNIFF_BYTES = 64 * 1024
OTHER_SEPARATORS = ";\t|"
"""Between the cells of CSV files whose cells no comma is between."""
SNIFFED_RECORDS = 20


class Format(StrEnum):
    """The formats that are read and written."""

    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    TEXT = "txt"


FORMAT_OF_SUFFIX = {
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSONL,
    ".parquet": Format.PARQUET,
    ".txt": Format.TEXT,
}
SUFFIXES_TO_TYPE = ".csv, .tsv, .jsonl, .parquet or .txt (each also with .gz)"
SUFFIXES_OF_TABLES = ".csv, .tsv, .jsonl or .parquet (each also with .gz)"

_FOREIGN_SIGNATURES = (
    (b"PK\x03\x04", "an Excel workbook or a zip file", "export the sheet as CSV (UTF-8), or unpack the file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file", "export the sheet as CSV (UTF-8)"),
    (b"%PDF-", "a PDF file", "copy its texts into a .txt file, one a line"),
    (b"SQLite format 3\0", "an SQLite database", "export the table as CSV (UTF-8)"),
    (b"ARROW1", "an Arrow (Feather) file", "save it as Parquet"),
    (PARQUET_MAGIC, "a Parquet file", "give it a name that ends in .parquet"),
    (b"BZh", "bzip2-compressed", "unpack it with `bunzip2`"),
    (b"\xfd7zXZ\0", "xz-compressed", "unpack it with `unxz`"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", "unpack it with `unzstd`"),
)
_JSON = re.compile(r'\s*(\{|\[\s*[{"\]])')
# UTF-32 first: its little-endian mark starts with the one of UTF-16.
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def is_gzip_name(name: str | PurePath) -> bool:
    """Say whether the name promises gzip."""
    return PurePath(name).suffix.lower() == ".gz"


def format_of_name(name: str | PurePath) -> Format | None:
    """Read the format off the suffix, `.gz` aside; None where the suffix says nothing."""
    path = PurePath(name)
    if is_gzip_name(path):
        path = path.with_suffix("")
    return FORMAT_OF_SUFFIX.get(path.suffix.lower())


def sniff_format(head: bytes, column: str | None = None) -> Format:
    """Tell the format from the first (decompressed) bytes; what has no structure is plain text.

    A first line that is `column` and no more may be the header of a table of one column.
    """
    if head.startswith(PARQUET_MAGIC):
        return Format.PARQUET
    text = head.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="replace").lstrip("\r\n")
    if _JSON.match(text):  # a list too, so that its reader can say what to do with it
        return Format.JSONL
    lines = re.split("(?<=\n)|(?<=\r)(?!\n)", text)  # not splitlines, which also breaks at U+2028 and others
    header, cut_off = lines[0].rstrip("\r\n"), len(head) >= SNIFF_BYTES
    if "\t" in header:
        return Format.TSV
    separator = separator_of(lines[: 1 + SNIFFED_RECORDS])
    if separator in header and _looks_like_csv(text, separator, cut_off):
        return Format.CSV
    return Format.CSV if _is_one_column(text, column, cut_off) else Format.TEXT


def separator_of(lines: Sequence[str]) -> str:
    """What is between the cells of a CSV file that begins with these lines, the first of them its header.

    A semicolon, a tab or a bar where that makes names of several columns and no comma stands outside quotes:
    spreadsheets write a semicolon in countries where the comma is in the numbers. Where one does, whatever gives the
    rows as many cells as the header, and the header the most.
    """
    others = [mark for mark in OTHER_SEPARATORS if _are_columns(next(iter(_records(lines[:1], mark)), []))]
    if not others or "," not in re.sub('"[^"]*"', "", lines[0]):
        return next(iter(others), ",")
    widths = {}
    for mark in (",", *others):
        records = _records(lines, mark)
        # The last one may go on in lines that are not here.
        if records and {len(cells) for cells in records[:-1]} == {len(records[0])}:
            widths[mark] = len(records[0])
    return max(widths, key=widths.__getitem__, default=",")


def refuse_foreign(head: bytes, name: str) -> None:
    """Raise for bytes that cannot be a UTF-8 text table, naming what they are where that is known."""
    for mark, encoding in _WIDE_MARKS:
        if head.startswith(mark):
            raise InputError(
                f"{name}: the file is {encoding} (its first bytes are the {encoding} byte order mark), "
                f"but texts are read as UTF-8. Save it as UTF-8, e.g. with `iconv -f {encoding} -t UTF-8`."
            )
    if not _is_binary(head):
        return
    for signature, kind, what_to_do in _FOREIGN_SIGNATURES:
        if head.startswith(signature):
            raise InputError(f"{name}: the file is {kind}, not a text table. To use it, {what_to_do}.")


def _looks_like_csv(text: str, separator: str, cut_off: bool) -> bool:
    """Several records with equally many cells, under a header of names."""
    records = _records(io.StringIO(text, newline=""), separator)
    if cut_off and records:
        records.pop()
    records = records[:SNIFFED_RECORDS]
    if len(records) < 2 or len({len(cells) for cells in records}) != 1:
        return False
    return _are_names(records[0])


def _is_one_column(text: str, expected: str | None, cut_off: bool) -> bool:
    """Nowhere two cells; above them the expected name, or a single word and some in quotes as CSV has them."""
    records = _records(io.StringIO(text, newline=""), ",", strict=not cut_off)
    if len(records) < 2 or any(len(cells) != 1 for cells in records):
        return False
    name, some_quoted = records[0][0], re.search('[\r\n]"', text) is not None
    return name == expected or (some_quoted and re.fullmatch(r"[\w-]+", name) is not None)


def _records(lines: Iterable[str], separator: str, strict: bool = False) -> list[list[str]]:
    """The cells of every line that has some; none where this cannot be CSV."""
    try:
        return [cells for cells in csv.reader(lines, delimiter=separator, strict=strict) if cells]
    except csv.Error:
        return []


def _are_columns(header: list[str]) -> bool:
    """Names of columns; behind the last one spreadsheets may leave marks for columns that are empty."""
    named = max((place for place, cell in enumerate(header, start=1) if cell.strip()), default=0)
    return named > 1 and all(map(str.strip, header[:named])) and _are_names(header[:named])


def _are_names(header: list[str]) -> bool:
    """Whether no two are the same, and none is prose, which has a space after commas and semicolons."""
    return len(set(header)) == len(header) and not any(cell[:1].isspace() for cell in header)


def _is_binary(head: bytes) -> bool:
    if b"\0" in head:
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # incremental: the last letter may be cut
    except UnicodeDecodeError:
        return True
    return False
