"""How the command ends where no test of a command can make it: the documented codes, and never a traceback."""

from __future__ import annotations

import warnings

import pytest

from coterie.cli import app


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (RuntimeError("odd"), 1, "this should not happen (RuntimeError: odd)"),
        (MemoryError(), 1, "not enough memory"),
        (OSError(28, "No space left on device", "f.csv"), 2, "f.csv: nothing could be written"),
    ],
)
def test_what_nobody_expected(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.delenv("COTERIE_DEBUG", raising=False)
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(app, "_run", fail)
    monkeypatch.setattr(app, "_drop_output", lambda: None)
    with pytest.raises(SystemExit) as end:
        app.main()
    told = capsys.readouterr().err
    assert end.value.code == code
    assert said in told
    assert "Traceback" not in told
