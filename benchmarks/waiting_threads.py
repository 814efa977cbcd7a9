"""What a step of training takes by how threads wait for their next product, on an idle and on a busy machine.

    python benchmarks/waiting_threads.py

Every way is a process of its own, because OpenMP asks for it once; they take turns. Busy means one other process for
every core, which multiplies matrices with one thread.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from common import record
from coterie.cli.app import BRIEF_WAIT
from coterie.nn.autoencoder import Autoencoder
from coterie.nn.dense_cnn import DenseCnn

ROUNDS = 5
STEPS = 40
TEXTS, WORDS, STEMS, GROUPS = 64, 6, 3000, 20
WAYS = {
    "one thread": {"OMP_NUM_THREADS": "1"},
    "spins": {"OMP_WAIT_POLICY": "ACTIVE"},
    "sleeps": {"OMP_WAIT_POLICY": "PASSIVE"},
    "spins briefly, then sleeps": BRIEF_WAIT,
}
"""The last is that of the command line."""


def main() -> None:
    found = {}
    for load, others in {"idle": 0, "busy": os.cpu_count() or 1}.items():
        busy = [_started("busy", WAYS["one thread"]) for _ in range(others)]
        try:
            rounds = [{way: _measured(settings) for way, settings in WAYS.items()} for _ in range(ROUNDS)]
        finally:
            for process in busy:
                process.kill()
        found[load] = {
            way: {step: sorted(turn[way][step] for turn in rounds) for step in rounds[0][way]} for way in WAYS
        }
    medians = {
        load: {way: {step: statistics.median(taken) for step, taken in steps.items()} for way, steps in ways.items()}
        for load, ways in found.items()
    }
    record("waiting_threads", {"milliseconds_a_step": found, "median": medians})


def _started(job: str, settings: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__, job], env=os.environ | settings, stdout=subprocess.PIPE, text=True
    )


def _measured(settings: dict[str, str]) -> dict[str, float]:
    told, _ = _started("steps", settings).communicate()
    return dict(json.loads(told))


# In a process of its own.


def steps() -> None:
    torch.manual_seed(0)
    taken = {"autoencoder": _milliseconds(*_autoencoder()), "words of 64 titles": _milliseconds(*_dense_cnn())}
    print(json.dumps(taken))


def _autoencoder() -> tuple[nn.Module, Callable[[], Tensor]]:
    network = Autoencoder(STEMS, (500, 2000, 200))
    read = torch.zeros(TEXTS, STEMS).scatter_(1, torch.randint(STEMS, (TEXTS, WORDS)), WORDS**-0.5)
    return network, lambda: ((network(read) - read) ** 2).sum(dim=1).mean()


def _dense_cnn() -> tuple[nn.Module, Callable[[], Tensor]]:
    network = DenseCnn(torch.randn(9000, 300))
    head = nn.Linear(network.maps, GROUPS)
    lengths, labels = torch.full((TEXTS,), WORDS), torch.randint(GROUPS, (TEXTS,))

    def loss() -> Tensor:
        words = torch.randint(1, 9000, (TEXTS * WORDS,))
        return nn.functional.cross_entropy(head(network(words, lengths)), labels)

    return nn.ModuleList([network, head]), loss


def _milliseconds(network: nn.Module, loss: Callable[[], Tensor]) -> float:
    optimizer = torch.optim.Adam(network.parameters(), fused=True)

    def some(count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            loss().backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()

    some(STEPS // 8)
    started = time.perf_counter()
    some(STEPS)
    return round(1000 * (time.perf_counter() - started) / STEPS, 1)


def be_busy() -> None:
    matrix = torch.randn(500, 500)
    while True:
        matrix @ matrix


if __name__ == "__main__":
    {"steps": steps, "busy": be_busy}.get(sys.argv[-1], main)()
