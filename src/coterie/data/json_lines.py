"""Reader of JSON Lines: one object a line, its keys are the columns."""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from coterie.data.messages import listed, place, shown, surrogate_position
from coterie.data.tables import TableReader, check_cell, check_column_names, empty_error
from coterie.data.text_tables import lines_of
from coterie.errors import InputError

if TYPE_CHECKING:
    import polars as pl

# The schema comes from this many rows, whatever the batch size, so that the batch size changes nothing.
SCHEMA_ROWS = 10_000
SCHEMA_CHARS = 64 * 1024 * 1024
_INT64_END = 2**63
_EXACT_FLOAT_END = 2**53

Scalar = str | int | float | bool | None


class Entry(NamedTuple):
    """One parsed line; nested values are JSON text already."""

    row: int
    line: int
    values: dict[str, Scalar]


class Kind(Enum):
    """What a column holds; TEXT holds everything, other values in it become JSON text."""

    TEXT = "text"
    WHOLE = "whole numbers"
    NUMBER = "numbers"
    TRUTH = "true or false"


_ALLOWED: dict[Kind, frozenset[type]] = {
    Kind.WHOLE: frozenset({int, type(None)}),
    Kind.NUMBER: frozenset({int, float, type(None)}),
    Kind.TRUTH: frozenset({bool, type(None)}),
}


class JsonLinesTable(TableReader):
    """The first rows set the columns and their kinds; a key that is missing in a row is null there."""

    def __init__(self, name: str, text: io.TextIOBase, close: Callable[[], None]) -> None:
        self._entries = parse_lines(text, name)
        self._sample = _take_sample(self._entries)
        if not self._sample:
            raise empty_error(name)
        columns = _columns_of(self._sample, name)
        super().__init__(name, columns, close)
        self._kinds = {column: kind_of([entry.values.get(column) for entry in self._sample]) for column in columns}

    def _frames(self, rows: int) -> Iterator[pl.DataFrame]:
        entries = self._all_entries()
        while batch := list(islice(entries, rows)):
            yield self._frame(batch)

    def _all_entries(self) -> Iterator[Entry]:
        while self._sample:
            yield self._sample.popleft()
        known = self._kinds.keys()
        for entry in self._entries:
            if not entry.values.keys() <= known:
                raise self._new_key_error(entry)
            yield entry

    def _frame(self, batch: list[Entry]) -> pl.DataFrame:
        import polars as pl

        dtypes = {Kind.TEXT: pl.String, Kind.WHOLE: pl.Int64, Kind.NUMBER: pl.Float64, Kind.TRUTH: pl.Boolean}
        series = []
        for column, kind in self._kinds.items():
            values = [entry.values.get(column) for entry in batch]
            cells = self._texts(values, column, batch) if kind is Kind.TEXT else values
            if kind is not Kind.TEXT:
                self._check_kind(cells, column, batch)
            series.append(pl.Series(column, cells, dtype=dtypes[kind], strict=False))
        return pl.DataFrame(series)

    def _texts(self, values: list[Scalar], column: str, batch: list[Entry]) -> list[Scalar]:
        cells = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        if surrogate_position("".join(cell or "" for cell in cells)) is not None:
            for entry, cell in zip(batch, cells, strict=True):
                _check_surrogates(cell or "", self.name, f"{_place(entry)}, column {shown(column)}")
        return list(cells)

    def _check_kind(self, values: list[Scalar], column: str, batch: list[Entry]) -> None:
        kind = self._kinds[column]
        for entry, value in zip(batch, values, strict=True):
            if type(value) not in _ALLOWED[kind] or not _fits(value, kind):
                raise InputError(
                    f"{self.name}: {_place(entry)}, column {shown(column)} holds {shown(value)}, but the "
                    f"rows before it hold {kind.value}. Write one kind of value a column, e.g. all as text."
                )

    def _new_key_error(self, entry: Entry) -> InputError:
        new = next(key for key in entry.values if key not in self._kinds)
        return InputError(
            f"{self.name}: {_place(entry)} has the key {shown(new)}, which none of the first "
            f"{SCHEMA_ROWS:,} rows has (their keys: {listed(self.columns)}). "
            "Add the key to the first row (null will do), or remove it here."
        )


def parse_lines(text: io.TextIOBase, name: str) -> Iterator[Entry]:
    """Parse the lines that are not blank."""
    row = 0
    for number, line in enumerate(lines_of(text, name), start=1):
        if line.isspace():
            continue
        row += 1
        yield Entry(row, number, _parse(line, name, place(row, number)))


def kind_of(values: list[Scalar]) -> Kind:
    """Find the narrowest kind that holds all values exactly."""
    types = {type(value) for value in values} - {type(None)}
    for kind, allowed in _ALLOWED.items():
        if types and types <= allowed and all(_fits(value, kind) for value in values):
            return kind
    return Kind.TEXT


def _fits(value: Scalar, kind: Kind) -> bool:
    if type(value) is not int:
        return True
    if kind is Kind.WHOLE:
        return -_INT64_END <= value < _INT64_END
    return abs(value) <= _EXACT_FLOAT_END


_SPREAD_OUT = {
    "[": ' (a file that is one list: `jq -c ".[]"` takes it apart)',
    "{": " (objects over several lines: `jq -c .` puts each on one)",
}
"""By what stands alone in a line."""


def _parse(line: str, name: str, where: str) -> dict[str, Scalar]:
    check_cell(line, name, where)
    try:
        value = _DECODER.decode(line)
        if isinstance(value, dict):
            return {key: _flat(cell) for key, cell in value.items()}
    except json.JSONDecodeError as error:
        raise InputError(
            f"{name}: {where} is not valid JSON: {error.msg} at character {error.colno:,}. "
            f"Each line must be one whole JSON object{_SPREAD_OUT.get(line.strip(), '')}."
        ) from error
    except RecursionError as error:
        raise InputError(f"{name}: {where} is nested too deeply. Flatten the object.") from error
    except ValueError as error:
        raise InputError(f"{name}: {where} cannot be used: {error}.") from error
    kinds = {list: "a list", str: "a text", type(None): "null", bool: "true or false"}
    kind = kinds.get(type(value), "a number")
    raise InputError(
        f"{name}: {where} is {kind}, not a JSON object. Write one object a line, such as "
        '{"text": "..."} (a file that is one list: `jq -c ".[]"` takes it apart).'
    )


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        double = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {shown(double)} is there twice; rename one of them")
    return values


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys)  # json.loads would build one for every line


def _flat(cell: Any) -> Scalar:
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, dict | list) else cell


def _take_sample(entries: Iterator[Entry]) -> deque[Entry]:
    sample: deque[Entry] = deque()
    chars = 0
    for entry in islice(entries, SCHEMA_ROWS):
        sample.append(entry)
        chars += sum(len(value) for value in entry.values.values() if isinstance(value, str))
        if chars > SCHEMA_CHARS:
            break
    return sample


def _columns_of(sample: deque[Entry], name: str) -> list[str]:
    columns = list(dict.fromkeys(key for entry in sample for key in entry.values))
    if not columns:
        raise InputError(f"{name}: the objects have no keys. Give each at least a key with its text.")
    first_with = {key: entry for entry in reversed(sample) for key in entry.values}
    for column in columns:
        where = _place(first_with[column])
        _check_surrogates(column, name, f"{where}, the key {shown(column)}")
        if not column.strip():
            raise InputError(f"{name}: {where} has a key without a name. Give it a name.")
    return check_column_names(columns, name)


def _check_surrogates(text: str, name: str, where: str) -> None:
    position = surrogate_position(text)
    if position is not None:
        raise InputError(
            f"{name}: {where} holds invalid text: U+{ord(text[position]):04X} is half of a surrogate pair "
            "without its other half. Remove it, or write the whole character."
        )


def _place(entry: Entry) -> str:
    return place(entry.row, entry.line)
