"""`auto`: which method for which texts, and that it says so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from coterie.building import Settings, build
from coterie.methods.auto import Auto, choice
from coterie.registry import EFFORTS, Effort


def chosen(
    effort: Effort, texts: list[str], n_clusters: int, untrainable: str | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """The method that is made and fitted, and the evidence afterwards; no training is longer than at `balanced`."""
    made: list[tuple[str, str]] = []

    def make(name: str, trained_for: str) -> Any:
        made.append((name, trained_for))
        return SimpleNamespace(fit=lambda *given: SimpleNamespace(evidence=[{"candidate": "first"}], given=given))

    fit: Any = Auto(effort, make, lambda: untrainable).fit(texts, n_clusters)
    assert fit.given[:2] == (texts, n_clusters)
    assert fit.evidence[-1] == {"candidate": "first"}
    ((name, trained_for),) = made
    assert trained_for == ("balanced" if name == "tandem" else effort)
    return name, fit.evidence[:-1]


@pytest.mark.parametrize("texts_a_group", [50, 150])
def test_fast_trains_nothing_and_has_nothing_to_explain(texts_a_group: int) -> None:
    assert chosen("fast", ["a text"] * 4 * texts_a_group, 4) == ("duet", [])


def test_an_encoder_that_cannot_be_trained_is_left_as_it_is() -> None:
    name, evidence = chosen("balanced", ["a text"] * 400, 4, untrainable="it is of type 'mpnet'")
    assert (name, evidence) == ("duet", [{"note": "auto: the method is duet, since it is of type 'mpnet'"}])
    assert chosen("fast", ["a text"] * 400, 4, untrainable="it is of type 'mpnet'") == ("duet", [])


@pytest.mark.parametrize("effort", ["balanced", "full"])
@pytest.mark.parametrize(
    ("texts", "note"),
    [
        (399, "auto: the method is duet, since 99 texts a group are few to train on (100 would do)"),
        (400, "auto: the method is tandem, since 100 texts a group are enough to train on"),
    ],
)
def test_groups_must_be_large_enough_to_train_on(effort: Effort, texts: int, note: str) -> None:
    name, evidence = chosen(effort, ["a text"] * texts, 4)
    assert evidence == [{"note": note}]
    assert f"the method is {name}," in note


@pytest.mark.parametrize(
    ("rows", "length", "read"),
    [
        (50_000, 160, 8),
        (50_000, 161, None),
        (1_000, 200, 8),  # forty times each
        (1_000, 201, None),
        (13_333, 600, 24),
        (400, 100_000, 24),  # of which 600 are read
    ],
)
def test_what_would_take_too_long_is_not_trained_on(rows: int, length: int, read: int | None) -> None:
    most = 8_000_000 if read is None else read * 1_000_000
    name, why = choice(["x" * length] * rows, 4, most)
    assert name == ("duet" if read is None else "tandem")
    assert read is not None or why == "training would read 8 million characters, which takes too long"


def test_full_takes_longer_texts_than_balanced() -> None:
    texts = ["x" * 600] * 1000
    assert chosen("balanced", texts, 4)[0] == "duet"
    assert chosen("full", texts, 4)[0] == "tandem"


def test_full_trains_as_balanced_does() -> None:
    for effort in EFFORTS:
        made: Any = build("auto", Settings(4, effort, "minilm", "fp32", None, 0))
        assert made.effort == effort
        assert made.make("tandem", "balanced").effort == "balanced"
