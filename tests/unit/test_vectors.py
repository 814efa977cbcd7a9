"""Arithmetic on rows of vectors."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from coterie import vectors
from coterie.vectors import distinct_rows, group_means, group_sums, unit_rows


def test_rows_whose_squares_overflow_have_length_1_too() -> None:
    rows = np.array([[3, 4], [3e25, -4e25], [3e38, 0], [0, 0]], dtype=np.float32)
    before = rows.copy()
    with np.errstate(over="ignore"):
        scaled = unit_rows(rows)
    assert scaled.dtype == np.float32
    assert scaled == pytest.approx(np.array([[0.6, 0.8], [0.6, -0.8], [1, 0], [0, 0]]))
    assert np.array_equal(rows, before)


def test_a_row_that_is_infinite_stays_no_number() -> None:
    with np.errstate(invalid="ignore"):
        assert np.isnan(unit_rows(np.array([[np.inf, 1]], dtype=np.float32))[0, 0])


def test_distinct_rows_in_the_order_of_their_first_appearance() -> None:
    rows = np.array([[2, 0], [1, 5], [2, 0], [0, 0], [1, 5]], dtype=np.float32)
    found, place = distinct_rows(rows)
    assert found.tolist() == [[2, 0], [1, 5], [0, 0]]
    assert place.tolist() == [0, 1, 0, 2, 1]


def test_rows_that_all_differ_are_not_copied() -> None:
    rows = np.random.default_rng(0).normal(size=(2000, 200)).astype(np.float32)
    tracemalloc.start()
    try:
        found, place = distinct_rows(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found is rows
    assert (place == np.arange(2000)).all()
    assert peak < rows.nbytes / 3


@pytest.mark.parametrize("rows_at_once", [1, 7, 1000])
def test_sums_do_not_depend_on_the_parts_they_are_added_up_in(
    rows_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit, because the rows are added one by one in any case."""
    chance = np.random.default_rng(0)
    rows, weights = chance.normal(size=(300, 5)).astype(np.float32), chance.normal(size=200)
    chosen, groups = chance.integers(0, 300, 200), chance.integers(0, 4, 200)
    whole = group_sums(rows, chosen, groups, weights, 4)
    expected = [(weights[groups == group, None] * rows[chosen[groups == group]]).sum(axis=0) for group in range(4)]
    np.testing.assert_allclose(whole, expected, rtol=1e-9, atol=1e-12)
    monkeypatch.setattr(vectors, "ROWS_ADDED_AT_ONCE", rows_at_once)
    assert np.array_equal(group_sums(rows, chosen, groups, weights, 4), whole)


def test_group_means_make_no_second_matrix() -> None:
    chance = np.random.default_rng(0)
    rows, groups = chance.normal(size=(30_000, 50)).astype(np.float32), chance.integers(0, 9, 30_000)
    tracemalloc.start()
    try:
        means, sizes = group_means(rows, groups)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sizes.tolist() == np.bincount(groups).tolist()
    np.testing.assert_allclose(means[3], rows[groups == 3].mean(axis=0, dtype=np.float64), rtol=1e-6)
    assert peak < rows.nbytes / 2
