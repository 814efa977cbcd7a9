"""Texts that an encoder is trained on: whatever is kept, wherever, their vectors are the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import coterie.nn.texts as texts_module
from coterie.features.cache import VectorFile
from coterie.features.checkpoints import find_checkpoint
from coterie.features.tokens import Tokens
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.texts import TrainingTexts

LAYERS = [1, 2, "all"]

PREPARE = """
import json, os, signal, sys
import numpy as np
import coterie.nn.texts as texts
from coterie.features.cache import VectorFile
from coterie.features.checkpoints import find_checkpoint
from coterie.features.tokens import Tokens
from coterie.nn.encoder import TrainableEncoder

job = json.loads(sys.argv[1])
texts.SECONDS_BETWEEN_RECORDS, texts.TOKENS_AT_ONCE = 0, 100
below, record, computed, records = TrainableEncoder.below, VectorFile.record, 0, 0

def counting(self, ids, lengths, causal):
    global computed
    computed += len(ids)
    return below(self, ids, lengths, causal)

def deadly(self, done):
    global records
    records += 1
    if records == job["kill_at"] and job["before"]:
        os.kill(os.getpid(), signal.SIGKILL)
    record(self, done)
    if records == job["kill_at"]:
        os.kill(os.getpid(), signal.SIGKILL)

TrainableEncoder.below, VectorFile.record = counting, deadly
encoder = TrainableEncoder(find_checkpoint(job["folder"]), trainable_layers=1)
tokens = Tokens(np.array(job["ids"], dtype=np.int32), np.array(job["offsets"]))
np.save(job["out"], texts.TrainingTexts(encoder, [tokens]).views[0].kept)
print(computed)
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_CACHE", "/dev/null/nowhere")


def view_of(lengths: list[int], seed: int = 0) -> Tokens:
    rng = np.random.default_rng(seed)
    texts = [rng.integers(3, 160, length).astype(np.int32) for length in lengths]
    texts[-1] = texts[0]
    return Tokens(np.concatenate(texts), np.cumsum([0, *(len(text) for text in texts)]))


VIEW = view_of([9, 3, 17, 9, 4, 30, 12, 3, 3, 25, 9])


def encoder_of(folder: Path, **options: Any) -> TrainableEncoder:
    return TrainableEncoder(find_checkpoint(str(folder)), **options)


def direct(encoder: TrainableEncoder, tokens: Tokens, rows: NDArray[np.int64]) -> torch.Tensor:
    ids = np.concatenate([tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]] for row in rows])
    return encoder(torch.from_numpy(ids), tokens.lengths[rows])


def entries(cache: Path) -> list[Path]:
    return sorted((cache / "vectors").iterdir())


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tokens the frozen layers were run on, batch by batch."""
    tokens: list[int] = []
    lower = TrainableEncoder._below

    def counting(
        self: TrainableEncoder, ids: torch.Tensor, lengths: NDArray[np.int64], causal: bool = False
    ) -> torch.Tensor:
        tokens.append(len(ids))
        return lower(self, ids, lengths, causal)

    monkeypatch.setattr(TrainableEncoder, "_below", counting)
    return tokens


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("where", ["disk", "memory", "nowhere"])
def test_vectors_are_those_of_the_encoder(
    cache: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, where: str, layers: Any, pooling: Any
) -> None:
    monkeypatch.setattr(texts_module, "TOKENS_AT_ONCE", 40)
    if where != "disk":
        monkeypatch.setenv("COTERIE_CACHE", "/dev/null/nowhere")
    if where == "nowhere":
        monkeypatch.setattr(texts_module, "available_memory", lambda: 1000)
    encoder = encoder_of(tiny_bert, trainable_layers=layers, pooling=pooling)
    source = TrainingTexts(encoder, [VIEW, view_of([5, 9, 2], seed=1)])
    assert len(source) == 11
    kept = source.views[0].kept
    assert (kept is None) == (layers != 1 or where == "nowhere")
    if kept is not None:
        assert isinstance(kept.base, np.memmap) == (where == "disk") or isinstance(kept, np.memmap)
    for rows in ([4, 0, 9, 10, 2, 0, 0], [7], list(range(11))):
        wanted = np.array(rows)
        expected = direct(encoder, VIEW, wanted)
        torch.testing.assert_close(source.encode(0, wanted), expected, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(source.encode_all(0, wanted), expected.detach(), atol=1e-6, rtol=1e-5)
    other = view_of([5, 9, 2], seed=1)
    torch.testing.assert_close(
        source.encode_all(1), direct(encoder, other, np.arange(3)).detach(), atol=1e-6, rtol=1e-5
    )
    assert source.encode(0, np.array([1])).requires_grad
    assert not source.encode_all().requires_grad


@pytest.mark.parametrize("layers", [1, "all"])
def test_gradients_through_kept_states(cache: Path, tiny_bert: Path, layers: Any) -> None:
    rows = np.array([3, 8, 0, 10, 5, 3])
    weights = torch.randn(6, 64, generator=torch.Generator().manual_seed(0))
    found = []
    for kept in (True, False):
        encoder = encoder_of(tiny_bert, trainable_layers=layers).train()
        vectors = TrainingTexts(encoder, [VIEW]).encode(0, rows) if kept else direct(encoder, VIEW, rows)
        (vectors * weights).sum().backward()
        found.append([parameter.grad for parameter in encoder.parameters() if parameter.requires_grad])
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-4)


def test_training_changes_what_comes_next(cache: Path, tiny_bert: Path) -> None:
    encoder = encoder_of(tiny_bert, trainable_layers=1, dropout=0.1).train()
    source = TrainingTexts(encoder, [VIEW])
    before = source.encode_all()
    assert torch.equal(source.encode_all(), before), "no dropout"
    assert encoder.training
    optimiser = torch.optim.SGD([weight for weight in encoder.parameters() if weight.requires_grad], lr=0.5)
    source.encode(0, np.arange(11)).square()[:, :5].sum().backward()
    optimiser.step()
    after = source.encode_all()
    assert not torch.allclose(before, after, atol=1e-3)
    torch.testing.assert_close(after, direct(encoder.eval(), VIEW, np.arange(11)).detach(), atol=1e-6, rtol=1e-5)


def test_states_are_found_again(cache: Path, tiny_bert: Path, computed: list[int]) -> None:
    TrainingTexts(encoder_of(tiny_bert, trainable_layers=1), [VIEW])
    # Two of the eleven texts are equal.
    assert sum(computed) == len(VIEW.ids) - 9
    first = TrainingTexts(encoder_of(tiny_bert, trainable_layers=1), [VIEW])
    assert sum(computed) == len(VIEW.ids) - 9
    first.encode(0, np.arange(11))
    assert sum(computed) == len(VIEW.ids) - 9
    assert len(entries(cache)) == 1


def test_whatever_changes_the_states_changes_the_entry(
    cache: Path, tiny_bert: Path, make_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deeper = make_model("bert", num_hidden_layers=3, seed=4)
    count = 0

    def is_new(folder: Path, view: Tokens, **options: Any) -> None:
        nonlocal count
        encoder = encoder_of(folder, **options)
        for _ in range(2):
            found = TrainingTexts(encoder, [view]).encode_all()
            expected = direct(encoder, view, np.arange(len(view))).detach()
            torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)
        count += 1
        assert len(entries(cache)) == count

    is_new(tiny_bert, VIEW, trainable_layers=1)
    is_new(make_model("bert", seed=1), VIEW, trainable_layers=1)
    is_new(tiny_bert, view_of([9, 3, 17, 9, 4, 30, 12, 3, 3, 25, 9], seed=5), trainable_layers=1)
    is_new(deeper, VIEW, trainable_layers=1)
    is_new(deeper, VIEW, trainable_layers=2)
    monkeypatch.setattr(texts_module, "CODE_VERSION", texts_module.CODE_VERSION + 1)
    is_new(deeper, VIEW, trainable_layers=1)
    monkeypatch.setattr(torch, "__version__", "9.9.9")
    is_new(deeper, VIEW, trainable_layers=1)


def test_a_view_beyond_the_largest_is_not_written(
    cache: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts_module, "LARGEST_STATES", (len(VIEW.ids) - 9) * 64 * 4 - 1)
    source = TrainingTexts(encoder_of(tiny_bert, trainable_layers=1), [VIEW])
    assert source.views[0].kept is not None
    assert not cache.exists()
    monkeypatch.setattr(texts_module, "available_memory", lambda: 4 * (len(VIEW.ids) - 9) * 64 * 4 - 1)
    assert TrainingTexts(encoder_of(tiny_bert, trainable_layers=1), [VIEW]).views[0].kept is None


def test_entry_in_use_by_another_run(cache: Path, tiny_bert: Path) -> None:
    source = TrainingTexts(encoder_of(tiny_bert, trainable_layers=1), [VIEW])
    view = source.views[0]
    settings = f"{texts_module.CODE_VERSION} {torch.__version__} states 1"
    key = (find_checkpoint(str(tiny_bert)).fingerprint, settings, view.tokens.fingerprint())
    assert view.kept is not None
    with VectorFile.open(*key, rows=len(view.kept), width=64) as file:
        assert file is not None
        assert file.done == len(view.kept)
        again = TrainingTexts(encoder_of(tiny_bert, trainable_layers=1), [VIEW]).views[0].kept
        np.testing.assert_array_equal(again, view.kept)


@pytest.mark.parametrize("before", [False, True])
def test_killed_preparation_is_completed(tmp_path: Path, tiny_bert: Path, before: bool) -> None:
    view = view_of([3 + i % 29 for i in range(80)])

    def run(name: str, kill_at: int) -> subprocess.Popen[str]:
        job = {"folder": str(tiny_bert), "ids": view.ids.tolist(), "offsets": view.offsets.tolist()}
        job |= {"out": str(tmp_path / f"{name}.npy"), "kill_at": kill_at, "before": before}
        environment = os.environ | {"COTERIE_CACHE": str(tmp_path / f"{name[0]}"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", PREPARE, json.dumps(job)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    unbroken = run("unbroken", 0)
    killed = run("killed", 4)
    assert killed.wait(60) == -signal.SIGKILL
    (entry,) = entries(tmp_path / "k")
    done = int((entry / "done").read_text())
    total = int(unbroken.communicate(timeout=60)[0])
    assert 0 < done < total
    assert int(run("k-resumed", 0).communicate(timeout=60)[0]) == total - done
    np.testing.assert_array_equal(np.load(tmp_path / "k-resumed.npy"), np.load(tmp_path / "unbroken.npy"))


def test_progress_reaches_its_total(cache: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_module, "TOKENS_AT_ONCE", 40)
    told: list[tuple[str, int, int]] = []

    def progress(stage: str, done: int, total: int) -> None:
        told.append((stage, done, total))

    TrainingTexts(encoder_of(tiny_bert, trainable_layers=1), [VIEW, view_of([5, 9, 2], seed=1)], progress)
    total = len(VIEW.ids) - 9 + 14
    assert {(stage, of) for stage, _, of in told} == {("preparing", total)}
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1] == total


def test_no_rows(cache: Path, tiny_bert: Path) -> None:
    for layers in LAYERS:
        source = TrainingTexts(encoder_of(tiny_bert, trainable_layers=layers), [VIEW])
        assert source.encode_all(0, np.array([], dtype=np.int64)).shape == (0, 64)
        assert source.encode(0, np.array([], dtype=np.int64)).shape == (0, 64)
