"""Names for the shapes that travel through the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
"""One row per text."""

Labels = NDArray[np.int64]
"""One group number per text: 0 to k - 1 as fitted, and any number ever given once groups were edited."""

NClusters = int | Literal["auto"] | Sequence[int]
"""How many groups: a number, `"auto"`, or a range such as (5, 40) to choose from."""


class Progress(Protocol):
    """Told how far a stage has come; `total` is 0 when the stage cannot tell."""

    def __call__(self, stage: str, done: int, total: int) -> None: ...


def silent(stage: str, done: int, total: int) -> None:
    """The progress of library calls that asked for none."""


class Watch(Protocol):
    """Shown the texts as vectors before training and at the end of each phase; what it gives enters the history.

    `rows` are the texts that are learnt from: of those that are there more than once, the first.
    """

    def __call__(self, rows: Labels, vectors: Matrix) -> dict[str, Any]: ...


Look = Callable[[Matrix], dict[str, Any]]
"""A watch that knows which rows it is shown."""


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
