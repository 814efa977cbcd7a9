"""Parquet: types are kept, damage is named."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]
import pytest

from coterie.data.readers import open_table
from coterie.errors import InputError

FRAME = pl.DataFrame(
    {"text": ["a", None, "c"], "n": [1, 2, None], "flag": [True, False, None], "list": [["x"], [], None]}
)


def error_of(path: Path) -> str:
    with pytest.raises(InputError) as caught, open_table(path) as table:
        for _ in table.batches(1):
            pass
    assert path.name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("rows", [1, 2, 10])
def test_types_are_kept(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path, row_group_size=2)
    with open_table(path) as table:
        assert table.columns == FRAME.columns
        frames = list(table.batches(rows))
    assert max(map(len, frames)) <= rows
    assert pl.concat(frames).equals(FRAME)


def test_gzip(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    path = tmp_path / "b.parquet.gz"
    path.write_bytes(gzip.compress((tmp_path / "a.parquet").read_bytes()))
    with open_table(path) as table:
        assert table.read().equals(FRAME)


def test_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    FRAME.clear().write_parquet(path)
    assert "no rows" in error_of(path)


@pytest.mark.parametrize("damage", ["cut", "text", "middle"])
def test_damaged(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"text": [f"text {n}" for n in range(5000)]})
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(
        {
            "cut": whole[:middle],
            "text": b"text\nhello\n",
            "middle": whole[: middle - 50] + b"\xff" * 100 + whole[middle + 50 :],
        }[damage]
    )
    assert "the Parquet data are damaged" in error_of(path)


def test_duplicate_column_names(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
    assert "columns 1 and 2 have the same name 'a'" in error_of(path)


def test_strings_that_are_not_utf8(tmp_path: Path) -> None:
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 2, 6)))
    broken = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"okcaf\xe9"))
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [1, 2], "title": broken}), path, row_group_size=1)
    assert "row 2, column 'title' holds the byte 0xE9" in error_of(path)


def test_decimals_wider_than_any_number_here(tmp_path: Path) -> None:
    path = tmp_path / "wide.parquet"
    wide = pa.array([Decimal(1)], pa.decimal256(76, 38))
    pq.write_table(pa.table({"text": ["a"], "amount": wide}), path)
    assert "a column has a type that cannot be read" in error_of(path)
