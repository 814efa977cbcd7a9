"""`table_writer`: data frames into a file of any supported format, whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
from abc import ABC, abstractmethod
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self, cast

from coterie.data.atomic import atomic_file, writing_errors_named
from coterie.data.cells import escape_formulas, json_cells, text_cells, without_breaks
from coterie.data.formats import OTHER_SEPARATORS, SUFFIXES_OF_TABLES, Format, format_of_name, is_gzip_name
from coterie.data.messages import listed
from coterie.data.sources import STANDARD_STREAM
from coterie.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl


class _Encoder(ABC):
    """Turns frames into the bytes of one format."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.file = file
        self.name = name

    @abstractmethod
    def write(self, frame: pl.DataFrame, is_first: bool) -> None: ...

    def close(self, keep: bool) -> None:
        """Write what comes after the last row, or let go of a file that will be removed."""
        if keep:
            self.file.flush()


class _CsvEncoder(_Encoder):
    def write(self, frame: pl.DataFrame, is_first: bool) -> None:
        import polars as pl

        frame = self._represent(escape_formulas(text_cells(frame)))
        if frame.width == 1:  # a null would be a blank line, which is no row; an empty text is written as ""
            frame = frame.select(pl.all().cast(pl.String).fill_null(""))
        else:
            frame = frame.with_columns(pl.col(pl.String).replace("", None))
        self.file.write(self._encode(frame, is_first))

    def _represent(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame

    def _encode(self, frame: pl.DataFrame, is_first: bool) -> bytes:
        buffer = io.BytesIO()
        # The only name, with such a mark and without quotes, would be read as the names of several columns.
        is_unclear = frame.width == 1 and any(mark in frame.columns[0] for mark in OTHER_SEPARATORS)
        if is_first and is_unclear:
            name = frame.columns[0].replace('"', '""')
            buffer.write(f'"{name}"\n'.encode())
        frame.write_csv(buffer, include_header=is_first and not is_unclear)
        return buffer.getvalue()


class _TsvEncoder(_CsvEncoder):
    def _represent(self, frame: pl.DataFrame) -> pl.DataFrame:
        return without_breaks(frame)

    def _encode(self, frame: pl.DataFrame, is_first: bool) -> bytes:
        buffer = io.BytesIO()
        frame.write_csv(buffer, include_header=False, separator="\t", quote_style="never")
        header = "\t".join(frame.columns) + "\n" if is_first else ""
        return header.encode("utf-8") + buffer.getvalue()


class _PlainTextEncoder(_Encoder):
    def write(self, frame: pl.DataFrame, is_first: bool) -> None:
        if frame.width != 1:
            raise ConfigError(
                f"{self.name}: a .txt file holds one column, but there are {frame.width} "
                f"({listed(frame.columns)}). Give the file a name that ends in .csv."
            )
        texts = without_breaks(text_cells(frame)).to_series().cast(str).fill_null("")
        self.file.writelines(f"{text}\n".encode() for text in texts)


class _JsonLinesEncoder(_Encoder):
    def write(self, frame: pl.DataFrame, is_first: bool) -> None:
        buffer = io.BytesIO()
        json_cells(frame).write_ndjson(buffer)
        self.file.write(buffer.getvalue())


class _ParquetEncoder(_Encoder):
    _writer: Any = None

    def write(self, frame: pl.DataFrame, is_first: bool) -> None:
        import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]

        table = frame.to_arrow()
        if self._writer is None:
            self._writer = pq.ParquetWriter(self.file, table.schema, compression="zstd", write_page_checksum=True)
        self._writer.write_table(table)

    def close(self, keep: bool) -> None:
        import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
        import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]

        if not keep:
            # Otherwise pyarrow closes it when it is collected, into a file that is gone.
            with contextlib.suppress(Exception):
                self._writer.close()
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(self.file, pa.schema([]))
        self._writer.close()


_ENCODERS: dict[Format, type[_Encoder]] = {
    Format.CSV: _CsvEncoder,
    Format.TSV: _TsvEncoder,
    Format.JSONL: _JsonLinesEncoder,
    Format.PARQUET: _ParquetEncoder,
    Format.TEXT: _PlainTextEncoder,
}


class TableWriter:
    """Takes the frames of one table in order. Use it in `with`: the file appears when the block ends well."""

    def __init__(self, path: str | os.PathLike[str], table_format: Format) -> None:
        self.name = "standard output" if os.fspath(path) == STANDARD_STREAM else str(path)
        self._path = Path(path)
        self._format = table_format
        self._schema: pl.Schema | None = None
        self._open = ExitStack()
        self._encoder: _Encoder | None = None

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            file = self._open_file(opening)
            if is_gzip_name(self._path):
                # No name and no time in the header: the same rows give the same bytes.
                packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)
                file = cast("IO[bytes]", opening.enter_context(packed))
            self._encoder = _ENCODERS[self._format](file, self.name)
            self._open = opening.pop_all()
        return self

    def write(self, frame: pl.DataFrame) -> None:
        """Add rows. Every frame has the columns of the first one."""
        if self._encoder is None:
            raise ConfigError(f"{self.name}: the writer is not open. Use it in a `with` block.")
        is_first = self._schema is None
        with writing_errors_named(self.name):
            self._encoder.write(self._like_first(frame), is_first)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        encoder, self._encoder = self._encoder, None
        assert encoder is not None
        if error is not None:
            encoder.close(keep=False)
            self._open.__exit__(kind, error, trace)
            return
        with self._open, writing_errors_named(self.name):
            encoder.close(keep=True)

    def _open_file(self, opening: ExitStack) -> IO[bytes]:
        if self.name != "standard output":
            return opening.enter_context(atomic_file(self._path))
        stream: IO[bytes] | None = getattr(sys.stdout, "buffer", None)
        if stream is None:
            raise ConfigError("standard output: it takes no bytes here. Name a file instead of `-`.")
        sys.stdout.flush()  # what was printed before comes before
        opening.callback(self._flush, stream)
        return stream

    def _flush(self, stream: IO[bytes]) -> None:
        with writing_errors_named(self.name):
            stream.flush()

    def _like_first(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Put the columns in the order of the first frame; only nulls ever change their type."""
        import polars as pl

        if self._schema is None:
            frame = frame.with_columns(pl.col(pl.Null).cast(pl.String))
            self._schema = frame.schema
            return frame
        missing = [name for name in self._schema if name not in frame.columns]
        new = [name for name in frame.columns if name not in self._schema]
        if missing or new:
            raise ConfigError(
                f"{self.name}: a batch does not have the columns of the first one "
                f"(missing: {listed(missing) or 'none'}; new: {listed(new) or 'none'})."
            )
        # Not by expressions: polars would take names such as `*` and `^a$` for patterns.
        columns = [frame.get_column(name) for name in self._schema]
        typed = zip(columns, self._schema.values(), strict=True)
        columns = [column.cast(dtype) if column.dtype == pl.Null else column for column, dtype in typed]
        changed = [column.name for column in columns if column.dtype != self._schema[column.name]]
        if changed:
            raise ConfigError(f"{self.name}: columns have another type than in the first batch: {listed(changed)}.")
        return pl.DataFrame(columns)


def table_writer(path: str | os.PathLike[str]) -> TableWriter:
    """Prepare to write a table; the suffix of the name is its format, and `-` is CSV on standard output."""
    if os.fspath(path) == STANDARD_STREAM:
        return TableWriter(path, Format.CSV)
    table_format = format_of_name(os.fspath(path))
    if table_format is None:
        raise ConfigError(f"{path}: the name does not tell the format. Let it end in {SUFFIXES_OF_TABLES}.")
    return TableWriter(path, table_format)
