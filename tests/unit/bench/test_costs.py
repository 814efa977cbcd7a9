"""Lines of what cells scored and cost, from made-up cells."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from coterie.bench.costs import cost_table
from coterie.bench.plan import Cell
from coterie.errors import ConfigError


def cell(data: str, seed: int, acc: float = 0.5, **own: Any) -> dict[str, Any]:
    own = {"seconds": 90.0, "peak_memory_mb": 1500, "encoded": False, "kept": "start"} | own
    own = {"machine": {"processor": "A", "threads": "1"}, "versions": {"code": "1"}} | own
    kept = own.pop("kept")
    scores = {name: {"acc": acc + step / 10, "nmi": acc / 2} for step, name in enumerate(own.pop("readouts", ["kept"]))}
    evidence = [{"candidate": kept, "kept": True}, {"candidate": "other", "kept": False}] if kept else []
    return {"cell": Cell("aecl", data, seed).as_json(), "status": "done", "scores": scores, "evidence": evidence, **own}


def lines(results: list[dict[str, Any]], metrics: list[str] | None = None) -> list[list[str]]:
    return [[name, *(entry.text for entry in row)] for name, row in cost_table(results, metrics or ["acc", "nmi"]).rows]


def test_mean_spread_and_cost() -> None:
    results = [
        cell("tweet", 0, 0.5, seconds=60.0, peak_memory_mb=1200, encoded=True),
        cell("tweet", 1, 0.7, seconds=120.0),
        cell("agnews", 0, 0.8, readouts=["kept", "head", "kmeans", "untrained"], kept=None),
    ]
    assert lines(results) == [
        ["aecl (fast)", "tweet", "60.0 / 30.0 ± 14.1", "", "", "", "start", "1.5*", "1,500", "2"],
        [
            "aecl (fast)",
            "agnews",
            "80.0 / 40.0",
            "90.0 / 40.0",
            "100.0 / 40.0",
            "110.0 / 40.0",
            "",
            "1.5",
            "1,500",
            "1",
        ],
    ]
    assert lines(results[:1], ["nmi"])[0][2] == "25.0"


def test_seeds_without_a_read_out_are_counted() -> None:
    with_head = [cell("tweet", seed, readouts=["kept", "head"]) for seed in (0, 1)]
    assert lines([*with_head, cell("tweet", 2)], ["acc"])[0][2:4] == ["50.0 ± 0.0", "60.0 ± 0.0 (1 without)"]


def test_what_was_kept_may_differ_by_seed() -> None:
    assert lines([cell("tweet", 0), cell("tweet", 1, kept="trained head")])[0][6] == "start, trained head"


def test_what_is_to_be_said_of_the_minutes_and_the_versions() -> None:
    stopped = [cell("tweet", 0, resumed=True), cell("tweet", 1)]
    assert (lines(stopped)[0][7], [note[0] for note in cost_table(stopped, ["acc"]).notes[1:]]) == ("1.5†", ["†"])
    unlike = [cell("tweet", 0), cell("tweet", 1, machine={"processor": "A", "threads": "2"}), cell("agnews", 0)]
    assert ([line[7] for line in lines(unlike)], cost_table(unlike, ["acc"]).notes[1][0]) == (["1.5‡", "1.5"], "‡")
    changed = [cell("tweet", 0), cell("tweet", 1, versions={"code": "2"}), cell("agnews", 0)]
    assert cost_table(changed, ["acc"]).notes[1].startswith("In 1 of 2 entries")
    assert len(cost_table([cell("tweet", 0), cell("tweet", 1)], ["acc"]).notes) == 1


def test_cells_that_are_not_there() -> None:
    lost = [{"cell": Cell("aecl", "tweet", seed).as_json(), "status": "missing"} for seed in (1, 2)]
    failed = {"cell": Cell("aecl", "agnews", 0).as_json(), "status": "failed", "error": "no"}
    assert lines([cell("tweet", 0), *lost])[0][-1] == "1, others missing"
    assert lines(lost) == []
    assert cost_table([cell("tweet", 0), *lost], ["acc"]).notes[-1] == "Not run yet: 2 of 3 cells."
    (row,) = lines([failed])
    columns = cost_table([failed], ["acc"]).columns
    assert row == ["aecl (fast)", "agnews", "failed", *[""] * (len(columns) - 2)]


def test_the_tables_of_the_docs_are_those_of_the_committed_cells() -> None:
    script = Path(__file__).parents[3] / "benchmarks" / "tables.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}run benchmarks/tables.py"


def test_scores_are_checked() -> None:
    with pytest.raises(ConfigError, match="did you mean 'acc'"):
        cost_table([cell("tweet", 0)], ["accc"])
