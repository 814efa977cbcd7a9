"""Where training had got to: found again, gone on from bit for bit, and never in the way."""

from __future__ import annotations

import errno
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from safetensors.torch import save_file

from coterie.data import atomic
from coterie.engine import checkpoint
from coterie.engine.checkpoint import Checkpoints, NoCheckpoints, Saved, checkpoints_for, forget_checkpoints
from coterie.engine.loop import RESUMED

Make = Callable[..., Any]
STEPS_AN_EPOCH = 3


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one test's own."""
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def phases(phase: Make) -> list[Any]:
    """Unjudged, still and moving, with rates that depend on the step."""
    return [
        phase("quiet", 1, judged=False, warmup=0.5),
        phase("still", 2, rates={"project": 0.05, "assign": 0.05}),
        phase("none", 0),
        phase("moving", 2, decay="linear"),
    ]


def outcome_of(training: Any, weights: Make) -> tuple[dict[str, np.ndarray], list[dict[str, Any]], float | None]:
    """All that may be compared: everything but the seconds."""
    outcome = training.run()
    history = [{key: value for key, value in entry.items() if key != "seconds"} for entry in outcome.history]
    return weights(training), history, outcome.score


def assert_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert one[1:] == other[1:]
    for name, value in one[0].items():
        assert_array_equal(value, other[0][name], err_msg=name)


def state_file(folder: Path) -> Path:
    (found,) = (folder / "training").glob("*/state.safetensors")
    return found


# Going on


@pytest.mark.parametrize("step", range(1, 5 * STEPS_AN_EPOCH + 1))
def test_after_a_kill_at_any_step_the_end_is_the_same(
    step: int,
    toy: Make,
    phases: list[Any],
    weights: Make,
    tmp_path: Path,
    dying_after: Make,
) -> None:
    unbroken = outcome_of(toy(phases), weights)
    killed = toy(phases, checkpoints=dying_after(tmp_path, step))
    with pytest.raises(SystemExit):
        killed.run()
    assert len(killed.model.batches) == step
    torch.manual_seed(step)
    second = toy(phases, checkpoints=Checkpoints(tmp_path))
    assert_same(outcome_of(second, weights), unbroken)
    assert len(second.model.batches) == 5 * STEPS_AN_EPOCH - step, "it went on, and did not begin again"


def test_killed_again_and_again(toy: Make, phases: list[Any], weights: Make, tmp_path: Path, dying_after: Make) -> None:
    unbroken = outcome_of(toy(phases), weights)
    for _ in range(7):
        with pytest.raises(SystemExit):
            toy(phases, checkpoints=dying_after(tmp_path, 2)).run()
    assert_same(outcome_of(toy(phases, checkpoints=Checkpoints(tmp_path)), weights), unbroken)


def test_what_groups_are_compared_with_is_carried_on(
    toy: Make, phase: Make, weights: Make, tmp_path: Path, dying_after: Make
) -> None:
    """Groups have settled when they are those of twenty steps ago, whichever process did these."""
    phases = [phase("settling", 30, stop_below=0.05, rates={"project": 0.05}, weights={"contrast": 1.0})]
    unbroken = outcome_of(toy(phases), weights)
    assert len(unbroken[1]) < 30
    for _ in range(4):
        with pytest.raises(SystemExit):
            toy(phases, checkpoints=dying_after(tmp_path, 5)).run()
    assert_same(outcome_of(toy(phases, checkpoints=Checkpoints(tmp_path)), weights), unbroken)


def test_a_watched_training_has_all_of_its_stages(
    toy: Make, phases: list[Any], weights: Make, tmp_path: Path, dying_after: Make
) -> None:
    """Killed in the second phase: what was seen before is in the checkpoint, and not looked at again."""

    def watch(vectors: np.ndarray) -> dict[str, Any]:
        looks.append(1)
        return {"mean": float(vectors.mean())}

    looks: list[int] = []
    whole = outcome_of(toy(phases, watch=watch), weights)
    assert len(looks) == 4
    with pytest.raises(SystemExit):
        toy(phases, watch=watch, checkpoints=dying_after(tmp_path, STEPS_AN_EPOCH + 1)).run()
    looks.clear()
    assert_same(outcome_of(toy(phases, watch=watch, checkpoints=Checkpoints(tmp_path)), weights), whole)
    assert len(looks) == 2


def test_that_it_goes_on_is_told(toy: Make, phases: list[Any], tmp_path: Path, dying_after: Make) -> None:
    stages: list[str] = []
    with pytest.raises(SystemExit):
        toy(phases, checkpoints=dying_after(tmp_path, 2), progress=lambda stage, *rest: stages.append(stage)).run()
    assert RESUMED not in stages
    toy(phases, checkpoints=Checkpoints(tmp_path), progress=lambda stage, *rest: stages.append(stage)).run()
    assert stages.count(RESUMED) == 1


def test_notes_and_seconds_are_carried_on(toy: Make, phases: list[Any], tmp_path: Path, dying_after: Make) -> None:
    killed = toy(phases, checkpoints=dying_after(tmp_path, 2))
    killed.notes.append("something was odd")
    killed.progress = lambda *args: time.sleep(0.1)
    with pytest.raises(SystemExit):
        killed.run()
    outcome = toy(phases, checkpoints=Checkpoints(tmp_path)).run()
    assert outcome.notes == ["something was odd"]
    assert outcome.history[0]["seconds"] >= 0.2, "the time before the kill counts"


def test_a_finished_training_is_not_done_again(toy: Make, phases: list[Any], tmp_path: Path) -> None:
    """What comes after it may be killed as well."""
    finished = toy(phases, checkpoints=Checkpoints(tmp_path))
    finished.run()
    again = toy(phases, checkpoints=Checkpoints(tmp_path))
    steps: list[tuple[object, ...]] = []
    again.progress = lambda *args: steps.append(args)
    again.run()
    assert steps == [(RESUMED, 1, 1)]
    assert again.history == finished.history
    for name, tensor in finished.model.state_dict().items():
        torch.testing.assert_close(again.model.state_dict()[name], tensor, rtol=0, atol=0)


def test_a_training_is_forgotten_when_all_is_done(
    toy: Make, phases: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    with checkpoints_for("this one") as checkpoints:
        toy(phases, checkpoints=checkpoints).run()
    assert list(tmp_path.rglob("state.safetensors"))
    forget_checkpoints("another")
    assert list(tmp_path.rglob("state.safetensors"))
    forget_checkpoints("this one")
    assert not list(tmp_path.rglob("state.safetensors"))


# Files that cannot be gone on from


def spoiled(good: bytes, how: str, folder: Path) -> bytes:
    if how == "empty":
        return b""
    if how == "cut short":
        return good[: len(good) // 2]
    if how == "one byte short":
        return good[:-1]
    if how == "text":
        return b"not a checkpoint at all\n" * 40
    if how == "huge header":
        return b"\xff" * 8 + good[8:]
    tensors = {"model/counted": torch.zeros(())}
    documents: dict[str, Any] = {
        "no document": None,
        "not JSON": {"document": "{"},
        "other keys": {"document": json.dumps({"epoch": 3})},
        "a list": {"document": "[1, 2]"},
    }
    if how == "other shapes":
        saved = Saved.unpacked(good)
        assert saved is not None
        saved.tensors["model/assign.weight"] = torch.zeros(2, 2)
        return saved.packed()
    if how == "less weights":
        saved = Saved.unpacked(good)
        assert saved is not None
        del saved.tensors["encoder/weight"]
        return saved.packed()
    save_file(tensors, folder / "other", documents[how])
    return (folder / "other").read_bytes()


@pytest.mark.parametrize(
    "how",
    ["empty", "cut short", "one byte short", "text", "huge header", "no document", "not JSON", "other keys", "a list",
     "other shapes", "less weights"],
)  # fmt: skip
def test_from_a_file_that_is_no_good_training_begins_again(
    how: str,
    toy: Make,
    phases: list[Any],
    weights: Make,
    tmp_path: Path,
    dying_after: Make,
) -> None:
    unbroken = outcome_of(toy(phases), weights)
    with pytest.raises(SystemExit):
        toy(phases, checkpoints=dying_after(tmp_path, 11)).run()
    file = tmp_path / "state.safetensors"
    file.write_bytes(spoiled(file.read_bytes(), how, tmp_path))
    second = toy(phases, checkpoints=Checkpoints(tmp_path))
    assert_same(outcome_of(second, weights), unbroken)
    assert len(second.model.batches) == 5 * STEPS_AN_EPOCH


def test_nothing_in_the_file_is_a_pickle(toy: Make, phases: list[Any], tmp_path: Path, dying_after: Make) -> None:
    with pytest.raises(SystemExit):
        toy(phases, checkpoints=dying_after(tmp_path, 11)).run()
    data = (tmp_path / "state.safetensors").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert json.loads(header["__metadata__"]["document"])["position"] == {"phase": 3, "epoch": 0, "step": 2}
    tensors = [entry for name, entry in header.items() if name != "__metadata__"]
    assert {entry["dtype"] for entry in tensors} <= {"F32", "I64"}
    # The header and plain numbers are all there is.
    numbers = sum(stop - start for start, stop in (entry["data_offsets"] for entry in tensors))
    assert len(data) == 8 + int.from_bytes(data[:8], "little") + numbers
    assert os.listdir(tmp_path) == ["state.safetensors"]


# Ctrl-C


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("step", [1, 2, 3, 15])
def test_ctrl_c_saves_and_stops_and_the_next_goes_on(
    step: int, toy: Make, phases: list[Any], weights: Make, tmp_path: Path
) -> None:
    unbroken = outcome_of(toy(phases), weights)
    before = signal.getsignal(signal.SIGINT)
    stopped = toy(phases, checkpoints=Checkpoints(tmp_path))
    calls = iter(range(1, 100))

    def press(*args: object) -> None:
        if next(calls) == step:
            os.kill(os.getpid(), signal.SIGINT)

    stopped.progress = press
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    assert signal.getsignal(signal.SIGINT) is before
    assert len(stopped.model.batches) == step
    second = toy(phases, checkpoints=Checkpoints(tmp_path))
    assert_same(outcome_of(second, weights), unbroken)
    assert len(second.model.batches) == 5 * STEPS_AN_EPOCH - step


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_after_the_last_step_is_not_forgotten(
    toy: Make, phases: list[Any], weights: Make, tmp_path: Path
) -> None:
    unbroken = outcome_of(toy(phases), weights)
    stopped = toy(phases, checkpoints=Checkpoints(tmp_path))
    judge = stopped.judge

    def press(labels: np.ndarray) -> float:
        if len(stopped.history) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return float(judge(labels))

    stopped.judge = press
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    second = toy(phases, checkpoints=Checkpoints(tmp_path))
    assert_same(outcome_of(second, weights), unbroken)
    assert second.model.batches == []


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_pressed_twice_it_stops_at_once(toy: Make, phases: list[Any], tmp_path: Path) -> None:
    training = toy(phases, checkpoints=Checkpoints(tmp_path))

    def press(*args: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("went on after the second")

    training.progress = press
    with pytest.raises(KeyboardInterrupt):
        training.run()
    assert os.listdir(tmp_path) == []


def test_outside_the_main_thread_training_runs_all_the_same(toy: Make, phases: list[Any]) -> None:
    training = toy(phases)
    ended: list[Any] = []
    thread = threading.Thread(target=lambda: ended.append(training.run()))
    thread.start()
    thread.join(60)
    assert len(ended[0].history) == 5


# Places


def test_the_same_parts_have_the_same_place(own_folder: Path) -> None:
    with checkpoints_for("a", "b") as checkpoints:
        assert checkpoints.load() is None
        checkpoints.save(Saved({"x": 1}, {"t": torch.ones(2)}))
    with checkpoints_for("a", "b") as again:
        found = again.load()
    assert found is not None
    assert (found.document, found.tensors["t"].tolist()) == ({"x": 1}, [1, 1])
    for other in (("a", "c"), ("a",), ("ab",)):
        with checkpoints_for(*other) as checkpoints:
            assert checkpoints.load() is None


def test_when_two_train_the_same_the_second_does_without(toy: Make, phases: list[Any], weights: Make) -> None:
    unbroken = outcome_of(toy(phases), weights)
    with checkpoints_for("same") as first:
        first.save(Saved({"of": "the first"}))
        with checkpoints_for("same") as second:
            assert isinstance(second, NoCheckpoints)
            assert_same(outcome_of(toy(phases, checkpoints=second), weights), unbroken)
        found = first.load()
        assert found is not None
        assert found.document == {"of": "the first"}
    with checkpoints_for("same") as third:
        assert isinstance(third, Checkpoints)


class EveryStep(Checkpoints):
    due = True  # type: ignore[assignment]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_full_disk_does_not_stop_training(
    number: int, toy: Make, phases: list[Any], weights: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unbroken = outcome_of(toy(phases), weights)
    tried: list[object] = []

    def full(self: object, data: object) -> int:
        tried.append(data)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(atomic._NamedFile, "write", full)
    assert_same(outcome_of(toy(phases, checkpoints=EveryStep(tmp_path)), weights), unbroken)
    assert len(tried) >= 5 * STEPS_AN_EPOCH
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_the_last_good_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(Saved({"n": 1}))

    def full(self: object, data: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(atomic._NamedFile, "write", full)
    checkpoints.save(Saved({"n": 2}))
    found = checkpoints.load()
    assert found is not None
    assert found.document == {"n": 1}


def test_without_a_place_training_runs_without(
    toy: Make, phases: list[Any], weights: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unbroken = outcome_of(toy(phases), weights)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "file"))
    with checkpoints_for("a") as checkpoints:
        assert isinstance(checkpoints, NoCheckpoints)
        assert_same(outcome_of(toy(phases, checkpoints=checkpoints), weights), unbroken)


def test_a_folder_that_vanishes_does_not_stop_training(
    toy: Make, phases: list[Any], weights: Make, tmp_path: Path
) -> None:
    unbroken = outcome_of(toy(phases), weights)
    training = toy(phases, checkpoints=EveryStep(tmp_path / "never made"))
    assert_same(outcome_of(training, weights), unbroken)


def test_what_nobody_came_back_to_is_swept_away(own_folder: Path) -> None:
    for name in ("old", "new"):
        with checkpoints_for(name) as checkpoints:
            checkpoints.save(Saved({"name": name}))
    old = next(path for path in (own_folder / "training").glob("*/*.safetensors") if b"old" in path.read_bytes())
    long_ago = time.time() - checkpoint.KEPT_SECONDS - 60
    for path in (*old.parent.iterdir(), old.parent):
        os.utime(path, (long_ago, long_ago))
    (own_folder / "training" / "stray file").write_text("not ours")
    with checkpoints_for("third"):
        assert not old.parent.exists()
        assert b"new" in state_file(own_folder).read_bytes()
    with checkpoints_for("old") as checkpoints:
        assert checkpoints.load() is None


def test_the_state_in_use_is_not_swept_however_old(own_folder: Path) -> None:
    with checkpoints_for("a") as checkpoints:
        checkpoints.save(Saved({"n": 1}))
    for path in (*state_file(own_folder).parent.iterdir(), state_file(own_folder).parent):
        os.utime(path, (0, 0))
    with checkpoints_for("a") as checkpoints:
        assert checkpoints.load() is not None


def test_an_old_training_begun_again_is_not_swept_by_another(own_folder: Path) -> None:
    with checkpoints_for("a") as checkpoints:
        checkpoints.save(Saved({"n": 1}))
    old = state_file(own_folder)
    for path in (*old.parent.iterdir(), old.parent):
        os.utime(path, (0, 0))
    with checkpoints_for("a"), checkpoints_for("b"):
        assert old.exists()


def test_saving_takes_a_small_share_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    checkpoints = Checkpoints(tmp_path)
    assert not checkpoints.due
    now[0] += checkpoint.LEAST_SECONDS_BETWEEN + 0.1
    assert checkpoints.due
    packed = Saved.packed

    def slow(self: Saved) -> bytes:
        now[0] += 30
        return packed(self)

    monkeypatch.setattr(Saved, "packed", slow)
    checkpoints.save(Saved({"n": 1}))
    now[0] += 0.9 * 30 / checkpoint.LARGEST_SHARE_OF_TIME
    assert not checkpoints.due
    now[0] += 0.2 * 30 / checkpoint.LARGEST_SHARE_OF_TIME
    assert checkpoints.due
