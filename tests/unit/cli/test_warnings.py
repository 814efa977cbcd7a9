"""Warnings on the command line: ours in one plain line, other libraries' not at all."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import coterie
from coterie.cli.app import _show_warning


@pytest.mark.parametrize(
    ("category", "place", "shown"),
    [
        (UserWarning, Path(coterie.__file__).parent / "augment" / "corpus_lm.py", "note: mind the head\n"),
        (UserWarning, Path("/elsewhere/coterie/.venv/torch/nn.py"), ""),
        (DeprecationWarning, Path(coterie.__file__), ""),
    ],
)
def test_only_what_we_have_to_say_is_shown(
    category: type[Warning],
    place: Path,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(warnings, "showwarning", _show_warning)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = _show_warning
        warnings.warn_explicit("mind the head", category, str(place), 1)
    assert capsys.readouterr().err == shown
