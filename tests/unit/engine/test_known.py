"""What an encoder that stands still has made of the texts is not made again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from coterie.engine import known as known_module
from coterie.engine.known import Known
from coterie.engine.workers import Workers
from coterie.nn.marks import Marks

MARKS = [Marks(np.zeros(4, dtype=np.int64), np.arange(4) + view, np.arange(5)) for view in range(3)]


class CountedTexts:
    """Four texts with one mark each; every view that is read is written down."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def __len__(self) -> int:
        return 4

    def encode_all_marked(self, view: int, rows: Any, marks: Marks) -> tuple[Tensor, Tensor]:
        self.read.append(view)
        return torch.full((4, 2), float(view)), torch.full((4, 2), float(view + 10))


def states_of(known: Known, view: int) -> float:
    return float(known.encode_marked(view, np.array([1, 3]), MARKS[view])[1].unique())


def test_every_view_is_read_once_until_the_encoder_changes() -> None:
    texts = CountedTexts()
    known = Known(texts, nn.Module(), Workers())  # type: ignore[arg-type]
    assert [states_of(known, turn % 3) for turn in range(7)] == [10, 11, 12, 10, 11, 12, 10]
    assert texts.read == [0, 1, 2]
    known.forget()
    states_of(known, 1)
    assert texts.read == [0, 1, 2, 1]


def test_other_marks_of_a_view_are_read_anew() -> None:
    texts = CountedTexts()
    known = Known(texts, nn.Module(), Workers())  # type: ignore[arg-type]
    for marks in (MARKS[0], MARKS[1], MARKS[1]):
        known.encode_marked(0, np.array([0]), marks)
    assert texts.read == [0, 0]


def test_without_room_only_the_last_view_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_module, "MARKED_BYTES", 40)  # a view has 4 x 2 x 4 = 32
    texts = CountedTexts()
    known = Known(texts, nn.Module(), Workers())  # type: ignore[arg-type]
    for view in (0, 0, 1, 1, 0):
        states_of(known, view)
    assert texts.read == [0, 1, 0]
