"""`coterie retrieval`: MAP and MRR of a run's vectors beside those of the untrained encoder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score

from coterie import TextClusterer
from coterie.features.transformer import TransformerEncoder

Cli = Callable[..., Any]
Refused = Callable[..., str]
JUDGED = ("--query", "asked", "--candidate", "found", "--relevance", "right")


def expected(similarity: np.ndarray, relevant: np.ndarray) -> tuple[float, float]:
    best = similarity[relevant].max()
    return average_precision_score(relevant, similarity), 1 / (similarity >= best).sum()


def both_encoders(run: Path) -> dict[str, TransformerEncoder]:
    trained = TextClusterer.load(run / "model").features_
    return {"untrained encoder": TransformerEncoder(), "trained encoder": trained}


def test_neighbours_of_the_same_class_in_the_rows_of_a_run(run_cli: Cli, trained_run: Path) -> None:
    done = run_cli("retrieval", trained_run, "--truth", "theme", "--json")
    assert done.code == 0, done.err
    printed = json.loads(done.out)
    table = pl.read_parquet(trained_run / "assignments.parquet")
    themes = table["theme"].to_numpy()
    assert list(printed["scores"]) == ["untrained encoder", "trained encoder"]
    assert (printed["queries"], printed["left_out"]) == (len(table), 0)
    for name, encoder in both_encoders(trained_run).items():
        vectors = encoder.transform(table["text"].to_list()).astype(np.float64)
        similarity = np.round(vectors @ vectors.T, 6)  # the products of equal texts differ in their last digits
        others = ~np.eye(len(table), dtype=bool)
        scores = [
            expected(similarity[row][others[row]], (themes == themes[row])[others[row]]) for row in range(len(table))
        ]
        found = printed["scores"][name]
        assert (found["map"], found["mrr"]) == pytest.approx(tuple(np.mean(scores, axis=0)), abs=1e-4)
    assert printed["scores"]["untrained encoder"] != printed["scores"]["trained encoder"]
    assert "ranking, trained encoder: done in " in done.err


def test_rows_of_query_candidate_and_relevance(run_cli: Cli, trained_run: Path, tmp_path: Path) -> None:
    rows = [
        ("flour and yeast", "the dough in the oven", "1"),
        ("flour and yeast", "the loan of a bank", "0"),
        ("a late train", "the conductor of the carriage", "2"),
        ("flour and yeast", "a crust of bread", "true"),
        ("a late train", "roses on the lawn", "False"),
        ("a late train", "the timetable on the platform", "0.5"),
        ("nothing fits", "roses on the lawn", "0"),
        ("flour and yeast", "a crust of bread", "1"),
    ]
    pl.DataFrame(rows, schema=["asked", "found", "right"], orient="row").write_csv(tmp_path / "judged.csv")
    done = run_cli("retrieval", trained_run, tmp_path / "judged.csv", *JUDGED, "--quiet")
    assert (done.code, done.err) == (0, "")
    lines = [line.split("  ") for line in done.out.splitlines()]
    shown = {line[0]: tuple(float(cell) for cell in line[1:] if cell.strip()) for line in lines[1:3]}
    assert done.out.splitlines()[-1] == "2 queries, 1 without a relevant candidate left out"
    wanted = {"flour and yeast": [0, 1, 3], "a late train": [2, 4, 5]}
    right = np.array([True, False, True, True, False, True])
    for name, encoder in both_encoders(trained_run).items():
        scores = []
        for query, places in wanted.items():
            vectors = encoder.transform([query, *(rows[place][1] for place in places)])
            scores.append(expected(vectors[1:] @ vectors[0], right[places]))
        assert shown[name] == pytest.approx(tuple(np.mean(scores, axis=0)), abs=1e-4)


def test_a_model_without_an_encoder_has_its_own_vectors(run_cli: Cli, small_fit: Any) -> None:
    done = run_cli("retrieval", small_fit.folder, small_fit.file, "--truth", "theme", "--json", "--quiet")
    assert (done.code, done.err) == (0, "")
    assert list(json.loads(done.out)["scores"]) == ["model"]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--truth", "theme", "--query", "asked"),
        JUDGED[:4],
        ("--truth", "theme", *JUDGED),
        (*JUDGED, "--text", "text"),
    ],
)
def test_what_is_relevant_must_be_said_in_one_way(options: tuple[str, ...], refused: Refused, small_run: Path) -> None:
    assert refused("retrieval", "run", *options).startswith("say what is relevant in one of two ways: `--truth COLUMN`")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("a,b,1\nc,d,maybe\n", "row 2, column 'right' holds 'maybe', which is no relevance. Write 1 or 0"),
        ("a,b,1\nc,d,nan\n", "row 2, column 'right' holds 'nan', which is no relevance."),
        ("a,b,1\nc,d,\n", "row 2, column 'right' is empty."),
        ("a,b,1\nc,d,0\na,b,0\n", "rows 1 and 3 have the same query and candidate, once relevant and once not."),
        ("a,b,0\nc,d,0\n", "no row is relevant by column 'right'"),
        ("a,b,1\n ,d,0\n", "row 2, column 'asked' holds only white space"),
    ],
)
def test_judgements_that_cannot_be_used(
    rows: str, says: str, refused: Refused, small_run: Path, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("asked,found,right\n" + rows)
    assert refused("retrieval", "run", "in.csv", *JUDGED).startswith(f"in.csv: {says}")


def test_columns_that_are_not_there(refused: Refused, small_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text,theme,found,right\none word,x,c,1\ntwo words,y,d,0\n")
    message = refused("retrieval", "run", "in.csv", "--query", "txt", *JUDGED[2:])
    assert message.startswith("in.csv: there is no column 'txt'; did you mean 'text'?")
    assert message.endswith("with `--query`.")
    assert "did you mean 'theme'?" in refused("retrieval", "run", "--truth", "teme")
    message = refused("retrieval", "run", "in.csv", "--truth", "theme")
    assert message == "in.csv: no two rows have the same value in 'theme', so there is nothing to find."


def test_another_column_than_that_of_the_fit_is_said(run_cli: Cli, trained_run: Path, tmp_path: Path) -> None:
    table = pl.read_parquet(trained_run / "assignments.parquet").select("theme", pl.col("text").alias("body"))
    table.write_csv(tmp_path / "other.csv")
    done = run_cli("retrieval", trained_run, "other.csv", "--truth", "theme", "--json", "--quiet", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.err == "note: other.csv has no column 'text': the texts are those of 'body'\n"
    own = run_cli("retrieval", trained_run, "--truth", "theme", "--json", "--quiet")
    assert json.loads(done.out)["scores"] == json.loads(own.out)["scores"]
