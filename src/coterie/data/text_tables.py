"""Readers of CSV, TSV and plain text: every cell is the exact string of the file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from coterie.data.formats import SNIFFED_RECORDS, separator_of
from coterie.data.messages import place, shown
from coterie.data.tables import (
    TableReader,
    all_clean,
    check_cell,
    check_column_names,
    empty_error,
    no_rows_error,
)
from coterie.errors import InputError

if TYPE_CHECKING:
    import polars as pl

MAX_CELL_CHARS = 16 * 1024 * 1024
MAX_LINE_CHARS = 64 * 1024 * 1024
TITLE_ABOVE = "The first line must name the columns: take out a title above them. "
PLAIN_TEXT_COLUMN = "text"
_LINE_ENDS = "\r\n"


class Record(NamedTuple):
    """The cells of one row (0: the header), which starts in `line` of the file."""

    row: int
    line: int
    cells: list[str]


class _RecordTable(TableReader):
    """A table of string cells that come record by record."""

    _separator = ","

    def __init__(self, name: str, columns: list[str], records: Iterator[Record], close: Callable[[], None]) -> None:
        super().__init__(name, columns, close)
        self._records = self._checked(records)
        first = next(self._records, None)
        if first is None:
            raise self._no_rows_error()
        self._records = chain([first], self._records)

    def _checked(self, records: Iterator[Record]) -> Iterator[Record]:
        width = len(self.columns)
        for record in records:
            if len(record.cells) != width:
                raise self._ragged_error(record)
            yield record

    def _frames(self, rows: int) -> Iterator[pl.DataFrame]:
        while records := list(islice(self._records, rows)):
            yield self._frame(records)

    def _frame(self, records: list[Record]) -> pl.DataFrame:
        import polars as pl

        cells_of_columns = list(zip(*(record.cells for record in records), strict=True))
        if not all(all_clean(cells) for cells in cells_of_columns):
            self._name_bad_cell(records)
        series = zip(self.columns, cells_of_columns, strict=True)
        return pl.DataFrame([pl.Series(column, cells, dtype=pl.String) for column, cells in series])

    def _name_bad_cell(self, records: list[Record]) -> None:
        for record in records:
            for column, cell in zip(self.columns, record.cells, strict=True):
                check_cell(cell, self.name, f"{place(record.row, record.line)}, column {shown(column)}")

    def _ragged_error(self, record: Record) -> InputError:
        where = place(record.row, record.line)
        for position, cell in enumerate(record.cells, start=1):
            check_cell(cell, self.name, f"{where}, column {position}")
        found, expected = len(record.cells), len(self.columns)
        return InputError(
            f"{self.name}: {where} has {found:,} {_cells(found)}, but the header has {expected:,}. "
            + (TITLE_ABOVE if record.row == 1 and found > expected else "")
            + self._how_to_mend_ragged(record)
        )

    def _no_rows_error(self) -> InputError:
        return no_rows_error(self.name)

    def _how_to_mend_ragged(self, record: Record) -> str:
        separator = {",": "comma", ";": "semicolon", "\t": "tab"}.get(self._separator, self._separator)
        if any(cell.startswith(" ") and cell.lstrip().startswith('"') for cell in record.cells):
            return f"A quote counts only right after the {separator}: take out the space before it."
        return f"Put cells that hold a {separator} or a line break in double quotes."


class CsvTable(_RecordTable):
    """RFC 4180: quoted cells may hold separators, line breaks and doubled quotes.

    Blank lines are no rows, except where there is only one column: there those before the last row have an empty cell.
    """

    def __init__(self, name: str, text: io.TextIOBase, close: Callable[[], None]) -> None:
        lines = lines_of(text, name)
        opening, self._separator = _opening(lines)
        records = csv_records(chain(opening, lines), name, self._separator)
        super().__init__(name, _header_names(records, name), records, close)


class TsvTable(_RecordTable):
    """One line a row, tabs between cells, quotes are ordinary characters (IANA's definition).

    Blank lines are no rows, except where there is only one column: there they are rows with an empty cell.
    """

    def __init__(self, name: str, text: io.TextIOBase, close: Callable[[], None]) -> None:
        self._keeps_blank_lines = False
        records = self._split(text, name)
        columns = _header_names(records, name)
        self._keeps_blank_lines = len(columns) == 1
        super().__init__(name, columns, records, close)

    def _split(self, text: io.TextIOBase, name: str) -> Iterator[Record]:
        row = 0
        for number, line in enumerate(lines_of(text, name), start=1):
            content = line.rstrip(_LINE_ENDS)
            if content or self._keeps_blank_lines:
                yield Record(row, number, content.split("\t"))
                row += 1

    def _how_to_mend_ragged(self, record: Record) -> str:
        return (
            "Cells of a TSV file cannot hold tabs or line breaks: take them out. If they are in quotes, give the file "
            "a name that ends in .csv: there quotes count, and tabs between cells are fine."
        )


class PlainTextTable(_RecordTable):
    """One text a line, in one column. Blank lines at the end of the file are not rows, others are."""

    def __init__(self, name: str, text: io.TextIOBase, close: Callable[[], None]) -> None:
        super().__init__(name, [PLAIN_TEXT_COLUMN], _plain_records(text, name), close)

    def _no_rows_error(self) -> InputError:
        return InputError(f"{self.name}: there are no rows: all lines are blank. Give a file with at least one text.")


def csv_records(lines: Iterable[str], name: str, separator: str) -> Iterator[Record]:
    """Parse CSV; the header is record 0, and each record knows the line it starts in.

    Blank lines are records with an empty cell if the header has one cell, and if others follow.
    """
    csv.field_size_limit(max(MAX_CELL_CHARS, csv.field_size_limit()))  # global in csv: only ever raised
    reader = csv.reader(lines, delimiter=separator, strict=True)
    row, first_line = 0, 1
    keeps_blank, blank = False, list[int]()
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise _csv_error(error, name, place(row, first_line)) from error
        if cells:
            for line in blank:
                yield Record(row, line, [""])
                row += 1
            blank.clear()
            yield Record(row, first_line, cells)
            keeps_blank = keeps_blank or (row == 0 and len(cells) == 1)
            row += 1
        elif keeps_blank:
            blank.append(first_line)
        first_line = reader.line_num + 1


def _opening(lines: Iterator[str]) -> tuple[list[str], str]:
    """The lines up to the header, and what is between its cells: spreadsheets may say so in a line `sep=;`."""
    opening: list[str] = []
    for line in lines:
        content = line.strip(_LINE_ENDS)
        told = re.fullmatch("sep=([,;\t|])", content, re.IGNORECASE)
        opening.append("\n" if told else line)  # a blank one in its place: lines keep their numbers
        if told:
            return opening, told[1]
        if content:
            ahead = list(islice(lines, SNIFFED_RECORDS))
            return opening + ahead, separator_of([line, *ahead])
    return opening, ","


def lines_of(text: io.TextIOBase, name: str) -> Iterator[str]:
    """Give the lines with their ends (LF, CRLF or CR), refusing one that would fill the memory."""
    number = 1
    while line := text.readline(MAX_LINE_CHARS + 1):
        if len(line) > MAX_LINE_CHARS:
            raise InputError(
                f"{name}: line {number:,} is longer than {MAX_LINE_CHARS:,} characters. "
                "Check that the file is a table with line breaks, and cut over-long texts."
            )
        yield line
        number += 1


def _plain_records(text: io.TextIOBase, name: str) -> Iterator[Record]:
    blank_lines = 0
    for number, line in enumerate(lines_of(text, name), start=1):
        content = line.rstrip(_LINE_ENDS)
        if not content:
            blank_lines += 1
            continue
        for blank in range(number - blank_lines, number):
            yield Record(blank, blank, [""])
        blank_lines = 0
        yield Record(number, number, [content])


def _header_names(records: Iterator[Record], name: str) -> list[str]:
    header = next(records, None)
    if header is None:
        raise empty_error(name)
    columns = header.cells
    if 2 * sum(bool(cell.strip()) for cell in columns) >= len(columns):
        # A spreadsheet's empty columns, and the row numbers that pandas writes; with more of them it is no header.
        columns = [cell if cell.strip() else f"column {place}" for place, cell in enumerate(columns, start=1)]
    return check_column_names(columns, name, header.line)


def _csv_error(error: csv.Error, name: str, where: str) -> InputError:
    reason = str(error)
    if "unexpected end of data" in reason:
        return InputError(
            f"{name}: a double quote is opened in {where} and never closed. "
            'Close it, or write a quote inside a quoted cell as two ("").'
        )
    if "field larger than field limit" in reason:
        return InputError(
            f"{name}: {where} has a cell of more than {csv.field_size_limit():,} characters, which most "
            "often means a double quote that is never closed. Close it, or cut the text."
        )
    if "expected after" in reason:
        return InputError(
            f"{name}: in {where} a closing double quote is followed by more text. "
            'Write a quote inside a quoted cell as two ("").'
        )
    return InputError(f"{name}: {where} cannot be read as CSV ({reason}). Save the table as CSV again.")


def _cells(count: int) -> str:
    return "cell" if count == 1 else "cells"
