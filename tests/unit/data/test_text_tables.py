"""CSV, TSV and plain text: exact cells, right row numbers, and an error for each way to be broken."""

from __future__ import annotations

import csv
import tracemalloc
from pathlib import Path

import pytest

from coterie.data import text_tables
from coterie.data.readers import open_table
from coterie.errors import ConfigError, InputError


def put(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def rows_of(path: Path) -> list[tuple[object, ...]]:
    with open_table(path) as table:
        return table.read().rows()


def error_of(path: Path) -> str:
    with pytest.raises(InputError) as caught, open_table(path) as table:
        for _ in table.batches(2):
            pass
    message = str(caught.value)
    assert path.name in message
    return message


def test_csv_keeps_the_exact_strings(tmp_path: Path) -> None:
    content = 'id,text,note\n007,"a ""b"", c\r\nd", x \n1e5,,NaN\n'
    path = put(tmp_path, "a.csv", content)
    with open_table(path) as table:
        assert table.columns == ["id", "text", "note"]
        assert table.name == str(path)
        frame = table.read()
    assert frame.rows() == [("007", 'a "b", c\r\nd', " x "), ("1e5", "", "NaN")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.tab"])
@pytest.mark.parametrize("closed", [True, False])
def test_line_ends(tmp_path: Path, name: str, end: str, closed: bool) -> None:
    cut = "," if name == "a.csv" else "\t"
    content = end.join([f"a{cut}b", f"1{cut}2", f"3{cut}4"]) + (end if closed else "")
    assert rows_of(put(tmp_path, name, content)) == [("1", "2"), ("3", "4")]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.jsonl"])
def test_utf8_mark_is_dropped(tmp_path: Path, name: str) -> None:
    body = {"a.csv": "text\né\n", "a.tsv": "text\né\n", "a.txt": "é\n", "a.jsonl": '{"text": "é"}\n'}[name]
    with open_table(put(tmp_path, name, "\ufeff" + body)) as table:
        assert table.columns == ["text"]
        assert table.read().rows() == [("é",)]


def test_tsv_quote_is_an_ordinary_character(tmp_path: Path) -> None:
    path = put(tmp_path, "a.tsv", 'id\ttext\n1\t"open\n2\tin "the" middle\n')
    assert rows_of(path) == [("1", '"open'), ("2", 'in "the" middle')]


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("id;message", ["id", "message"]),
        ('"the id, if any";message', ["the id, if any", "message"]),
        ("message", ["message"]),
        ("id; message", ["id; message"]),  # prose
        ("id;id", ["id;id"]),
        ("id;", ["id;"]),
        ('id;"what, and why?"', ["id", "what, and why?"]),
        ('"id;message"', ["id;message"]),
    ],
)
def test_semicolons_between_cells_are_told_by_the_header(tmp_path: Path, header: str, columns: list[str]) -> None:
    row = ";".join(["x", '"well, it; works"'][: len(columns)])
    path = tmp_path / "in.csv"
    path.write_text(f"{header}\n{row}\n", encoding="utf-8")
    with open_table(path) as table:
        assert table.read().to_dicts() == [dict(zip(columns, ["x", "well, it; works"], strict=False))]


@pytest.mark.parametrize("mark", ["\t", "|"])
def test_tabs_and_bars_are_told_by_the_header(tmp_path: Path, mark: str) -> None:
    path = put(tmp_path, "in.csv", f"id{mark}message\n1{mark}well, it works\n")
    assert rows_of(path) == [("1", "well, it works")]


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("id;message;;", ["id", "message", "column 3", "column 4"]),
        (",message", ["column 1", "message"]),  # the row numbers of pandas
    ],
)
def test_columns_without_a_name_are_numbered(tmp_path: Path, header: str, columns: list[str]) -> None:
    separator = ";" if ";" in header else ","
    path = put(tmp_path, "in.csv", f"{header}\n{separator.join(['it works'] * len(columns))}\n")
    with open_table(path) as table:
        assert table.columns == columns
        assert table.read().row(0) == ("it works",) * len(columns)


def test_a_numbered_column_may_be_there_already(tmp_path: Path) -> None:
    message = error_of(put(tmp_path, "in.csv", "column 2,,text\na,b,c\n"))
    assert "columns 1 and 2 have the same name 'column 2'" in message


def test_a_comma_in_the_header_is_between_cells(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,a;b\n1,x;y\n", encoding="utf-8")
    with open_table(path) as table:
        assert table.read().to_dicts() == [{"id": "1", "a;b": "x;y"}]


@pytest.mark.parametrize(
    ("header", "row", "cells"),
    [
        ("id;score, 1 to 5;comment", "0;3,5;the app is good", ("0", "3,5", "the app is good")),
        ("id;message (free text, optional);theme", "0;late, again;post", ("0", "late, again", "post")),
        ("id;score,of 5;comment", "0;3,5;the app, again, is slow", ("0", "3,5", "the app, again, is slow")),
        ('id;"score, 1 to 5";comment', '0;"3,5";well', ("0", "3,5", "well")),
        ("id,a|b,c", "0,x|y,z", ("0", "x|y", "z")),
        ("id, a;b", '0,"x;y, z"', ("0", "x;y, z")),
    ],
)
def test_commas_in_a_header_with_other_separators(
    tmp_path: Path, header: str, row: str, cells: tuple[str, ...]
) -> None:
    assert rows_of(put(tmp_path, "in.csv", f"{header}\n" + f"{row}\n" * 3)) == [cells] * 3


def test_a_title_above_the_header_is_thought_of(tmp_path: Path) -> None:
    message = error_of(put(tmp_path, "in.csv", "Export of March\nid,message\n1,late\n"))
    assert "row 1 (line 2) has 2 cells, but the header has 1. The first line must name the columns" in message


def test_a_title_above_a_tsv_file_brings_no_advice_to_quote(tmp_path: Path) -> None:
    message = error_of(put(tmp_path, "in.tsv", "Export of March\nid\tmessage\n1\tlate\n"))
    assert "The first line must name the columns" in message
    assert "in double quotes" not in message


@pytest.mark.parametrize(
    ("top", "mark"), [("sep=;\n", ";"), ("SEP=|\r\n", "|"), ("\nsep=\t\n", "\t"), ("\n\n", ";"), ("\n", ",")]
)
def test_the_separator_is_told_above_the_header_or_below_blank_lines(tmp_path: Path, top: str, mark: str) -> None:
    path = put(tmp_path, "in.csv", f"{top}id{mark}message\n1{mark}hello there\n")
    with open_table(path) as table:
        assert table.read().to_dicts() == [{"id": "1", "message": "hello there"}]
    ragged = put(tmp_path, "ragged.csv", f"{top}id{mark}message\n1{mark}hello there\n2\n")
    assert f"row 2 (line {3 + top.count(chr(10))}) has 1 cell" in error_of(ragged)


def test_blank_lines_in_csv_are_no_rows_but_count_as_lines(tmp_path: Path) -> None:
    assert rows_of(put(tmp_path, "a.csv", "\na,b\n\n1,2\n\n\n3,4\n\n")) == [("1", "2"), ("3", "4")]
    message = error_of(put(tmp_path, "b.csv", "\na,b\n\n1,2\n\n\n3\n"))
    assert "row 2 (line 7) has 1 cell, but the header has 2" in message


def test_blank_lines_of_one_column_are_rows_without_a_text(tmp_path: Path) -> None:
    assert rows_of(put(tmp_path, "a.csv", "\ntext\nx\n\n\ny\n\n")) == [("x",), ("",), ("",), ("y",)]
    message = error_of(put(tmp_path, "b.csv", "text\n\nx,y\n"))
    assert "row 2 (line 3) has 2 cells, but the header has 1" in message


def test_blank_lines_in_tsv(tmp_path: Path) -> None:
    assert rows_of(put(tmp_path, "two.tsv", "a\tb\n\n1\t2\n\n")) == [("1", "2")]
    assert rows_of(put(tmp_path, "one.tsv", "a\nx\n\ny\n")) == [("x",), ("",), ("y",)]


def test_plain_text_blank_lines(tmp_path: Path) -> None:
    path = put(tmp_path, "a.txt", "one, with comma\n\n  two\t\n\n\n")
    with open_table(path) as table:
        assert table.columns == ["text"]
        assert table.read().rows() == [("one, with comma",), ("",), ("  two\t",)]


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_batches_have_the_asked_size_and_all_rows(tmp_path: Path, rows: int) -> None:
    path = put(tmp_path, "a.csv", "n\n" + "".join(f"{n}\n" for n in range(7)))
    with open_table(path) as table:
        frames = list(table.batches(rows))
    assert [len(frame) for frame in frames[:-1]] == [rows] * (len(frames) - 1)
    assert [row[0] for frame in frames for row in frame.rows()] == [str(n) for n in range(7)]


def test_a_table_is_read_once(tmp_path: Path) -> None:
    table = open_table(put(tmp_path, "a.csv", "a\n1\n"))
    with pytest.raises(ConfigError, match="at least 1 row"):
        table.batches(0)
    table.read()
    with pytest.raises(InputError, match="Open it again"):
        table.batches()
    table.close()


def test_batches_stream(tmp_path: Path) -> None:
    line = "x" * 99 + "\n"
    path = put(tmp_path, "a.csv", "text\n" + line * 60_000)
    tracemalloc.start()
    try:
        with open_table(path) as table:
            total = sum(len(frame) for frame in table.batches(500))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == 60_000
    assert peak < 3_000_000 < path.stat().st_size / 1.9


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\n\n"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
def test_empty_file(tmp_path: Path, name: str, content: bytes) -> None:
    assert "the file is empty" in error_of(put(tmp_path, name, content))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_header_only(tmp_path: Path, name: str) -> None:
    assert "no rows" in error_of(put(tmp_path, name, "text\n"))


def test_plain_text_without_a_text(tmp_path: Path) -> None:
    assert "no rows: all lines are blank" in error_of(put(tmp_path, "a.txt", "\n\n"))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", 'a,b\n"x\ny",2\n1,2,3\n', "row 2 (line 4) has 3 cells, but the header has 2"),
        ("a.csv", "a,b,c\n1,2\n", "row 1 (line 2) has 2 cells, but the header has 3"),
        ("a.csv", 'a,b\n1, "x, y"\n', "A quote counts only right after the comma: take out the space before it."),
        ("a.tsv", 'a\tb\n1\t"x\ny"\n', "If they are in quotes, give the file a name that ends in .csv"),
        ("a.tsv", "a\tb\n1\t2\n\n3\n", "row 2 (line 4) has 1 cell, but the header has 2"),
    ],
)
def test_ragged_row(tmp_path: Path, name: str, content: str, expected: str) -> None:
    assert expected in error_of(put(tmp_path, name, content))


def test_quoted_cells_between_tabs_are_read_as_the_advice_says(tmp_path: Path) -> None:
    quoted = 'a\tb\n1\t"x\ny"\n2\t"say ""so"""\n'
    assert rows_of(put(tmp_path, "a.csv", quoted)) == [("1", "x\ny"), ("2", 'say "so"')]


def test_unclosed_quote_names_the_row_where_it_opens(tmp_path: Path) -> None:
    message = error_of(put(tmp_path, "a.csv", 'a,b\n"1\n1",2\n3,"open\n5,6\n'))
    assert "a double quote is opened in row 2 (line 4) and never closed" in message


def test_text_after_a_closing_quote(tmp_path: Path) -> None:
    message = error_of(put(tmp_path, "a.csv", 'a,b\n1,2\n"x"y,2\n'))
    assert "row 2 (line 3)" in message
    assert "followed by more text" in message


@pytest.mark.parametrize(("name", "header"), [("a.csv", "a,b,a"), ("a.tsv", "a\tb\ta")])
def test_duplicate_column_names(tmp_path: Path, name: str, header: str) -> None:
    message = error_of(put(tmp_path, name, header + "\n1\n"))
    assert "columns 1 and 3 have the same name 'a' in the header (line 1)" in message


@pytest.mark.parametrize(("name", "header"), [("a.csv", "Survey of May,,"), ("a.tsv", "Survey\t \t")])
def test_a_title_is_no_header(tmp_path: Path, name: str, header: str) -> None:
    message = error_of(put(tmp_path, name, header + "\n1\n"))
    assert "column 2 has no name in the header (line 1)" in message
    assert "title above" in message


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("a.csv", b'id,title\n1,"x\ny"\n2,caf\xe9\n', "row 2 (line 4), column 'title'"),
        ("a.tsv", b"id\ttitle\n1\tx\n2\tcaf\xe9\n", "row 2 (line 3), column 'title'"),
        ("a.txt", b"x\n\ncaf\xe9\n", "row 3 (line 3), column 'text'"),
        ("a.csv", b"id,caf\xe9\n1,2\n", "the header (line 1), column 2"),
        ("a.csv", b"id,title\n1,2\n1,caf\xe9,3\n", "row 2 (line 3), column 2"),
    ],
)
def test_not_utf8(tmp_path: Path, name: str, content: bytes, where: str) -> None:
    message = error_of(put(tmp_path, name, content))
    assert f"{where} holds the byte 0xE9, which is not UTF-8" in message
    assert "iconv -f WINDOWS-1252 -t UTF-8" in message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_wide_encodings_are_named(tmp_path: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    message = error_of(put(tmp_path, "a.csv", (mark + "text\nhello\n").encode(encoding)))
    named = encoding[:6].upper()
    assert f"the file is {named} " in message
    assert f"iconv -f {named} -t UTF-8" in message


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("a.csv", b"a,b\n1,2\n3,x\0y\n", "row 2 (line 3), column 'b'"),
        ("a.tsv", b"a\tb\n1\t\0\n", "row 1 (line 2), column 'b'"),
        ("a.txt", b"x\n\0\n", "row 2 (line 2), column 'text'"),
        ("a.csv", b"a\0,b\n1,2\n", "the header (line 1), column 1"),
    ],
)
def test_nul_bytes(tmp_path: Path, name: str, content: bytes, where: str) -> None:
    message = error_of(put(tmp_path, name, content))
    assert f"{where} holds a NUL byte" in message
    assert "binary" in message


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"PK\x03\x04\0\0\0\0", "Excel workbook or a zip"),
        (b"PAR1\x15\0\xff", "Parquet"),
        (b"BZh91AY&SY\xff", "bzip2"),
        (b"\x28\xb5\x2f\xfd\0", "zstd"),
    ],
)
def test_foreign_files_are_named(tmp_path: Path, content: bytes, kind: str) -> None:
    assert kind in error_of(put(tmp_path, "a.csv", content))


def test_text_that_starts_like_a_foreign_file_is_text(tmp_path: Path) -> None:
    assert rows_of(put(tmp_path, "a.csv", "BZhang\nx\n")) == [("x",)]


def test_long_cells_are_read(tmp_path: Path) -> None:
    cell = "y" * 200_000  # above the limit that csv starts with
    assert rows_of(put(tmp_path, "a.csv", f"a,b\n{cell},1\n")) == [(cell, "1")]


def test_over_long_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = csv.field_size_limit()
    monkeypatch.setattr(text_tables, "MAX_CELL_CHARS", 10)
    csv.field_size_limit(10)
    try:
        message = error_of(put(tmp_path, "a.csv", 'a\n1\n"' + "long\n" * 5))
    finally:
        csv.field_size_limit(limit)
    assert "row 2 (line 3) has a cell of more than 10 characters" in message


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.jsonl"])
def test_over_long_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(text_tables, "MAX_LINE_CHARS", 15)
    first = '{"a": 1}' if name == "a.jsonl" else "short"
    message = error_of(put(tmp_path, name, f"{first}\n{'z' * 15}\n"))
    assert "line 2 is longer than 15 characters" in message
