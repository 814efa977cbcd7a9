"""What is worked out from the rows of a run and its groups: repeated rows, the groups over time and by a column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.data.times import days_of
from coterie.data.writers import table_writer
from coterie.describe.shares import OverTime, Shares, by_value, over_time

if TYPE_CHECKING:
    import polars as pl

    from coterie.persist.run import Run
    from coterie.result import Clustering

DUPLICATES, OVER_TIME, BY = "duplicates.csv", "over_time.csv", "by.csv"


def content_counts(clustering: Clustering) -> dict[str, int]:
    """How many rows repeat another, word for word or nearly, and how many hold hardly anything."""
    return {
        "exact_duplicates": int(clustering.duplicates.exact.sum()),
        "near_duplicates": int(clustering.duplicates.near.sum()),
        "junk": int(clustering.junk.sum()),
    }


def write_duplicates(folder: Path, clustering: Clustering) -> None:
    """Every row that repeats another, where there are any; rows are numbered from 1, as in messages."""
    import polars as pl

    found = clustering.duplicates
    exact = found.exact
    rows = np.flatnonzero(exact | found.near)
    if not len(rows):
        return
    repeated = np.where(exact, found.same, found.first)[rows]
    table = pl.DataFrame(
        {
            "row": rows + 1,
            "repeats": repeated + 1,
            "how": ["exact" if exact[row] else "near" for row in rows.tolist()],
            "text": [clustering.texts[row] for row in rows.tolist()],
        }
    )
    with table_writer(folder / DUPLICATES) as writer:
        writer.write(table)


def write_shares(run: Run) -> None:
    """The groups over time and by a column, as far as the run has such columns."""
    import polars.selectors as cs

    names = [str(group["name"]) for group in run.groups()]
    for file, shares in ((OVER_TIME, run_over_time(run)), (BY, run_by(run))):
        if shares is not None:
            with table_writer(run.folder / file) as writer:
                writer.write(shares.table(names).with_columns(cs.float().round(6)))


def run_over_time(run: Run, frame: pl.DataFrame | None = None) -> OverTime | None:
    """The groups of a run over its column of dates; None where it has none. `frame` are its rows, if at hand."""
    column = run.config["input"].get("time_column")
    if column is None:
        return None
    frame = run.assignments() if frame is None else frame
    days = days_of(frame.get_column(column), column=column, name=str(run.assignments_path))
    return over_time(frame.get_column("cluster").to_numpy(), days, _ids(run))


def run_by(run: Run, frame: pl.DataFrame | None = None) -> Shares | None:
    """The groups of a run by its column of values; None where it has none."""
    column = run.config["input"].get("by_column")
    if column is None:
        return None
    frame = run.assignments() if frame is None else frame
    return by_value(frame.get_column("cluster").to_numpy(), frame.get_column(column), _ids(run))


def _ids(run: Run) -> list[int]:
    groups: list[dict[str, Any]] = run.groups()
    return [int(group["id"]) for group in groups]
