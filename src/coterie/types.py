"""Names for the shapes that travel through the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
"""One row per text."""

Labels = NDArray[np.int64]
"""One group number per text, 0 to k - 1."""

NClusters = int | Literal["auto"] | Sequence[int]
"""How many groups: a number, `"auto"`, or a range such as (5, 40) to choose from."""


class Progress(Protocol):
    """Told how far a stage has come; `total` is 0 when the stage cannot tell."""

    def __call__(self, stage: str, done: int, total: int) -> None: ...


def silent(stage: str, done: int, total: int) -> None:
    """The progress of library calls that asked for none."""


class State:
    """What a fitted part writes to disk: plain JSON values and arrays, nested parts by name."""

    def __init__(self, config: dict[str, Any], arrays: dict[str, NDArray[Any]] | None = None) -> None:
        self.config = config
        self.arrays = arrays or {}

    def child(self, name: str) -> State:
        """The part that `nest` stored under `name`."""
        prefix = name + "."
        arrays = {key[len(prefix) :]: value for key, value in self.arrays.items() if key.startswith(prefix)}
        return State(self.config[name], arrays)

    def nest(self, name: str, part: State) -> None:
        self.config[name] = part.config
        self.arrays.update({f"{name}.{key}": value for key, value in part.arrays.items()})
