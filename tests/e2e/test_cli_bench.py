"""`coterie datasets` and `coterie bench` as a user meets them, without a network."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
HEAVY = {"torch", "transformers", "sklearn", "scipy", "polars", "pyarrow", "numpy"}


@pytest.mark.parametrize(
    "command", [["datasets"], ["datasets", "get"], ["bench"], ["bench", "run"], ["bench", "table"]]
)
def test_help_imports_nothing_heavy(command: list[str], run_cli: Cli) -> None:
    done = run_cli(*command, "--help", python_options=("-X", "importtime"))
    assert done.code == 0, done.err
    lines = [line.rsplit("|", 1)[1].strip() for line in done.err.splitlines() if line.startswith("import time:")]
    assert {line.split(".")[0] for line in lines} & HEAVY == set()


def test_datasets(run_cli: Cli, tmp_path: Path) -> None:
    done = run_cli("datasets", env={"COTERIE_DATA": str(tmp_path)})
    assert (done.code, done.err) == (0, "")
    lines = {line.split()[0]: line for line in done.out.splitlines() if line}
    assert "2,472" in lines["tweet"]
    assert "not here" in lines["tweet"]
    assert str(tmp_path) in done.out
    records = json.loads(run_cli("datasets", "--json", env={"COTERIE_DATA": str(tmp_path)}).out)
    tweet = next(record for record in records if record["name"] == "tweet")
    assert tweet["rows"] == 2472
    assert tweet["source"]["repository"] == "YZH0905/AECL-STC"
    assert tweet["state"] == "not here"


def test_get_without_a_network(run_cli: Cli, tmp_path: Path) -> None:
    """The program that answers names with addresses is taken away, so nothing is asked of the world."""
    (tmp_path / "sitecustomize.py").write_text(
        "import socket, time\n"
        "def refuse(*args, **options):\n"
        "    raise socket.gaierror(-2, 'Name or service not known')\n"
        "socket.getaddrinfo = refuse\n"
        "time.sleep = lambda seconds: None\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    folder = tmp_path / "data"
    done = run_cli("datasets", "get", "tweet", env={"COTERIE_DATA": str(folder), "PYTHONPATH": path})
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
    for part in (
        "Is there a network?",
        str(folder / "tweet.tsv.gz"),
        "label<TAB>text",
        "COTERIE_DATA",
        "sha256 77bae207",
    ):
        assert part in done.err
    assert not folder.exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("datasets", "get", "twet"), "did you mean 'tweet'"),
        (("datasets", "get", "fisher"), "this set is licensed"),
        (("bench", "run", "none.toml"), "none.toml: this plan cannot be read"),
        (("bench", "table", "nowhere"), "nowhere: no plan was run in it"),
    ],
)
def test_what_is_refused(args: tuple[str, ...], said: str, refused: Callable[..., str]) -> None:
    assert said in refused(*args)


def test_run_and_table(run_cli: Cli, texts: list[str], themes: list[str], tmp_path: Path) -> None:
    rows = [f"{theme},{text}" for theme, text in zip(themes, texts, strict=True)]
    (tmp_path / "mine.csv").write_text("theme,text\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(
        'name = "first"\n[[runs]]\nmethods = ["tfidf+kmeans"]\nlabel = "<b>words</b>"\n'
        'paper = "aecl:2"\nseeds = [0, 1]\n'
        'data = [{ file = "mine.csv", text = "text", label = "theme" }, "tweet"]\n',
        encoding="utf-8",
    )
    nowhere = {"COTERIE_DATA": str(tmp_path / "empty")}
    done = run_cli("bench", "run", "plan.toml", cwd=tmp_path, env=nowhere)
    assert done.code == 0, done.err
    assert "4 cells in bench-results/first, 2 of them failed" in done.out
    assert "the data set 'tweet' is not here" in done.out
    shown = run_cli("bench", "table", "bench-results/first", cwd=tmp_path, env=nowhere)
    assert shown.code == 0, shown.err
    first, tweet = (line for line in shown.out.splitlines() if "words" in line or line.startswith("| AECL"))
    assert first.startswith(r"| \<b\>words\</b\> | ")
    assert first.endswith("| failed | failed |")
    assert tweet == r"| AECL (aecl, Table 2) |  |  | 80.46 | 87.6 |"
    page = run_cli("bench", "table", "bench-results/first", "--format", "html", cwd=tmp_path, env=nowhere).out
    assert "&lt;b&gt;words&lt;/b&gt;" in page
    assert "<b>" not in page
    wrong = run_cli("bench", "table", "bench-results/first", "--metrics", "accc", cwd=tmp_path, env=nowhere)
    assert wrong.code == 2
    assert "did you mean 'acc'" in wrong.err
