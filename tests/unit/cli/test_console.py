"""What people are told of how long things take."""

from __future__ import annotations

import io
import re
import sys
import time
from typing import Any

import pytest

from coterie.cli.console import PlainLines, StageTimes, _live_bars, print_rows
from coterie.cli.fit import _scores


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


def test_the_first_steps_foretell_no_end(capsys: pytest.CaptureFixture[str], clock: list[float]) -> None:
    show = PlainLines()
    show("drawing the map", 0, 400)
    clock[0] += 15
    show("drawing the map", 1, 400)
    clock[0] += 15
    show("drawing the map", 8, 400)
    assert capsys.readouterr().err == "drawing the map: 0%\ndrawing the map: 2%, about 1470 s left\n"


def test_a_stage_without_an_end_is_counted_to_its_last_word(clock: list[float]) -> None:
    times = StageTimes(lambda stage, done, total: None)
    for _ in range(3):
        times("reading", 5, 0)
        clock[0] += 2
    assert times.seconds == {"reading": 4}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_live_bar_says_how_far_how_long_and_how_long_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "100")
    with _live_bars() as show:
        for done in range(6):
            show("encoding", done, 10)
            time.sleep(0.02)  # a rate takes two looks at the clock
        show("predicting", 8192, 0)  # nobody knows how many there are
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "\n", sys.stderr.getvalue())  # type: ignore[attr-defined]
    shown = " ".join(drawn.split())
    clock = r"\d:\d\d:\d\d"
    assert re.search(rf"encoding [━╸╺ ]*50% {clock} {clock} left predicting [━ ]*8,192 so far {clock}$", shown)


ROWS = [("one", "a b c d e f g h i j k l m n o p q r s t u v w x y z " * 2), ("three", "")]


def test_the_last_column_is_wrapped_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    print_rows(("name", "what"), ROWS)
    assert capsys.readouterr().out.splitlines() == ["name   what", f"one    {ROWS[0][1].rstrip()}", "three"]
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "60")
    print_rows(("name", "what"), ROWS)
    _, first, second, last = sys.stdout.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(len(first), len(second)) <= 60
    assert first.startswith("one    a b")
    assert second.startswith("       ")
    assert last == "three"


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"criterion": "stability", "score": 0.91}, "stability 0.910"),
        ({"by_space": [0.1]}, "silhouette 0.100"),
        ({"by_space": [0.1, 0.2]}, "silhouette 0.100 before training, 0.200 after"),
        ({"by_space": [0.1], "words": 0.7}, "silhouette 0.100, words 0.700"),
        ({"by_space": [0.1, 0.2], "words": 0.7}, "silhouette 0.100 before training, 0.200 after, words 0.700"),
    ],
)
def test_what_a_candidate_was_compared_by(entry: dict[str, Any], told: str) -> None:
    assert _scores(entry) == told
