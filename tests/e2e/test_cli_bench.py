"""`coterie datasets` and `coterie bench` as a user meets them, without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

Cli = Callable[..., Any]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HEAVY = {"torch", "transformers", "sklearn", "scipy", "polars", "pyarrow", "numpy"}


@pytest.mark.parametrize(
    "command", [["datasets"], ["datasets", "get"], ["bench"], ["bench", "run"], ["bench", "table"], ["bench", "plot"]]
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
        (("bench", "plot", "nowhere", "--out", "pictures"), "nowhere: no plan was run in it"),
    ],
)
def test_what_is_refused(args: tuple[str, ...], said: str, refused: Callable[..., str]) -> None:
    assert said in refused(*args)


def test_a_wrong_name_is_found_before_anything_is_run(refused: Callable[..., str], tmp_path: Path) -> None:
    runs = '[[runs]]\nmethods = ["tfidf+kmeans"]\ndata = ["tweet"]\n[[runs]]\nmethods = ["duett"]\ndata = ["tweet"]\n'
    (tmp_path / "plan.toml").write_text(runs, encoding="utf-8")
    assert refused("bench", "run", "plan.toml").startswith(
        "plan.toml: run 2: method 'duett' is not known: did you mean"
    )


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
    assert done.out.startswith("Not here: tweet. 2 of 4 cells read them and will fail, unless")
    assert "4 cells in bench-results/first, 2 of them failed" in done.out
    (lost,) = {line.partition("failed: ")[2] for line in done.out.splitlines() if "tweet  " in line}
    assert lost.startswith(f"{tmp_path}/empty/tweet.tsv.gz: the data set 'tweet' is not here")
    assert lost.endswith("point COTERIE_DATA at the folder that has it.")  # all of it
    shown = run_cli("bench", "table", "bench-results/first", cwd=tmp_path, env=nowhere)
    assert shown.code == 0, shown.err
    first, tweet = (line for line in shown.out.splitlines() if "words" in line or line.startswith("| AECL"))
    assert first.startswith(r"| \<b\>words\</b\> | ")
    assert first.endswith("| failed | failed |")
    assert tweet == r"| AECL (aecl, Table 2) |  |  | 80.46 | 87.60 |"
    page = run_cli("bench", "table", "bench-results/first", "--format", "html", cwd=tmp_path, env=nowhere).out
    assert "&lt;b&gt;words&lt;/b&gt;" in page
    assert "<b>" not in page
    wrong = run_cli("bench", "table", "bench-results/first", "--metrics", "accc", cwd=tmp_path, env=nowhere)
    assert wrong.code == 2
    assert "did you mean 'acc'" in wrong.err


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_on_a_terminal_a_cell_is_named_when_it_begins(texts: list[str], themes: list[str], tmp_path: Path) -> None:
    import pty

    rows = [f"{theme},{text}" for theme, text in zip(themes, texts, strict=True)]
    (tmp_path / "mine.csv").write_text("theme,text\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(
        '[[runs]]\nmethods = ["tfidf+kmeans"]\ndata = [{ file = "mine.csv", text = "text", label = "theme" }]\n'
    )
    command = [sys.executable, "-m", "coterie", "bench", "run", "plan.toml"]
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb") as terminal:
        subprocess.run(command, cwd=tmp_path, stdout=theirs, timeout=240, check=True)
        os.close(theirs)
        shown = os.read(terminal.fileno(), 10_000).decode().splitlines()
    logged = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=True)
    assert shown[0] == "1/1  mine.csv (text, theme)  tfidf+kmeans (fast)  seed 0 ..."
    assert shown[1].startswith("1/1  mine.csv (text, theme)  tfidf+kmeans (fast)  seed 0: acc ")
    assert "..." not in logged.stdout


@pytest.mark.parametrize(
    ("readout", "shown"),
    [("kept", "acc 50.0, nmi 25.0, 61 s, 1,200 MB"), ("head", "head acc 75.0, nmi 50.0, 61 s, 1,200 MB")],
)
def test_the_score_is_that_of_the_read_out_of_the_plan(readout: str, shown: str) -> None:
    from coterie.bench.plan import Cell
    from coterie.cli.bench import _outcome

    scores = {"kept": {"acc": 0.5, "nmi": 0.25}, "head": {"acc": 0.75, "nmi": 0.5}}
    result = {"status": "done", "scores": scores, "seconds": 61.2, "peak_memory_mb": 1200}
    assert _outcome(Cell("aecl", "tweet", readout=readout), result) == shown


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    """A folder as `coterie bench run` leaves it: one setting in two values and two seeds, and a cell that kept maps."""
    from coterie.bench.plan import Cell
    from coterie.bench.runner import PLANNED

    cells = [
        Cell(
            "deccrl", "agnews", seed, label="<b>DECCRL</b>", readout="head", settings={"topics": value}, varied="topics"
        )
        for value in (1, 5)
        for seed in (0, 1)
    ]
    places = [[-0.5, 0.5], [0.5, 0.5], [0.0, -0.5]]
    kept = [{"phase": phase, "epoch": 1, "points": places, "silhouette": 0.1} for phase in ("start", "joint")]
    folder = tmp_path / "cells"
    folder.mkdir()
    planned = [*cells, Cell("deccrl", "tweet", keep="stages")]
    (folder / PLANNED).write_text(json.dumps({cell.file_name: cell.as_json() for cell in planned}))
    for number, cell in enumerate(planned):
        scores = {"acc": 0.5 + number / 10, "nmi": 0.5}
        stages = {"labels": ["up", "up", "down"], "stages": kept} if cell.keep else None
        (folder / cell.file_name).write_text(
            json.dumps(
                {
                    "cell": cell.as_json(),
                    "status": "done",
                    "rows": 3,
                    "scores": {"kept": scores, "head": scores},
                    "history": [],
                    "stages": stages,
                }
            )
        )
    return folder


def png_size(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data.endswith(b"IEND\xaeB`\x82")
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def svg_size(path: Path) -> tuple[int, int]:
    root = Xml.parse(path).getroot()
    return round(float(root.attrib["width"])), round(float(root.attrib["height"]))


@pytest.mark.skipif(BROWSER is None, reason="no chromium is on this machine")
def test_plot(run_cli: Cli, swept: Path, tmp_path: Path) -> None:
    out = tmp_path / "pictures"
    done = run_cli("bench", "plot", swept, "--out", out)
    assert done.code == 0, done.err
    stems = {"maps-deccrl-tweet-deccrl-fast", "stages-deccrl", "sweeps-deccrl-topics-b-DECCRL-b"}
    assert {path.name for path in out.iterdir()} == {f"{stem}.{kind}" for stem in stems for kind in ("svg", "png")}
    assert sorted(done.out.split()) == sorted(str(path) for path in out.iterdir())
    for stem in stems:
        width, height = svg_size(out / f"{stem}.svg")
        assert png_size(out / f"{stem}.png") == (2 * width, 2 * height)
    # What there is nothing for is said, and the plan that gives it.
    assert "similarity: not drawn; this takes cells of aecl" in done.err
    assert "benchmarks/plans/adsl-figures-cpu.toml" in done.err
    assert "maps: not drawn" not in done.err
    # Again, the same bytes; and one figure alone.
    before = {path.name: path.read_bytes() for path in out.glob("*.svg")}
    again = run_cli("bench", "plot", swept, "--out", out, "--figure", "sweeps", env={"PYTHONHASHSEED": "3"})
    assert (again.code, again.err) == (0, "")
    assert len(again.out.split()) == 2
    assert {path.name: path.read_bytes() for path in out.glob("*.svg")} == before


def test_plot_without_a_browser(run_cli: Cli, swept: Path, tmp_path: Path) -> None:
    """The SVG files are there; the message says what to install for the others."""
    (tmp_path / "hidden" / "playwright").mkdir(parents=True)
    (tmp_path / "hidden" / "playwright" / "__init__.py").write_text("raise ImportError('hidden')\n")
    path = os.pathsep.join([str(tmp_path / "hidden"), *filter(None, [os.environ.get("PYTHONPATH")])])
    out = tmp_path / "pictures"
    done = run_cli("bench", "plot", swept, "--out", out, env={"PYTHONPATH": path})
    assert done.code == 2
    assert "Traceback" not in done.err
    assert "the SVG files are written, but not all PNG files" in done.err
    assert "similarity: not drawn; this takes cells of aecl" in done.err
    assert sorted(done.out.split()) == sorted(str(path) for path in out.iterdir())
    assert "pip install playwright" in done.err
    assert {path.suffix for path in out.iterdir()} == {".svg"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--figure", "map"), "figure 'map' is not known: did you mean 'maps'?"),
        (
            ("--figure", "labels"),
            "labels: not drawn; this takes cells of adsl, as benchmarks/plans/adsl-figures-cpu.toml",
        ),
    ],
)
def test_figures_that_are_not_there(
    options: tuple[str, ...], said: str, swept: Path, refused: Callable[..., str]
) -> None:
    assert said in refused("bench", "plot", swept, "--out", "pictures", *options)


def test_pictures_cannot_go_into_a_file(swept: Path, tmp_path: Path, refused: Callable[..., str]) -> None:
    (tmp_path / "taken").write_text("a file")
    assert "taken" in refused("bench", "plot", swept, "--out", "taken")
