"""Choosing the text column, and finding columns that were asked for by name."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from coterie.data.messages import LISTED_NAMES, listed, nearest, shown
from coterie.errors import InputError

if TYPE_CHECKING:
    import polars as pl

LOOKS_LIKE_TEXT = 0.5

# Two words (letters on both sides of white space), or a run of a script that is written without spaces.
# Dates, numbers, addresses and single words do not match.
_SEVERAL_WORDS = (
    r"(?s)\pL.*\s.*\pL"
    r"|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]{4}"
)


def choose_text_column(sample: pl.DataFrame, asked: str | None, name: str) -> str:
    """Give the column asked for, or the only one that looks like text; ask the user where it is unclear."""
    if asked is not None:
        return check_column(sample, asked, name, option="--text")
    columns = sample.columns
    if not columns:
        raise InputError(f"{name}: the table has no columns. Give a table with a column of texts.")
    if len(columns) == 1:
        return columns[0]
    scores = {column: text_score(sample[column]) for column in columns}
    likely = [column for column in columns if scores[column] >= LOOKS_LIKE_TEXT]
    if len(likely) == 1:
        return likely[0]
    raise _unclear_error(sample, scores, likely, name)


def check_column(frame: pl.DataFrame, asked: str, name: str, option: str = "--truth") -> str:
    """Give the name back if the table has such a column; `option` is what the user typed it after."""
    if asked in frame.columns:
        return asked
    guess = nearest(asked, frame.columns)
    hint = f"; did you mean {shown(guess)}?" if guess is not None else "."
    raise InputError(
        f"{name}: there is no column {shown(asked)}{hint} The columns are {listed(frame.columns)}. "
        f"Name one of them with `{option}`."
    )


def text_score(column: pl.Series) -> float:
    """Say from 0 to 1 how much a column looks like texts to group.

    The share of its cells with several words, times the share of distinct cells among those that are not
    empty. Columns that are not strings score 0: numbers, dates and flags are never texts.
    """
    import polars as pl

    column = column.alias("column")  # polars takes a name such as "^a.*$" for a pattern
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype != pl.String or not len(column):
        return 0.0
    filled = column.drop_nulls()
    filled = filled.filter(filled.str.strip_chars() != "")
    if not len(filled):
        return 0.0
    several_words = filled.str.contains(_SEVERAL_WORDS).sum() / len(column)
    return float(several_words * filled.n_unique() / len(filled))


def _unclear_error(sample: pl.DataFrame, scores: dict[str, float], likely: list[str], name: str) -> InputError:
    problem = f"{len(likely)} columns look like text" if likely else "no column clearly looks like text"
    first = sample.columns[:LISTED_NAMES]
    examples = "".join(f"\n  {shown(column)}, for example {_example(sample[column])}" for column in first)
    left_off = len(sample.columns) - LISTED_NAMES
    more = f"\n  and {left_off:,} more" if left_off > 0 else ""
    best = max(scores, key=lambda column: scores[column])
    advice = "Type `--text NAME` with the name of the column that holds the texts."
    if scores[best] > 0:
        typed = f"--text {shlex.quote(best)}"
        advice = f"{shown(best)} looks most like text: type `{typed}` to use it, or name another column."
    return InputError(f"{name}: {problem}. The columns:{examples}{more}\n{advice}")


def _example(column: pl.Series) -> str:
    filled = column.alias("column").drop_nulls()
    return shown(filled[0]) if len(filled) else "(no value)"
