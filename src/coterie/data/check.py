"""Checks of the texts and of the number of groups, before any heavy work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from coterie.data.columns import check_column
from coterie.data.messages import listed, place, shown, surrogate_position
from coterie.data.whole_number import whole_number
from coterie.errors import ConfigError, InputError

if TYPE_CHECKING:
    import polars as pl

    from coterie.types import NClusters

REMOVE_OR_FILL = "Remove such rows, or fill them in."
# White space (its last character is U+3000) and the marks of width zero: a text of only these shows nothing.
INVISIBLE = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\u200b\u200c\u200d\u2060\ufeff"

AUTO: Literal["auto"] = "auto"
FEWEST_FOR_AUTO = 20
FEWEST_COMPARED = 2
MOST_COMPARED = 1_250
"""Two texts a group in the halves of 2,500 texts that are compared."""
TEXTS_TO_COMPARE = 4
"""A range begins at 2 groups, and must have 4 texts for each: 2 in either half of the texts."""


def check_texts(
    texts: Any, *, column: str = "text", name: str = "texts", first_row: int = 1, if_empty: str = REMOVE_OR_FILL
) -> list[str]:
    """Give the texts as a list of str, or name the first row that is not a text.

    Takes a list, a tuple, any other iterable of str, a NumPy array of shape (n,) or (n, 1), or a column of
    polars, pandas or Arrow. `first_row` is the number of the first row, for tables that come in batches; `if_empty`,
    what to do about rows without a text.
    """
    cells = as_cells(texts, name)
    bad = [index for index, cell in enumerate(cells) if _is_bad(cell)]
    if bad:
        raise _bad_rows_error(cells, bad, column, name, first_row, if_empty)
    return [str(cell) for cell in cells]


def texts_of(
    frame: pl.DataFrame, column: str, name: str, first_row: int = 1, if_empty: str = REMOVE_OR_FILL
) -> list[str]:
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
    return check_texts(series, column=column, name=name, first_row=first_row, if_empty=if_empty)


def rows_with_text(frame: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    """The rows of a table whose cell in this column is not empty."""
    cells = frame.get_column(check_column(frame, column, name, option="--text")).to_list()
    return frame.filter([not _is_empty(cell) for cell in cells])


def no_text_error(column: str, name: str) -> InputError:
    return InputError(f"{name}: column {shown(column)} is empty in every row. Name the column with the texts.")


def values_of(
    frame: pl.DataFrame, column: str, name: str, to_do: str = "Fill it in, or remove such rows."
) -> list[str]:
    """Give the cells of a column of true groups or labels as text; an empty one is an error."""
    values = frame.get_column(column).to_list()
    empty = next((row for row, value in enumerate(values, start=1) if not is_known(value)), None)
    if empty is not None:
        raise InputError(f"{name}: {place(empty)}, column {shown(column)} is empty. {to_do}")
    return [str(value) for value in values]


def is_known(value: Any) -> bool:
    """Whether a cell of a column of true groups or labels holds one."""
    return not is_missing(value) and bool(str(value).strip())


class Numbers(NamedTuple):
    """Numbers of groups to choose from; without a `high` there may be as many as the texts have evidence for."""

    low: int
    high: int | None

    @property
    def fewest_texts(self) -> int:
        """So many different texts it takes to compare them."""
        return FEWEST_FOR_AUTO if self.high is None else TEXTS_TO_COMPARE * self.high


def written_n_clusters(written: str, option: str) -> NClusters:
    """The number of groups as a person writes it: 20, auto or 5-40."""
    if written.strip().lower() == AUTO:
        return AUTO
    ends = re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", written)
    try:
        return (int(ends[1]), int(ends[2])) if ends else int(written)
    except ValueError:
        raise ConfigError(
            f"{option} must be a whole number such as 20, auto, or a range such as 5-40, not {shown(written)}."
        ) from None


def check_n_clusters(
    texts: Sequence[str], n_clusters: Any, *, name: str = "texts", option: str = "n_clusters"
) -> int | Numbers:
    """Give the number of groups as an int, or the numbers to choose from, if the texts can be put into that many.

    `option` is how it was asked for.
    """
    asked = _numbers(n_clusters, option)
    if not len(texts):
        raise InputError(f"{name}: there are no rows. Give at least 2 texts.")
    if len(texts) == 1:
        raise InputError(f"{name}: there is only 1 row, so there is nothing to group. Give at least 2 texts.")
    distinct = len(set(texts))
    if distinct == 1:
        raise InputError(f"{name}: all {len(texts):,} rows have the same text. Give at least 2 different ones.")
    if isinstance(asked, Numbers):
        _check_enough(asked, distinct, len(texts), name)
        return asked
    if asked > distinct:
        raise InputError(
            f"{name}: {asked:,} groups were asked for, but there are only {distinct:,} distinct texts in "
            f"{len(texts):,} rows. Ask for at most {distinct:,} groups, or give more texts."
        )
    return asked


def _numbers(n_clusters: Any, option: str) -> int | Numbers:
    if isinstance(n_clusters, str) and n_clusters == AUTO:
        return Numbers(FEWEST_COMPARED, None)
    if not isinstance(n_clusters, list | tuple) or len(n_clusters) != 2:
        return _whole_number(n_clusters, option)
    low, high = (_whole_number(end, option) for end in n_clusters)
    if low < FEWEST_COMPARED:
        raise ConfigError(
            f"{option}: a range of groups begins at {FEWEST_COMPARED} or more, not at {low}: a single group has "
            "nothing to be compared with."
        )
    if high <= low:
        raise ConfigError(
            f"{option}: the range from {low} to {high} does not go up. Write the smaller number first, or one alone."
        )
    if high > MOST_COMPARED:
        raise ConfigError(
            f"{option}: a range of groups ends at {MOST_COMPARED:,} or below, not at {high:,}: numbers are compared on "
            "samples of the texts. Give one number."
        )
    return Numbers(low, high)


def _check_enough(asked: Numbers, distinct: int, rows: int, name: str) -> None:
    """Groups that are to be compared between two halves of the texts need some texts in each."""
    there = f"there are only {distinct:,} distinct texts in {rows:,} rows"
    if distinct >= asked.fewest_texts:
        return
    if asked.high is None:
        raise InputError(
            f"{name}: {there}, too few to choose a number of groups by. Give {FEWEST_FOR_AUTO} or more, or the number."
        )
    most = distinct // TEXTS_TO_COMPARE
    instead = f"Let the range end at {most:,} or below" if most > asked.low else "Give one number"
    raise InputError(
        f"{name}: a range up to {asked.high:,} groups needs {TEXTS_TO_COMPARE} texts a group to compare, "
        f"but {there}. {instead}, or give more texts."
    )


def _whole_number(n_clusters: Any, option: str) -> int:
    k = whole_number(n_clusters)
    if k is None:
        raise ConfigError(
            f"{option} must be a whole number such as 20, 'auto', or a range such as (5, 40), not {shown(n_clusters)} "
            f"({type(n_clusters).__name__})."
        )
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


def _bad_rows_error(
    cells: list[Any], bad: list[int], column: str, name: str, first_row: int, if_empty: str
) -> InputError:
    first = bad[0]
    found, what_to_do = _fault(cells[first], if_empty)
    more = ""
    if len(bad) > 1:
        more = f" ({len(bad) - 1:,} more {'row is' if len(bad) == 2 else 'rows are'} not usable either)"
    return InputError(f"{name}: {place(first_row + first)}, column {shown(column)} holds {found}{more}. {what_to_do}")


def _is_empty(cell: Any) -> bool:
    return is_missing(cell) or (isinstance(cell, str) and not cell.strip(INVISIBLE))


def _is_bad(cell: Any) -> bool:
    if not isinstance(cell, str) or not cell.strip(INVISIBLE):
        return True
    return not cell.isascii() and surrogate_position(cell) is not None


def _fault(cell: Any, if_empty: str) -> tuple[str, str]:
    """Say what is wrong with a cell, and what to do about it."""
    if isinstance(cell, str):
        position = surrogate_position(cell)
        if position is not None:
            return (
                f"invalid text (unpaired surrogate U+{ord(cell[position]):04X}, character {position + 1:,})",
                "Remove that character, or read the text again with the right encoding.",
            )
        found = "only white space" if cell else "an empty text"
        return found, if_empty
    if is_missing(cell):
        return f"no text (a missing value: {shown(cell)})", if_empty
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
