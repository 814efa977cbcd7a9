"""JSON Lines: columns, kinds of values, and its errors."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from coterie.data import json_lines
from coterie.data.readers import open_table
from coterie.errors import InputError


def put(folder: Path, *lines: str | bytes) -> Path:
    path = folder / "a.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return path


def frame_of(path: Path, rows: int = 2) -> pl.DataFrame:
    with open_table(path) as table:
        frames = list(table.batches(rows))
        assert all(frame.columns == table.columns for frame in frames)
    return pl.concat(frames)


def error_of(path: Path, rows: int = 2) -> str:
    with pytest.raises(InputError) as caught:
        frame_of(path, rows)
    assert path.name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_columns_are_the_union_in_order_of_appearance(tmp_path: Path, rows: int) -> None:
    path = put(tmp_path, '{"b": "x"}', "", '{"a": 1, "b": "y"}', '{"c": null}')
    frame = frame_of(path, rows)
    assert frame.columns == ["b", "a", "c"]
    assert frame.rows() == [("x", None, None), ("y", 1, None), (None, None, None)]


def test_kinds_of_values(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        '{"t": "007", "i": 1, "f": 1, "b": true, "big": 9223372036854775808, "mixed": "x", "n": [1, {"k": "é"}]}',
        '{"t": "x", "i": -2, "f": 0.5, "b": null, "big": 1, "mixed": 5, "n": null}',
    )
    frame = frame_of(path, 1)
    assert dict(frame.schema) == {
        "t": pl.String,
        "i": pl.Int64,
        "f": pl.Float64,
        "b": pl.Boolean,
        "big": pl.String,
        "mixed": pl.String,
        "n": pl.String,
    }
    assert frame.row(0) == ("007", 1, 1.0, True, "9223372036854775808", "x", '[1, {"k": "é"}]')
    assert frame.row(1) == ("x", -2, 0.5, None, "1", "5", None)


def test_new_key_after_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "SCHEMA_ROWS", 2)
    path = put(tmp_path, '{"a": 1}', '{"b": 1}', "", '{"b": 2, "extra": 3}')
    message = error_of(path)
    assert "row 3 (line 4) has the key 'extra'" in message
    assert "'a', 'b'" in message


def test_the_sample_also_ends_by_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "SCHEMA_CHARS", 3)
    assert "the key 'b'" in error_of(put(tmp_path, '{"a": "long"}', '{"b": 1}'))


@pytest.mark.parametrize(
    ("first", "later", "kind"),
    [("1", '"x"', "whole numbers"), ("1", "0.5", "whole numbers"), ("1.5", "true", "numbers"),
     ("true", "1", "true or false"), ("1", "9223372036854775808", "whole numbers")],
)  # fmt: skip
def test_other_kind_after_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, later: str, kind: str
) -> None:
    monkeypatch.setattr(json_lines, "SCHEMA_ROWS", 1)
    message = error_of(put(tmp_path, f'{{"v": {first}}}', '{"v": null}', f'{{"v": {later}}}'))
    assert "row 3 (line 3), column 'v' holds" in message
    assert f"hold {kind}." in message


def test_text_columns_take_all_values_after_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "SCHEMA_ROWS", 1)
    assert frame_of(put(tmp_path, '{"v": "x"}', '{"v": 5}', '{"v": [1]}'))["v"].to_list() == ["x", "5", "[1]"]


def test_invalid_json(tmp_path: Path) -> None:
    message = error_of(put(tmp_path, '{"a": 1}', "", '{"a": 1,}'))
    assert "row 2 (line 3) is not valid JSON" in message
    assert "at character 9" in message or "at character 8" in message


@pytest.mark.parametrize(
    ("line", "kind"),
    [('["x"]', "a list"), ('"x"', "a text"), ("5", "a number"), ("null", "null"), ("true", "true or false")],
)
def test_line_that_is_not_an_object(tmp_path: Path, line: str, kind: str) -> None:
    assert f"row 2 (line 2) is {kind}, not a JSON object" in error_of(put(tmp_path, '{"a": 1}', line))


def test_json_list_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"a": 1}]')
    assert "jq -c" in error_of(path)


@pytest.mark.parametrize(("first", "advice"), [("[", 'jq -c ".[]"'), ("{", "jq -c .`")])
def test_json_over_several_lines_is_explained(tmp_path: Path, first: str, advice: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{first}\n  "a": 1\n', encoding="utf-8")
    message = error_of(path)
    assert "row 1 (line 1) is not valid JSON" in message
    assert advice in message


def test_same_key_twice(tmp_path: Path) -> None:
    assert "row 1 (line 1) cannot be used: the key 'a' is there twice" in error_of(
        put(tmp_path, '{"a": 1, "b": 2, "a": 3}')
    )


@pytest.mark.parametrize("key", ["", " "])
def test_empty_key(tmp_path: Path, key: str) -> None:
    message = error_of(put(tmp_path, '{"a": 1}', f'{{"{key}": 1}}'))
    assert "row 2 (line 2) has a key without a name" in message


def test_objects_without_keys(tmp_path: Path) -> None:
    assert "have no keys" in error_of(put(tmp_path, "{}", "{}"))


@pytest.mark.parametrize("value", ['"\\ud800"', '["\\ud800"]', '"x\\ud800y"'])
def test_unpaired_surrogate(tmp_path: Path, value: str) -> None:
    message = error_of(put(tmp_path, '{"t": "ok"}', '{"t": "\\ud83d\\ude00"}', f'{{"t": {value}}}'))
    assert "row 3 (line 3), column 't' holds invalid text: U+D800" in message


def test_unpaired_surrogate_that_looks_like_an_escaped_byte(tmp_path: Path) -> None:
    assert "holds invalid text: U+DC80" in error_of(put(tmp_path, '{"t": "\\udc80"}'))


def test_unpaired_surrogate_in_a_key(tmp_path: Path) -> None:
    assert "U+D800" in error_of(put(tmp_path, '{"\\ud800": 1}'))


def test_not_utf8(tmp_path: Path) -> None:
    message = error_of(put(tmp_path, '{"t": "ok"}', b'{"t": "caf\xe9"}'))
    assert "row 2 (line 2) holds the byte 0xE9, which is not UTF-8" in message


def test_nul_byte_in_the_file_but_not_as_escape(tmp_path: Path) -> None:
    assert "row 2 (line 2) holds a NUL byte" in error_of(put(tmp_path, '{"t": "ok"}', b'{"t": "\0"}'))
    assert frame_of(put(tmp_path, '{"t": "a\\u0000b"}'))["t"].to_list() == ["a\0b"]


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 5000])
def test_values_that_break_the_parser(tmp_path: Path, value: str) -> None:
    assert "row 1 (line 1)" in error_of(put(tmp_path, f'{{"a": {value}}}'))
