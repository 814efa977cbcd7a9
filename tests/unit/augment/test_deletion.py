"""Deletion noise: the rate is met, a word stays, draws differ and come back."""

from __future__ import annotations

import pytest

from coterie.augment import Deletion
from coterie.errors import ConfigError, InputError

LONG = " ".join(f"word{i}" for i in range(5000))


def test_share_of_deleted_words_is_the_rate() -> None:
    for rate in (0.2, 0.6):
        left = Deletion(rate).augment([LONG])[0].split()
        assert len(left) / 5000 == pytest.approx(1 - rate, abs=0.03)
        assert left == sorted(left, key=lambda word: int(word[4:]))
        assert set(left) <= set(LONG.split())


def test_default_rate_is_that_of_tsdae() -> None:
    assert Deletion().rate == 0.6


def test_one_word_stays_and_it_is_not_always_the_same() -> None:
    texts = [f"alpha beta gamma {i}" for i in range(60)]
    views = Deletion(1.0).augment(texts)
    assert all(len(view.split()) == 1 for view in views)
    assert {"alpha", "beta", "gamma"} < set(views)


def test_rate_0_changes_nothing() -> None:
    assert Deletion(0).augment([" as  it is. ", "two words"]) == [" as  it is. ", "two words"]


def test_views_do_not_change_from_version_to_version() -> None:
    """Kept views are found by the version: whoever changes these must raise VERSION."""
    frozen = {
        "One great film, two actors": "great,",
        "The film (a great one)": "film (a one)",
        "How do you swap words?": "do you?",
        "go on, delete words": "on, delete",
        "A great actor": "A",
        "Is the film great?": "the film great?",
    }
    assert Deletion().augment(list(frozen)) == list(frozen.values())


def test_progress_ends_at_all_texts() -> None:
    told: list[tuple[str, int, int]] = []
    Deletion().augment(["one two"] * 2500, lambda *step: told.append(step))
    assert told == [("augmenting", 1000, 2500), ("augmenting", 2000, 2500), ("augmenting", 2500, 2500)]


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), "0.5", True, None])
def test_rates_that_are_none(rate: object) -> None:
    with pytest.raises(ConfigError, match=r"rate=.*from 0"):
        Deletion(rate)  # type: ignore[arg-type]


def test_seeds_and_texts_that_cannot_be_used() -> None:
    with pytest.raises(ConfigError, match=r"random_state=0\.5"):
        Deletion(random_state=0.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="row 2"):
        Deletion().augment(["a text", " "])
