"""Synonyms from a table; the models here have a masked-LM head and a mask token, unless they are told not to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest

MakeModel = Callable[..., Path]


class Table:
    """Synonyms as given; `asked` are the words that were looked up."""

    def __init__(self, synonyms: Mapping[str, Sequence[str]]) -> None:
        self.synonyms = synonyms
        self.asked: set[str] = set()

    def describe(self) -> str:
        return f"table {sorted(self.synonyms.items())}"

    def prepare(self, words: Iterable[str]) -> None:
        self.asked.update(words)

    def of(self, word: str) -> Sequence[str]:
        self.asked.add(word)
        return self.synonyms.get(word, [])


@pytest.fixture
def table() -> type[Table]:
    return Table


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one test's own."""
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def make_model(make_masked_lm: MakeModel) -> MakeModel:
    return make_masked_lm


@pytest.fixture(scope="session")
def tiny_bert(make_model: MakeModel) -> Path:
    return make_model("bert")


@pytest.fixture(scope="session")
def tiny_roberta(make_model: MakeModel) -> Path:
    return make_model("roberta")
