"""Axes: where a value is on the picture, and which values have a name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_STEPS = 4
"""At least as many distances between ticks, and at most ten."""
ROOM = 0.06
"""What is left free beyond the outermost values, as a share of all."""
EDGE = 0.02


@dataclass(frozen=True)
class Axis:
    """From `low`, which is drawn at `start`, to `high` at `end`; `ticks` are values with their names."""

    low: float
    high: float
    start: float
    end: float
    ticks: Sequence[tuple[float, str]]

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def fitted(low: float, high: float, start: float, end: float, least_span: float = 0.0) -> Axis:
    """With some room around the values, which take up `least_span` even where they hardly differ."""
    lacking = max(0.0, least_span - (high - low)) / 2
    low, high = low - lacking, high + lacking
    room = ROOM * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - room, high + room
    return Axis(low, high, start, end, _round_ticks(low, high))


def numbered(low: float, high: float, start: float, end: float) -> Axis:
    """From the first to the last of values that are counted, such as epochs."""
    if low == high:
        low, high = low - 1, high + 1
    room = EDGE * (high - low)
    return Axis(low - room, high + room, start, end, _round_ticks(low, high, least_step=1))


def evenly_named(names: Sequence[str], start: float, end: float) -> Axis:
    """Places 0, 1, 2 and so on, half a place from the edges."""
    return Axis(-0.5, len(names) - 0.5, start, end, list(enumerate(names)))


def _round_ticks(low: float, high: float, least_step: float = 0.0) -> list[tuple[float, str]]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    rough = max((high - low) / LEAST_STEPS, least_step)
    power = 10.0 ** math.floor(math.log10(rough) + 1e-9)
    step = next(factor * power for factor in (5, 2, 1) if factor * power <= rough * (1 + 1e-9))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(number * step, f"{number * step:.{decimals}f}") for number in range(first, last + 1)]
