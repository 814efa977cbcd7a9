"""What the page is told of time, of a column's values and of repeated texts."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import coterie
from coterie.persist.edited_run import EditedRun
from coterie.persist.run import Run
from coterie.report import sections
from coterie.report.build import report_data
from coterie.report.sections import repeats_data

LONG = "the parcel was left with a neighbour on Monday and nobody told us, so we waited at home all day"


def test_without_columns_and_repeats_there_is_nothing(make_run: Any) -> None:
    different = ["bread and yeast rise", "a lawn of seeds", "the loan of a bank", "roses love compost"]
    data = report_data(make_run(coterie.cluster(different, n_clusters=2, method="tfidf+kmeans")))
    assert (data["over_time"], data["by"], data["repeats"]) == (None, None, None)


def test_a_run_of_an_older_version_has_no_such_columns(make_run: Any, clustering: coterie.Clustering) -> None:
    run = make_run(clustering)
    del run.config["input"]["time_column"], run.config["input"]["by_column"]
    data = report_data(run)
    assert (data["over_time"], data["by"]) == (None, None)


def test_counts_by_period_and_value(make_run: Any, clustering: coterie.Clustering) -> None:
    """Every third text is about bread, which came in 2024 only; the last row has no year."""
    years = [None if row == 35 else "2024" if row % 3 == 0 else str(2025 + row % 3) for row in range(36)]
    who = [f"person {row % 12}" for row in range(36)]
    run = make_run(clustering, columns={"year": years, "who": who}, time_column="year", by_column="who")
    data = report_data(run)
    bread = int(clustering.labels[0])
    assert data["over_time"]["periods"] == ["2024", "2025", "2026", "2027"]
    assert [line[bread] for line in data["over_time"]["counts"]] == [12, 0, 0, 0]
    assert [sum(line) for line in data["over_time"]["counts"]] == [12, 0, 12, 11]
    assert (data["over_time"]["period"], data["over_time"]["empty"]) == ("year", 1)
    assert data["over_time"]["changes"][bread] == [1.0, 0.0, True]
    assert (len(data["by"]["values"]), data["by"]["joined"], data["by"]["has_empty"]) == (12, 0, False)
    assert np.sum(data["by"]["counts"]) == 36


def test_many_values_are_joined(make_run: Any, clustering: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "MOST_VALUES", 2)
    who = ["ann"] * 9 + ["bob"] * 8 + [f"person {row}" for row in range(17)] + ["", None]
    by = report_data(make_run(clustering, columns={"who": who}, by_column="who"))["by"]
    assert by["values"] == ["ann", "bob", "all others"]
    assert [sum(line) for line in by["counts"]] == [9, 8, 17, 2]
    assert (by["joined"], by["has_empty"], len(by["signs"])) == (17, True, 4)


def test_sets_of_repeated_texts() -> None:
    texts = ["n/a", LONG, "lamp", LONG + "!", LONG + "!", LONG, "lamp", "N/A", "n/a", "7"]
    labels = np.array([0, 1, 2, 5, 5, 1, 2, 0, 0, 3])
    data = repeats_data(texts, labels, 4)
    assert data is not None
    assert (data["exact"], data["near"], data["different"]) == (4, 2, 2)
    first, second = data["sets"]
    assert first == {
        "text": LONG, "count": 2, "group": 1, "rows": 4, "wordings": 1,
        "others": [{"text": LONG + "!", "count": 2, "group": 5}],
    }  # fmt: skip
    assert (second["text"], second["rows"], second["others"]) == ("lamp", 2, [])
    assert (data["junk"], data["different_junk"]) == (4, 3)
    assert data["junk_texts"] == [
        {"text": "n/a", "count": 2, "group": 0},
        {"text": "N/A", "count": 1, "group": 0},
        {"text": "7", "count": 1, "group": 3},
    ]


def test_long_lists_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_SETS", "MOST_WORDINGS", "MOST_JUNK"):
        monkeypatch.setattr(sections, name, 1)
    texts = ["bread", "lamp", "bread", "lamp", "lamp", LONG, LONG.upper(), LONG + "?", "7", "8", "8", *[LONG] * 3]
    data = repeats_data(texts, np.zeros(len(texts), dtype=np.int64), 1)
    assert data is not None
    assert [one["text"] for one in data["sets"]] == [LONG]
    assert (data["different"], data["sets"][0]["rows"], data["sets"][0]["wordings"]) == (3, 6, 2)
    assert len(data["sets"][0]["others"]) == 1
    assert (data["different_junk"], [one["text"] for one in data["junk_texts"]]) == (2, ["8"])


def repeated_texts() -> list[str]:
    """Thirty texts of their own, the first of them twice, and one of a machine in 21 wordings."""
    own = [" ".join(words) for words in list(permutations(("bread", "roses", "loan", "lamp", "tickets")))[::4]]
    return [*own, *(f"{LONG} (message {number})" for number in range(21)), own[0]]


@pytest.mark.parametrize(
    ("groups", "one_by_one", "too_few_texts"), [(1, 0, False), (3, 20, False), (5, 20, True)], ids=str
)
def test_how_repeats_weighed_is_told_as_it_was(groups: int, one_by_one: int, too_few_texts: bool) -> None:
    """Of three groups the machine's messages could be one."""
    data = repeats_data(repeated_texts(), np.zeros(52, dtype=np.int64), groups)
    assert data is not None
    assert (data["exact"], data["near"]) == (1, 20)
    assert (data["one_by_one"], data["too_few_texts"]) == (one_by_one, too_few_texts)


def test_groups_that_people_joined_do_not_change_how_repeats_weighed(make_run: Any) -> None:
    run = make_run(coterie.cluster(repeated_texts(), n_clusters=4, method="tfidf+kmeans"))
    edited = EditedRun(run)
    edited.write(edited.model.edits_.merged([0, 3]))
    data = report_data(Run.open(run.folder))
    assert len(data["groups"]) == 3
    assert data["repeats"]["too_few_texts"]
