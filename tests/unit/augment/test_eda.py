"""The four operations of EDA, each alone and all together."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from coterie.augment import EDA
from coterie.errors import ConfigError

SYNONYMS = {"film": ["movie", "cinema"], "great": ["grand"], "actor": ["actress"]}
OFF = {"replace": 0, "insert": 0, "swap": 0, "delete": 0}


def only(table: Any, synonyms: dict[str, list[str]] = SYNONYMS, random_state: int = 0, **rates: float) -> EDA:
    return EDA(table(synonyms), random_state=random_state, **(OFF | rates))


def views_of(table: Any, text: str, **rates: float) -> Counter[str]:
    """The views of a text under many seeds."""
    return Counter(only(table, random_state=seed, **rates).augment([text])[0] for seed in range(200))


def test_replacement(table: Any) -> None:
    views = views_of(table, "The great Film's (end).", replace=0.1)
    assert set(views) == {"The grand Film's (end).", "The great Movie's (end).", "The great Cinema's (end)."}
    assert min(views.values()) > 20


def test_replacement_of_a_share_of_all_words(table: Any) -> None:
    words = ["film"] * 10 + ["nothing"] * 10
    for rate, count in ((0.01, 1), (0.2, 4), (0.49, 9), (1.0, 10)):
        view = only(table, replace=rate).augment([" ".join(words)])[0].split()
        assert sum(word in ("movie", "cinema") for word in view) == count
        assert view.count("nothing") == 10


def test_insertion(table: Any) -> None:
    text = "one Great, two film."
    views = views_of(table, text, insert=0.1)
    assert {view.replace("grand ", "").replace(" grand", "") for view in views if "grand" in view} == {text}
    # Three synonyms in five places.
    assert len(views) == 15
    assert "one Great, two film movie." in views
    assert "grand one Great, two film." in views


def test_insertion_of_a_share_of_the_words(table: Any) -> None:
    text = " ".join(["film"] * 20)
    assert len(only(table, insert=0.25).augment([text])[0].split()) == 25


def test_swap(table: Any) -> None:
    assert set(views_of(table, "One, two (three)!", swap=0.1)) == {
        "two, One (three)!",
        "three, two (One)!",
        "One, three (two)!",
    }


def test_number_of_swaps_is_a_share_of_the_words(table: Any) -> None:
    words = [f"w{i}" for i in range(1000)]
    view = only(table, swap=0.1).augment([" ".join(words)])[0].split()
    assert sorted(view) == sorted(words)
    assert 150 < sum(new != old for new, old in zip(view, words, strict=True)) <= 200


def test_swap_is_of_words_that_differ(table: Any) -> None:
    assert set(views_of(table, "a a a b", swap=0.1)) == {"b a a a", "a b a a", "a a b a"}


def test_deletion(table: Any) -> None:
    views = views_of(table, "one two three", delete=0.1)
    assert (
        {"two three", "one three", "one two"}
        <= set(views)
        <= {"two three", "one three", "one two", "one", "two", "three"}
    )
    long = " ".join(f"w{i}" for i in range(3000))
    assert len(only(table, delete=0.3).augment([long])[0].split()) == pytest.approx(2100, abs=90)
    assert len(only(table, delete=1).augment([long])[0].split()) == 1


def test_one_operation_a_text_each_as_often(table: Any) -> None:
    eda = EDA(table({"film": ["movie"]}), replace=0.1, insert=0.1, swap=0.1, delete=0.1)
    texts = [f"film one two three {i}" for i in range(800)]
    done = Counter()
    for text, view in zip(texts, eda.augment(texts), strict=True):
        old, new = Counter(text.split()), Counter(view.split())
        lost, won = (old - new).total(), (new - old).total()
        done[(min(lost, 1), won)] += 1
        assert view != text
    assert set(done) == {(1, 1), (0, 1), (0, 0), (1, 0)}
    assert all(150 < times < 250 for times in done.values())


def test_operations_that_can_do_nothing_leave_it_to_the_others(table: Any) -> None:
    eda = EDA(table({}), random_state=0)
    assert all(Counter(eda.augment([f"no synonyms {i}"])[0].split()) for i in range(20))
    assert all(eda.augment([f"no synonyms {i}"])[0] != f"no synonyms {i}" for i in range(50))
    assert EDA(table({"film": ["movie"]}), insert=0).augment(["film"]) == ["movie"]
    assert all(EDA(table({}), random_state=seed).augment(["same same"]) == ["same"] for seed in range(20))


def test_stop_words_are_neither_replaced_nor_inserted(table: Any) -> None:
    synonyms = table({"the": ["a"], "how": ["why"], "x": ["y"]})
    for rates in ({"replace": 1.0}, {"insert": 1.0}):
        eda = EDA(synonyms, **(OFF | rates))
        assert eda.augment(["How the X"]) == ["How the X"]
    assert not synonyms.asked


@pytest.mark.parametrize("text", ["word", "?!", "😀", "字", "same same", "a" * 100_000])
def test_texts_that_nothing_can_be_done_with(table: Any, text: str) -> None:
    assert EDA(table({}), delete=0).augment([text]) == [text]


def test_long_texts(table: Any) -> None:
    for text in ("spam " * 50_000 + "film", "film " * 50_000):
        for rates in ({"replace": 0.2}, {"insert": 0.2}, {"swap": 0.2}, {"delete": 0.2}):
            assert only(table, **rates).augment([text])[0].strip()


def test_equal_texts_have_equal_views_and_seeds_differ(table: Any) -> None:
    text = " ".join(f"w{i}" for i in range(30))
    eda = EDA(table(SYNONYMS))
    assert len(set(eda.augment([text, "another film", text]))) == 2
    assert eda.augment([text]) != EDA(table(SYNONYMS), random_state=1).augment([text])


def test_views_are_the_same_in_every_process() -> None:
    code = """
from coterie.augment import EDA, Deletion
class None_:
    def describe(self): return ""
    def prepare(self, words): pass
    def of(self, word): return ["movie", "cinema"] if word == "film" else []
texts = [f"the film {i} was a great film to watch" for i in range(20)]
print(EDA(None_()).augment(texts), Deletion().augment(texts))
"""
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_views_do_not_change_from_version_to_version(table: Any) -> None:
    """Kept views are found by the version: whoever changes these must raise VERSION."""
    frozen = {
        "One great film, two actors": "One great film, actors two",
        "The film (a great one)": "The a (film great one)",
        "How do you swap words?": "How do you swap?",
        "go on, delete words": "go, delete words",
        "A great actor": "actress A great actor",
        "Is the film great?": "Is the film grand great?",
    }
    assert EDA(table(SYNONYMS)).augment(list(frozen)) == list(frozen.values())


def test_description_tells_every_setting(table: Any) -> None:
    settings: list[dict[str, Any]] = [{}, {"replace": 0.2}, {"insert": 0.2}, {"swap": 0.2}, {"delete": 0.2}]
    edas = [EDA(table(SYNONYMS), **setting) for setting in [*settings, {"random_state": 1}]] + [EDA(table({}))]
    assert len({eda.describe() for eda in edas}) == 7
    assert EDA(table(SYNONYMS)).describe() == edas[0].describe()


@pytest.mark.parametrize("name", ["replace", "insert", "swap", "delete"])
def test_rates_are_checked(table: Any, name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}=1.5"):
        EDA(table({}), **{name: 1.5})


def test_progress(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.augment.eda.TEXTS_AT_ONCE", 2)
    told: list[tuple[str, int, int]] = []
    texts = ["one two", "three four", "five six", "one two"]
    views = EDA(table({})).augment(texts, lambda *step: told.append(step))
    assert told == [("augmenting", 2, 3), ("augmenting", 3, 3)]
    assert views == [EDA(table({})).augment([text])[0] for text in texts]
