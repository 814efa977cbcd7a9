"""Edits by hand: numbers, labels, names and errors; and a clustering that is edited in Python."""

from __future__ import annotations

from copy import copy
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coterie
from coterie.edits import Edits, clean_name
from coterie.errors import ConfigError, InputError
from coterie.methods.nearest_centre import NearestCentre
from coterie.methods.two_step import TwoStep

# Four groups; the second text is in 2, but 0 and 1 together are likelier.
FITTED = np.array([[0.7, 0.1, 0.1, 0.1], [0.3, 0.25, 0.4, 0.05], [0.1, 0.6, 0.2, 0.1], [0, 0, 0, 1]], dtype=np.float32)
VECTORS = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.float32)

THEMES = {
    "bread": ("flour", "yeast", "dough", "oven", "crust"),
    "train": ("platform", "ticket", "conductor", "carriage", "timetable"),
    "garden": ("roses", "compost", "pruning", "seedlings", "lawn"),
}


def test_a_merge_by_hand() -> None:
    edits = Edits(4).merged([0, 1])
    answers = edits.answers(VECTORS, FITTED)
    expected = [[0.8, 0.0, 0.1, 0.1], [0.55, 0.0, 0.4, 0.05], [0.7, 0.0, 0.2, 0.1], [0.0, 0.0, 0.0, 1.0]]
    np.testing.assert_allclose(answers.probabilities, expected, rtol=1e-6)
    assert answers.labels.tolist() == [0, 2, 0, 3]
    np.testing.assert_allclose(answers.confidence, [0.8, 0.4, 0.7, 1], rtol=1e-6)
    assert (edits.live, edits.retired, edits.width) == ([0, 2, 3], {1: 0}, 4)


def test_an_edit_moves_no_text_of_another_group() -> None:
    """Made anew on another processor, a vector on a border may come to lie on its other side."""
    fitted = np.array([3, 2, 1, 3])
    answers = Edits(4).merged([0, 1]).answers(VECTORS, FITTED, fitted)
    assert answers.labels.tolist() == [3, 2, 0, 3]
    assert fitted.tolist() == [3, 2, 1, 3]


def test_a_split_by_hand() -> None:
    # Scores x c - |c|^2 / 2 at temperature 1 / log 3: a text at a centre is there with 3 / 4.
    parts = NearestCentre(np.eye(2, dtype=np.float32), float(1 / np.log(3)))
    edits = Edits(4).divided(2, parts)
    answers = edits.answers(VECTORS, FITTED)
    expected = [
        [0.7, 0.1, 0.075, 0.1, 0.025],
        [0.3, 0.25, 0.3, 0.05, 0.1],
        [0.1, 0.6, 0.05, 0.1, 0.15],
        [0.0, 0.0, 0.0, 1.0, 0.0],
    ]
    np.testing.assert_allclose(answers.probabilities, expected, rtol=1e-5)
    assert answers.labels.tolist() == [0, 2, 1, 3]  # the second is in 2 still, though 0 is as likely now
    assert edits.divided(4, parts).log[-1].ids == (4, 5)
    assert answers.probabilities.dtype == np.float32


def test_numbers_are_never_given_twice() -> None:
    parts = NearestCentre(np.eye(3, dtype=np.float32))
    edits = Edits(4).divided(3, parts).merged([0, 4]).divided(0, parts)
    assert [edit.ids for edit in edits.log] == [(3, 4, 5), (0, 4), (0, 6, 7)]
    assert (edits.width, edits.live, edits.retired) == (8, [0, 1, 2, 3, 5, 6, 7], {4: 0})
    assert [str(edit) for edit in edits.log] == [
        "group 3 split into 3, 4 and 5",
        "groups 0 and 4 merged into 0",
        "group 0 split into 0, 6 and 7",
    ]


def test_names_stay_with_their_number() -> None:
    edits = Edits(4).renamed({2: "refunds"}).renamed({1: "billing"}).renamed({1: "  invoices\n"})
    assert edits.names == {2: "refunds", 1: "invoices"}
    assert edits.merged([0, 1]).names == {2: "refunds"}
    assert edits.merged([1, 0]).names == {2: "refunds", 1: "invoices"}
    assert edits.undone().names == {2: "refunds", 1: "billing"}
    assert str(edits.log[-1]) == "group 1 named “invoices”"
    all_at_once = edits.renamed({0: "trains", 1: "bills"})
    assert all_at_once.names == {2: "refunds", 1: "bills", 0: "trains"}
    assert str(all_at_once.log[-1]) == "groups 0 named “trains”, 1 named “bills”"
    assert all_at_once.undone().names == edits.names


@pytest.mark.parametrize(
    ("name", "cleaned"),
    [
        ("  two\twords \n", "two words"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("in\u202evoi\u2066ce\x00\x1b[31m", "invoice[31m"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("\u200d\u202e\x07 ", ""),
        ("a\u2028b\u00a0c\ud800", "a b c"),
    ],
)
def test_names_are_one_line_of_what_is_seen(name: str, cleaned: str) -> None:
    assert clean_name(name) == cleaned


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda edits: edits.merged([1]), "at least 2 groups"),
        (lambda edits: edits.merged([]), "at least 2 groups"),
        (lambda edits: edits.merged([1, 2, 1]), "group 1 is named twice"),
        (lambda edits: edits.merged([0, 9]), r"there is no group 9\. The groups are 0 to 2, 4; merged: 3 into 0\."),
        (lambda edits: edits.merged([1, 3]), r"group 3 was merged into 0\. The groups are 0 to 2, 4"),
        (lambda edits: edits.merged([-1, 0]), "there is no group -1"),
        (lambda edits: edits.merged([True, 0]), "there is no group True"),
        (lambda edits: edits.merged(["1", 0]), "there is no group '1'"),
        (lambda edits: edits.renamed({7: "x"}), "there is no group 7"),
        (lambda edits: edits.renamed({1: " \u202e\n"}), "is empty"),
        (lambda edits: edits.renamed({1: None}), "must be a str"),
        (lambda edits: edits.renamed({1: "x" * 81}), "is too long: use at most 80"),
        (lambda edits: Edits(4).undone(), "nothing to undo: the groups are as the fit left them"),
    ],
)
def test_what_cannot_be_done(edit: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        edit(Edits(5).merged([0, 3]))


# In Python


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Groups of 20, 15 and 10, and one text four times."""
    rows = [
        f"the {words[row % 5]} and the {words[(row + 1 + row // 5) % 5]} of number {row} {theme}"
        for (theme, words), size in zip(THEMES.items(), (20, 15, 10), strict=True)
        for row in range(size)
    ]
    return [*rows, *[rows[0]] * 3]


@pytest.fixture(scope="module")
def found(texts: list[str]) -> coterie.Clustering:
    return coterie.cluster(texts, n_clusters=3, method="tfidf+kmeans")


def themes_of(result: coterie.Clustering, group: int) -> set[str]:
    return {text.split()[-1] for text, label in zip(result.texts, result.labels, strict=True) if label == group}


def test_merging_gives_a_new_clustering(found: coterie.Clustering, texts: list[str]) -> None:
    merged = found.merge([1, 0])
    assert [group.id for group in found.groups] == [0, 1, 2]
    assert [(group.id, group.size) for group in merged.groups] == [(1, 38), (2, 10)]
    assert merged.labels.tolist() == [1 if label == 0 else label for label in found.labels.tolist()]
    assert merged.groups[0].nearest[0][0] == 2
    assert {text.other for text in merged.groups[0].borderline} == {2}
    assert {word for word, _ in merged.groups[0].words} >= {"bread", "train"}
    assert merged.hierarchy.merges[0][1:] in ((1, 2), (2, 1))
    assert merged.hierarchy.cut(2).tolist() == [0, 1]
    np.testing.assert_array_equal(merged.map, found.map)
    np.testing.assert_array_equal(merged.predict(texts), merged.labels)
    moved = copy(found.model)
    moved.vectors_ = found.model.vectors_[::-1]
    np.testing.assert_array_equal(moved.with_edits(merged.edits).labels_, merged.labels)
    assert merged.to_table()["cluster"].to_list() == merged.labels.tolist()
    assert "<td>1</td><td>38</td>" in merged._repr_html_()


def test_a_split_divides_by_meaning_and_numbers_by_size(found: coterie.Clustering, texts: list[str]) -> None:
    merged = found.merge([2, 0, 1])
    assert [(group.id, group.size) for group in merged.groups] == [(2, 48)]
    split = merged.split(2, into=3)
    assert [(group.id, group.size) for group in split.groups] == [(2, 23), (3, 15), (4, 10)]
    assert [themes_of(split, group) for group in (2, 3, 4)] == [{"bread"}, {"train"}, {"garden"}]
    np.testing.assert_array_equal(split.predict(texts), split.labels)
    assert split.model.predict_proba(texts[:2]).shape == (2, 5)
    assert not split.probabilities[:, :2].any()
    again = merged.split(2, into=3)
    np.testing.assert_array_equal(again.probabilities, split.probabilities)


def test_the_largest_part_by_rows_keeps_the_number() -> None:
    """Of different texts the other part has more."""
    bread = [f"the {one} and the {other} of bread" for one, other in combinations(THEMES["bread"], 2)][:6]
    train = [f"the {one} and the {other} of train" for one, other in combinations(THEMES["train"], 2)][:4]
    found = coterie.cluster([*bread, *train, *train[:1] * 10], 2, method="tfidf+kmeans").merge([0, 1])
    assert [(group.id, group.size) for group in found.split(0, into=2).groups] == [(0, 14), (2, 6)]


def test_a_text_that_repeats_another_weighs_once_in_a_split(
    found: coterie.Clustering, monkeypatch: pytest.MonkeyPatch
) -> None:
    learnt_from: list[int] = []
    grouped = TwoStep.grouped

    def watched(self: TwoStep, vectors: Any, *args: Any) -> Any:
        learnt_from.append(len(vectors))
        return grouped(self, vectors, *args)

    monkeypatch.setattr(TwoStep, "grouped", watched)
    split = found.split(0, into=3)
    assert learnt_from == [20]
    assert sum(group.size for group in split.groups if group.id in (0, 3, 4)) == 23


def test_undo_leads_back_bit_for_bit(found: coterie.Clustering) -> None:
    named = found.rename(2, "the garden")
    edited = named.merge([0, 2]).split(0, into=4).rename(5, "x").merge([1, 5])
    for _ in range(4):
        edited = edited.undo()
    assert edited.groups == named.groups
    np.testing.assert_array_equal(edited.probabilities, found.probabilities)
    np.testing.assert_array_equal(edited.labels, found.labels)
    assert edited.undo().groups == found.groups
    with pytest.raises(ConfigError, match="nothing to undo"):
        found.undo()


def test_a_given_name_is_shown_everywhere(found: coterie.Clustering) -> None:
    named = found.rename(1, "<b>trains</b>")
    words = ", ".join(word for word, _ in found.groups[1].words[:3])
    assert (found.groups[1].name, named.groups[1].name) == (words, "<b>trains</b>")
    assert named.groups[1].to_dict()["given_name"] == "<b>trains</b>"
    assert "given_name" not in named.groups[0].to_dict()
    assert f"<b>trains</b>: {words}" in repr(named)
    assert "&lt;b&gt;trains&lt;/b&gt;: " in named._repr_html_()
    assert named.merge([0, 2]).groups[1].name == "<b>trains</b>"


@pytest.mark.parametrize(
    ("group", "into", "message"),
    [
        (9, 2, "there is no group 9"),
        (0, 1, "cannot be split into 1: give a whole number from 2 on"),
        (0, True, "cannot be split into True"),
        (0, 2.0, "cannot be split into 2.0"),
        (0, 21, "group 0: 21 parts were asked for, but it has only 20 different texts. Ask for at most 20."),
    ],
)
def test_splits_that_cannot_be(found: coterie.Clustering, group: int, into: Any, message: str) -> None:
    with pytest.raises((ConfigError, InputError), match=message):
        found.split(group, into=into)


def test_a_group_that_is_one_text_cannot_be_split() -> None:
    found = coterie.cluster(["a bee"] * 3 + ["the sea", "sea the"], 2, method="tfidf+kmeans")
    with pytest.raises(InputError, match=r"only 1 different text\. It cannot be split"):
        found.split(0, into=2)
    with pytest.raises(InputError, match=r"can tell only 1 of its texts apart\. It cannot be split"):
        found.split(1, into=2)  # two texts, but not by their words


def test_saved_and_loaded_the_edits_are_there(found: coterie.Clustering, texts: list[str], tmp_path: Path) -> None:
    edited = found.merge([0, 2]).split(0, into=3).rename(4, "crust")
    edited.save(tmp_path / "model")
    loaded = coterie.TextClusterer.load(tmp_path / "model")
    new = [*texts, "the oven and the platform", "something else"]
    np.testing.assert_array_equal(loaded.predict_proba(new), edited.model.predict_proba(new))
    np.testing.assert_array_equal(loaded.predict(new), edited.predict(new))
    np.testing.assert_array_equal(loaded.labels_, edited.labels)
    np.testing.assert_array_equal(loaded.fitted_labels_, found.labels)
    assert list(map(str, loaded.edits_.log)) == list(map(str, edited.edits.log))
    assert loaded.edits_.names == {4: "crust"}
    loaded.save(tmp_path / "again")
    for path in (tmp_path / "model").iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_fitted_again_a_model_has_no_edits(found: coterie.Clustering, texts: list[str]) -> None:
    model = found.merge([0, 1]).model
    model.fit(texts)
    assert model.edits_.log == ()
    np.testing.assert_array_equal(model.labels_, found.labels)


@pytest.mark.parametrize("ids", [3, None, "01", {0, 1}, (group for group in (0, 1))])
def test_what_is_no_list_of_groups_is_not_merged(ids: Any) -> None:
    with pytest.raises(ConfigError, match="the groups to merge must be a list"):
        Edits(3).merged(ids)


@pytest.mark.parametrize("name", [5, None, b"billing"])
def test_what_is_no_text_is_no_name(name: Any) -> None:
    with pytest.raises(ConfigError, match="a name must be a str"):
        Edits(3).renamed({0: name})
