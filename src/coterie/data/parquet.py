"""Reader of Parquet: the columns keep their types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from coterie.data.messages import place, shown
from coterie.data.sources import Source, spool
from coterie.data.tables import TableReader, check_column_names, no_rows_error
from coterie.errors import InputError

if TYPE_CHECKING:
    import polars as pl


class ParquetTable(TableReader):
    """Reads batch by batch; what cannot seek (gzip, a pipe) is copied to a temporary file first."""

    def __init__(self, source: Source) -> None:
        import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
        import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]

        copy = None if source.plain_file else spool(source)
        release = ExitStack()
        if copy is not None:
            release.callback(copy.close)
        release.callback(source.close)
        try:
            self._file = pq.ParquetFile(copy or source.plain_file, page_checksum_verification=True)
            columns = check_column_names(self._file.schema_arrow.names, source.name)
            if not columns or not self._file.metadata.num_rows:
                raise no_rows_error(source.name)
        except (pa.ArrowException, OSError) as error:
            release.close()
            raise _damaged_error(source.name, "", error) from error
        except BaseException:
            release.close()
            raise
        release.callback(self._file.close)
        super().__init__(source.name, columns, release.close)

    def _frames(self, rows: int) -> Iterator[pl.DataFrame]:
        import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]

        first_row = 1
        batches = self._file.iter_batches(batch_size=rows)
        while True:
            batch = None
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                batch.validate(full=True)
            except (pa.ArrowException, OSError) as error:
                if batch is not None:
                    _name_bad_text(batch, self.name, first_row)
                raise _damaged_error(self.name, f" at or after row {first_row:,}", error) from error
            if len(batch):
                yield self._frame(batch)
            first_row += len(batch)

    def _frame(self, batch: Any) -> pl.DataFrame:
        import polars as pl

        try:
            frame = pl.from_arrow(batch)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError) as error:
            raise InputError(
                f"{self.name}: a column has a type that cannot be read ({error}). Save it with another type."
            ) from error
        assert isinstance(frame, pl.DataFrame)
        return frame


def _name_bad_text(batch: Any, name: str, first_row: int) -> None:
    """Raise for the first string that is not UTF-8: Parquet promises it, writers do not always keep it."""
    import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]

    for field, column in zip(batch.schema, batch.columns, strict=True):
        if not (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
            continue
        raw = column.cast(pa.large_binary() if pa.types.is_large_string(field.type) else pa.binary())
        for row, cell in enumerate(raw.to_pylist(), start=first_row):
            try:
                (cell or b"").decode("utf-8")
            except UnicodeDecodeError as error:
                byte = cell[error.start]
                raise InputError(
                    f"{name}: {place(row)}, column {shown(field.name)} holds the byte 0x{byte:02X}, "
                    "which is not UTF-8. Write the file again from texts in UTF-8."
                ) from error


def _damaged_error(name: str, where: str, error: Exception) -> InputError:
    reason = " ".join(str(error).split())[:200]
    return InputError(f"{name}: the Parquet data are damaged{where} ({reason}). Download the file or write it again.")
