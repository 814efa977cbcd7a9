"""Values of any kind as whole numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def numbered(values: Iterable[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """The different values as texts, in their order, and for every row which of them it has.

    An array of texts would take as much room for every one as for the longest: of a million names one with a stray
    page of text in it is enough to fill the memory.
    """
    texts = [str(value) for value in values]
    names = sorted(set(texts))
    place = {name: at for at, name in enumerate(names)}
    return names, np.fromiter((place[text] for text in texts), dtype=np.int64, count=len(texts))
