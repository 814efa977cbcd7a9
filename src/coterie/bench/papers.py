"""The papers' published numbers, in percent, each by paper, table, row, data set and score."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files

from coterie.errors import ConfigError


@dataclass(frozen=True)
class PaperTable:
    """A table as printed. `sets` says which sample of a set the paper had, where it is not ours; `misprints` which rows
    repeat by a slip what they have for another set."""

    paper: str
    table: str
    about: str
    rows: dict[str, dict[str, dict[str, float]]]
    sets: dict[str, str] = field(default_factory=dict)
    misprints: dict[str, list[str]] = field(default_factory=dict)
    note: str | None = None

    @property
    def key(self) -> str:
        return f"{self.paper}:{self.table}"

    def meant(self, name: str) -> list[dict[str, float]]:
        """What the rows have for a set, misprints left out."""
        wrong = self.misprints.get(name, [])
        return [scores[name] for row, scores in self.rows.items() if name in scores and row not in wrong]

    @cached_property
    def decimals(self) -> int:
        """As many as the paper prints in this table: JSON has 9.0 for 9.00."""
        values = (value for row in self.rows.values() for scores in row.values() for value in scores.values())
        return max(len(repr(float(value)).partition(".")[2]) for value in values)


@cache
def paper_tables() -> dict[str, PaperTable]:
    """Every table by its key, as in `aecl:2`."""
    document = json.loads((files("coterie.bench") / "papers.json").read_text(encoding="utf-8"))
    tables = [PaperTable(**entry) for entry in document["tables"]]
    return {table.key: table for table in tables}


def paper_table(key: str) -> PaperTable:
    known = paper_tables()
    if key not in known:
        raise ConfigError(f"paper = {key!r} is not known: there are {', '.join(known)}")
    return known[key]
