"""The comparison with other tools: what is made of its runs, and what becomes of a peer that fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Any:
    import importlib

    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("peers")


def run(seconds: float, acc: float, memory: int = 100) -> dict[str, Any]:
    own = {"acc": acc, "nmi": acc / 2, "groups": 3, "rows_left_out_percent": 0.0}
    return {"seconds": seconds, "peak_memory_mb": memory, **own, "packages": {}}


def test_costs_of_the_fastest_and_quality_of_all(peers: Any) -> None:
    found = peers.summary([run(20.0, 50.0, memory=300), run(10.0, 60.0, memory=200), {"error": "broke"}])
    assert (found["runs"], found["seconds"], found["peak_memory_mb"]) == (2, 10.0, 200)
    assert found["acc"] == {"mean": 55.0, "sd": 7.07}
    assert found["errors"] == ["broke"]
    assert peers.summary([run(1.0, 50.0)])["acc"] == {"mean": 50.0}


def test_ratios_are_of_those_that_ran(peers: Any) -> None:
    ours, peer, broken = (
        {"seconds": 2.0, "peak_memory_mb": 100},
        {"seconds": 5.0, "peak_memory_mb": 150},
        {"errors": [""]},
    )
    assert peers.ratios({"coterie": ours, "lda": peer, "bertopic": broken}) == {
        "lda": {"seconds": 2.5, "peak_memory_mb": 1.5}
    }
    assert peers.ratios({"coterie": broken, "lda": peer}) == {}


def test_a_peer_that_fails_is_a_result_and_the_others_are_kept(
    peers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no such module >&2\nexit 3\n")
    broken.chmod(0o755)
    texts = [f"{word} and {other}" for word in ("flour", "yeast", "oven") for other in ("dough", "bread", "cake")]
    texts += [f"{word} and {other}" for word in ("ticket", "rail", "fare") for other in ("train", "coach", "line")]
    monkeypatch.setattr(peers, "bench_set", lambda name: (["bake"] * 9 + ["ride"] * 9, texts))
    steps = [*peers.measure("tiny", {"bertopic": str(broken), "lda": sys.executable})]
    assert len(steps) == 2 * peers.ROUNDS
    assert steps[0]["contenders"] == {"bertopic": {"errors": ["the process ended with code 3: no such module"]}}
    last = steps[-1]["contenders"]
    assert len(last["bertopic"]["errors"]) == peers.ROUNDS
    assert last["lda"]["runs"] == peers.ROUNDS
    assert last["lda"]["acc"]["mean"] > 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the other counter is what Linux gets wrong")
def test_a_contender_does_not_start_with_the_memory_of_its_parent() -> None:
    code = (
        "import subprocess, sys\n"
        "held = bytearray(400 << 20)\n"
        "held[::4096] = b'x' * len(held[::4096])\n"
        "asked = 'from contender import peak_memory_mb; print(peak_memory_mb())'\n"
        "sys.exit(subprocess.run([sys.executable, '-c', asked]).returncode)\n"
    )
    own = os.environ | {"PYTHONPATH": str(BENCHMARKS / "peers")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=own)
    assert json.loads(done.stdout) < 200
