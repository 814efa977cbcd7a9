"""Cells of a benchmark that nobody ran: what `coterie bench run` would have written of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coterie.bench.plan import Cell

Result = dict[str, Any]


def made_up(
    cell: Cell,
    acc: float = 0.5,
    nmi: float = 0.4,
    history: list[dict[str, Any]] | None = None,
    stages: dict[str, Any] | None = None,
) -> Result:
    return {
        "cell": cell.as_json(),
        "status": "done",
        "rows": 1000,
        "scores": {"kept": {"acc": 0.01, "nmi": 0.01}, "head": {"acc": acc, "nmi": nmi}},
        "history": history or [],
        **({"stages": stages} if stages else {}),
    }


@pytest.fixture(scope="session")
def result() -> Callable[..., Result]:
    """result(cell, acc=..., history=[...], stages={...}) -> a cell's file."""
    return made_up


def epochs(phase: str, *entries: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"phase": phase, "epoch": number, "losses": {"total": 1.0}, **own} for number, own in enumerate(entries, 1)]


@pytest.fixture(scope="session")
def history() -> Callable[..., list[dict[str, Any]]]:
    """history("joint", {...}, {...}) -> an entry for each epoch of the phase."""
    return epochs


@pytest.fixture
def texts_file(tmp_path: Path) -> dict[str, str]:
    """Forty texts about two things, the first of them three times."""
    words = {"bread": "flour yeast dough oven crust", "train": "platform ticket carriage rail conductor"}
    lines = [
        f"{theme},the {listed.split()[row % 5]} and the {listed.split()[(row + row // 5 + 1) % 5]} of {theme} {row}"
        for row in range(20)
        for theme, listed in words.items()
    ]
    path = tmp_path / "tiny.csv"
    path.write_text("theme,message\n" + "\n".join([*lines[:1] * 3, *lines[1:]]) + "\n", encoding="utf-8")
    return {"file": str(path), "text": "message", "label": "theme"}
