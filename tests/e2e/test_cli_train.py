"""`coterie fit` with a trained method: its run folder, its options, and going on after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Cli = Callable[..., Any]
SHORT = ["--set", "contrast_epochs=2", "--set", "guided_epochs=2", "--set", "joint_epochs=3"]
LONG = ["--set", "contrast_epochs=30", "--set", "guided_epochs=30", "--set", "joint_epochs=450"]
# A fast machine is done with all of it before the first checkpoint is due, so checkpoints come sooner here.
SOON = """
import runpy
from coterie.engine import checkpoint
checkpoint.LEAST_SECONDS_BETWEEN = 0.1
runpy.run_module("coterie", run_name="__main__")
"""
AECL = ["--method", "aecl", "--effort", "fast"]
LIMIT_SECONDS = 120


@pytest.fixture(scope="module")
def table(texts: list[str], themes: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"text": texts, "theme": themes, "other": [f"about {text}, in other words" for text in texts]})


@pytest.fixture(scope="module")
def file(table: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("train") / "in.csv"
    table.write_csv(path)
    return path


def history(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "history.jsonl").read_text("utf-8").splitlines()]


def epochs(run: Path) -> list[dict[str, Any]]:
    return [entry for entry in history(run) if "epoch" in entry]


# The run


@pytest.fixture(scope="module")
def run(run_cli: Cli, file: Path) -> Path:
    folder = file.parent / "run"
    done = run_cli("fit", file, "--text", "text", "--k", 4, *AECL, *SHORT, "--truth", "theme", "--out", folder)
    assert done.code == 0, done.err
    (file.parent / "printed").write_text(done.out)
    return folder


def test_the_run_folder_is_complete(run: Path) -> None:
    assert sorted(os.listdir(run)) == [
        "assignments.csv",
        "assignments.parquet",
        "clusters.json",
        "config.json",
        "hierarchy.json",
        "history.jsonl",
        "map.parquet",
        "metrics.json",
        "model",
        "report.html",
    ]
    options = json.loads((run / "config.json").read_text("utf-8"))["options"]
    assert (options["method"], options["effort"]) == ("aecl", "fast")
    assert options["settings"] == {"contrast_epochs": 2, "guided_epochs": 2, "joint_epochs": 3}
    assert len(set(pl.read_parquet(run / "assignments.parquet")["cluster"])) == 4


def test_the_history_holds_every_epoch(run: Path) -> None:
    by_phase: dict[str, list[int]] = {}
    for entry in epochs(run):
        by_phase.setdefault(entry["phase"], []).append(entry["epoch"])
        assert {"contrast", "total"} <= entry["losses"].keys()
    assert by_phase["contrast"] == [1, 2]
    # It may come to rest before its three epochs are over.
    assert by_phase["joint"] in ([1], [1, 2], [1, 2, 3])
    assert len(by_phase) == 3
    tried = [entry for entry in history(run) if "candidate" in entry]
    assert tried[0]["candidate"] == "two-view start"
    assert len(tried) > 1
    assert sum(entry["kept"] for entry in tried) == 1


def test_what_was_kept_is_printed(run: Path) -> None:
    printed = (run.parent / "printed").read_text()
    for entry in (entry for entry in history(run) if "candidate" in entry):
        (line,) = [line for line in printed.splitlines() if line[8:].startswith(entry["candidate"])]
        assert line.startswith("  kept  " if entry["kept"] else "        ")
        assert f" {entry['score']:.3f}" in line


def test_the_model_sorts_the_texts_as_the_fit_did(run: Path, run_cli: Cli, file: Path, tmp_path: Path) -> None:
    done = run_cli("predict", run, file, "--text", "text", "--out", tmp_path / "again.parquet")
    assert done.code == 0, done.err
    again, before = pl.read_parquet(tmp_path / "again.parquet"), pl.read_parquet(run / "assignments.parquet")
    assert again["cluster"].to_list() == before["cluster"].to_list()


# Killed, and stopped


def command(file: Path, out: str) -> list[str]:
    return [
        sys.executable, "-c", SOON, "fit", str(file), "--text", "text", "--k", "4", *AECL, *LONG, "--out", out,
    ]  # fmt: skip


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "COTERIE_CACHE": str(cache)}


@pytest.fixture(scope="module")
def unbroken(file: Path) -> Path:
    folder = file.parent / "unbroken"
    subprocess.run(
        command(file, str(folder)), env=environment(file.parent / "its cache"), check=True, timeout=LIMIT_SECONDS,
        capture_output=True,
    )  # fmt: skip
    return folder


def late_checkpoint(cache: Path, process: subprocess.Popen[str]) -> Path:
    """One with more than ten epochs: on a slow machine the first may have hardly any."""
    until = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < until:
        found = list(cache.glob("training/*/state.safetensors"))
        if found and len(document_of(found[0])["history"]) > 10:
            return found[0]
        assert process.poll() is None, "it ended before such a checkpoint"
        time.sleep(0.02)
    raise AssertionError("no checkpoint came")


def document_of(state: Path) -> dict[str, Any]:
    data = state.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    document: dict[str, Any] = json.loads(header["__metadata__"]["document"])
    return document


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_given_again_the_command_goes_on_and_ends_as_if_nothing_had_been(
    number: signal.Signals, file: Path, unbroken: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    with subprocess.Popen(
        command(file, "run"),
        cwd=tmp_path,
        env=environment(cache),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        state = late_checkpoint(cache, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert out == ""
    if number == signal.SIGINT:
        assert process.returncode == 130
        last = err.splitlines()[-1]
        assert last.startswith("coterie: stopped. Nothing was written; ")
        assert "the same command goes on where it stopped" in last
        assert "Traceback" not in err
    else:
        assert process.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == ["cache"]
    done_before = document_of(state)["history"]
    assert len(done_before) > 10
    again = subprocess.run(
        command(file, "run"),
        cwd=tmp_path,
        env=environment(cache),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    # Even the seconds are those of the first time: these epochs were not run again.
    assert epochs(tmp_path / "run")[: len(done_before)] == done_before
    losses, whole = ([entry["losses"] for entry in epochs(folder)] for folder in (tmp_path / "run", unbroken))
    assert losses == whole
    for name in ("assignments.csv", "clusters.json"):
        assert (tmp_path / "run" / name).read_bytes() == (unbroken / name).read_bytes()
    assert list(cache.glob("training/*/state.safetensors")) == []


# Other wordings


def test_a_column_of_other_wordings_is_learnt_from(run: Path, run_cli: Cli, file: Path, tmp_path: Path) -> None:
    done = run_cli(
        "fit", file, "--text", "text", "--k", 4, *AECL, *SHORT, "--augment-columns", "other", "--out", tmp_path / "run"
    )
    assert done.code == 0, done.err
    assert [entry["losses"] for entry in epochs(tmp_path / "run")] != [entry["losses"] for entry in epochs(run)]


def test_two_columns_with_spaces_around_their_names(run_cli: Cli, file: Path, tmp_path: Path) -> None:
    done = run_cli(
        "fit", file, "--text", "text", "--k", 4, "--method", "sccl", "--set", "epochs=1", "--augment-columns",
        " other , text ", "--out", tmp_path / "run", "--quiet",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")


def test_a_column_that_is_not_there(refused: Cli, table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_csv(tmp_path / "in.csv")
    message = refused("fit", "in.csv", "--text", "text", "--k", 4, *AECL, "--augment-columns", "othre", "--out", "run")
    assert "there is no column 'othre'; did you mean 'other'?" in message
    assert "--augment-columns" in message


def test_an_empty_cell_in_a_column_of_other_wordings(refused: Cli, table: pl.DataFrame, tmp_path: Path) -> None:
    cells = [*table["other"][:6], None, *table["other"][7:]]
    table.with_columns(pl.Series("other", cells)).write_csv(tmp_path / "in.csv")
    message = refused("fit", "in.csv", "--text", "text", "--k", 4, *AECL, "--augment-columns", "other", "--out", "run")
    assert "row 7" in message
    assert "'other'" in message


def test_too_many_columns(refused: Cli, table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_csv(tmp_path / "in.csv")
    message = refused(
        "fit", "in.csv", "--text", "text", "--k", 4, *AECL, "--augment-columns", "other,text", "--out", "run"
    )
    assert message == "the method 'aecl' learns from 1 augmented columns, and 2 were given"


# Settings


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("nonsense", "--set 'nonsense' is not understood: write NAME=VALUE, as in --set init=kmeans"),
        ("=3", "--set '=3' is not understood: write NAME=VALUE, as in --set init=kmeans"),
        ("joint_epoch=3", "setting 'joint_epoch' is not known to the method 'aecl': did you mean 'joint_epochs'?"),
        ("lambda1=much", "setting lambda1='much' of the method 'aecl' does not fit: give a number from 0 on"),
        ("lambda1=NaN", "setting lambda1=nan of the method 'aecl' does not fit: give a number from 0 on"),
        ("lambda1=", "setting lambda1='' of the method 'aecl' does not fit: give a number from 0 on"),
        ("joint_epochs=-1",
         "setting joint_epochs=-1 of the method 'aecl' does not fit: give a whole number from 0 on or none"),
        ("init=random", "setting init='random' of the method 'aecl' does not fit: give 'two-view' or 'kmeans'"),
    ],
)  # fmt: skip
def test_settings_that_are_refused(given: str, told: str, refused: Cli, table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_csv(tmp_path / "in.csv")
    assert refused("fit", "in.csv", "--text", "text", "--k", 4, *AECL, "--set", given, "--out", "run") == told


def test_a_setting_is_given_once(refused: Cli, table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_csv(tmp_path / "in.csv")
    twice = ["--set", "lambda1=1", "--set", "lambda1=2"]
    message = refused("fit", "in.csv", "--text", "text", "--k", 4, *AECL, *twice, "--out", "run")
    assert message == "--set lambda1=... is given twice, with 1 and 2: leave one out"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["--set", "lambda1=3"],
            "the setting 'lambda1' is of no use to the method 'tfidf+kmeans': leave it out, or use one of aecl",
        ),
        (
            ["--set", "lamda1=3"],
            "the setting 'lamda1' is of no use to the method 'tfidf+kmeans': no method has one of that name; did you "
            "mean 'lambda1'?",
        ),
        (
            ["--set", "qzx=3"],
            "the setting 'qzx' is of no use to the method 'tfidf+kmeans': no method has one of that name",
        ),
        (
            ["--augment-columns", "other"],
            "augmented columns are of no use to the method 'tfidf+kmeans': leave them out, or use one of "
            "tandem, aecl, sccl, rstc, deccrl, clusterbert",
        ),
    ],
)
def test_options_of_no_use_are_refused(
    options: list[str], told: str, refused: Cli, table: pl.DataFrame, tmp_path: Path
) -> None:
    table.write_csv(tmp_path / "in.csv")
    message = refused("fit", "in.csv", "--text", "text", "--k", 4, "--method", "tfidf+kmeans", *options, "--out", "run")
    assert message == told


# On features other than the encoder's


def test_an_autoencoder_on_tfidf(run_cli: Cli, file: Path, tmp_path: Path) -> None:
    short = ["--set", "pair_epochs=2", "--set", "pretraining_epochs=5", "--set", "epochs=3"]
    chosen = ["--method", "idec", "--set", "features=tfidf", "--set", "layers=[16,8,4]", *short]
    done = run_cli("fit", file, "--text", "text", "--k", 4, *chosen, "--out", tmp_path / "run")
    assert done.code == 0, done.err
    options = json.loads((tmp_path / "run" / "config.json").read_text("utf-8"))["options"]
    assert (options["settings"]["features"], options["settings"]["layers"]) == ("tfidf", [16, 8, 4])
    names = list(dict.fromkeys(entry["phase"] for entry in epochs(tmp_path / "run")))
    assert names == ["layer 1", "layer 2", "layer 3", "autoencoder", "clustering"]
    assert {"reconstruction", "cluster"} <= epochs(tmp_path / "run")[-1]["losses"].keys()
    done = run_cli("predict", tmp_path / "run", file, "--text", "text", "--out", tmp_path / "again.parquet")
    assert done.code == 0, done.err
    again, before = (
        pl.read_parquet(path) for path in (tmp_path / "again.parquet", tmp_path / "run/assignments.parquet")
    )
    assert again["cluster"].to_list() == before["cluster"].to_list()


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        (["dec", "--set", "features=tf-idf"],
         "setting features='tf-idf' of the method 'dec' does not fit: "
         "give 'bow' or 'tfidf' or 'stems' or 'lda' or 'ae' or 'kate' or 'sif' or 'minilm' or 'tsdae'"),
        (["dec", "--set", "layers=500,10"],
         "setting layers='500,10' of the method 'dec' does not fit: give a list of whole numbers from 1 on"),
        (["dec", "--set", "augment=eda"],
         "setting 'augment' is not known to the method 'dec': there are init, batch_size, undo, features, pooling, "
         "layers, pretraining, rate, pair_epochs, pretraining_epochs, epochs"),
        (["tfidf+dec"], "method 'tfidf+dec' is not known: use 'dec' with the setting features='tfidf'"),
        (["dec", "--word-vectors", "words.txt"],
         "word vectors are of no use to the method 'dec': leave them out, or use a method with sif, "
          "or one of deccrl, adsl, stcc, consensus"),
        (["dec", "--augment-columns", "other"],
         "the method 'dec' learns from 0 augmented columns, and 1 were given"),
    ],
)  # fmt: skip
def test_what_an_autoencoder_refuses(
    chosen: list[str], told: str, refused: Cli, table: pl.DataFrame, tmp_path: Path
) -> None:
    table.write_csv(tmp_path / "in.csv")
    assert refused("fit", "in.csv", "--text", "text", "--k", 4, "--method", *chosen, "--out", "run") == told


# Without an encoder


def test_a_method_without_an_encoder_is_fitted_and_sorts_new_texts(run_cli: Cli, file: Path) -> None:
    folder = file.parent / "adsl"
    options = ["--method", "adsl", "--set", "epochs=4", "--set", "max_words=6", "--truth", "theme"]
    done = run_cli("fit", file, "--text", "text", "--k", 4, *options, "--out", folder)
    assert done.code == 0, done.err
    assert "encoding" not in done.err
    assert len(epochs(folder)) == 4
    assert {entry["candidate"] for entry in history(folder) if "candidate" in entry} == {
        "ward on ae",
        "ward on trained network",
    }
    sorted_anew = file.parent / "sorted.csv"
    done = run_cli("predict", folder, file, "--text", "text", "--out", sorted_anew)
    assert done.code == 0, done.err
    fitted = pl.read_parquet(folder / "assignments.parquet")["cluster"].to_list()
    assert pl.read_csv(sorted_anew)["cluster"].to_list() == fitted


# Methods that tell words


@pytest.mark.parametrize(
    ("method", "options", "phases"),
    [
        ("tsdae+kmeans", ["--set", "adaptation_epochs=1"], ["adaptation"]),
        (
            "uft",
            ["--effort", "balanced", "--set", "trainable_layers=1", "--set", "epochs=1"],
            ["masked words", "joint"],
        ),
        (
            "clusterbert",
            ["--set", "round_epochs=20", "--set", "hardening_epochs=5", "--set", "init=kmeans"],
            ["start", "clustering", "hardening"],
        ),
    ],
)
def test_words_are_told_and_new_texts_sorted(
    method: str, options: list[str], phases: list[str], run_cli: Cli, file: Path, tmp_path: Path
) -> None:
    done = run_cli("fit", file, "--text", "text", "--k", 4, "--method", method, *options, "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert list(dict.fromkeys(entry["phase"] for entry in epochs(tmp_path / "run"))) == phases
    assert ("has no masked-language-model head, so one is trained" in done.err) == (method == "uft")
    done = run_cli("predict", tmp_path / "run", file, "--text", "text", "--out", tmp_path / "again.parquet")
    assert done.code == 0, done.err
    again, before = pl.read_parquet(tmp_path / "again.parquet"), pl.read_parquet(tmp_path / "run/assignments.parquet")
    assert again["cluster"].to_list() == before["cluster"].to_list()
