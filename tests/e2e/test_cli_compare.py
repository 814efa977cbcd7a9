"""`coterie compare`: the pairs of texts that training has moved most."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from coterie import TextClusterer
from coterie.features.transformer import TransformerEncoder

Cli = Callable[..., Any]
Refused = Callable[..., str]
KINDS = {
    "same group, moved closer": (True, lambda was, now: now - was),
    "same group, moved apart": (True, lambda was, now: was - now),
    "different groups, moved closer": (False, lambda was, now: now - was),
    "different groups, moved apart": (False, lambda was, now: was - now),
    "same group, close before and after": (True, min),
}


@pytest.mark.parametrize("labels", ["cluster", "theme"])
def test_pairs_are_those_of_a_look_at_all_of_them(labels: str, run_cli: Cli, trained_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.parquet"
    done = run_cli("compare", trained_run, "--labels", labels, "--pairs", 3, "--json", "--out", out, "--quiet")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert pl.read_parquet(out).to_dicts() == found

    table = pl.read_parquet(trained_run / "assignments.parquet")
    texts, groups = table["text"].to_list(), [str(value) for value in table[labels]]
    encoders = TransformerEncoder(), TextClusterer.load(trained_run / "model").features_
    before, after = (encoder.transform(texts) for encoder in encoders)
    pairs = list(itertools.combinations(range(60), 2))  # the last three rows are there already
    for kind, (same, score) in KINDS.items():
        scores = {
            (one, other): score(float(before[one] @ before[other]), float(after[one] @ after[other]))
            for one, other in pairs
            if (groups[one] == groups[other]) == same
        }
        best = sorted(scores, key=lambda pair: -scores[pair])[:3]
        shown = [entry for entry in found if entry["kind"] == kind]
        assert [(entry["row"] - 1, entry["other_row"] - 1) for entry in shown] == best
        for entry, (one, other) in zip(shown, best, strict=True):
            assert (entry["text"], entry["other_text"]) == (texts[one], texts[other])
            assert (entry["group"], entry["other_group"]) == (groups[one], groups[other])
            assert entry["before"] == pytest.approx(float(before[one] @ before[other]), abs=1e-5)
            assert entry["change"] == pytest.approx(entry["after"] - entry["before"])


def test_a_table_for_people_and_the_same_again(run_cli: Cli, trained_run: Path) -> None:
    done = run_cli("compare", trained_run, "--pairs", 2, env={"COLUMNS": "80"})
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [line for line in lines if line in KINDS] == list(KINDS)
    assert all(len(line) <= 80 for line in lines)
    start = lines.index("different groups, moved apart")
    assert lines[start + 2].split() == ["before", "after", "change", "group", "text"]
    first = lines[start + 3].split()
    assert float(first[1]) - float(first[0]) == pytest.approx(float(first[2]), abs=2e-3)
    assert first[2].startswith("-")
    assert "comparing pairs: done in " in done.err
    again = run_cli("compare", trained_run, "--pairs", 2, env={"COLUMNS": "80", "PYTHONHASHSEED": "7"})
    assert again.out == done.out


def test_a_dash_is_csv_alone(run_cli: Cli, trained_run: Path) -> None:
    done = run_cli("compare", trained_run, "--pairs", 1, "--out", "-", "--quiet")
    assert (done.code, done.err) == (0, "")
    header, *rows = done.out.splitlines()
    assert header == "kind,before,after,change,row,other_row,group,other_group,text,other_text"
    assert len(rows) == len(KINDS)


def test_a_run_without_a_trained_encoder(refused: Refused, small_run: Path) -> None:
    message = refused("compare", "run")
    assert message.startswith(
        "run: the model of this run has no trained encoder (method 'tfidf+kmeans', effort 'fast')"
    )
    assert "`--method clusterbert --effort balanced`" in message


def test_options_that_cannot_be_used(refused: Refused, small_run: Path) -> None:
    assert "there is no column 'teme'; did you mean 'theme'?" in refused("compare", "run", "--labels", "teme")
    assert refused("compare", "run", "--out", "pairs.docx").startswith("pairs.docx: the name does not tell the format")


def test_nothing_of_the_run_is_overwritten(refused: Refused, small_run: Path) -> None:
    out = "run/assignments.csv"
    assert refused("compare", "run", "--out", out) == f"{out}: this file belongs to the run. Give `--out` another name."
    assert "would both print" in refused("compare", "run", "--out", "-", "--json")
