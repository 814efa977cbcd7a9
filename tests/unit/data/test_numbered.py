"""Values of any kind as whole numbers."""

from __future__ import annotations

import numpy as np
import polars as pl

from coterie.data.numbered import numbered


def test_names_in_order_and_the_place_of_each() -> None:
    names, codes = numbered(["b", "a", "b", "ä"])
    assert (names, codes.tolist()) == (["a", "b", "ä"], [1, 0, 1, 2])
    assert codes.dtype == np.int64


def test_any_kind_of_value() -> None:
    assert numbered(pl.Series([2, None, 2]))[1].tolist() == [0, 1, 0]
    assert numbered(np.array(["x", "y", "x"]))[0] == ["x", "y"]
    assert numbered([])[1].tolist() == []


def test_one_long_value_does_not_make_the_others_long() -> None:
    import tracemalloc

    values = ["yes", "no"] * 50_000 + ["x" * 10_000]
    tracemalloc.start()
    numbered(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 << 20, "an array of texts would take 4 GB"
