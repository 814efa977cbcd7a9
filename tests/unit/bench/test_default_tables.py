"""The tables of the default method: how a number is rounded, and what is bold."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    return importlib.import_module("default_tables")


@pytest.mark.parametrize(("value", "shown"), [(74.25, "74.3"), (45.25, "45.3"), (74.24, "74.2"), (9.0, "9.0")])
def test_half_a_tenth_goes_up(tables: Any, value: float, shown: str) -> None:
    assert tables._rounded(value) == shown


def test_bold_only_beyond_the_spread(tables: Any) -> None:
    def marked(own: tuple[float, float], other: tuple[float, float]) -> str:
        return str(tables._marked({"acc": tables.Score(*own)}, {"acc": tables.Score(*other)}))

    assert marked((54.9, 0.8), (54.8, 0.0)) == "54.9"
    assert marked((54.9, 0.8), (53.0, 0.5)) == "**54.9**"
    assert marked((54.9, 0.8), (53.5, 0.7)) == "54.9"


def test_the_mean_over_sets_spreads_over_the_seeds(tables: Any) -> None:
    runs = {"one": (50.0, 60.0), "two": (70.0, 80.0)}
    sets = {name: {"m": {"runs": [{"acc": acc, "nmi": 1.0} for acc in accs]}} for name, accs in runs.items()}
    acc = tables._over_sets(sets, "m")["acc"]
    # 60 with the first seed, 70 with the second.
    assert (acc.mean, acc.spread) == (65.0, pytest.approx(50**0.5))


def test_another_method_is_best_only_beyond_the_spread_of_the_default(tables: Any) -> None:
    def way(acc: float, spread: float = 0.0, nmi: float = 50.0) -> dict[str, Any]:
        return {"acc": tables.Score(acc, spread), "nmi": tables.Score(nmi)}

    ours = way(80.0, 0.5)
    assert tables._best_way(ours, {}) == ("duet", ours)
    assert tables._best_way(ours, {"aecl": way(80.4), "uft": way(70.0)}) == ("duet", ours)
    assert tables._best_way(ours, {"aecl": way(80.6), "uft": way(70.0)}) == ("aecl", way(80.6))
    assert tables._best_way(ours, {"aecl": way(80.6), "uft": way(90.0, nmi=49.0)}) == ("aecl", way(80.6))


def test_ways_are_of_whole_sets_into_their_true_groups(
    tables: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(name: str, acc: float, **cell: Any) -> None:
        cell = {"method": "aecl", "data": "tweet", **cell}
        result = {"cell": cell, "status": "done", "scores": {"kept": {"acc": acc, "nmi": 0.5}}}
        (tmp_path / "plan" / name).write_text(json.dumps(result))

    (tmp_path / "plan").mkdir()
    put("one.json", 0.6, settings={"init": "kmeans"})
    put("two.json", 0.7, settings={"init": "two-view"})
    put("three.json", 0.9, settings={"init": "two-view"}, seed=1)
    put("worse.json", 0.1, settings={"init": "two-view", "batch_size": 9})
    put("part.json", 1.0, rows=100)
    put("more.json", 1.0, k=3)
    put("large.json", 1.0, encoder="bert-base-uncased")
    put("longer.json", 0.5, effort="balanced")
    put("first.json", 0.99, settings={"init": "two-view", "batch_size": 5})
    cells = {path.name: json.loads(path.read_text())["cell"] for path in (tmp_path / "plan").iterdir()}
    # Of this one the second seed is still to be run.
    cells["second.json"] = cells["first.json"] | {"seed": 1}
    (tmp_path / "plan" / "plan.json").write_text(json.dumps(cells))
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    found = tables._ways()["tweet"]
    # Of the same start the better, over its seeds.
    assert {name: scores["acc"].mean for name, scores in found.items()} == {
        "aecl": pytest.approx(80.0),
        "aecl, from k-means": pytest.approx(60.0),
        "aecl, balanced": pytest.approx(50.0),
    }
