"""Cells that were run, as figures look at them, and how a figure of them is called."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from coterie.bench.figure import Cloud, Curves, Figure
from coterie.bench.plan import Cell, Result

Key = TypeVar("Key")
Entry = TypeVar("Entry")
LONGEST_STEM = 100
PUBLISHED = {
    "maps sccl+rstc+aecl": "AECL, Figure 4",
    "maps sccl+deccrl": "DECCRL, Figure 2",
    "maps uft": "UFT, Figure 2",
    "maps clusterbert": "ClusterBERT, Figure 1",
    "stages deccrl": "DECCRL, Figure 3",
    "stages clusterbert": "ClusterBERT, Figures 3 and 4",
    "similarity aecl": "AECL, Figure 6",
    "sweeps aecl lambda1": "AECL, Figure 7",
    "sweeps aecl lambda2": "AECL, Figure 7",
    "sweeps aecl lambda3": "AECL, Figure 7",
    "sweeps aecl lambda4": "AECL, Figure 7",
    "sweeps aecl contrast_epochs": "AECL, Figure 8",
    "sweeps aecl guided_epochs": "AECL, Figure 9",
    "sweeps deccrl topics": "DECCRL, Figure 4",
    "sweeps adsl alpha": "ADSL, Figure 4a",
    "labels adsl": "ADSL, Figure 4b",
}
"""Which figure of a paper one of ours is made after."""


@dataclass(frozen=True)
class Measured:
    """A cell that was run."""

    cell: Cell
    result: Result

    @property
    def way(self) -> str:
        """All that the result depends on but the data, the seed and the value of the setting that is varied."""
        varied = {"settings": self._settings, "varied": self.cell.varied}
        return json.dumps({**self.cell.way, **varied}, sort_keys=True)

    @property
    def name(self) -> str:
        """What the way is called."""
        return replace(self.cell, settings=self._settings, varied=None).row

    @property
    def title(self) -> str:
        """The same where the number of texts stands beside it."""
        return replace(self.cell, settings=self._settings, varied=None, rows=None).row

    @property
    def stages(self) -> list[Result]:
        """What the cell kept of its stages."""
        return list((self.result.get("stages") or {}).get("stages", []))

    @property
    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in self.cell.settings.items() if name != self.cell.varied}


Cells = Sequence[Measured]


def measured(results: Iterable[Result]) -> list[Measured]:
    """Every fit once: of one that was run with its stages kept and without, the one that has them."""
    found: dict[str, Measured] = {}
    for result in results:
        if result["status"] != "done":
            continue
        one = Measured(Cell(**result["cell"]), result)
        fit = replace(one.cell, keep=None).file_name
        if fit not in found or not found[fit].stages:
            found[fit] = one
    return list(found.values())


def figure(
    about: tuple[str, ...],
    title: str,
    notes: Sequence[str],
    panels: Sequence[Curves | Cloud],
    groups: Sequence[str] = (),
) -> Figure:
    """`about` is the kind, the method and what else tells it from others of the kind."""
    published = PUBLISHED.get(" ".join(about[:3])) or PUBLISHED.get(" ".join(about[:2]))
    parts = (re.sub(r"[^\w.+-]+", "-", part, flags=re.ASCII).strip("-.") for part in about)
    stem = _cut("-".join(filter(None, parts)))
    return Figure(stem, f"{title} (after {published})" if published else title, notes, panels, groups)


def _cut(stem: str) -> str:
    """No longer than a file's name should be, at the end of a word where there is one."""
    if len(stem) <= LONGEST_STEM:
        return stem
    return stem[: LONGEST_STEM + 1].rpartition("-")[0] or stem[:LONGEST_STEM]


def grouped(entries: Iterable[Entry], key: Callable[[Entry], Key]) -> dict[Key, list[Entry]]:
    found: dict[Key, list[Entry]] = {}
    for entry in entries:
        found.setdefault(key(entry), []).append(entry)
    return found
