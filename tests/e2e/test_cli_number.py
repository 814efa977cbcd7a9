"""`coterie fit --k auto` and `--k 3-8`: the number that is found, and where it is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def file(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("number") / "texts.csv"
    pl.DataFrame({"text": texts}).write_csv(path)
    return path


def history(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "history.jsonl").read_text("utf-8").splitlines()]


def document(run: Path, name: str) -> Any:
    return json.loads((run / name).read_text("utf-8"))


def test_auto_finds_the_number_and_says_why(run_cli: Cli, file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = run_cli("fit", file, "--k", "auto", "--out", run, "--method", "tfidf+kmeans")
    assert done.code == 0, done.err
    assert "choosing the number of groups: done in" in done.err
    assert "60 texts in 4 groups" in done.out
    why = next(line for line in done.out.splitlines() if "numbers tried" in line)
    assert why.startswith("  note  4 groups: the best of 5 numbers tried from 2 to 6 by stability (")
    assert document(run, "config.json")["options"]["n_clusters"] == "auto"
    assert document(run, "metrics.json")["n_clusters"] == 4
    assert len(document(run, "clusters.json")) == 4
    tried = [entry for entry in history(run) if "stability" in entry]
    assert [(entry["k"], entry["chosen"]) for entry in tried] == [(k, k == 4) for k in (2, 3, 4, 5, 6)]
    assert run_cli("report", run).code == 0


def test_a_range_is_kept_to_and_the_run_predicts(run_cli: Cli, file: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "sorted.csv"
    done = run_cli("fit", file, "--k", "3-8", "--out", run, "--method", "tfidf+kmeans", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["metrics"]["n_clusters"] == 4
    assert document(run, "config.json")["options"]["n_clusters"] == [3, 8]
    assert [entry["k"] for entry in history(run) if "stability" in entry] == [3, 4, 5, 6, 7, 8]
    assert run_cli("predict", run, file, "--out", out).code == 0
    answers = pl.read_csv(out)["cluster"].to_list()
    assert answers == pl.read_parquet(run / "assignments.parquet")["cluster"].to_list()


def test_a_number_stays_a_number(small_fit: Any) -> None:
    assert small_fit.json("config.json")["options"]["n_clusters"] == 4
    assert not any("stability" in entry for entry in history(small_fit.folder))
