"""Ctrl-C once a run is finished: nothing is lost, and the message says so."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from coterie.cli import app, fit


def test_a_stop_after_the_run_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    file, out = tmp_path / "texts.txt", tmp_path / "run"
    file.write_text("\n".join(["late parcel", "lost parcel", "wrong bill", "high bill"]), encoding="utf-8")
    command = ["coterie", "fit", str(file), "--k", "2", "--method", "tfidf+kmeans", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", command)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(app, "_let_threads_wait_briefly", lambda: None)
    monkeypatch.setattr(app, "_drop_output", lambda: None)
    monkeypatch.setattr(fit, "_print_summary", stop)
    with pytest.raises(SystemExit) as end:
        app.main()
    assert end.value.code == app.INTERRUPTED
    assert f"stopped. The run was finished, and is in {out}." in capsys.readouterr().err
    assert (out / "model" / "model.json").exists()
