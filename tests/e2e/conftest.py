"""Shared by the tests of the command line: a way to run it, small inputs, and finished runs to look at."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

LIMIT_SECONDS = 240


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class FinishedFit:
    """A fit that went well: what it read, what it wrote, what it printed."""

    file: Path
    folder: Path
    out: str
    err: str

    def table(self) -> pl.DataFrame:
        return pl.read_parquet(self.folder / "assignments.parquet")

    def csv_rows(self) -> list[list[str]]:
        return rows_of_csv((self.folder / "assignments.csv").read_text("utf-8"))

    def json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text("utf-8"))


def rows_of_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.fixture(scope="session")
def table_bytes() -> Callable[[str, pl.DataFrame], bytes]:
    """A table as a file's bytes, in the format that the name tells; plain text takes its column `text`."""

    def write(name: str, table: pl.DataFrame) -> bytes:
        plain, file = name.removesuffix(".gz"), io.BytesIO()
        if plain.endswith(".txt"):
            file.write("\n".join(table["text"]).encode())
        elif plain.endswith(".jsonl"):
            table.write_ndjson(file)
        elif plain.endswith(".parquet"):
            table.write_parquet(file)
        else:
            table.write_csv(file, separator="\t" if plain.endswith(".tsv") else ",")
        return gzip.compress(file.getvalue()) if name.endswith(".gz") else file.getvalue()

    return write


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, hidden files too; None for folders."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture(scope="session")
def run_cli(own_cache: Path) -> Callable[..., Finished]:
    """Runs `python -m coterie ...` as a user would, with the cache of the tests and without a network."""

    def run(
        *args: object,
        stdin: bytes | None = None,
        env: dict[str, str] | None = None,
        python_options: tuple[str, ...] = (),
        **options: Any,
    ) -> Finished:
        done = subprocess.run(
            [sys.executable, *python_options, "-m", "coterie", *map(str, args)],
            input=stdin if stdin is not None else b"",
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            env={**os.environ, "COLUMNS": "200", **(env or {})},
            timeout=LIMIT_SECONDS,
            **options,
        )
        return Finished(done.returncode, (done.stdout or b"").decode("utf-8"), done.stderr.decode("utf-8"))

    return run


@pytest.fixture
def refused(run_cli: Callable[..., Finished], tmp_path: Path) -> Callable[..., str]:
    """Runs a command in `tmp_path` that must be turned down with one message, and leave everything as it was."""

    def run(*args: object, **options: Any) -> str:
        before = contents(tmp_path)
        done = run_cli(*args, cwd=tmp_path, **options)
        assert "Traceback" not in done.err
        assert done.err.startswith("coterie: ")  # and so nothing was begun: progress would stand before it
        assert done.err.count("coterie: ") == 1
        assert (done.code, done.out) == (2, "")
        assert contents(tmp_path) == before
        return done.err.removeprefix("coterie: ").rstrip("\n")

    return run


@pytest.fixture(scope="session")
def no_sockets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings under which the Hugging Face hub is allowed, but a program that asks for an address ends at once."""
    folder = tmp_path_factory.mktemp("no-sockets")
    (folder / "sitecustomize.py").write_text(
        "import os, socket\n"
        "def refuse(*args, **options):\n"
        "    os.write(2, b'NETWORK\\n')\n"
        "    os._exit(99)\n"
        "socket.getaddrinfo = socket.create_connection = socket.socket.connect = refuse\n"
    )
    before = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([str(folder), *([before] if before else [])]), "HF_HUB_OFFLINE": "0"}


@pytest.fixture(scope="session")
def small_fit(
    run_cli: Callable[..., Finished],
    texts: list[str],
    themes: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> FinishedFit:
    """One fit without an encoder, with --json and in the order of hashes 1."""
    folder = tmp_path_factory.mktemp("small")
    file = folder / "texts.csv"
    ids = range(1, len(texts) + 1)
    pl.DataFrame({"id": ids, "text": texts, "theme": themes}).write_csv(file)
    return _fitted(run_cli, file, folder / "run", 4, "--truth", "theme", "--method", "tfidf+kmeans", "--json")


@pytest.fixture
def small_run(small_fit: FinishedFit, tmp_path: Path) -> Path:
    """A copy of that run, to be spoiled."""
    return Path(shutil.copytree(small_fit.folder, tmp_path / "run"))


@pytest.fixture(scope="session")
def demo_fit(
    run_cli: Callable[..., Finished], demo_file: Path, tmp_path_factory: pytest.TempPathFactory,
    no_sockets: dict[str, str],
) -> FinishedFit:  # fmt: skip
    """The one fit with the encoder: the demo, all options as they are by default, and no way to the network.

    Its cache is its own: with vectors that another test has left it would not encode, and would have less to tell.
    """
    folder, cache = tmp_path_factory.mktemp("demo"), tmp_path_factory.mktemp("demo-cache")
    options = ("--text", "message", "--truth", "theme")
    return _fitted(run_cli, demo_file, folder / "run", 12, *options, COTERIE_CACHE=str(cache), **no_sockets)


@pytest.fixture(scope="session")
def trained_run(texts: list[str], themes: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose encoder is no longer the bundled one: another last layer, as training would leave it, but at random.

    Three rows are there twice, one of them with another theme.
    """
    import numpy as np

    from coterie.api import cluster
    from coterie.features.checkpoints import find_checkpoint
    from coterie.nn.encoder import TrainableEncoder
    from coterie.persist.new_run import write_run

    table = pl.DataFrame({"text": [*texts, *texts[:3]], "theme": [*themes, *themes[:2], "bread"]})
    clustering = cluster(table["text"].to_list(), 4, method="minilm+kmeans")
    weights = TrainableEncoder(find_checkpoint("minilm"), trainable_layers=1).tuned_weights()
    rng = np.random.default_rng(0)
    tuned = {name: array + 0.3 * array.std() * rng.normal(size=array.shape) for name, array in weights.items()}
    clustering.model.features_ = clustering.model.features_.with_weights(tuned)
    folder = tmp_path_factory.mktemp("trained") / "run"
    write_run(
        folder, clustering, table, text_column="text", truth_column=None, input_name="in.csv", stage_seconds={},
        started=0.0, force=False,
    )  # fmt: skip
    return folder


def _fitted(
    run_cli: Callable[..., Finished], file: Path, folder: Path, k: int, *options: str, **env: str
) -> FinishedFit:
    done = run_cli("fit", file, "--k", k, "--out", folder, *options, env={"PYTHONHASHSEED": "1", **env})
    assert done.code == 0, done.err
    return FinishedFit(file, folder, done.out, done.err)
