"""Shared by all tests: no network, a cache of their own, and texts."""

from __future__ import annotations

import csv
import os
import signal
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import settings

os.environ["HF_HUB_OFFLINE"] = "1"

# The first example of a property may have to import a library, and the machine may be busy.
settings.register_profile("coterie", deadline=None)
settings.load_profile("coterie")

# A shell starts what is to run in the background with interrupts ignored, and every process that a test starts and
# interrupts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

THEMES = {
    "bread": ("flour", "yeast", "dough", "oven", "crust"),
    "train": ("platform", "ticket", "conductor", "carriage", "timetable"),
    "garden": ("roses", "compost", "pruning", "seedlings", "lawn"),
    "bank": ("loan", "mortgage", "interest", "savings", "overdraft"),
}


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests never read or fill the user's cache; one is shared within a run, so texts are encoded once."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["COTERIE_CACHE"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def demo_file() -> Path:
    return Path(str(files("coterie") / "demo" / "support.csv"))


@pytest.fixture(scope="session")
def demo_rows(demo_file: Path) -> list[dict[str, str]]:
    with demo_file.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="session")
def demo_texts(demo_rows: list[dict[str, str]]) -> list[str]:
    return [row["message"] for row in demo_rows]


@pytest.fixture(scope="session")
def demo_themes(demo_rows: list[dict[str, str]]) -> list[str]:
    return [row["theme"] for row in demo_rows]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Sixty short texts about four things, all different."""
    return [
        f"the {words[row % 5]} and the {words[(row + 1 + row // 5) % 5]} of number {row} {theme}"
        for row in range(15)
        for theme, words in THEMES.items()
    ]


@pytest.fixture(scope="session")
def themes() -> list[str]:
    return list(THEMES) * 15
