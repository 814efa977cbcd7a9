"""The folder of a run is written: whole, or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.data.atomic import write_json_atomic, write_text_atomic, writing_errors_named
from coterie.data.messages import listed
from coterie.data.writers import table_writer
from coterie.errors import ConfigError, InputError
from coterie.memory import peak_memory_mb
from coterie.persist.environment import machine, versions
from coterie.persist.folders import new_folder
from coterie.persist.run import FORMAT_VERSION, RUN_FILES, Run

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from coterie.methods.base import Answers
    from coterie.result import Clustering

OUR_COLUMNS = ("cluster", "confidence", "outlier")


def check_free(folder: Path, force: bool) -> None:
    """Before any work: may a run be written here?"""
    with writing_errors_named(str(folder)):  # a name may be longer than any file's can be
        _check_parent(folder)
        names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        is_new = not folder.exists()
    if is_new:
        return
    if not folder.is_dir():
        raise ConfigError(f"{folder}: this is a file. Name a folder with --out.")
    if Path.cwd().is_relative_to(folder.resolve()):
        raise ConfigError(f"{folder}: you are in this folder, so it cannot be replaced. Name a new one with --out.")
    if not names:
        return
    others = sorted(names - RUN_FILES)
    if others or "config.json" not in names:
        raise ConfigError(
            f"{folder}: this folder holds other files ({listed(others or sorted(names))}), which are never replaced. "
            "Name another with --out."
        )
    if not force:
        raise ConfigError(
            f"{folder}: a finished run is here. Name another folder with --out, or replace it with --force."
        )


def _check_parent(folder: Path) -> None:
    """A folder that cannot be made is found out before the work, not after it."""
    full = folder.absolute()
    above = next(path for path in (*full.parents, Path(full.anchor)) if path.exists())
    if not above.is_dir():
        raise ConfigError(f"{folder}: {above} is a file, so no folder can be made in it. Name another with --out.")
    if not os.access(above, os.W_OK | os.X_OK):
        raise ConfigError(f"{folder}: no permission to write in {above}. Name another folder with --out.")


def check_names_free(columns: Sequence[str], name: str, outliers_below: float | None = None) -> None:
    """Our columns must not hide the user's."""
    ours = OUR_COLUMNS if outliers_below is not None else OUR_COLUMNS[:-1]
    taken = [column for column in ours if column in columns]
    if taken:
        raise InputError(
            f"{name}: the column {taken[0]!r} is there already, and the result needs that name. Rename it in the file."
        )


def with_answers(frame: pl.DataFrame, answers: Answers, outliers_below: float | None = None) -> pl.DataFrame:
    """Every input column, then `cluster`, `confidence` and, where a threshold is given, whether it is an `outlier`.

    Where these are there already, they change in their places.
    """
    import polars as pl

    confidence = answers.confidence
    columns: dict[str, NDArray[Any]] = {"cluster": answers.labels, "confidence": confidence}
    if outliers_below is not None:
        columns["outlier"] = confidence < outliers_below
    return frame.with_columns(*(pl.Series(name, values) for name, values in columns.items()))


def write_run(
    folder: Path,
    clustering: Clustering,
    frame: pl.DataFrame,
    *,
    text_column: str,
    truth_column: str | None,
    input_name: str,
    stage_seconds: dict[str, float],
    started: float,
    force: bool,
    outliers_below: float | None = None,
    time_column: str | None = None,
    by_column: str | None = None,
) -> dict[str, Any]:
    """Writes the whole folder or nothing; gives back what is in `metrics.json`."""
    from coterie.persist.derived import content_counts, write_duplicates, write_shares
    from coterie.report.build import write_report

    scores = all_scores(clustering, frame, truth_column, outliers_below) | content_counts(clustering)
    with new_folder(folder, replace=force) as draft:
        write_groups(draft, clustering, frame, outliers_below)
        with table_writer(draft / "map.parquet") as writer:
            writer.write(_map_table(clustering))
        write_text_atomic(draft / "history.jsonl", _history(clustering, stage_seconds))
        clustering.model.save(draft / "model")
        seconds = round(time.monotonic() - started, 3)
        metrics = {**scores, "seconds": seconds, "peak_memory_mb": round(peak_memory_mb(), 1)}
        write_json_atomic(draft / "metrics.json", metrics)
        document = _config(clustering, frame, text_column, truth_column, input_name, outliers_below)
        document["input"] |= {"time_column": time_column, "by_column": by_column}
        write_json_atomic(draft / "config.json", document)
        run = Run(draft, document)
        write_duplicates(draft, clustering)
        write_shares(run)
        write_report(run, run.report_path)
        check_free(folder, force)  # again: the fit may have taken long
    return metrics


def write_groups(draft: Path, clustering: Clustering, frame: pl.DataFrame, outliers_below: float | None = None) -> None:
    """The files of a run that say which groups there are, and which row is in which."""
    table = with_answers(frame, clustering.answers, outliers_below)
    for name in ("assignments.parquet", "assignments.csv"):
        with table_writer(draft / name) as writer:
            writer.write(table)
    write_json_atomic(draft / "clusters.json", [group.to_dict() for group in clustering.groups])
    write_json_atomic(draft / "hierarchy.json", clustering.hierarchy.merges)


def all_scores(
    clustering: Clustering, frame: pl.DataFrame, truth_column: str | None, outliers_below: float | None
) -> dict[str, Any]:
    """What `metrics.json` says of the groups."""
    from coterie.metrics.external import external_scores
    from coterie.metrics.internal import finite, internal_scores

    scores: dict[str, Any] = {"rows": len(clustering.texts), "n_clusters": len(clustering.groups)}
    if truth_column is not None:
        truth = [str(value) for value in frame.get_column(truth_column)]
        scores |= external_scores(truth, clustering.labels.tolist())
    scores |= finite(internal_scores(clustering.model.vectors_, clustering.labels))
    if outliers_below is not None:
        scores["outliers"] = int((clustering.confidence < outliers_below).sum())
    return scores


def texts_sha256(texts: Sequence[str]) -> str:
    return hashlib.sha256("\x00".join(texts).encode()).hexdigest()


def _history(clustering: Clustering, stage_seconds: dict[str, float]) -> str:
    stages = [{"stage": stage, "seconds": round(seconds, 3)} for stage, seconds in stage_seconds.items()]
    epochs = clustering.model.history_
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in [*stages, *clustering.evidence, *epochs])


def _map_table(clustering: Clustering) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame({"x": clustering.map[:, 0], "y": clustering.map[:, 1]})


def _config(
    clustering: Clustering,
    frame: pl.DataFrame,
    text_column: str,
    truth_column: str | None,
    input_name: str,
    outliers_below: float | None,
) -> dict[str, Any]:
    from coterie.persist.model import plain_parameters  # slow to load, and a run is looked at before any work

    return {
        "format": FORMAT_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "options": plain_parameters(clustering.model),
        "outliers_below": outliers_below,
        "input": {
            # A name may have bytes that are no letters, which JSON cannot hold.
            "name": os.fsencode(input_name).decode("utf-8", errors="replace"),
            "rows": len(frame),
            "columns": frame.columns,
            "text_column": text_column,
            "truth_column": truth_column,
            "texts_sha256": texts_sha256(clustering.texts),
        },
        "versions": versions(),
        "machine": machine(),
    }
