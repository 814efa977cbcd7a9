"""Writing tables: formats, formula escaping, and nothing half-written."""

from __future__ import annotations

import datetime
import errno
import gzip
import io
import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]
import pytest

from coterie.data.readers import open_table
from coterie.data.writers import table_writer
from coterie.errors import CoterieError

TYPED = pl.DataFrame({"text": ["a", None, "é"], "n": [1, -2, None], "x": [0.5, -1.5, None], "b": [True, False, None]})
SUFFIXES = [".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".tsv.gz", ".jsonl.gz", ".parquet.gz"]


def write(path: Path, *frames: pl.DataFrame) -> Path:
    with table_writer(path) as writer:
        for frame in frames:
            writer.write(frame)
    return path


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_csv_bytes(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a,b": ['say "hi"', "x\ny", None, ""], "n": [1, -2, None, 4]})
    path = write(tmp_path / "a.csv", frame)
    assert path.read_bytes() == b'"a,b",n\n"say ""hi""",1\n"x\ny",-2\n,\n,4\n'


def test_single_column_of_csv_keeps_empty_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", pl.DataFrame({"a": ["", None, "x"]}))
    with open_table(path) as table:
        assert table.read()["a"].to_list() == ["", "", "x"]


def test_tsv_replaces_what_it_cannot_hold(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a\tb": ["x\ty", "x\r\ny\nz\rw"], "q": ['"', "2"]})
    path = write(tmp_path / "a.tsv", frame)
    assert path.read_bytes() == b'a b\tq\nx y\t"\nx y z w\t2\n'


def test_plain_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", pl.DataFrame({"t": ["=a", "b\nc"]}), pl.DataFrame({"t": ["d"]}))
    assert path.read_text() == "=a\nb c\nd\n"
    with pytest.raises(CoterieError, match="holds one column, but there are 4"):
        write(tmp_path / "b.txt", TYPED)
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".parquet.gz", ".jsonl.gz"])
def test_typed_formats_give_the_same_table_back(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"a{suffix}", TYPED[:1], TYPED[1:])
    with open_table(path) as table:
        assert table.read().equals(TYPED)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_batches_make_one_table_with_one_header(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"a{suffix}", *(pl.DataFrame({"a": [n], "b": [str(n)]}) for n in range(5)))
    with open_table(path) as table:
        assert [str(a) for a in table.read()["a"]] == list("01234")


@pytest.mark.parametrize("suffix", [".csv.gz", ".jsonl.gz"])
def test_same_rows_same_bytes(tmp_path: Path, suffix: str) -> None:
    first, second = (write(tmp_path / f"{name}{suffix}", TYPED).read_bytes() for name in "ab")
    assert first == second
    assert gzip.decompress(first)


ESCAPED = ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=x", "\r=x", "-", "+", "-1-1", "-1 ", "="]
ESCAPED += ["+1.5.2", "--1", "-2e", "-\n3", "-3\n", "-٣"]
KEPT = ["-3", "+1.5", "-2e5", "-.5", "-3.", "+1E-7", "a=1", " =1", "'=1", "3", "1-2", "'", "_@"]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("other", [False, True])
def test_formulas_are_escaped_in_csv(tmp_path: Path, suffix: str, other: bool) -> None:
    frame = pl.DataFrame({"t": ESCAPED + KEPT})
    if other:
        frame = frame.with_columns(n=pl.lit(-5))
    with open_table(write(tmp_path / f"a{suffix}", frame)) as table:
        read = table.read()
    assert read["t"].to_list() == ["'" + cell for cell in ESCAPED] + KEPT
    assert not other or set(read["n"]) == {"-5"}


def test_formulas_are_escaped_in_tsv(tmp_path: Path) -> None:
    with open_table(write(tmp_path / "a.tsv", pl.DataFrame({"t": ["=1", "\t=x", "-3", "-x"]}))) as table:
        assert table.read()["t"].to_list() == ["'=1", "' =x", "-3", "'-x"]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_formulas_stay_in_typed_formats(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame({"=t": ESCAPED})
    with open_table(write(tmp_path / f"a{suffix}", frame)) as table:
        assert table.read().equals(frame)


@pytest.mark.parametrize(("suffix", "cut"), [(".csv", ","), (".tsv", "\t")])
def test_column_names_are_escaped_and_stay_distinct(tmp_path: Path, suffix: str, cut: str) -> None:
    path = write(tmp_path / f"a{suffix}", pl.DataFrame({"=a": ["1"], "'=a": ["2"], "-3": ["3"]}))
    assert path.read_text().splitlines() == [cut.join(["'=a", "'=a_", "-3"]), cut.join("123")]


def test_dictionary_columns_are_escaped(tmp_path: Path) -> None:
    frame = pl.DataFrame({"c": pl.Series(["=1", "x"], dtype=pl.Categorical), "n": [1, 2]})
    assert write(tmp_path / "a.csv", frame).read_text() == "c,n\n'=1,1\nx,2\n"


def test_nested_and_other_types_in_csv(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "list": [["a", None], None],
            "struct": [{"k": "é", "raw": b"\xff"}, None],
            "raw": [b"\xff", None],
            "time": [datetime.timedelta(seconds=3), None],
            "day": [datetime.date(2024, 1, 2), None],
        }
    )
    with open_table(write(tmp_path / "a.csv", frame)) as table:
        first, second = table.read().rows()
    assert json.loads(first[0]) == ["a", None]
    assert json.loads(first[1]) == {"k": "é", "raw": "/w=="}
    assert first[2:] == ("/w==", "PT3S", "2024-01-02")
    assert second == ("",) * 5


def test_nested_and_binary_in_jsonl(tmp_path: Path) -> None:
    frame = pl.DataFrame({"list": [["a"]], "raw": [b"\xff"], "deep": [[{"raw": b"\xff"}]]})
    written = json.loads(write(tmp_path / "a.jsonl", frame).read_text())
    assert written["list"] == ["a"]
    assert written["raw"] == "/w=="
    assert json.loads(written["deep"]) == [{"raw": "/w=="}]


def test_first_batch_of_nulls_in_parquet(tmp_path: Path) -> None:
    frames = pl.DataFrame({"t": [None]}), pl.DataFrame({"t": ["x"]}), pl.DataFrame({"t": [None]})
    with open_table(write(tmp_path / "a.parquet", *frames)) as table:
        assert table.read()["t"].to_list() == [None, "x", None]


def test_parquet_pages_have_checksums(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pl.DataFrame({"t": [f"text {n}" for n in range(5000)]}))
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    path.write_bytes(whole)
    with pytest.raises(OSError, match="checksum"):
        pq.ParquetFile(path, page_checksum_verification=True).read()


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".txt"])
def test_no_frame_makes_an_empty_file(tmp_path: Path, suffix: str) -> None:
    assert write(tmp_path / f"a{suffix}").is_file()


def test_frame_without_rows_makes_a_header(tmp_path: Path) -> None:
    assert write(tmp_path / "a.csv", TYPED.clear()).read_text() == "text,n,x,b\n"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_columns_that_change(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(CoterieError, match="columns of the first"):
        write(tmp_path / f"a{suffix}", TYPED, TYPED.drop("n"))
    with pytest.raises(CoterieError, match="columns of the first"):
        write(tmp_path / f"a{suffix}", TYPED, TYPED.with_columns(new=1))
    with pytest.raises(CoterieError, match="another type than in the first batch: 'n'"):
        write(tmp_path / f"a{suffix}", TYPED, TYPED.with_columns(n=pl.lit(1.5)))
    assert os.listdir(tmp_path) == []


def test_columns_in_another_order_are_put_right(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", TYPED, TYPED.select(reversed(TYPED.columns)))
    lines = path.read_text().splitlines()
    assert lines[1:4] == lines[4:]


def test_unknown_suffix(tmp_path: Path) -> None:
    with pytest.raises(CoterieError, match=r"a\.xlsx.*\.csv, \.tsv"):
        table_writer(tmp_path / "a.xlsx")


def test_not_opened(tmp_path: Path) -> None:
    with pytest.raises(CoterieError, match="with"):
        table_writer(tmp_path / "a.csv").write(TYPED)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_error_in_the_block_leaves_the_old_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_text("old")

    def broken() -> None:
        with table_writer(path) as writer:
            writer.write(TYPED)
            raise FileNotFoundError("not about the output")

    with pytest.raises(FileNotFoundError, match="not about the output"):
        broken()
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_text() == "old"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_file_appears_only_at_the_end(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    with table_writer(path) as writer:
        writer.write(TYPED)
        assert not path.exists()
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_room(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_text("old")
    frame = pl.DataFrame({"t": [os.urandom(20).hex() for _ in range(5000)]})
    with no_file_above(20_000), pytest.raises(CoterieError) as caught:
        write(path, frame, frame)
    assert str(path) in str(caught.value)
    assert "too large for this disk" in str(caught.value)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_text() == "old"


def test_no_room_at_the_last_moment(tmp_path: Path) -> None:
    with no_file_above(10), pytest.raises(CoterieError, match="too large"):
        write(tmp_path / "a.csv", TYPED)
    assert os.listdir(tmp_path) == []


def test_standard_output_is_csv(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    sys.stdout.write("before\n")
    write(Path("-"), pl.DataFrame({"t": ["=1", "é"], "n": [1, 2]}))
    sys.stdout.write("after\n")
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == "before\nt,n\n'=1,1\né,2\nafter\n".encode()


def test_standard_output_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(CoterieError, match="standard output: nothing could be written: the disk is full"):
            write(Path("-"), TYPED)
        monkeypatch.undo()
        with pytest.raises(OSError, match="No space"):
            full.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())


def test_standard_output_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.BytesIO):
        def write(self, data: object, /) -> int:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Closed()))
    with pytest.raises(BrokenPipeError):
        write(Path("-"), TYPED)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_column_names_are_no_patterns(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame({"*": ["1"], "^.*$": ["2"], "a": ["3"]})
    with open_table(write(tmp_path / f"a{suffix}", frame, frame)) as table:
        assert table.read().equals(pl.concat([frame, frame]))
