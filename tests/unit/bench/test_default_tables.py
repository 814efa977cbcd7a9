"""The tables of the default method: how a number is rounded, and what is bold."""

from __future__ import annotations

import importlib
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
