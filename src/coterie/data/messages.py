"""Small pieces of text that the error messages of this package share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

SHOWN_CHARS = 40
LISTED_NAMES = 12


def place(row: int, line: int | None = None) -> str:
    """Name a data row (1-based; 0 is the header) and, where known, the line of the file it starts in."""
    where = f"row {row:,}" if row else "the header"
    return where if line is None else f"{where} (line {line:,})"


def shown(value: object) -> str:
    """Give a short, printable form of a value that may be huge or hold control characters."""
    if isinstance(value, str | bytes):
        return repr(value) if len(value) <= SHOWN_CHARS else repr(value[:SHOWN_CHARS]) + "..."
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "..."


def listed(names: Sequence[str]) -> str:
    """List names for a person, the long tail cut off."""
    head = ", ".join(shown(name) for name in names[:LISTED_NAMES])
    left_off = len(names) - LISTED_NAMES
    return f"{head} and {left_off:,} more" if left_off > 0 else head


def nearest(wanted: str, names: Iterable[str]) -> str | None:
    """Find the name that a person most likely meant, upper and lower case aside."""
    by_folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(wanted.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def surrogate_position(text: str) -> int | None:
    """Position of the first unpaired surrogate, which no UTF-8 file can hold; None if there is none."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return error.start
    return None


def fault(error: Exception) -> str:
    """What is wrong with a file that was read as something it is not, for a person who may have changed it."""
    match error:
        case KeyError(args=(name, *_)):
            return f"{shown(name)} is missing"
        case TypeError() | AttributeError() | IndexError():
            return "a value is not of the kind that belongs there"
    return str(error)


def so_many_texts(texts: int) -> str:
    return f"{texts:,} {'text' if texts == 1 else 'texts'}"


def texts_in_groups(texts: int, groups: int) -> str:
    return f"{so_many_texts(texts)} in {groups:,} {'group' if groups == 1 else 'groups'}"
