"""Numbers that the documentation promises, and that no test would otherwise see change."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        ("clusterers.choose_k", "MOST_ROWS", 10_000),
        ("clusterers.choose_k", "SPLITS", 5),
        ("data.duplicates", "GROUP_OF_ITS_OWN", 0.5),
        ("data.json_lines", "SCHEMA_ROWS", 10_000),
        ("describe.shares", "MOST_VALUES", 10_000),
        ("engine.checkpoint", "KEPT_SECONDS", 14 * 24 * 3600),
        ("engine.checkpoint", "LARGEST_SHARE_OF_TIME", 0.03),
        ("engine.loop", "SETTLING_STEPS", 20),
        ("features.cache", "LARGEST_BYTES", 4 << 30),
        ("features.cache", "SPARED_NS", 3600 * 10**9),
        ("features.legible", "MANY", 0.1),
        ("methods.duet", "MOST_ROWS", 30_000),
        ("methods.number", "MOST_GROUPS", 200),
        ("methods.two_step", "MANY_ROWS", 200_000),
        ("report.build", "MOST_ROWS", 200_000),
    ],
)
def test_numbers_of_the_docs(module: str, name: str, value: float) -> None:
    assert getattr(import_module(f"coterie.{module}"), name) == value
