"""A run as a folder: labels for every row, groups, settings, history, scores, and the model."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.data.atomic import clear_abandoned, write_json_atomic, write_text_atomic
from coterie.data.messages import listed
from coterie.data.writers import table_writer
from coterie.errors import ConfigError, InputError, ModelFormatError
from coterie.persist.environment import machine, peak_memory_mb, versions
from coterie.persist.folders import new_folder
from coterie.persist.model import plain_parameters

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from coterie.estimator import TextClusterer
    from coterie.methods.base import Answers
    from coterie.result import Clustering
    from coterie.types import Matrix

FORMAT_VERSION = 1
OUR_COLUMNS = ("cluster", "confidence", "outlier")
RUN_FILES = {
    "assignments.csv",
    "assignments.parquet",
    "by.csv",
    "clusters.json",
    "config.json",
    "duplicates.csv",
    "hierarchy.json",
    "history.jsonl",
    "map.parquet",
    "metrics.json",
    "model",
    "over_time.csv",
    "report.html",
}
"""All that a run consists of: a folder with anything else in it is never replaced."""


def check_free(folder: Path, force: bool) -> None:
    """Before any work: may a run be written here?"""
    _check_parent(folder)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ConfigError(f"{folder}: this is a file. Name a folder with --out.")
    if Path.cwd().is_relative_to(folder.resolve()):
        raise ConfigError(f"{folder}: you are in this folder, so it cannot be replaced. Name a new one with --out.")
    names = {path.name for path in folder.iterdir()}
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
    above = next(path for path in folder.absolute().parents if path.exists())
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


@dataclass(frozen=True)
class Run:
    """A finished run on disk."""

    folder: Path
    config: dict[str, Any]

    @classmethod
    def open(cls, folder: Path) -> Run:
        if not folder.exists():
            clear_abandoned(Path(os.path.realpath(folder)))
        if not folder.exists():
            raise ConfigError(
                f"{folder}: there is no such run. Give the folder that `coterie fit --out` wrote.{_near(folder)}"
            )
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            version = config["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelFormatError(
                f"{folder}: no finished run is here (config.json: {error}). Give a run folder."
            ) from error
        if version != FORMAT_VERSION:
            raise ModelFormatError(
                f"{folder}: a run of format {version!r}, this program reads {FORMAT_VERSION}: fit again"
            )
        return cls(folder, config)

    @property
    def text_column(self) -> str:
        return str(self.config["input"]["text_column"])

    @property
    def truth_column(self) -> str | None:
        column = self.config["input"]["truth_column"]
        return None if column is None else str(column)

    @property
    def model_path(self) -> Path:
        return self.folder / "model"

    @property
    def assignments_path(self) -> Path:
        return self.folder / "assignments.parquet"

    @property
    def report_path(self) -> Path:
        return self.folder / "report.html"

    @property
    def outliers_below(self) -> float | None:
        """The confidence below which a row is an outlier; None where none was set."""
        below = self.config.get("outliers_below")
        return None if below is None else float(below)

    def assignments(self) -> pl.DataFrame:
        return self._table("assignments.parquet")

    def map(self) -> Matrix:
        """The place of every row on the map, in -1 to 1."""
        with self._naming("map.parquet"):
            return self._table("map.parquet").select("x", "y").to_numpy().astype("float32")

    def groups(self) -> list[dict[str, Any]]:
        """What `clusters.json` says of each group."""
        with self._naming("clusters.json"):
            groups: list[dict[str, Any]] = self._json("clusters.json")
            return [group | {name: [] for name in ("borderline", "nearest") if name not in group} for group in groups]

    def merges(self) -> list[list[float]]:
        """The tree of the groups: height and the two groups of each merge."""
        with self._naming("hierarchy.json"):
            return [[float(height), int(a), int(b)] for height, a, b in self._json("hierarchy.json")]

    def metrics(self) -> dict[str, Any]:
        with self._naming("metrics.json"):
            return dict(self._json("metrics.json"))

    def history(self) -> list[dict[str, Any]]:
        with self._naming("history.jsonl"):
            lines = (self.folder / "history.jsonl").read_text(encoding="utf-8").splitlines()
            return [json.loads(line, parse_constant=lambda _: None) for line in lines]

    def internal_scores(self) -> dict[str, float | None]:
        """The silhouette and Dunn index of the fit, which had the vectors at hand."""
        with self._naming("metrics.json"):
            metrics = self._json("metrics.json")
            return {name: metrics[name] for name in ("silhouette", "dunn")}

    def model(self) -> TextClusterer:
        from coterie.persist.model import load_model

        return load_model(self.model_path)

    def edits(self) -> list[str]:
        """What people did to the groups since the fit, in words."""
        from coterie.persist.edits import edits_in_words

        return edits_in_words(self.model_path)

    def _json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def _table(self, name: str) -> pl.DataFrame:
        from coterie.data.readers import open_table

        with open_table(self.folder / name) as table:
            return table.read()

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """A file that is missing or damaged is named."""
        try:
            yield
        except (OSError, ValueError, KeyError, TypeError, InputError) as error:
            raise ModelFormatError(f"{self.folder}: {name} cannot be read ({error}): fit again") from error


def finite(scores: dict[str, float]) -> dict[str, float | None]:
    """Scores that are not defined become null: NaN is no JSON."""
    return {name: value if math.isfinite(value) else None for name, value in scores.items()}


def all_scores(
    clustering: Clustering, frame: pl.DataFrame, truth_column: str | None, outliers_below: float | None
) -> dict[str, Any]:
    """What `metrics.json` says of the groups."""
    from coterie.metrics.external import external_scores
    from coterie.metrics.internal import internal_scores

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
    return {
        "format": FORMAT_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "options": plain_parameters(clustering.model),
        "outliers_below": outliers_below,
        "input": {
            "name": input_name,
            "rows": len(frame),
            "columns": frame.columns,
            "text_column": text_column,
            "truth_column": truth_column,
            "texts_sha256": texts_sha256(clustering.texts),
        },
        "versions": versions(),
        "machine": machine(),
    }


def _near(folder: Path) -> str:
    from coterie.data.messages import nearest

    siblings = [path.name for path in folder.parent.iterdir() if path.is_dir()] if folder.parent.is_dir() else []
    guess = nearest(folder.name, siblings)
    return f" Did you mean {folder.with_name(guess)}?" if guess else ""
