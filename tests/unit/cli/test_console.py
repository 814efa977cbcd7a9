"""What people are told of how long things take."""

from __future__ import annotations

import time

import pytest

from coterie.cli.console import PlainLines, StageTimes


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still until its hand is moved."""
    hand = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: hand[0])
    return hand


def two_turns(show: StageTimes | PlainLines, clock: list[float]) -> None:
    """Two turns of encoding, of 3 and of 4 seconds, with 50 seconds of training in between."""
    for stage, done, passed in [
        ("encoding", 1, 0), ("encoding", 5, 1), ("encoding", 10, 2),
        ("training", 0, 0), ("training", 10, 50),
        ("encoding", 1, 0), ("encoding", 10, 4),
    ]:  # fmt: skip
        clock[0] += passed
        show(stage, done, 10)


def test_what_lies_between_two_turns_of_a_stage_is_not_counted(clock: list[float]) -> None:
    times = StageTimes(lambda stage, done, total: None)
    two_turns(times, clock)
    assert times.seconds == {"encoding": 7, "training": 50}


def test_every_turn_of_a_stage_tells_its_own_time(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    two_turns(PlainLines(), clock)
    assert capsys.readouterr().err.splitlines() == [
        "encoding: done in 3.0 s", "training: done in 50.0 s", "encoding: done in 4.0 s",
    ]  # fmt: skip


def test_time_left_is_that_of_the_turn(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    show = PlainLines()
    two_turns(show, clock)
    capsys.readouterr()
    show("encoding", 0, 100)
    clock[0] += 20
    show("encoding", 40, 100)
    assert capsys.readouterr().err == "encoding: 40%, about 30 s left\n"


def test_a_stage_without_an_end_is_counted_to_its_last_word(clock: list[float]) -> None:
    times = StageTimes(lambda stage, done, total: None)
    for _ in range(3):
        times("reading", 5, 0)
        clock[0] += 2
    assert times.seconds == {"reading": 4}
