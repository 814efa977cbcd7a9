"""The number of groups, where it is known: planted groups, even and uneven, near and far, and none at all."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from coterie.clusterers import choose_k as module
from coterie.clusterers.choose_k import Evidence, choose_k, finer_numbers, first_numbers, prediction_strength
from coterie.features.graph import smoothed_space
from coterie.types import Labels, Matrix
from coterie.vectors import unit_rows


def planted(sizes: list[int], *, spread: float = 0.12, seed: int = 0) -> tuple[Matrix, Labels]:
    """Unit vectors about random directions, in random order."""
    random = np.random.default_rng(seed)
    labels = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    centres = unit_rows(random.normal(size=(len(sizes), 24)))
    return unit_rows(centres[labels] + spread * random.normal(size=(len(labels), 24))).astype(np.float32), labels


def structureless(rows: int) -> Matrix:
    return unit_rows(np.random.default_rng(0).normal(size=(rows, 24))).astype(np.float32)


@pytest.mark.parametrize("k", [3, 5, 8, 13])
def test_groups_of_one_size_are_counted(k: int) -> None:
    vectors, _ = planted([40] * k)
    assert choose_k(vectors, 2, 24).chosen.k == k


@pytest.mark.parametrize(
    "sizes",
    [
        [160, 60, 40, 40],
        [160, 80, 60, 40, 40, 40],
        [200, 100, 80, 60, 50, 40, 40, 40, 40],
    ],
)
def test_groups_of_many_sizes_are_counted(sizes: list[int]) -> None:
    vectors, _ = planted(sizes, seed=2)
    assert choose_k(vectors, 2, 24).chosen.k == len(sizes)


def test_many_groups_are_counted_within_a_tenth() -> None:
    vectors, _ = planted([24] * 40, spread=0.08)
    assert 36 <= choose_k(vectors, 20, 80).chosen.k <= 44


def test_where_there_are_no_groups_the_fewest_are_taken_and_it_is_said() -> None:
    choice = choose_k(structureless(400), 2, 24)
    assert choice.chosen.k == 2
    assert choice.chosen.stability < 0.6
    assert "fewer were not tried, and texts without clear groups end here" in choice.why


def test_texts_that_are_all_alike_are_no_reason_to_fail() -> None:
    choice = choose_k(np.ones((40, 5), dtype=np.float32) / np.float32(5**0.5), 2, 4)
    assert choice.chosen.k == 2
    assert choice.chosen.together == 0
    assert "as good as any" in choice.why


def test_a_number_without_another_is_no_best_one() -> None:
    assert choose_k(structureless(40), 3, 3).why == "3 groups: no other number was tried"


def test_the_end_of_a_range_that_is_too_low_is_told() -> None:
    vectors, _ = planted([40] * 6)
    choice = choose_k(vectors, 2, 6)
    assert choice.chosen.k == 6
    assert choice.why.endswith("more were not tried")


def test_evidence_for_true_groups_is_as_scikit_learn_has_it() -> None:
    vectors, labels = planted([80] * 5, spread=0.05)
    choice = choose_k(vectors, 2, 10)
    assert choice.chosen.k == 5
    assert choice.chosen.stability == pytest.approx(1)
    assert choice.chosen.prediction_strength == pytest.approx(1)
    centred = vectors - vectors.mean(axis=0)
    assert choice.chosen.silhouette == pytest.approx(silhouette_score(centred, labels, metric="cosine"), abs=0.01)


def test_the_best_product_is_chosen_and_every_number_is_told() -> None:
    vectors, _ = planted([50] * 7, spread=0.2)
    choice = choose_k(vectors, 3, 25)
    note, *entries = choice.entries()
    ks = [entry["k"] for entry in entries]
    assert ks == sorted(set(ks))
    assert (ks[0], ks[-1]) == (3, 25)
    products = [
        max(0, one["stability"]) * max(0, one["silhouette"]) ** 0.5 * one["prediction_strength"] for one in entries
    ]
    assert [entry["chosen"] for entry in entries] == [at == int(np.argmax(products)) for at in range(len(entries))]
    assert note["note"].startswith(f"{choice.chosen.k} groups: the best of {len(ks)} numbers tried from 3 to 25 ")


def test_a_number_has_the_same_evidence_whichever_others_are_tried() -> None:
    vectors, _ = planted([50] * 6, spread=0.2)
    wide, narrow = ({one.k: one for one in choose_k(vectors, low, high).tried} for low, high in ((2, 16), (4, 8)))
    assert all(narrow[k] == wide[k] for k in narrow.keys() & wide.keys())
    assert {4, 5, 6, 7, 8} <= narrow.keys() & wide.keys()


def test_of_two_ways_to_group_the_one_with_the_larger_silhouette_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, _ = planted([120, 60, 30, 30], spread=0.25)
    numbers = range(2, 9)

    def evidence() -> list[Evidence]:
        found = {one.k: one for one in choose_k(vectors, numbers[0], numbers[-1]).tried}
        return [found[k] for k in numbers]

    both = evidence()
    monkeypatch.setattr(module, "WAYS", ("ward",))
    ward = evidence()
    monkeypatch.setattr(module, "WAYS", ("average",))
    average = evidence()
    better = [one if one.silhouette >= other.silhouette else other for one, other in zip(ward, average, strict=True)]
    assert both == better
    assert both != ward
    assert both != average


def test_together_by_hand() -> None:
    assert Evidence(8, 0.5, 0.25, 0.8).together == pytest.approx(0.5 * 0.5 * 0.8)
    assert Evidence(8, -0.5, 0.25, 0.8).together == 0
    assert Evidence(8, 0.5, -0.25, 0.8).together == 0


def test_same_seed_same_answer() -> None:
    vectors, _ = planted([50] * 6, spread=0.25)
    first = choose_k(vectors, 4, 8, random_state=3)
    assert choose_k(vectors, 4, 8, random_state=3).tried == first.tried
    assert choose_k(vectors, 4, 8, random_state=4).tried != first.tried


def test_of_many_texts_a_sample_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def watched(rows: Matrix) -> Matrix:
        seen.append(len(rows))
        return smoothed_space(rows)

    monkeypatch.setattr(module, "MOST_ROWS", 400)
    monkeypatch.setattr(module, "ROWS_IN_HALF", 150)
    monkeypatch.setattr(module, "smoothed_space", watched)
    vectors, _ = planted([200] * 5)
    assert choose_k(vectors, 2, 20).chosen.k == 5
    assert seen == [400]


def test_progress_goes_up_and_ends() -> None:
    told: list[tuple[int, int]] = []
    vectors, _ = planted([40] * 4)
    choose_k(vectors, 2, 20, progress=lambda stage, done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1]
    assert len({total for _, total in told}) == 1


def test_prediction_strength_by_hand() -> None:
    # Group 0 has 3 pairs, of which 1 is kept; group 1 has 1 pair, kept; group 2 is a single text, which has no pairs.
    own = np.array([0, 0, 0, 1, 1, 2])
    carried = np.array([0, 0, 1, 1, 1, 0])
    assert prediction_strength(own, carried) == pytest.approx((1 / 3 + 1) / 2)
    assert prediction_strength(np.array([0, 1, 2]), np.array([0, 0, 0])) == 0


def test_numbers_that_are_tried() -> None:
    assert first_numbers(2, 12) == [2, 3, 4, 5, 6, 7, 8, 9, 10, 12]
    assert first_numbers(5, 6) == [5, 6]
    assert first_numbers(100, 140) == [100, 115, 132, 140]
    assert finer_numbers([8, 9, 10, 12, 14], 12) == [11, 13]
    assert finer_numbers([8, 9, 10], 8) == []
    assert finer_numbers([10, 12, 14], 14) == [13]
    between = finer_numbers([85, 98, 113], 98)
    assert len(between) == 8
    assert (between[0], between[-1]) == (86, 112)
    assert 98 not in between


def test_a_cut_that_kmeans_would_not_make_is_put_right() -> None:
    rows = np.array([[0.0], [1], [2], [10], [11]], dtype=np.float32)
    assert module._settled(rows, np.array([0, 0, 1, 1, 1])).tolist() == [0, 0, 0, 1, 1]
