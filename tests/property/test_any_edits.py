"""Any edits in any order: only texts of edited groups move, rows stay probabilities, and everything can be undone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.edits import Edits, Merge, Split
from coterie.methods.base import Answers, labels_of
from coterie.methods.nearest_centre import NearestCentre

ROWS, WIDTH, GROUPS = 40, 3, 5


@dataclass(frozen=True)
class World:
    """Texts as vectors, and the model that was fitted to them."""

    vectors: np.ndarray
    fitted: NearestCentre

    def answers(self, edits: Edits, rows: Any = slice(None)) -> Answers:
        vectors = self.vectors[rows]
        return edits.answers(vectors, self.fitted.probabilities(vectors))


def random_world(seed: int) -> World:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(ROWS, WIDTH)).astype(np.float32)
    centres = random.normal(size=(GROUPS, WIDTH)).astype(np.float32)
    # Cool enough for some to be certain, warm enough for many to be between several groups.
    return World(vectors, NearestCentre(centres, float(random.uniform(0.2, 2))))


worlds = st.integers(0, 10**6).map(random_world)


def drawn_edit(data: st.DataObject, edits: Edits) -> Edits:
    kind = data.draw(st.sampled_from(["merge", "split", "rename"] if len(edits.live) > 1 else ["split", "rename"]))
    if kind == "merge":
        return edits.merged(data.draw(st.lists(st.sampled_from(edits.live), min_size=2, max_size=4, unique=True)))
    group = data.draw(st.sampled_from(edits.live))
    if kind == "rename":
        return edits.renamed({group: data.draw(st.sampled_from(["billing", "refunds", "x"]))})
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    centres = random.normal(size=(data.draw(st.integers(2, 4)), WIDTH)).astype(np.float32)
    return edits.divided(group, NearestCentre(centres, float(random.uniform(0.2, 2))))


@settings(max_examples=60, deadline=None)
@given(worlds, st.data())
def test_only_texts_of_edited_groups_move_and_rows_stay_probabilities(world: World, data: st.DataObject) -> None:
    edits = Edits(GROUPS)
    before = world.answers(edits)
    for _ in range(data.draw(st.integers(1, 6))):
        edits = drawn_edit(data, edits)
        after, edit = world.answers(edits), edits.log[-1]
        moved = before.labels != after.labels
        if isinstance(edit, Merge | Split):
            gone_from = edit.ids if isinstance(edit, Merge) else edit.ids[:1]
            assert set(before.labels[moved].tolist()) <= set(gone_from)
            assert set(after.labels[moved].tolist()) <= set(edit.ids)
            others = [group for group in range(before.probabilities.shape[1]) if group not in edit.ids]
            np.testing.assert_array_equal(after.probabilities[:, others], before.probabilities[:, others])
        else:
            assert not moved.any()
        assert after.probabilities.shape == (ROWS, edits.width)
        assert (after.probabilities >= 0).all()
        np.testing.assert_allclose(after.probabilities.sum(axis=1), 1, rtol=1e-5)
        assert not after.probabilities[:, list(edits.retired)].any()
        assert set(after.labels.tolist()) <= set(edits.live)
        before = after


@settings(max_examples=40, deadline=None)
@given(worlds, st.data())
def test_undo_gives_back_bit_for_bit_what_was_there(world: World, data: st.DataObject) -> None:
    steps = [Edits(GROUPS)]
    for _ in range(data.draw(st.integers(1, 5))):
        steps.append(drawn_edit(data, steps[-1]))
    edits = steps[-1]
    for earlier in reversed(steps[:-1]):
        edits = edits.undone()
        for now, then in zip(world.answers(edits), world.answers(earlier), strict=True):
            np.testing.assert_array_equal(now, then)
        assert (edits.live, edits.retired, edits.names) == (earlier.live, earlier.retired, earlier.names)


@settings(max_examples=40, deadline=None)
@given(worlds, st.data())
def test_the_parts_of_a_split_merged_are_what_was_split(world: World, data: st.DataObject) -> None:
    edits = Edits(GROUPS)
    for _ in range(data.draw(st.integers(0, 2))):
        edits = drawn_edit(data, edits)
    before = world.answers(edits)
    group = data.draw(st.sampled_from(edits.live))
    centres = np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=(3, WIDTH)).astype(np.float32)
    split = edits.divided(group, NearestCentre(centres))
    after = world.answers(split.merged(split.log[-1].ids))
    np.testing.assert_array_equal(after.labels, before.labels)
    width = before.probabilities.shape[1]
    np.testing.assert_allclose(after.probabilities[:, :width], before.probabilities, rtol=1e-5, atol=1e-7)
    assert not after.probabilities[:, width:].any()


@settings(max_examples=30, deadline=None)
@given(worlds, st.data())
def test_a_text_is_answered_the_same_alone_and_in_company(world: World, data: st.DataObject) -> None:
    edits = Edits(GROUPS)
    for _ in range(data.draw(st.integers(1, 5))):
        edits = drawn_edit(data, edits)
    together = world.answers(edits)
    turned = world.answers(edits, slice(None, None, -1))
    np.testing.assert_array_equal(turned.labels[::-1], together.labels)
    np.testing.assert_array_equal(turned.probabilities[::-1], together.probabilities)
    row = data.draw(st.integers(0, ROWS - 1))
    alone = world.answers(edits, [row])
    assert alone.labels.tolist() == [together.labels[row]]
    np.testing.assert_array_equal(alone.probabilities[0], together.probabilities[row])


TEXTS = [
    f"the {words[row % 4]} and the {words[(row + 1 + row // 4) % 4]} number {row}"
    for words in (
        ("flour", "yeast", "dough", "oven"),
        ("roses", "compost", "lawn", "seeds"),
        ("loan", "bank", "rate", "fee"),
    )
    for row in range(14)
]
"""Two of each kind are all but the same."""


@cache
def clustering() -> coterie.Clustering:
    return coterie.cluster([*TEXTS, *TEXTS[:3]], 4, method="tfidf+kmeans")


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_predict_gives_the_labels_whatever_was_done(data: st.DataObject) -> None:
    edited = clustering()
    for _ in range(data.draw(st.integers(1, 4))):
        acts = ["split"] + ["merge"] * (len(edited.groups) > 1) + ["undo"] * bool(edited.edits.log)
        act = data.draw(st.sampled_from(acts))
        if act == "undo":
            edited = edited.undo()
        elif act == "merge":
            ids = st.sampled_from([group.id for group in edited.groups])
            edited = edited.merge(data.draw(st.lists(ids, min_size=2, max_size=3, unique=True)))
        else:
            large = [group for group in edited.groups if group.size >= 6]
            edited = edited.split(data.draw(st.sampled_from(large)).id, into=2) if large else edited
    answers = edited.model.answers(edited.texts)
    np.testing.assert_array_equal(answers.labels, edited.labels)
    np.testing.assert_array_equal(answers.probabilities, edited.probabilities)
    for row in data.draw(st.lists(st.integers(0, len(TEXTS) - 1), min_size=1, max_size=2)):
        assert edited.predict([edited.texts[row]]).tolist() == [edited.labels[row]]
    assert [group.id for group in edited.groups] == edited.edits.live == np.unique(edited.labels).tolist()
    assert edited.labels[-3:].tolist() == edited.labels[:3].tolist()  # equal texts, equal groups


@given(worlds)
def test_without_edits_the_fitted_answers_stand(world: World) -> None:
    probabilities = world.fitted.probabilities(world.vectors)
    for edits in (Edits(GROUPS), Edits(GROUPS).renamed({1: "one"})):
        answers = world.answers(edits)
        np.testing.assert_array_equal(answers.probabilities, probabilities)
        np.testing.assert_array_equal(answers.labels, labels_of(probabilities))
        np.testing.assert_array_equal(answers.confidence, probabilities.max(axis=1))
