"""Checks of the texts and of the number of groups, before any heavy work."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from coterie.data.columns import check_column
from coterie.data.messages import listed, place, shown, surrogate_position
from coterie.errors import ConfigError, InputError

if TYPE_CHECKING:
    import polars as pl

# White space (its last character is U+3000) and the marks of width zero: a text of only these shows nothing.
INVISIBLE = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\u200b\u200c\u200d\u2060\ufeff"


def check_texts(texts: Any, *, column: str = "text", name: str = "texts", first_row: int = 1) -> list[str]:
    """Give the texts as a list of str, or name the first row that is not a text.

    Takes a list, a tuple, any other iterable of str, a NumPy array of shape (n,) or (n, 1), or a column of
    polars, pandas or Arrow. `first_row` is the number of the first row, for tables that come in batches.
    """
    cells = as_cells(texts, name)
    bad = [index for index, cell in enumerate(cells) if _is_bad(cell)]
    if bad:
        raise _bad_rows_error(cells, bad, column, name, first_row)
    return [str(cell) for cell in cells]


def texts_of(frame: pl.DataFrame, column: str, name: str, first_row: int = 1) -> list[str]:
    """Give the checked texts of one column of a table."""
    import polars as pl

    series = frame[check_column(frame, column, name, option="--text")]
    if series.dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        texts = [column for column, dtype in frame.schema.items() if dtype == pl.String]
        others = f"Columns of text: {listed(texts)}." if texts else "The table has no column of text."
        raise InputError(
            f"{name}: column {shown(column)} holds {_type_name(series.dtype)} from {place(first_row)} on, "
            f"not texts. {others}"
        )
    return check_texts(series, column=column, name=name, first_row=first_row)


def values_of(frame: pl.DataFrame, column: str, name: str) -> list[str]:
    """Give the cells of a column of true groups or labels as text; an empty one is an error."""
    values = [None if value is None else str(value) for value in frame.get_column(column)]
    empty = next((row for row, value in enumerate(values, start=1) if value is None or not value.strip()), None)
    if empty is not None:
        raise InputError(f"{name}: {place(empty)}, column {shown(column)} is empty. Fill it in, or remove such rows.")
    return [str(value) for value in values]


def check_n_clusters(texts: Sequence[str], n_clusters: Any, *, name: str = "texts", option: str = "n_clusters") -> int:
    """Give the number of groups as an int if the texts can be put into that many; `option` is how it was asked for."""
    k = _whole_number(n_clusters, option)
    if not len(texts):
        raise InputError(f"{name}: there are no rows. Give at least 2 texts.")
    if len(texts) == 1:
        raise InputError(f"{name}: there is only 1 row, so there is nothing to group. Give at least 2 texts.")
    distinct = len(set(texts))
    if k > distinct:
        raise InputError(
            f"{name}: {k:,} groups were asked for, but there are only {distinct:,} distinct texts in "
            f"{len(texts):,} rows. Ask for at most {distinct:,} groups, or give more texts."
        )
    return k


def _whole_number(n_clusters: Any, option: str) -> int:
    try:
        if isinstance(n_clusters, bool):
            raise TypeError
        k = operator.index(n_clusters)
    except TypeError:
        raise ConfigError(
            f"{option} must be a whole number such as 20, not {shown(n_clusters)} ({type(n_clusters).__name__})."
        ) from None
    if k < 1:
        raise ConfigError(f"{option} must be at least 1, not {k}.")
    return k


def as_cells(texts: Any, name: str) -> list[Any]:
    """Give what was handed over as a list, whatever holds it."""
    if isinstance(texts, str | bytes | bytearray):
        kind = "one string" if isinstance(texts, str) else "bytes"
        raise InputError(f"{name}: {kind} was given ({shown(texts)}). Give a list of texts.")
    if isinstance(texts, Set | Mapping):
        raise InputError(
            f"{name}: a {type(texts).__name__} was given, which has no rows in order. Give a list of texts."
        )
    if hasattr(texts, "columns"):
        raise InputError(f"{name}: a whole table was given. Give one column of it, such as table['text'].")
    shape = getattr(texts, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        if len(shape) != 2 or shape[1] != 1:
            raise InputError(f"{name}: an array of shape {shape} was given. Give one text a row: shape (n,).")
        texts = texts.reshape(-1)
    for to_list in ("to_list", "tolist", "to_pylist"):
        if hasattr(texts, to_list):
            return list(getattr(texts, to_list)())
    if not isinstance(texts, Iterable):
        raise InputError(f"{name}: {shown(texts)} ({type(texts).__name__}) was given. Give a list of texts.")
    return list(texts)


def _bad_rows_error(cells: list[Any], bad: list[int], column: str, name: str, first_row: int) -> InputError:
    first = bad[0]
    found, what_to_do = _fault(cells[first])
    more = ""
    if len(bad) > 1:
        more = f" ({len(bad) - 1:,} more {'row is' if len(bad) == 2 else 'rows are'} not usable either)"
    return InputError(f"{name}: {place(first_row + first)}, column {shown(column)} holds {found}{more}. {what_to_do}")


def _is_bad(cell: Any) -> bool:
    if not isinstance(cell, str) or not cell.strip(INVISIBLE):
        return True
    return not cell.isascii() and surrogate_position(cell) is not None


def _fault(cell: Any) -> tuple[str, str]:
    """Say what is wrong with a cell, and what to do about it."""
    if isinstance(cell, str):
        position = surrogate_position(cell)
        if position is not None:
            return (
                f"invalid text (unpaired surrogate U+{ord(cell[position]):04X}, character {position + 1:,})",
                "Remove that character, or read the text again with the right encoding.",
            )
        found = "only white space" if cell else "an empty text"
        return found, "Remove such rows, or fill them in."
    if is_missing(cell):
        return f"no text (a missing value: {shown(cell)})", "Remove such rows, or fill them in."
    if isinstance(cell, bytes | bytearray):
        return f"bytes ({shown(cell)})", "Decode them first, e.g. with .decode('utf-8')."
    if isinstance(cell, int | float) or hasattr(cell, "__float__"):
        return f"a number ({shown(cell)})", "Choose the column with the texts, or make them text."
    return f"a {type(cell).__name__} ({shown(cell)})", "Give texts (str) only."


def is_missing(cell: Any) -> bool:
    """Whether a cell is no value at all."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):  # pandas, which is not imported
        return True
    return isinstance(cell, float) and cell != cell


def _type_name(dtype: Any) -> str:
    if dtype.is_numeric():
        kind = "numbers"
    elif dtype.is_temporal():
        kind = "dates or times"
    elif dtype.is_nested():
        kind = "lists or nested values"
    else:
        kind = {"Boolean": "true or false", "Binary": "bytes"}.get(str(dtype), "other values")
    return f"{kind} ({dtype})"
