"""How the command line's threads wait."""

from __future__ import annotations

import os

import pytest

from coterie.cli import app


@pytest.mark.parametrize(
    ("given", "policy", "spins"),
    [
        ({}, "PASSIVE", "20000"),
        ({"GOMP_SPINCOUNT": "7"}, "PASSIVE", "7"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE", None),
    ],
)
def test_threads_wait_as_the_user_says_or_briefly(
    given: dict[str, str], policy: str, spins: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.setenv(name, "")  # so that both are given back as they were
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    app._let_threads_wait_briefly()
    assert (os.environ["OMP_WAIT_POLICY"], os.environ.get("GOMP_SPINCOUNT")) == (policy, spins)
