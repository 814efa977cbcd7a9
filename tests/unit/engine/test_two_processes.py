"""Two processes train as one does: the same losses, the same weights, one that writes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

HERE = Path(__file__).parent
LIMIT_SECONDS = 240

TOY = """
import json, sys
from importlib.util import module_from_spec, spec_from_file_location
import numpy as np
from coterie.engine.checkpoint import Checkpoints
from pathlib import Path

job = json.loads(sys.argv[1])
spec = spec_from_file_location("toys", job["toys"])
toys = module_from_spec(spec)
spec.loader.exec_module(toys)

class Noting(Checkpoints):
    step = 0
    @property
    def due(self):
        self.step += 1
        return self.step in (2, 5)
    def save(self, saved):
        super().save(saved)
        with open(job["out"] + ".saves", "a") as file:
            file.write(f"{training.workers.rank}\\n")
        if job["die"]:
            raise SystemExit(7)

phases = [
    toys.make_phase("still", 1, rates={"project": 0.05}, weights={"contrast": 1.0}),
    toys.make_phase("moving", 3, weights={"contrast": 2.0, "class": 0.5}, batch_size=7),
]
best = iter(range(100))
# A process that is not the first has a folder too, so that it could write if it wanted to.
training = toys.build(phases, judge=lambda labels: float(next(best)))
training.checkpoints = Noting(Path(job["states"]))
outcome = training.run()
rank, count = training.workers.rank, training.workers.count
np.savez(f"{job['out']}.{rank}.npz", steps=training.model.step_losses, **toys.weights_of(training))
json.dump([count, [entry["losses"] for entry in outcome.history]], open(f"{job['out']}.{rank}.json", "w"))
"""

STEPS = """
import json, sys
from coterie.features.transformer import TransformerEncoder
from coterie.methods.deep import Deep
from coterie.engine.workers import Workers
from coterie.registry import model_class

job = json.loads(sys.argv[1])
steps = []
model = model_class(job["method"])
losses = model.losses

def noting(self, batch, phase):
    found = losses(self, batch, phase)
    steps.append({name: float(value.detach()) for name, value in found.items()})
    return found

model.losses = noting
encoder = TransformerEncoder(job["encoder"], cache=False)
settings = model.settings_class(**job["settings"])
Deep(job["method"], model, settings, encoder, effort="balanced", random_state=3).fit(job["texts"], 3)
json.dump([Workers().count, steps], open(f"{job['out']}.{Workers().rank}.json", "w"))
"""

FEW = """
import json, sys
import numpy as np
import torch
from torch.nn import functional
from coterie.engine.loop import Training
from coterie.engine.phase import Model, Phase
from coterie.engine.workers import Workers
from coterie.features.checkpoints import find_checkpoint
from coterie.features.tokens import Tokens
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.texts import TrainingTexts

job = json.loads(sys.argv[1])
steps = []

class Classes(Model):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.head, self.seldom = torch.nn.Linear(64, 2), torch.nn.Linear(3, 3)
    def parameter_groups(self):
        return {"head": [*self.head.parameters(), *self.seldom.parameters()]}
    def phases(self):
        still = Phase("still", 1, {"head": 0.01}, {"class": 1.0}, batch_size=1)
        return [still, Phase("moving", 2, {"head": 0.01, "encoder": 1e-4}, {"class": 1.0}, batch_size=1)]
    def losses(self, batch, phase):
        loss = functional.cross_entropy(self.head(batch.vectors()), batch.rows % 2)
        if len(steps) % 3 == 0:  # in between Adam lets it be: no gradient is not a gradient of zero
            loss = loss + self.seldom.weight.square().sum()
        steps.append(float(loss.detach()))
        return {"class": loss}
    def scores(self, vectors):
        return self.head(vectors)

gradients = []
for texts, layers in ((5, 1), (1, "all")):
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 12, texts)
    tokens = Tokens(rng.integers(3, 160, lengths.sum()).astype(np.int32), np.cumsum([0, *lengths]))
    encoder = TrainableEncoder(find_checkpoint(job["encoder"]), trainable_layers=layers)
    training = Training(Classes(), encoder, TrainingTexts(encoder, [tokens]), judge=lambda labels: 0.0)
    gradients += [entry["losses"]["gradient"] for entry in training.run().history]
with open(f"{job['out']}.{Workers().rank}.json", "w") as file:
    json.dump({"steps": steps, "gradients": gradients}, file)
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def started(processes: int, *command: str, cache: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    launcher = ["-m", "torch.distributed.run", f"--nproc_per_node={processes}", f"--master_port={free_port()}"]
    before = launcher if processes > 1 else []
    return subprocess.run(
        [sys.executable, *before, *command],
        cwd=cwd, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
        env={**os.environ, "COTERIE_CACHE": str(cache), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip


def run_script(processes: int, script: str, job: dict[str, Any], tmp_path: Path) -> subprocess.CompletedProcess[str]:
    (tmp_path / "script.py").write_text(script)
    cache = tmp_path / f"cache of {processes}"
    return started(processes, str(tmp_path / "script.py"), json.dumps(job), cache=cache, cwd=tmp_path)


def toy_job(tmp_path: Path, name: str, die: bool = False) -> dict[str, Any]:
    states = tmp_path / f"states {name}"
    states.mkdir(exist_ok=True)
    return {"toys": str(HERE / "conftest.py"), "out": str(tmp_path / name), "states": str(states), "die": die}


def assert_alike(one: Path, other: Path) -> None:
    first, second = np.load(one), np.load(other)
    assert set(first) == set(second)
    for name in first:
        np.testing.assert_allclose(first[name], second[name], atol=1e-5, err_msg=name)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process comes to."""
    folder = tmp_path_factory.mktemp("alone")
    done = run_script(1, TOY, toy_job(folder, "one"), folder)
    assert done.returncode == 0, done.stderr
    return folder / "one.0"


def test_two_processes_come_to_the_same_losses_and_weights_as_one(alone: Path, tmp_path: Path) -> None:
    done = run_script(2, TOY, toy_job(tmp_path, "two"), tmp_path)
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        assert_alike(tmp_path / f"two.{rank}.npz", Path(f"{alone}.npz"))
    (one, history), (two, same) = (
        json.loads(Path(path).read_text()) for path in (f"{alone}.json", tmp_path / "two.0.json")
    )
    assert (one, two) == (1, 2)
    for entry, other in zip(history, same, strict=True):
        assert entry == pytest.approx(other, abs=1e-4)
    assert (tmp_path / "two.saves").read_text() == "0\n0\n0\n", "only the first process writes: twice, and at the end"


def test_two_processes_go_on_together_from_the_state_of_the_first(alone: Path, tmp_path: Path) -> None:
    killed = run_script(2, TOY, toy_job(tmp_path, "two", die=True), tmp_path)
    assert killed.returncode != 0
    assert (tmp_path / "two.saves").read_text() == "0\n"
    done = run_script(2, TOY, toy_job(tmp_path, "two"), tmp_path)
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        found, whole = np.load(tmp_path / f"two.{rank}.npz"), np.load(f"{alone}.npz")
        assert len(whole["steps"]) - len(found["steps"]) == 2, "both went on after the second step"
        for name in set(whole) - {"steps"}:
            np.testing.assert_allclose(found[name], whole[name], atol=1e-5, err_msg=name)


SETTINGS: dict[str, dict[str, Any]] = {
    "aecl": {"dimensions": 16, "contrast_epochs": 1, "guided_epochs": 2, "joint_epochs": 2, "augment": "deletion"},
    "uft": {"epochs": 2, "masked_share": 0.3, "undo": False},
    "clusterbert": {"round_epochs": 1, "hardening_epochs": 1, "told_every": 2},
}
STEPS_IN_ALL = {"aecl": 3 * 5, "uft": 5 + 3 * 2, "clusterbert": 3 * 5}
LAST = {
    "aecl": {"contrast", "pseudo", "cluster", "balance", "row_entropy"},
    "uft": {"masked", "cluster"},
    "clusterbert": {"cluster", "reconstruction"},
}


@pytest.mark.parametrize(("method", "layers"), [("aecl", 1), ("uft", "all"), ("clusterbert", "all")])
def test_a_method_has_the_losses_of_one_process(
    method: str, layers: Any, make_masked_lm: Any, corpus: list[str], tmp_path: Path
) -> None:
    found, folder = [], str(make_masked_lm("bert", head=False))
    # Products of 16-bit numbers differ by more than sums in another order.
    shared = {"trainable_layers": layers, "batch_size": 21, "encoder_rate": 1e-3, "bf16": False}
    for processes in (1, 2):
        job = {"encoder": folder, "texts": corpus, "out": str(tmp_path / f"of {processes}")}
        done = run_script(processes, STEPS, job | {"method": method, "settings": shared | SETTINGS[method]}, tmp_path)
        assert done.returncode == 0, done.stderr
        count, steps = json.loads((tmp_path / f"of {processes}.0.json").read_text())
        assert count == processes
        found.append(steps)
    one, two = found
    assert len(one) == STEPS_IN_ALL[method]
    assert set(one[-1]) == LAST[method]
    # Later steps drift apart by rounding, as those of other sums of the same numbers would.
    for step, (first, second) in enumerate(zip(one[:11], two[:11], strict=True)):
        assert first == pytest.approx(second, abs=2e-4), step
    states = sorted(path for path in tmp_path.glob("cache of 2/training/*"))
    assert len(states) == 1, "the second process asked for no place of its own"


def test_a_batch_of_fewer_texts_than_processes(tiny_bert: Path, tmp_path: Path) -> None:
    """The second process never has a text to encode: its part is to add nothing, at every step."""
    for processes in (1, 2):
        job = {"encoder": str(tiny_bert), "out": str(tmp_path / f"of {processes}")}
        done = run_script(processes, FEW, job, tmp_path)
        assert done.returncode == 0, done.stderr
    alone, first, second = (
        json.loads((tmp_path / f"{name}.json").read_text()) for name in ("of 1.0", "of 2.0", "of 2.1")
    )
    assert len(alone["steps"]) == 3 * (5 + 1)
    for together in (first, second):
        assert together["steps"] == pytest.approx(alone["steps"], abs=1e-4)
        assert together["gradients"] == pytest.approx(alone["gradients"], rel=1e-3)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted as Linux lists them")
def test_processes_leave_each_other_before_they_end(tmp_path: Path) -> None:
    """Otherwise one that ends while its threads still wait for the others is aborted now and then."""
    script = """
import atexit, os
import torch
from coterie.engine.workers import Workers

def threads_that_talk():
    names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
    return sum("gloo" in name for name in names)

atexit.register(lambda: print(f"at the end: {threads_that_talk()}\\n", end="", flush=True))
workers = Workers()
assert workers.count == Workers().count == 2
import torch.distributed.nn.functional  # as torch itself does for an optimizer
vectors = torch.full((3, 2), workers.rank + 1.0, requires_grad=True)
workers.gather_with_gradient(vectors, [3, 3]).square().sum().backward()
workers.average_gradients([vectors])
assert (vectors.grad == 6.0).all(), "twice 1 of one and twice 2 of the other"
assert threads_that_talk() > 0
"""
    done = run_script(2, script, {}, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["at the end: 0"] * 2


@pytest.mark.skipif(os.name != "posix", reason="torchrun")
def test_coterie_fit_in_two_processes_writes_one_run_like_that_of_one(tmp_path: Path) -> None:
    themes = {"bread": "flour yeast dough oven crust", "train": "platform ticket carriage timetable conductor"}
    words = {theme: text.split() for theme, text in themes.items()}
    texts = [f"the {words[t][i % 5]} and the {words[t][(i + 2) % 5]} of {i} {t}" for i in range(15) for t in words]
    pl.DataFrame({"text": texts}).write_csv(tmp_path / "in.csv")
    options = [
        "--k", "2", "--method", "aecl", "--effort", "balanced", "--set", "trainable_layers=1", "--set", "batch_size=15",
        "--set", "contrast_epochs=1", "--set", "guided_epochs=2", "--set", "joint_epochs=2",
    ]  # fmt: skip
    for processes in (1, 2):
        command = ["-m", "coterie", "fit", "in.csv", *options, "--out", f"run{processes}"]
        done = started(processes, *command, cache=tmp_path / f"cache{processes}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("Results: ") == 1
        assert done.stderr.count("training (joint): done") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache1", "cache2", "in.csv", "run1", "run2"]
    one, two = (pl.read_parquet(tmp_path / run / "assignments.parquet") for run in ("run1", "run2"))
    assert one["cluster"].to_list() == two["cluster"].to_list()
    histories = [(tmp_path / run / "history.jsonl").read_text().splitlines() for run in ("run1", "run2")]
    epochs = [[entry["losses"]["total"] for entry in map(json.loads, lines) if "epoch" in entry] for lines in histories]
    assert len(epochs[0]) >= 3
    assert epochs[0] == pytest.approx(epochs[1], rel=1e-3)
