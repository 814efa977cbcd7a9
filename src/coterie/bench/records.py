"""What is known of each data set: where it comes from, what it is, and the bytes that it must have."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from coterie.data.messages import nearest
from coterie.errors import ConfigError

HEADINGS = ("label", "text")


@dataclass(frozen=True)
class Source:
    """Files of a public repository at one revision, and the converter that makes the data set of them.

    With `archive` the paths are patterns, and the whole repository is downloaded at once.
    """

    repository: str
    revision: str
    paths: tuple[str, ...]
    converter: str
    archive: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DataSet:
    """A set of labelled texts: `NAME.tsv.gz`, a header, then a label, a tab and a text on every line.

    `sha256` is that of the gzip file, `content_sha256` that of what is in it. A set without a source is licensed: its
    owner gives it out, as `how_to_get` says, and no bytes are known.
    """

    name: str
    about: str
    licence: str
    citation: str
    classes: int
    rows: int | None = None
    sha256: str | None = None
    content_sha256: str | None = None
    source: Source | None = None
    how_to_get: str | None = None

    @property
    def file_name(self) -> str:
        return f"{self.name}.tsv.gz"

    @property
    def headings(self) -> tuple[str, ...]:
        """The columns of the file: a label, a text, and perhaps other wordings of the text."""
        return tuple(self.source.options.get("headings", HEADINGS)) if self.source else HEADINGS


@cache
def data_sets() -> dict[str, DataSet]:
    """Every known set by name, in the order of the file."""
    text = (files("coterie.bench") / "datasets.toml").read_text(encoding="utf-8")
    return {name: _record(name, fields) for name, fields in tomllib.loads(text).items()}


def data_set(name: str) -> DataSet:
    """The record of this name, or an error that names the nearest one."""
    known = data_sets()
    if name not in known:
        guess = nearest(name, known)
        hint = f"did you mean {guess!r}? " if guess else ""
        raise ConfigError(f"data set {name!r} is not known: {hint}`coterie datasets` lists them all")
    return known[name]


def _record(name: str, fields: dict[str, Any]) -> DataSet:
    source = None
    if "repository" in fields:
        source = Source(
            fields.pop("repository"),
            fields.pop("revision"),
            tuple(fields.pop("paths")),
            fields.pop("converter"),
            fields.pop("archive", False),
            fields.pop("options", {}),
        )
    return DataSet(name, source=source, **fields)
