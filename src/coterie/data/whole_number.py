"""What counts as a whole number where a person gives one."""

from __future__ import annotations

import operator
from typing import Any


def whole_number(value: Any) -> int | None:
    """NumPy's integers too, but no bool (True is hardly meant as 1) and no 2.0; None if it is none."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None
