"""How the command ends where no test of a command can make it: the documented codes, and never a traceback."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import pytest

from coterie.cli import app

Ended = Callable[[BaseException], tuple[int, str]]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ended:
    """ended(error) -> the code and the message of a command in which this error was raised."""

    def end_of(error: BaseException) -> tuple[int, str]:
        def fail() -> None:
            raise error

        monkeypatch.setattr(app, "_run", fail)
        with pytest.raises(SystemExit) as end:
            app.main()
        return end.value.code, capsys.readouterr().err

    monkeypatch.delenv("COTERIE_DEBUG", raising=False)
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(app, "_drop_output", lambda: None)
    return end_of


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (RuntimeError("odd"), 1, "this should not happen (RuntimeError: odd)"),
        (MemoryError(), 1, "not enough memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), 1, "not enough memory"),
        (OSError(12, "Cannot allocate memory"), 1, "not enough memory"),
        (OSError(28, "No space left on device", "f.csv"), 2, "f.csv: nothing could be written"),
    ],
)
def test_what_nobody_expected(error: BaseException, code: int, said: str, ended: Ended) -> None:
    ended_with, told = ended(error)
    assert ended_with == code
    assert said in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("fit", "Use fewer rows, or --method minilm+minibatch."),
        ("predict", "Close other programs and try again."),
        ("evaluate", "Use fewer rows, or close other programs and try again."),
    ],
)
def test_without_memory_a_command_is_told_what_it_can_do(
    command: str, advice: str, ended: Ended, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["coterie", command, "texts.csv"])
    assert ended(MemoryError()) == (1, f"coterie: not enough memory for this. {advice}\n")
