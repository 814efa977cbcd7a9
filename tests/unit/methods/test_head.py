"""A trained head, saved and loaded: what predicts, and nothing of what only training needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from coterie.methods.head import Head
from coterie.registry import DEEP, model_class

WIDTH, GROUPS = 6, 3
WHAT_PREDICTS = {
    "sccl": {"centres"},
    "vascl": {"centres"},
    "rstc": {"classify"},
    "deccrl": {"centres", "project"},
    "aecl": {"project", "attend", "assign", "reference"},
}
"""By method: the modules and tensors that scores are made of."""


def head_of(method: str, rows: int) -> Head:
    task = {"width": WIDTH, "n_clusters": GROUPS, "rows": rows, "effort": "fast", "random_state": 0}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = model_class(method).from_config({"settings": {}, "task": task})
        for tensor in model.state_dict().values():
            if tensor.is_floating_point():
                tensor.normal_()
    return Head(model, method, np.array([2, 0, 1]), temperature=0.7)


@pytest.mark.parametrize("method", WHAT_PREDICTS)
def test_only_what_predicts_is_saved(method: str) -> None:
    saved = {name.split(".")[0] for name in head_of(method, 10).state().arrays}
    assert saved == {*WHAT_PREDICTS[method], "order"}


@pytest.mark.parametrize("method", DEEP)
def test_loaded_it_answers_the_same_whatever_it_was_fitted_on(method: str) -> None:
    """A model of 10^12 texts: a row for each of them would need terabytes."""
    head, vectors = head_of(method, 10), np.random.default_rng(0).normal(size=(7, WIDTH)).astype(np.float32)
    state: Any = head.state()
    if method != "aecl":  # whose reference is of as many texts as a batch has, or as there were
        state.config["model"]["task"]["rows"] = 10**12
    before = torch.random.get_rng_state()
    loaded = Head.from_state(state)
    assert torch.equal(torch.random.get_rng_state(), before)
    np.testing.assert_array_equal(loaded.probabilities(vectors), head.probabilities(vectors))
