"""How much memory there is, also where a container allows less than the machine has."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from coterie import memory
from coterie.memory import available_memory, is_out_of_memory


@pytest.fixture
def container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(memory, "CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "own")
    return tmp_path


def limited(folder: Path, megabytes: int, used: int = 0, version: int = 2) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    limit, usage, inactive = {
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        2: ("memory.max", "memory.current", "inactive_file"),
    }[version]
    (folder / limit).write_text(f"{megabytes << 20}\n")
    (folder / usage).write_text(f"{used << 20}\n")
    (folder / "memory.stat").write_text(f"{inactive} 0\n")


def test_the_processs_own_group_of_the_second_version(container: Path) -> None:
    (container / "own").write_text("0::/user.slice/run-1.scope\n")
    limited(container / "user.slice" / "run-1.scope", 5, used=2)
    limited(container / "user.slice" / "other", 1)
    assert available_memory() == 3 << 20
    limited(container / "user.slice", 8, used=6)
    assert available_memory() == 2 << 20, "those around it limit it too"


def test_the_processs_own_group_of_the_first_version(container: Path) -> None:
    (container / "own").write_text("9:cpu,memory:/jobs/seven:7\n3:devices:/\n1:name=systemd:/init\n0::/\n")
    limited(container / "memory" / "jobs" / "seven:7", 4, version=1)
    limited(container / "jobs", 1)
    assert available_memory() == 4 << 20
    limited(container / "memory", 3, version=1)
    assert available_memory() == 3 << 20, "a path of the machine's that the container does not have"


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


def test_memory_that_torch_does_not_get() -> None:
    with pytest.raises(RuntimeError) as refused:
        torch.empty(1 << 56, dtype=torch.uint8)
    assert is_out_of_memory(refused.value)
    assert not is_out_of_memory(RuntimeError("size mismatch"))
