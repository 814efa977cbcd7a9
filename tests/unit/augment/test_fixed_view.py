"""Views on disk: made once, found by content, made again when damaged, never in the way."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from coterie.augment import base, fixed_view
from coterie.types import Progress, silent

TEXTS = ["one text", "another text", "日本語 😀"]


class Counting:
    """Says how often it was asked."""

    def __init__(self, description: str = "counting") -> None:
        self.description, self.calls = description, 0

    def describe(self) -> str:
        return self.description

    def augment(self, texts: Sequence[str], progress: Progress = silent) -> list[str]:
        self.calls += 1
        progress("augmenting", len(texts), len(texts))
        return [f"{text} ({self.description})" for text in texts]


def files(cache: Path) -> list[Path]:
    return sorted((cache / "views").iterdir())


def test_made_once(cache: Path) -> None:
    augmenter = Counting()
    told: list[int] = []
    first = fixed_view(augmenter, TEXTS)
    again = fixed_view(augmenter, TEXTS, lambda stage, done, total: told.append(done))
    assert first == again == [f"{text} (counting)" for text in TEXTS]
    assert (augmenter.calls, told) == (1, [3])
    assert len(files(cache)) == 1


def test_other_texts_or_settings_are_another_view(cache: Path) -> None:
    fixed_view(Counting(), TEXTS)
    for texts in (TEXTS[:2], TEXTS[::-1], ["one", "text", *TEXTS[1:]], ["one textanother text", TEXTS[2]]):
        assert fixed_view(Counting(), texts) == [f"{text} (counting)" for text in texts]
    assert fixed_view(Counting("other"), TEXTS)[0] == "one text (other)"
    assert len(files(cache)) == 6


def test_bounds_between_texts_are_part_of_the_key(cache: Path) -> None:
    fixed_view(Counting(), ["ab", "c"])
    assert fixed_view(Counting(), ["a", "bc"])[0] == "a (counting)"


def test_damaged_files_are_made_again(cache: Path) -> None:
    expected = fixed_view(Counting(), TEXTS)
    path = files(cache)[0]
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 255
    wrong = [["too", "few"], ["a", "b", 3], ["a", "b", " "], {"a": 1, "b": 2, "c": 3}, "abc", None]
    bad = [b"", whole[:-9], bytes(flipped), b"no gzip", gzip.compress(b"{"), gzip.compress(b"\xff\xfe")]
    for data in [*bad, *(gzip.compress(json.dumps(value).encode()) for value in wrong)]:
        path.write_bytes(data)
        augmenter = Counting()
        assert fixed_view(augmenter, TEXTS) == expected
        assert augmenter.calls == 1
        assert path.read_bytes() == whole


def test_view_is_right_whatever_byte_is_damaged(cache: Path) -> None:
    expected = fixed_view(Counting(), TEXTS)
    path = files(cache)[0]
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        assert fixed_view(Counting(), TEXTS) == expected


def test_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "file"))
    assert fixed_view(Counting(), TEXTS)[0] == "one text (counting)"


def test_full_disk(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert fixed_view(Counting(), TEXTS)[0] == "one text (counting)"
    assert files(cache) == []


def test_least_recently_used_go_first(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {}
    for age, name in enumerate("abc"):
        fixed_view(Counting(name), TEXTS)
        names[name] = next(path for path in files(cache) if path not in names.values())
        os.utime(names[name], (1000 + age, 1000 + age))
    monkeypatch.setattr(base, "LARGEST_BYTES", sum(path.stat().st_size for path in names.values()))
    used = Counting("a")
    fixed_view(used, TEXTS)
    assert used.calls == 0
    fixed_view(Counting("d"), TEXTS)
    assert {name: path.exists() for name, path in names.items()} == {"a": True, "b": False, "c": True}
    assert len(files(cache)) == 3


def test_view_larger_than_the_cache_is_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed_view(Counting("small"), TEXTS)
    small = files(cache)
    monkeypatch.setattr(base, "LARGEST_BYTES", small[0].stat().st_size + 1)
    texts = [os.urandom(2000).hex()]
    assert fixed_view(Counting(), texts) == [f"{texts[0]} (counting)"]
    assert files(cache) == small
