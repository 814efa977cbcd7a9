"""Texts that are there more than once, word for word or nearly.

Near duplicates are texts whose letters and digits are the same once case, links and punctuation are put aside, or that
share at least `ALIKE` of their runs of five characters (Jaccard). They are found by MinHash in time that grows with
the number of texts, not of pairs: texts that agree in all rows of some band are compared. Our own code, because the
libraries for it work text by text in Python.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.types import Labels

ALIKE = 0.8
RUN = 5
BANDS, ROWS_IN_BAND = 12, 5
"""Texts that share 0.8 of their runs are compared with a probability of 0.99, at half of them with 0.3."""
LONGEST = 2_000
"""Of longer texts the beginning is compared."""
TEXTS_AT_ONCE = 128
"""The runs of as many long texts stay in the processor's cache."""
TEXTS_REMEMBERED = 1_024
TEXTS_A_GROUP = 10
"""With fewer different texts for each group, near duplicates stand for themselves: there is little to learn from."""
GROUP_OF_ITS_OWN = 0.5
"""Near duplicates that are so large a share of an average group may well be one: they stand for themselves, too."""

_LINK = re.compile(r"https?://\S+|www\.\S+")
_BETWEEN_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Duplicates:
    """`first[row]` is the row that stands for this one: itself, or the earlier one that it repeats; `same[row]` is the
    first row of its very text, which may itself repeat another but for details."""

    first: Labels
    same: Labels

    @property
    def kept(self) -> Labels:
        """The rows that stand for themselves."""
        return np.flatnonzero(self.first == np.arange(len(self.first)))

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Whether a row repeats an earlier one word for word."""
        return np.asarray(self.same != np.arange(len(self.same)))

    @property
    def near(self) -> NDArray[np.bool_]:
        """Whether a row repeats an earlier one but for details, and is the first of its wording."""
        return np.asarray(~self.exact & (self.first != np.arange(len(self.first))))

    @property
    def word_for_word(self) -> Duplicates:
        """Without those that differ in details."""
        return Duplicates(self.same, self.same)

    @property
    def reworded(self) -> Labels:
        """The rows whose text is not that of the row that stands for them."""
        return np.flatnonzero(self.same != self.first)


def find_duplicates(texts: Sequence[str]) -> Duplicates:
    """Which rows repeat which, and whether word for word."""
    same = _of_equal(texts)
    rows = np.flatnonzero(same == np.arange(len(texts)))
    keys = [_key(texts[row]) for row in rows.tolist()]
    own = _of_equal(keys)
    different = np.flatnonzero(own == np.arange(len(keys)))
    alike = np.arange(len(keys))
    alike[different] = different[_of_alike([keys[place] for place in different.tolist()])]
    first = same.copy()
    first[rows] = rows[alike[own]]
    return Duplicates(first[same], same)


def training_rows(found: Duplicates, n_clusters: int) -> Duplicates:
    """What was found, but only word for word where so few texts would be left that groups could not be learnt, and
    where a text would stand for what may be a whole group, such as messages that a machine has written."""
    if not enough_left(found, n_clusters):
        return found.word_for_word
    wordings = np.bincount(found.first[~found.exact], minlength=len(found.first))
    large = wordings >= GROUP_OF_ITS_OWN * wordings.sum() / n_clusters
    return Duplicates(np.where(large[found.first], found.same, found.first), found.same)


class NearOnes(NamedTuple):
    """How many near duplicates are learnt from one by one; with `too_few_texts` because there is little else."""

    one_by_one: int
    too_few_texts: bool


def how_near_ones_weigh(found: Duplicates, n_clusters: int) -> NearOnes:
    """What `training_rows` makes of near duplicates, for a person."""
    one_by_one = int(found.near.sum() - training_rows(found, n_clusters).near.sum())
    return NearOnes(one_by_one, one_by_one > 0 and not enough_left(found, n_clusters))


def enough_left(found: Duplicates, n_clusters: int) -> bool:
    """Whether there are different texts enough when near duplicates weigh once."""
    return len(found.kept) >= TEXTS_A_GROUP * n_clusters


def _of_equal(values: Sequence[str]) -> Labels:
    """For each value, where it came first."""
    places: dict[str, int] = {}
    return np.array([places.setdefault(value, place) for place, value in enumerate(values)], dtype=np.int64)


def _key(text: str) -> str:
    """What is compared: words without case, links and punctuation; the text itself where nothing else is left."""
    return words_only(text[:LONGEST]) or text[:LONGEST].casefold()


def words_only(text: str) -> str:
    """Letters and digits in lower case, one space between words; links are left out."""
    return _BETWEEN_WORDS.sub(" ", _LINK.sub(" ", text.casefold())).strip()


def _of_alike(keys: Sequence[str]) -> Labels:
    """For each key, the first one that is alike and itself stands for others."""
    stands = np.arange(len(keys))
    if len(keys) < 2:
        return stands
    runs = lru_cache(maxsize=TEXTS_REMEMBERED)(lambda place: _runs(keys[place]))
    for place, others in _candidates(_signatures(keys)):
        for other in others:
            if stands[other] == other and _jaccard(runs(other), runs(place)) >= ALIKE:
                stands[place] = other
                break
    return stands


def _candidates(signatures: NDArray[np.uint32]) -> list[tuple[int, list[int]]]:
    """Every row with the earlier rows that begin one of its bands' buckets, in order."""
    found: dict[int, set[int]] = {}
    for band in np.split(signatures, BANDS, axis=1):
        whole = np.ascontiguousarray(band).view(np.dtype((np.void, band.itemsize * ROWS_IN_BAND))).ravel()
        _, begins, bucket = np.unique(whole, return_index=True, return_inverse=True)
        leaders = begins[bucket]
        for place in np.flatnonzero(leaders != np.arange(len(leaders))):
            found.setdefault(int(place), set()).add(int(leaders[place]))
    return [(place, sorted(found[place])) for place in sorted(found)]


def _signatures(keys: Sequence[str]) -> NDArray[np.uint32]:
    """MinHash: for each of many hash functions the least hash of a text's runs."""
    chance = np.random.default_rng(0)
    factors = chance.integers(1, 2**63, size=BANDS * ROWS_IN_BAND, dtype=np.uint64) | np.uint64(1)
    parts = [
        _signatures_of_part(keys[start : start + TEXTS_AT_ONCE], factors)
        for start in range(0, len(keys), TEXTS_AT_ONCE)
    ]
    return np.concatenate(parts)


def _signatures_of_part(keys: Sequence[str], factors: NDArray[np.uint64]) -> NDArray[np.uint32]:
    padded = [_padded(key) for key in keys]
    hashes = _hashes("".join(padded))
    lengths = np.array([len(key) for key in padded])
    starts = np.cumsum(lengths) - lengths
    whole = np.ones(len(hashes), dtype=bool)  # runs that do not reach into the next text
    for step in range(1, RUN):
        ends = starts[1:] - step
        whole[ends] = False
    hashes = _mixed(hashes[whole])
    begins = np.cumsum(lengths - RUN + 1) - (lengths - RUN + 1)
    signatures = np.empty((len(keys), len(factors)), dtype=np.uint32)
    for column, factor in enumerate(factors):
        signatures[:, column] = np.minimum.reduceat(hashes * factor, begins) >> np.uint64(32)
    return signatures


def _padded(key: str) -> str:
    """The key with one run at least."""
    return key.ljust(RUN, "\0")


def _hashes(letters: str) -> NDArray[np.uint64]:
    """A number for each run; that two runs of a corpus share one is next to impossible."""
    codes = np.frombuffer(letters.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    hashes = np.zeros(len(codes) - RUN + 1, dtype=np.uint64)
    for step in range(RUN):
        hashes = hashes * np.uint64(0x100000001B3) + codes[step : step + len(hashes)]
    return hashes


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: near numbers become far ones."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _runs(key: str) -> NDArray[np.uint64]:
    """The hashes of a text's different runs, in order."""
    hashes = np.sort(_hashes(_padded(key)))
    return np.asarray(hashes[np.append(True, hashes[1:] != hashes[:-1])])  # np.unique is many times slower


def _jaccard(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
    both = np.concatenate([one, other])
    both.sort(kind="stable")  # which merges two sorted halves in one pass
    shared = np.count_nonzero(both[1:] == both[:-1])
    return shared / (len(both) - shared)
