"""What all table readers share: the reader itself, and the checks of column names and cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from coterie.data.messages import place, shown, surrogate_position
from coterie.errors import ConfigError, InputError

if TYPE_CHECKING:
    import polars as pl

BATCH_ROWS = 8192
_LARGE_BATCH_ROWS = 65_536
_ESCAPED_BYTE = 0xDC00  # what Python's surrogateescape adds to a byte that it cannot decode


class TableReader(ABC):
    """A table that is read once, from its first row to its last. `name` is for messages."""

    def __init__(self, name: str, columns: list[str], close: Callable[[], None]) -> None:
        self.name = name
        self.columns = columns
        self._close = close
        self._is_used_up = False

    def batches(self, rows: int = BATCH_ROWS) -> Iterator[pl.DataFrame]:
        """Give the rows in order, at most `rows` of them in memory at a time."""
        if rows < 1:
            raise ConfigError(f"a batch needs at least 1 row, not {rows}")
        if self._is_used_up:
            raise InputError(f"{self.name}: the table has been read or closed already. Open it again.")
        self._is_used_up = True
        return self._frames(rows)

    def read(self) -> pl.DataFrame:
        """Give all rows at once."""
        import polars as pl

        return pl.concat(list(self.batches(_LARGE_BATCH_ROWS)))

    def close(self) -> None:
        """Close the file."""
        self._is_used_up = True
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _frames(self, rows: int) -> Iterator[pl.DataFrame]: ...


def empty_error(name: str) -> InputError:
    """Make the error for a file without any content."""
    return InputError(f"{name}: the file is empty. Check that it was saved or downloaded in full.")


def no_rows_error(name: str) -> InputError:
    """Make the error for a table that stops after its header."""
    return InputError(f"{name}: there are column names but no rows. Give a file with at least one row.")


def check_column_names(columns: Sequence[str], name: str, line: int | None = None) -> list[str]:
    """Give the names back if all can be told apart and written; `line` is the line they stand in."""
    where = place(0, line)
    first_position: dict[str, int] = {}
    for position, column in enumerate(columns, start=1):
        check_cell(column, name, f"{where}, column {position}")
        if not column.strip():
            raise InputError(
                f"{name}: column {position} has no name in {where}. Give it a name or remove the column; "
                "a title above the names has to go."
            )
        if column in first_position:
            raise InputError(
                f"{name}: columns {first_position[column]} and {position} have the same name {shown(column)} "
                f"in {where}. Rename one of them."
            )
        first_position[column] = position
    return list(columns)


def check_cell(cell: str, name: str, where: str) -> None:
    """Raise if a piece of a text file holds bytes that are not UTF-8, or NUL bytes."""
    position = surrogate_position(cell)
    if position is not None:
        byte = ord(cell[position]) - _ESCAPED_BYTE
        raise InputError(
            f"{name}: {where} holds the byte 0x{byte:02X}, which is not UTF-8. Save the file as UTF-8 "
            "(in Excel: 'CSV UTF-8'), or convert it, e.g. with `iconv -f WINDOWS-1252 -t UTF-8`."
        )
    if "\0" in cell:
        raise InputError(
            f"{name}: {where} holds a NUL byte, so the file looks like binary data or UTF-16 without a mark. "
            "Save it as text in UTF-8 (from UTF-16: `iconv -f UTF-16 -t UTF-8`)."
        )


def all_clean(cells: Sequence[str]) -> bool:
    """Say quickly whether `check_cell` would pass every cell."""
    joined = "".join(cells)
    return "\0" not in joined and surrogate_position(joined) is None
