"""The commands that tell what there is, and help that comes at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import coterie

Cli = Callable[..., Any]

COMMANDS = {
    "fit": "--json",
    "predict": "--out",
    "evaluate": "--json",
    "retrieval": "--json",
    "compare": "--json",
    "report": "--out",
    "topics": "--json",
    "edit": "merge",
    "methods": "--json",
    "encoders": "--json",
    "doctor": "--json",
}
"""Every command, and a word of its help."""
HEAVY = {"torch", "transformers", "sklearn", "scipy", "polars", "pyarrow", "numpy"}


def imported(trace: str) -> set[str]:
    """The top-level packages in what `python -X importtime` prints."""
    lines = [line for line in trace.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip().split(".")[0] for line in lines}


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=["coterie", *COMMANDS])
def test_help_imports_nothing_heavy(command: list[str], run_cli: Cli) -> None:
    done = run_cli(*command, "--help", python_options=("-X", "importtime"))
    assert done.code == 0, done.err
    packages = imported(done.err)
    assert {"coterie", "typer"} <= packages  # the trace was read rightly
    assert packages & HEAVY == set()
    expected = [COMMANDS[command[0]]] if command else list(COMMANDS)
    assert [word for word in expected if word not in done.out] == []


def test_a_file_is_refused_before_anything_slow_is_loaded(run_cli: Cli, demo_file: Path, tmp_path: Path) -> None:
    slow = {"torch", "transformers", "sklearn", "scipy"}
    command = ["fit", demo_file, "--text", "mesage", "--k", "12", "--out", tmp_path / "run"]
    done = run_cli(*command, python_options=("-X", "importtime"))
    assert done.code == 2
    assert "did you mean 'message'?" in done.err
    assert "polars" in imported(done.err)
    assert imported(done.err) & slow == set()


def test_version(run_cli: Cli) -> None:
    done = run_cli("--version")
    assert (done.code, done.out, done.err) == (0, f"coterie {coterie.__version__}\n", "")


def test_no_command_shows_the_help(run_cli: Cli) -> None:
    done = run_cli()
    assert "coterie fit FILE --text COLUMN" in done.out + done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "typed", [["fitt"], ["fit", "in.csv"], ["fit", "in.csv", "--k", "2", "--out", "x", "--efort", "fast"]]
)
def test_wrong_use_is_told(typed: list[str], run_cli: Cli, tmp_path: Path) -> None:
    done = run_cli(*typed, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "Error" in done.err
    assert "Traceback" not in done.err


def test_methods(run_cli: Cli) -> None:
    done = run_cli("methods", "--json")
    assert (done.code, done.err) == (0, "")
    methods = json.loads(done.out)
    names = [method["name"] for method in methods]
    assert names[:2] == ["auto", "duet"]
    assert {"tfidf+kmeans", "bow+ahc", "lda+spherical", "sif+ward", "minilm+hdbscan", "minilm+kmeans"} <= set(names)
    assert len(set(names)) == len(names)
    assert all(method["title"] and method["source"] for method in methods)


def test_methods_as_a_table(run_cli: Cli) -> None:
    done = run_cli("methods")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0].split() == ["method", "from", "what", "it", "does"]
    assert "\ntfidf+kmeans " in done.out


def test_encoders(run_cli: Cli, tmp_path: Path) -> None:
    done = run_cli("encoders", "--json", env={"HF_HOME": str(tmp_path / "no-hub")})
    assert (done.code, done.err) == (0, "")
    bundled = {"name": "minilm", "width": 384, "state": "ready, hashes checked", "where": "bundled"}
    assert json.loads(done.out) == [bundled]


def test_encoders_in_the_cache_of_the_hub(run_cli: Cli, tmp_path: Path) -> None:
    """A cache as the hub lays it out: complete, without weights, and with a config that cannot be read."""
    for name, config, weights in (("good", '{"hidden_size": 8}', True), ("bare", "{}", False), ("spoilt", "{", True)):
        revision = tmp_path / "hub" / f"models--acme--{name}" / "snapshots" / ("0" * 40)
        revision.mkdir(parents=True)
        (revision / "config.json").write_text(config)
        if weights:
            (revision / "model.safetensors").write_bytes(b"")
    done = run_cli("encoders", "--json", env={"HF_HOME": str(tmp_path), "HF_HUB_CACHE": str(tmp_path / "hub")})
    assert done.code == 0, done.err
    found = {encoder["name"]: encoder for encoder in json.loads(done.out)}
    assert found["acme/good"] == {"name": "acme/good", "width": 8, "state": "ready", "where": "cached"}
    assert "acme/bare" not in found
    assert "acme/spoilt" not in found


def test_doctor(run_cli: Cli, own_cache: Path) -> None:
    done = run_cli("doctor", "--json")
    assert (done.code, done.err) == (0, "")
    findings = json.loads(done.out)
    assert findings["encoder"]["ready"] is True
    assert findings["encoder"]["name"] == "minilm"
    assert findings["versions"]["coterie"] == coterie.__version__
    assert {"torch", "scikit-learn", "polars"} <= findings["versions"].keys()
    assert findings["cores"] >= 1
    assert findings["threads"] >= 1
    assert findings["cache folder"] == str(own_cache)
    assert findings["memory free (GiB)"] > 0
