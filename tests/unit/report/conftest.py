"""A small clustering without an encoder, and runs written from it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import coterie
from coterie.persist.new_run import write_run
from coterie.persist.run import Run

MakeRun = Callable[..., Run]

THEMES = (
    ("flour", "yeast", "dough", "oven"),
    ("roses", "compost", "lawn", "seeds"),
    ("loan", "mortgage", "bank", "rate"),
)


@pytest.fixture(scope="session")
def small_texts() -> list[str]:
    return [f"the {words[i % 4]} and the {words[(i + 1) % 4]} number {i}" for i in range(12) for words in THEMES]


@pytest.fixture(scope="session")
def clustering(small_texts: list[str]) -> coterie.Clustering:
    return coterie.cluster(small_texts, n_clusters=3, method="tfidf+kmeans")


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """make_run(clustering, text_column="title", columns={...}) -> the finished run."""

    def make(
        clustering: coterie.Clustering,
        text_column: str = "text",
        columns: dict[str, list[Any]] | None = None,
        truth_column: str | None = None,
        input_name: str = "texts.csv",
        outliers_below: float | None = None,
        time_column: str | None = None,
        by_column: str | None = None,
    ) -> Run:
        write_run(
            tmp_path / "run",
            clustering,
            pl.DataFrame({text_column: clustering.texts, **(columns or {})}),
            text_column=text_column,
            truth_column=truth_column,
            input_name=input_name,
            stage_seconds={},
            started=time.monotonic(),
            force=True,
            outliers_below=outliers_below,
            time_column=time_column,
            by_column=by_column,
        )
        return Run.open(tmp_path / "run")

    return make
