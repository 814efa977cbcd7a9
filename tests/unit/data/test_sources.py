"""Opening: names, folders, permissions, gzip, standard input and the sniffing of formats."""

from __future__ import annotations

import errno
import gzip
import io
import os
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

from coterie.data import sources
from coterie.data.formats import SNIFF_BYTES, Format, sniff_format
from coterie.data.readers import open_table
from coterie.errors import InputError


def error_of(source: str | Path) -> str:
    with pytest.raises(InputError) as caught, open_table(source) as table:
        table.read()
    return str(caught.value)


def feed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_missing_file_suggests_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text("a\n1\n")
    (tmp_path / "other.csv").write_text("a\n1\n")
    message = error_of(tmp_path / "Review.csv")
    assert f"did you mean {tmp_path / 'reviews.csv'}?" in message


def test_missing_file_without_a_near_one(tmp_path: Path) -> None:
    message = error_of(tmp_path / "x.csv")
    assert "no such file" in message
    assert "did you mean" not in message


def test_missing_folder(tmp_path: Path) -> None:
    assert f"there is no folder {tmp_path / 'no'}" in error_of(tmp_path / "no" / "x.csv")


def test_file_used_as_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    assert "no such file" in error_of(tmp_path / "a.csv" / "b.csv")


def test_address_is_not_fetched() -> None:
    assert "download the file first" in error_of("https://example.org/a.csv")


def test_impossible_name() -> None:
    assert "cannot be a file name" in error_of("a\0.csv")
    assert "cannot be opened" in error_of("x" * 5000 + ".csv")


def test_folder_lists_readable_files(tmp_path: Path) -> None:
    for name in ("b.csv", "a.jsonl.gz", "c.png"):
        (tmp_path / name).write_text("x")
    message = error_of(tmp_path)
    assert "this is a folder" in message
    assert "'a.jsonl.gz', 'b.csv'." in message


def test_folder_without_readable_files(tmp_path: Path) -> None:
    assert ".csv, .tsv" in error_of(tmp_path)


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / "a.csv").write_text("a\n1\n")
    monkeypatch.setattr(Path, "open", refuse)
    assert "no permission to read it" in error_of(tmp_path / "a.csv")


def test_disk_fault_while_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Faulty(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > SNIFF_BYTES:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size)

    monkeypatch.setattr(Path, "open", lambda path, mode: Faulty(b"text\n" + b"x\n" * SNIFF_BYTES))
    message = error_of(tmp_path / "a.csv")
    assert "reading stopped after" in message
    assert "Input/output error" in message


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv.gz", b"text\nhi\n"), ("a.tsv.gz", b"text\nhi\n"), ("a.txt.gz", b"hi\n"),
     ("a.ndjson.gz", b'{"text": "hi"}'), ("A.CSV.GZ", b"text\nhi\n"), ("unmarked.csv", b"text\nhi\n")],
)  # fmt: skip
def test_gzip(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(gzip.compress(content))
    with open_table(tmp_path / name) as table:
        assert table.read().rows() == [("hi",)]


def test_gzip_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b""))
    assert "the file is empty" in error_of(tmp_path / "a.csv.gz")


def test_name_promises_gzip(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(b"text\nhi\n")
    assert "the bytes are not gzip" in error_of(tmp_path / "a.csv.gz")


@pytest.mark.parametrize("lines", [3, 50_000])
@pytest.mark.parametrize("damage", ["cut", "checksum", "garbage after"])
def test_damaged_gzip(tmp_path: Path, lines: int, damage: str) -> None:
    whole = gzip.compress(b"text\n" + b"".join(b"text number %d\n" % (n * n) for n in range(lines)))
    broken = {
        "cut": whole[:-9],
        "checksum": whole[:-8] + bytes(byte ^ 0xFF for byte in whole[-8:-4]) + whole[-4:],
        "garbage after": whole + b"garbage",
    }[damage]
    path = tmp_path / "a.csv.gz"
    path.write_bytes(broken)
    message = error_of(path)
    assert ("end in the middle" if damage == "cut" else "the gzip data are damaged") in message


def test_gzip_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "GZIP_BYTES_BEFORE_RATIO_COUNTS", 1_000_000)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"text\n" + b"x\n" * 2_000_000))
    assert path.stat().st_size * sources.MAX_GZIP_RATIO < 4_000_000
    message = error_of(path)
    assert "more than 200 times" in message
    assert "gunzip" in message


def test_gzip_bomb_in_parquet_is_stopped_while_spooling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "GZIP_BYTES_BEFORE_RATIO_COUNTS", 1_000_000)
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress(b"PAR1" + b"\0" * 4_000_000))
    assert "more than 200 times" in error_of(tmp_path / "a.parquet.gz")


@pytest.mark.parametrize("text", [b"x\n" * 400_000, b"".join(b"%d\n" % (n**5) for n in range(200_000))])
def test_good_gzip_is_not_taken_for_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(sources, "GZIP_BYTES_BEFORE_RATIO_COUNTS", 1_000_000)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text))
    with open_table(tmp_path / "a.txt.gz") as table:
        assert sum(len(frame) for frame in table.batches()) == text.count(b"\n")


def test_limits_are_the_promised_ones() -> None:
    assert sources.MAX_GZIP_RATIO == 200
    assert sources.GZIP_BYTES_BEFORE_RATIO_COUNTS == 200 * 2**20


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"PAR1\x15\x04", Format.PARQUET),
        (b'{"text": "x"}\n', Format.JSONL),
        (b'\xef\xbb\xbf\n {"text": "x"}', Format.JSONL),
        (b"id\ttext\n1\tx", Format.TSV),
        (b"id,text\n1,x\n2,y", Format.CSV),
        (b'id,text\n1,"x, y\nz"\n', Format.CSV),
        (b"id,text\r1,x\r", Format.CSV),
        ("id,text\n1,x\u2028y\n2,z\n".encode(), Format.CSV),
        ("one\u2028two\tthree\n".encode(), Format.TSV),
        (b"id,text\n1,x," + b"y" * SNIFF_BYTES, Format.TEXT),
        (b"id,text\n1,x\n2,x" + b"," * SNIFF_BYTES, Format.CSV),
        (b"id,text\n1,x\n1,2,3\n", Format.TEXT),
        (b"id,text\n" + b"1,x\n" * 20 + b"1,2,3\n", Format.CSV),  # a fault to be named, not another format
        (b"Well, yes\nNo, never\n", Format.TEXT),
        (b"id;text\n1;x, y\n2;z\n", Format.CSV),
        (b"yes;no\nmaybe\n", Format.TEXT),
        (b"a,a\n1,2\n", Format.TEXT),
        (b"one,line\n", Format.TEXT),
        (b"hello\nworld\n", Format.TEXT),
        (b"\n\n", Format.TEXT),
        (b"caf\xe9\n", Format.TEXT),
        (b'[{"text": "x"}]', Format.JSONL),  # whose reader says how to take it apart
        (b"[\n  {\n", Format.JSONL),
        (b"[urgent] no heating\nno water\n", Format.TEXT),
        (b'message\n"late, again"\nlost\n', Format.CSV),
        (b'"message"\r\n"late"\r\n"two\nlines"\r\n', Format.CSV),
        (b'message\n"late," she said\nlost\n', Format.TEXT),
        (b'What they said:\n"late"\n"lost"\n', Format.TEXT),
        (b'great\n"late"\nlost, and late\n', Format.TEXT),
    ],
)
def test_sniffing(head: bytes, expected: Format) -> None:
    assert sniff_format(head) is expected


@pytest.mark.parametrize(
    ("column", "expected"), [("message", Format.CSV), ("text", Format.TEXT), ("mess", Format.TEXT), (None, Format.TEXT)]
)
def test_a_first_line_that_is_the_column_waited_for_is_a_header(column: str | None, expected: Format) -> None:
    assert sniff_format(b"message\nlate\nlost\n", column) is expected
    assert sniff_format(b"message\nlate, again\nlost\n", column) is Format.TEXT, "a comma would be between cells"


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    "content",
    [b'{"id": "1", "text": "x"}', b"id\ttext\n1\tx\n", b"id,text\n1,x\n"],
    ids=["jsonl", "tsv", "csv"],
)
def test_standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes, compressed: bool) -> None:
    feed(monkeypatch, gzip.compress(content) if compressed else content)
    with open_table("-") as table:
        assert table.name == "standard input"
        assert table.read().to_dicts() == [{"id": "1", "text": "x"}]
    assert not sys.stdin.buffer.closed


def test_standard_input_parquet_and_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"text": ["x", "y"], "n": [1, 2]})
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    feed(monkeypatch, buffer.getvalue())
    with open_table(Path("-")) as table:
        assert table.read().equals(frame)
    feed(monkeypatch, b"Well, yes\nno\n")
    with open_table("-") as table:
        assert table.read()["text"].to_list() == ["Well, yes", "no"]


def test_standard_input_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"")
    assert "standard input: the file is empty" in error_of("-")
    feed(monkeypatch, b"id,text\n1,2\n3,4\n" + b"5,6\n" * SNIFF_BYTES + b"7\n")
    assert "standard input: row 65,539 (line 65,540) has 1 cell" in error_of("-")
    monkeypatch.setattr(sys, "stdin", None)
    assert "nothing is connected" in error_of("-")


def test_unknown_suffix_is_sniffed(tmp_path: Path) -> None:
    (tmp_path / "a.data").write_text("id,text\n007,x\n")
    with open_table(tmp_path / "a.data") as table:
        assert table.read().rows() == [("007", "x")]
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04\0\0")
    assert "export the sheet as CSV" in error_of(tmp_path / "a.xlsx")


def test_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=lambda: pipe.write_bytes(b"id,text\n" + b"1,x\n" * 50_000))
    feeder.start()
    with open_table(pipe) as table:
        assert len(table.read()) == 50_000
    feeder.join()


def test_file_is_closed_after_an_error(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    for name, content in (("a.csv", b"a,a\n"), ("a.parquet", b"PAR1"), ("a.csv.gz", b"\x1f\x8b\x08")):
        (tmp_path / name).write_bytes(content)
        error_of(tmp_path / name)
    assert not [warning for warning in recwarn if warning.category is ResourceWarning]
