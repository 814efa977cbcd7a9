"""Cells as text files need them: strings only, safe to open in a spreadsheet."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

# What makes a spreadsheet run a cell as a formula (OWASP, "CSV injection") ...
_FORMULA = r"^[=+\-@\t\r]"
# ... and what starts like one but is a number only.
_PLAIN_NUMBER = r"^[+-]([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_BREAKS = r"\r\n|[\t\r\n]"


def text_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn what has no text form of its own into text: nested values to JSON, bytes to base64."""
    return frame.with_columns(_as_text(series) for series in frame if not _has_text_form(series.dtype))


def json_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn the columns that polars cannot write as JSON into text."""
    return frame.with_columns(_as_text(series) for series in frame if _holds_binary(series.dtype))


def escape_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before cells and column names that a spreadsheet would run; numbers stay."""
    return _with_each_text(frame, _escaped)


def without_breaks(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace tabs and line breaks, which TSV and plain text cannot hold, by spaces."""
    return _with_each_text(frame, lambda texts: texts.str.replace_all(_BREAKS, " "))


def _escaped(texts: pl.Expr) -> pl.Expr:
    import polars as pl

    runs = texts.str.contains(_FORMULA) & ~texts.str.contains(_PLAIN_NUMBER)
    return pl.when(runs).then(pl.lit("'") + texts).otherwise(texts)


def _with_each_text(frame: pl.DataFrame, change: Callable[[pl.Expr], pl.Expr]) -> pl.DataFrame:
    """Change the string cells and the column names alike."""
    import polars as pl

    names = pl.DataFrame({"name": frame.columns}, schema={"name": pl.String})
    changed = frame.with_columns(change(pl.col(pl.String)).name.keep())
    changed.columns = _distinct(names.select(change(pl.col("name")).alias("name")).to_series().to_list())
    return changed


def _distinct(names: list[str]) -> list[str]:
    """Tell names apart that a change has made equal."""
    taken: dict[str, None] = {}
    for name in names:
        while name in taken:
            name += "_"
        taken[name] = None
    return list(taken)


def _has_text_form(dtype: pl.DataType) -> bool:
    import polars as pl

    return not (dtype.is_nested() or dtype in (pl.Binary, pl.Duration, pl.Object, pl.Categorical, pl.Enum))


def _holds_binary(dtype: Any) -> bool:
    import polars as pl

    if isinstance(dtype, pl.Struct):
        return any(_holds_binary(field.dtype) for field in dtype.fields)
    if isinstance(dtype, pl.List | pl.Array):
        return _holds_binary(dtype.inner)
    return dtype in (pl.Binary, pl.Object)


def _as_text(series: pl.Series) -> pl.Series:
    import polars as pl

    if series.dtype in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if series.dtype == pl.Duration:
        return series.dt.to_string("iso")
    if series.dtype == pl.Binary:
        return series.bin.encode("base64")
    texts = [None if value is None else _json_text(value) for value in series.to_list()]
    return pl.Series(series.name, texts, dtype=pl.String)


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_json_default)


def _json_default(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value.to_list() if hasattr(value, "to_list") else str(value)
