"""Random choices that depend on a text and on nothing around it."""

from __future__ import annotations

import hashlib
from numbers import Real
from random import Random

from coterie.data.messages import shown
from coterie.data.whole_number import whole_number
from coterie.errors import ConfigError


class Chance:
    """Draws that follow from the key alone: not from the order of texts, the process or the version of Python.

    Only `Random.random` is used, the one whose numbers Python promises never to change.
    """

    def __init__(self, *key: object) -> None:
        digest = hashlib.sha256("\0".join(map(str, key)).encode()).digest()
        self._draw = Random(int.from_bytes(digest[:8], "little")).random

    def happens(self, rate: float) -> bool:
        return self._draw() < rate

    def index(self, count: int) -> int:
        """One of 0 to count - 1."""
        return int(self._draw() * count)

    def sample(self, count: int, size: int) -> list[int]:
        """`size` different ones of 0 to count - 1, in random order; all of them when there are fewer."""
        places = list(range(count))
        for taken in range(min(size, count)):
            other = taken + self.index(count - taken)
            places[taken], places[other] = places[other], places[taken]
        return places[:size]


def share_of(words: int, rate: float) -> int:
    """How many of the words a rate stands for: at least one, as in the published augmenters."""
    return max(1, int(rate * words))


def check_rate(name: str, rate: float) -> float:
    if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 <= rate <= 1:
        raise ConfigError(f"{name}={shown(rate)} is no share of the words: use a number from 0 (off) to 1")
    return float(rate)


def check_random_state(random_state: int) -> int:
    seed = whole_number(random_state)
    if seed is None:
        raise ConfigError(f"random_state={shown(random_state)} cannot be used: give a whole number such as 0")
    return seed
