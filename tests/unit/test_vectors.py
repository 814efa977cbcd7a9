"""Arithmetic on rows of vectors."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.vectors import unit_rows


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
