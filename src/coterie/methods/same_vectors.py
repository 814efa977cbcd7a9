"""What takes long to make of the vectors of all texts, made once while the encoder stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from torch import Tensor

Made = TypeVar("Made")


class OfSameVectors(Generic[Made]):
    """Remembers what was made of the last vectors, which while the encoder stands still are the same tensor."""

    def __init__(self, make: Callable[[Tensor], Made]) -> None:
        self._make = make
        self._last: tuple[Tensor, Made] | None = None

    def __call__(self, vectors: Tensor) -> Made:
        if self._last is None or self._last[0] is not vectors:
            self._last = (vectors, self._make(vectors))
        return self._last[1]

    def forget(self) -> None:
        self._last = None
