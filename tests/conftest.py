"""Shared by all tests: no network, and a cache of their own."""

from __future__ import annotations

import csv
import os
from importlib.resources import files
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"


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
