"""What a figure is made of, before it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Point(NamedTuple):
    """A value at x: the mean over the seeds, and the standard deviation where there were several."""

    x: float
    y: float
    spread: float | None = None


@dataclass(frozen=True)
class Line:
    """Points to be joined, in the order of x: those of one data set, and of one way where a figure has several.

    Lines of one name look the same in all panels of a figure.
    """

    data: str
    points: Sequence[Point]
    way: str = ""

    @property
    def name(self) -> str:
        return f"{self.data}, {self.way}" if self.way else self.data


@dataclass(frozen=True)
class Curves:
    """A panel with axes. With `x_names` x is a place in that list rather than a number."""

    title: str
    x_title: str
    y_title: str
    lines: Sequence[Line]
    x_names: Sequence[str] | None = None


@dataclass(frozen=True)
class Cloud:
    """A panel with a map: places in -1 to 1, and the number of each one's group."""

    title: str
    places: Sequence[tuple[float, float]]
    groups: Sequence[int]


@dataclass(frozen=True)
class Figure:
    """`stem` is the name of its files. `groups` names the groups of its maps."""

    stem: str
    title: str
    notes: Sequence[str]
    panels: Sequence[Curves | Cloud]
    groups: Sequence[str] = field(default=())
