"""Any table comes back as it was written, in any format and batch size; bad rows are named rightly."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data.readers import open_table
from coterie.data.writers import table_writer
from coterie.errors import InputError

CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8) | st.text(
    alphabet="\",\n\r\t'=+-@;|0159.eE é😀\u2028\x85\x1c\ufeff", max_size=8
)
LINE_CELLS = CELLS.map(lambda cell: re.sub("[\t\r\n]", "_", cell))
BATCH_ROWS = st.integers(1, 7)
NUMBER = re.compile(r"[+-](\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
on_files = settings(deadline=None, max_examples=60)  # each example opens files: no deadline, fewer of them


@st.composite
def tables(draw: st.DrawFn, cells: st.SearchStrategy[str]) -> pl.DataFrame:
    names = draw(st.lists(cells.filter(is_name), min_size=1, max_size=4, unique_by=as_opened))
    rows = draw(st.lists(st.tuples(*[cells] * len(names)), min_size=1, max_size=12))
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def is_name(cell: str) -> bool:
    """A byte order mark at the start of a file is never part of its first name."""
    return bool(cell.strip()) and not cell.startswith("\ufeff")


def as_opened(cell: str) -> str:
    """What a spreadsheet must see: an oracle that shares no code with the writer."""
    runs = cell != "" and cell[0] in "=+-@\t\r"
    return "'" + cell if runs and not NUMBER.fullmatch(cell) else cell


def round_trip(frame: pl.DataFrame, suffix: str, write_rows: int, read_rows: int) -> pl.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{suffix}"
        with table_writer(path) as writer:
            for part in frame.iter_slices(write_rows):
                writer.write(part)
        with open_table(path) as table:
            read = pl.concat(list(table.batches(read_rows)))
            assert table.columns == read.columns
    return read


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet", ".parquet.gz"])
@given(frame=tables(CELLS), write_rows=BATCH_ROWS, read_rows=BATCH_ROWS)
@on_files
def test_typed_formats_give_the_same_cells(suffix: str, frame: pl.DataFrame, write_rows: int, read_rows: int) -> None:
    assert round_trip(frame, suffix, write_rows, read_rows).equals(frame)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@given(frame=tables(CELLS), write_rows=BATCH_ROWS, read_rows=BATCH_ROWS)
@on_files
def test_csv_gives_the_same_cells_escaped(suffix: str, frame: pl.DataFrame, write_rows: int, read_rows: int) -> None:
    read = round_trip(frame, suffix, write_rows, read_rows)
    assert read.columns == [as_opened(name) for name in frame.columns]
    assert read.rows() == [tuple(map(as_opened, row)) for row in frame.rows()]


@pytest.mark.parametrize("suffix", [".tsv", ".tsv.gz"])
@given(frame=tables(LINE_CELLS), write_rows=BATCH_ROWS, read_rows=BATCH_ROWS)
@on_files
def test_tsv_gives_the_same_cells_escaped(suffix: str, frame: pl.DataFrame, write_rows: int, read_rows: int) -> None:
    read = round_trip(frame, suffix, write_rows, read_rows)
    assert read.columns == [as_opened(name) for name in frame.columns]
    assert read.rows() == [tuple(map(as_opened, row)) for row in frame.rows()]


@given(
    texts=st.lists(LINE_CELLS.map(lambda cell: cell + "."), min_size=1),
    write_rows=BATCH_ROWS,
    read_rows=BATCH_ROWS,
)
@on_files
def test_plain_text_gives_the_same_texts(texts: list[str], write_rows: int, read_rows: int) -> None:
    frame = pl.DataFrame({"text": texts})
    read = round_trip(frame, ".txt", write_rows, read_rows)
    # A byte order mark at the start of a file is not text.
    assert read["text"].to_list() == [texts[0].removeprefix("\ufeff"), *texts[1:]]


@given(frame=tables(CELLS), end=st.sampled_from(["\n", "\r\n", "\r"]), read_rows=BATCH_ROWS)
@on_files
def test_csv_of_others_is_read_as_the_csv_module_wrote_it(frame: pl.DataFrame, end: str, read_rows: int) -> None:
    content = csv_text([frame.columns, *frame.rows()], end)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content.encode("utf-8"))
        with open_table(path) as table:
            assert table.columns == frame.columns
            assert pl.concat(list(table.batches(read_rows))).rows() == frame.rows()


@given(
    rows=st.lists(st.tuples(CELLS, CELLS), max_size=10),
    blank_lines=st.lists(st.integers(0, 2), min_size=11, max_size=11),
    width=st.sampled_from([1, 3, 4]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    read_rows=BATCH_ROWS,
    rest=st.lists(st.tuples(CELLS, CELLS), max_size=3),
)
@on_files
def test_ragged_row_is_named_by_row_and_line(
    rows: list[tuple[str, str]],
    blank_lines: list[int],
    width: int,
    end: str,
    read_rows: int,
    rest: list[tuple[str, str]],
) -> None:
    before = csv_text([("a", "b")], end)
    for row, blanks in zip(rows, blank_lines, strict=False):
        before += end * blanks + csv_text([row], end)
    content = before + csv_text([["x"] * width, *rest], end)
    line = len(re.findall("\r\n|\r|\n", before)) + 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content.encode("utf-8"))
        with pytest.raises(InputError) as caught, open_table(path) as table:
            for _ in table.batches(read_rows):
                pass
    cells = "cell" if width == 1 else "cells"
    assert f"row {len(rows) + 1} (line {line}) has {width} {cells}, but the header has 2" in str(caught.value)


@given(
    content=st.binary(max_size=300),
    suffix=st.sampled_from([".csv", ".tsv", ".txt", ".jsonl", ".parquet", ""]),
)
@settings(deadline=None, max_examples=300)
def test_any_bytes_are_read_or_refused_in_our_words(content: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{suffix}"
        path.write_bytes(content)
        message = str(path)
        try:
            with open_table(path) as table:
                table.read()
        except InputError as error:
            message = str(error)
        assert str(path) in message


def csv_text(rows: Sequence[Sequence[str]], end: str) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    return buffer.getvalue()
