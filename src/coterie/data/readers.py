"""`open_table`: any supported file, or standard input, as one stream of data frames."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

from coterie.data.formats import Format, format_of_name, refuse_foreign, sniff_format
from coterie.data.json_lines import JsonLinesTable
from coterie.data.parquet import ParquetTable
from coterie.data.sources import Source, open_source
from coterie.data.tables import BATCH_ROWS, TableReader, empty_error
from coterie.data.text_tables import CsvTable, PlainTextTable, TsvTable

__all__ = ["BATCH_ROWS", "TableReader", "open_table"]

_TEXT_READERS: dict[Format, Callable[[str, io.TextIOBase, Callable[[], None]], TableReader]] = {
    Format.CSV: CsvTable,
    Format.TSV: TsvTable,
    Format.JSONL: JsonLinesTable,
    Format.TEXT: PlainTextTable,
}


def open_table(source: str | os.PathLike[str], column: str | None = None) -> TableReader:
    """Open a table; its header is checked, and that there is a first row, before this returns.

    The format is told by the suffix (.csv, .tsv, .tab, .jsonl, .ndjson, .parquet, .txt, each also with
    .gz), or by the first bytes where the suffix is another one or the source is `-`, standard input; there a
    `column` that is expected tells a header of one column from a text.
    """
    opened = open_source(source)
    try:
        return _reader_of(opened, column)
    except BaseException:
        opened.close()
        raise


def _reader_of(source: Source, column: str | None) -> TableReader:
    if not source.head:
        raise empty_error(source.name)
    table_format = format_of_name(source.name) or sniff_format(source.head, column)
    if table_format is Format.PARQUET:
        return ParquetTable(source)
    refuse_foreign(source.head, source.name)
    # Bytes that are not UTF-8 come through as surrogates, so that the cell they are in can be named.
    lines = io.TextIOWrapper(source.stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    return _TEXT_READERS[table_format](source.name, lines, source.close)
