"""Threads of small steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from coterie import TextClusterer
from coterie.engine.threads import one_thread
from coterie.methods import self_taught


@pytest.mark.parametrize(("wanted", "inside"), [(True, 1), (False, 2)])
def test_threads_are_given_back(wanted: bool, inside: int, threads: Callable[[int], None]) -> None:
    threads(2)

    def fails() -> None:
        with one_thread(wanted):
            assert torch.get_num_threads() == inside
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("words", "expected"), [(3, 1), (60, 2)])
def test_short_texts_are_learnt_with_one_thread(
    words: int, expected: int, threads: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads(2)
    seen, train = [], self_taught.train

    def noted(*given: Any, **options: Any) -> Any:
        seen.append(torch.get_num_threads())
        return train(*given, **options)

    monkeypatch.setattr(self_taught, "train", noted)
    texts = [" ".join(f"word{(i * j) % 50}" for j in range(1, words + 1)) for i in range(1, 65)]
    TextClusterer(2, method="adsl", settings={"features": "stems", "epochs": 1}).fit(texts)
    assert seen == [expected]
