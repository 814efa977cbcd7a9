"""`coterie report`, the files it is made of, and `--outliers`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Cli = Callable[..., Any]


def test_a_fit_writes_the_report_and_says_where(demo_fit: Any) -> None:
    page = (demo_fit.folder / "report.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "<title>support.csv · Coterie</title>" in page
    assert f"Report: {demo_fit.folder}/report.html" in demo_fit.out


def test_every_row_has_a_place_and_every_group_its_neighbours(demo_fit: Any) -> None:
    places = pl.read_parquet(demo_fit.folder / "map.parquet")
    assert places.columns == ["x", "y"]
    assert len(places) == len(demo_fit.table())
    assert places.select(pl.all().is_between(-1, 1).all()).row(0) == (True, True)
    groups = demo_fit.json("clusters.json")
    texts = demo_fit.table()
    for group in groups:
        assert len(group["nearest"]) == 3
        assert group["id"] not in [near["id"] for near in group["nearest"]]
        assert group["name"] == ", ".join(word["word"] for word in group["words"][:3])
        assert 1 <= len(group["borderline"]) <= 4
        own = set(texts.filter(pl.col("cluster") == group["id"])["message"])
        for text in group["borderline"]:
            assert text["text"] in own
            assert text["other"] != group["id"]
            assert text["confidence"] >= text["other_confidence"]
    merges = demo_fit.json("hierarchy.json")
    assert len(merges) == len(groups) - 1
    assert [merge[0] for merge in merges] == sorted(merge[0] for merge in merges)


def test_report_writes_the_same_page_again(run_cli: Cli, small_fit: Any, small_run: Path, tmp_path: Path) -> None:
    (small_run / "report.html").unlink()
    done = run_cli("report", small_run)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"Report: {small_run}/report.html (open it in a browser)\n"
    assert (small_run / "report.html").read_bytes() == (small_fit.folder / "report.html").read_bytes()
    done = run_cli("report", small_run, "--out", tmp_path / "elsewhere.html")
    assert done.code == 0
    assert (tmp_path / "elsewhere.html").read_bytes() == (small_run / "report.html").read_bytes()


@pytest.mark.parametrize("out", ["run/model/model.json", "run/assignments.csv"])
def test_a_report_takes_the_place_of_no_other_file_of_the_run(refused: Cli, small_run: Path, out: str) -> None:
    assert refused("report", "run", "--out", out) == f"{out}: this file belongs to the run. Give `--out` another name."


def test_a_report_is_a_page(refused: Cli, small_run: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("text\na\n")
    message = refused("report", "run", "--out", "texts.csv")
    assert message == "texts.csv: the report is a web page. Give `--out` a name that ends in .html."


def test_files_of_two_runs_make_no_report(refused: Cli, small_run: Path) -> None:
    pl.read_parquet(small_run / "assignments.parquet")[:-3].write_parquet(small_run / "assignments.parquet")
    assert "rows, and map.parquet" in refused("report", "run")


@pytest.mark.parametrize("name", ["map.parquet", "clusters.json", "hierarchy.json", "metrics.json", "history.jsonl"])
def test_a_run_with_a_file_missing_or_damaged(refused: Cli, small_run: Path, name: str) -> None:
    (small_run / name).write_bytes(b"\xff{")
    assert f"{name} cannot be read" in refused("report", "run")
    (small_run / name).unlink()
    message = refused("report", "run")
    assert message.startswith(f"run: {name} cannot be read")
    assert message.endswith("fit again")


def test_no_run_at_all(refused: Cli, small_run: Path) -> None:
    assert "Did you mean run?" in refused("report", "rum")


def test_the_map_is_the_same_whatever_the_hash_seed(run_cli: Cli, small_fit: Any, tmp_path: Path) -> None:
    options = ("--k", 4, "--truth", "theme", "--method", "tfidf+kmeans", "--out", tmp_path / "run")
    assert run_cli("fit", small_fit.file, *options, env={"PYTHONHASHSEED": "7"}).code == 0
    for name in ("map.parquet", "hierarchy.json", "clusters.json"):
        assert (tmp_path / "run" / name).read_bytes() == (small_fit.folder / name).read_bytes()


# --outliers


@pytest.fixture(scope="module")
def marked(run_cli: Cli, small_fit: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The small fit again, with a threshold in the midst of its confidences."""
    below = float(small_fit.table()["confidence"].median())
    folder = tmp_path_factory.mktemp("marked") / "run"
    options = ("--k", 4, "--method", "tfidf+kmeans", "--outliers", below, "--out", folder)
    done = run_cli("fit", small_fit.file, *options)
    assert done.code == 0, done.err
    return below, folder, done


def test_outliers_are_marked_and_keep_their_group(marked: Any, small_fit: Any) -> None:
    below, folder, done = marked
    table, before = pl.read_parquet(folder / "assignments.parquet"), small_fit.table()
    assert table.columns == [*before.columns, "outlier"]
    assert table["cluster"].to_list() == before["cluster"].to_list()
    assert table["outlier"].to_list() == [value < below for value in before["confidence"]]
    count = int(table["outlier"].sum())
    assert 0 < count < len(table)
    assert json.loads((folder / "metrics.json").read_text())["outliers"] == count
    assert json.loads((folder / "config.json").read_text())["outliers_below"] == below
    assert f"Outliers: {count} of 60 rows" in done.out


def test_predict_marks_by_the_threshold_of_the_run(marked: Any, run_cli: Cli, small_fit: Any, tmp_path: Path) -> None:
    _, folder, _ = marked
    done = run_cli("predict", folder, small_fit.file, "--out", tmp_path / "new.parquet")
    assert done.code == 0, done.err
    fitted = pl.read_parquet(folder / "assignments.parquet")
    assert pl.read_parquet(tmp_path / "new.parquet")["outlier"].to_list() == fitted["outlier"].to_list()


def test_a_column_named_outlier_is_in_the_way_only_when_asked(run_cli: Cli, refused: Cli, tmp_path: Path) -> None:
    lines = [f"text about thing {i % 3} number {i},no" for i in range(12)]
    (tmp_path / "in.csv").write_text("\n".join(["text,outlier", *lines]))
    options = ("fit", "in.csv", "--text", "text", "--k", 2, "--method", "tfidf+kmeans", "--out", "run")
    assert "the column 'outlier' is there already" in refused(*options, "--outliers", 0.5)
    assert run_cli(*options, cwd=tmp_path).code == 0


@pytest.mark.parametrize("threshold", ["1.5", "-0.1", "many"])
def test_a_threshold_that_is_none(run_cli: Cli, tmp_path: Path, threshold: str) -> None:
    (tmp_path / "in.txt").write_text("a\nb\n")
    done = run_cli("fit", tmp_path / "in.txt", "--k", 2, "--out", tmp_path / "run", "--outliers", threshold)
    assert done.code == 2
    assert "--outliers" in done.err
    assert not (tmp_path / "run").exists()


def test_a_run_with_a_report_can_be_replaced(run_cli: Cli, small_fit: Any, tmp_path: Path) -> None:
    run = shutil.copytree(small_fit.folder, tmp_path / "run")
    options = ("--k", 2, "--method", "tfidf+kmeans", "--out", run)
    assert run_cli("fit", small_fit.file, *options).code == 2
    assert run_cli("fit", small_fit.file, *options, "--force").code == 0
