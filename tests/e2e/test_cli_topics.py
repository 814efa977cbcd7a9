"""`coterie topics`: the topics of a run's groups, as a person and as a program reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def run(run_cli: Cli, texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("topics")
    pl.DataFrame({"title": texts}).write_csv(folder / "in.csv")
    short = ["--set", "epochs=2", "--set", "topic_epochs=20", "--set", "topics=3"]
    done = run_cli("fit", folder / "in.csv", "--k", 4, "--method", "deccrl", *short, "--out", folder / "run")
    assert done.code == 0, done.err
    return folder / "run"


def test_clusters_json_has_the_topics(run: Path) -> None:
    groups = json.loads((run / "clusters.json").read_text("utf-8"))
    for group in groups:
        assert [topic["id"] for topic in group["topics"]] == [0, 1, 2]
        assert sum(topic["weight"] for topic in group["topics"]) == pytest.approx(1, abs=1e-3)


def test_topics_as_json(run: Path, run_cli: Cli) -> None:
    done = run_cli("topics", run, "--json")
    assert (done.code, done.err) == (0, "")
    shown = json.loads(done.out)
    groups = json.loads((run / "clusters.json").read_text("utf-8"))
    assert [group["topics"] for group in shown["clusters"]] == [group["topics"] for group in groups]
    assert list(shown["quality"]) == ["topics", "words of the groups (c-TF-IDF)"]
    for scores in shown["quality"].values():
        assert -1 <= scores["coherence"] <= 1
        assert 0 < scores["diversity"] <= 1


def test_topics_as_a_table(run: Path, run_cli: Cli) -> None:
    done = run_cli("topics", run)
    assert (done.code, done.err) == (0, "")
    first = json.loads((run / "clusters.json").read_text("utf-8"))[0]
    largest = max(first["topics"], key=lambda topic: topic["weight"])
    heading, line = done.out.splitlines()[1:3]
    assert heading.split()[:3] == ["0", str(first["size"]), "texts"]
    assert line.split()[:2] == ["topic", str(largest["id"])]
    assert f"{largest['weight']:.0%}" in line
    first, second = largest["words"][:2]
    assert f"{first['word']} {first['probability']:.0%}, {second['word']} {second['probability']:.0%}, " in line
    assert done.out.count(" topic ") == 12
    assert "coherence (NPMI)" in done.out


def test_a_run_without_topics_is_told(small_run: Path, refused: Callable[..., str]) -> None:
    message = refused("topics", small_run)
    assert "a run of the method 'tfidf+kmeans' has no topics: fit with the method 'deccrl'" in message


def test_a_run_whose_centres_are_held_otherwise_names_the_setting(small_run: Path, refused: Callable[..., str]) -> None:
    config = json.loads((small_run / "config.json").read_text("utf-8"))
    config["options"] |= {"method": "deccrl", "settings": {"crl": None}}
    (small_run / "config.json").write_text(json.dumps(config), "utf-8")
    assert "'deccrl' with crl=none has no topics: fit with crl=etm" in refused("topics", small_run)


@pytest.mark.parametrize("command", [("topics",), ("compare",), ("report",), ("predict", "in.csv")])
def test_a_file_is_no_run(command: tuple[str, ...], demo_file: Path, refused: Callable[..., str]) -> None:
    first, *others = command
    assert refused(first, demo_file, *others).startswith(f"{demo_file}: this is a file, not a run. Give the folder")


def test_no_run(refused: Callable[..., str]) -> None:
    assert "there is no such run" in refused("topics", "nowhere")


def test_a_run_with_spoilt_groups_is_told(small_run: Path, refused: Callable[..., str]) -> None:
    (small_run / "clusters.json").write_text("{")
    assert "clusters.json cannot be read" in refused("topics", small_run)
