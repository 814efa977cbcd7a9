"""A finished run on disk: labels for every row, groups, settings, history, scores, and the model."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.data.atomic import clear_abandoned
from coterie.data.messages import fault
from coterie.errors import ConfigError, InputError, ModelFormatError

if TYPE_CHECKING:
    import polars as pl

    from coterie.estimator import TextClusterer
    from coterie.types import Matrix

FORMAT_VERSION = 1

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


@dataclass(frozen=True)
class Run:
    """What is in the folder of a run; a file that is missing or damaged is named."""

    folder: Path
    config: dict[str, Any]

    @classmethod
    def open(cls, folder: Path) -> Run:
        try:
            if not folder.exists():
                clear_abandoned(Path(os.path.realpath(folder)))
            exists, is_folder = folder.exists(), folder.is_dir()
        except OSError as error:  # no permission, or a name longer than any file's can be
            raise ConfigError(f"{folder}: this cannot be opened: {error.strerror}.") from error
        if not exists:
            raise ConfigError(
                f"{folder}: there is no such run. Give the folder that `coterie fit --out` wrote.{_near(folder)}"
            )
        if not is_folder:
            raise ConfigError(f"{folder}: this is a file, not a run. Give the folder that `coterie fit --out` wrote.")
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            version = config["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            inside = folder.name == "model" and (folder.parent / "config.json").exists()
            hint = f"Give {folder.parent}." if inside else "Give a run folder."
            raise ModelFormatError(
                f"{folder}: no finished run is here (config.json: {fault(error)}). {hint}"
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

    def check_not_its_own(self, out: str | os.PathLike[str]) -> None:
        """Before any work: what is to be written must not take the place of a file of the run."""
        # os.path, because a Path of a name that no file can have raises instead of not being there.
        within = os.path.relpath(os.path.realpath(out), os.path.realpath(self.folder))
        if within.split(os.sep)[0] in RUN_FILES:
            raise ConfigError(f"{os.fspath(out)}: this file belongs to the run. Give `--out` another name.")

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

    def groups_added(self) -> int:
        """How many more groups there are than the fit found; less than 0 where people have joined more than divided."""
        from coterie.persist.edits import groups_added

        return groups_added(self.model_path)

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
            raise ModelFormatError(f"{self.folder}: {name} cannot be read ({fault(error)}): fit again") from error


def _near(folder: Path) -> str:
    from coterie.data.messages import nearest

    siblings: list[str] = []
    with contextlib.suppress(OSError):
        siblings = [path.name for path in folder.parent.iterdir() if path.is_dir()]
    guess = nearest(folder.name, siblings)
    return f" Did you mean {folder.with_name(guess)}?" if guess else ""
