"""The sections of the page that not every run has: over time, by a column, repeated texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.data.duplicates import find_duplicates, how_near_ones_weigh
from coterie.data.junk import find_junk
from coterie.persist.derived import run_by, run_over_time

if TYPE_CHECKING:
    import polars as pl

    from coterie.data.duplicates import Duplicates
    from coterie.persist.run import Run
    from coterie.types import Labels

LONGEST_TEXT = 1000
LONGEST_LABEL = 200
MOST_VALUES = 30
MOST_SETS = 20
MOST_WORDINGS = 20
MOST_JUNK = 30


def over_time_data(run: Run, frame: pl.DataFrame, place: Mapping[int, int]) -> dict[str, Any] | None:
    """Counts by period and group, and each group's share of the first and the last third; None without --time.

    `place` is where each group is in the list that the page has of them.
    """
    over = run_over_time(run, frame)
    if over is None:
        return None
    periods = [name for name in over.values if name is not None]
    return {
        "column": shortened(str(run.config["input"]["time_column"]), LONGEST_LABEL),
        "period": over.period,
        "periods": periods,
        "groups": [place[group] for group in over.groups],
        "counts": over.counts[: len(periods)].tolist(),
        "changes": [[change.before, change.after, change.is_clear] for change in over.changes()],
        "empty": over.empty,
    }


def by_data(run: Run, frame: pl.DataFrame, place: Mapping[int, int]) -> dict[str, Any] | None:
    """Counts by value and group, rare values together, and which of them stand out; None without --by."""
    by = run_by(run, frame)
    if by is None:
        return None
    joined = by.joined(MOST_VALUES)
    has_empty = by.values[-1] is None
    known = len(by.values) - has_empty
    return {
        "column": shortened(str(run.config["input"]["by_column"]), LONGEST_LABEL),
        "values": [shortened(str(value), LONGEST_LABEL) for value in joined.values if value is not None],
        "joined": max(0, known - MOST_VALUES),
        "has_empty": has_empty,
        "groups": [place[group] for group in joined.groups],
        "counts": joined.counts.tolist(),
        "signs": joined.standing_out().tolist(),
    }


def repeats_data(texts: Sequence[str], labels: Labels, n_fitted: int) -> dict[str, Any] | None:
    """The texts that are there most often and those with hardly any content; None where there are neither.

    How repeated texts weighed in the fit depends on how many groups it was for, whatever people did to them since.
    """
    found, junk = find_duplicates(texts), find_junk(texts)
    exact, near = int(found.exact.sum()), int(found.near.sum())
    if not exact + near + int(junk.sum()):
        return None
    told_below = junk[found.first]  # shown once, among those with hardly any content
    sets = Counter(found.first[(found.first != np.arange(len(texts))) & ~told_below].tolist())
    of_first = _rows_by(found.first, (first for first, _ in sets.most_common(MOST_SETS)))
    empty = Counter(found.same[junk].tolist())
    return {
        "exact": exact,
        "near": near,
        **how_near_ones_weigh(found, n_fitted)._asdict(),
        "different": len(sets),
        "sets": [_set(rows, found, texts, labels) for rows in of_first],
        "junk": int(junk.sum()),
        "different_junk": len(empty),
        "junk_texts": [_wording(texts[row], count, int(labels[row])) for row, count in empty.most_common(MOST_JUNK)],
    }


def shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _rows_by(first: Labels, wanted: Iterable[int]) -> list[list[int]]:
    """The rows of each set, in the order of the sets."""
    rows: dict[int, list[int]] = {one: [] for one in wanted}
    for row, one in enumerate(first.tolist()):
        if one in rows:
            rows[one].append(row)
    return list(rows.values())


def _set(rows: list[int], found: Duplicates, texts: Sequence[str], labels: Labels) -> dict[str, Any]:
    """A text, how many rows it stands for, and the other wordings among them, the most frequent first."""
    wordings = Counter(found.same[rows].tolist())
    own = wordings.pop(rows[0])
    others = wordings.most_common(MOST_WORDINGS)
    return {
        **_wording(texts[rows[0]], own, int(labels[rows[0]])),
        "rows": len(rows),
        "wordings": len(wordings),
        "others": [_wording(texts[row], count, int(labels[row])) for row, count in others],
    }


def _wording(text: str, count: int, group: int) -> dict[str, Any]:
    return {"text": shortened(text, LONGEST_TEXT), "count": count, "group": group}
