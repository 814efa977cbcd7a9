"""How much memory there is, also where a container allows less than the machine has."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie.persist import environment
from coterie.persist.environment import available_memory


@pytest.fixture
def container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(environment, "CONTAINER_FOLDER", tmp_path)
    return tmp_path


def test_without_a_container_it_is_what_the_system_says(container: Path) -> None:
    free = available_memory()
    assert free > 10_000_000
    with open("/proc/meminfo", encoding="ascii") as file:
        said = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    assert free == pytest.approx(said * 1024, rel=0.2)


def test_a_container_of_the_second_version(container: Path) -> None:
    (container / "memory.max").write_text(f"{3 << 20}\n")
    (container / "memory.current").write_text(f"{2 << 20}\n")
    (container / "memory.stat").write_text(f"anon 5\ninactive_file {1 << 19}\nactive_file 7\n")
    assert available_memory() == (3 << 20) - (2 << 20) + (1 << 19)


def test_a_container_of_the_first_version(container: Path) -> None:
    (container / "memory").mkdir()
    (container / "memory" / "memory.limit_in_bytes").write_text(f"{1 << 20}\n")
    (container / "memory" / "memory.usage_in_bytes").write_text(f"{2 << 20}\n")
    (container / "memory" / "memory.stat").write_text("cache 9\ntotal_inactive_file 100\n")
    assert available_memory() == 0


@pytest.mark.parametrize("limit", ["max", str(1 << 62)])
def test_a_container_without_a_limit(container: Path, limit: str) -> None:
    (container / "memory.max").write_text(limit)
    (container / "memory.current").write_text("1000")
    (container / "memory.stat").write_text("inactive_file 0\n")
    assert available_memory() < 1 << 50
