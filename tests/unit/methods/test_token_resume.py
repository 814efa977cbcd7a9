"""Methods that tell words, killed in the middle of any phase: the same history and the same labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie import TextClusterer
from coterie.engine import resumable
from coterie.engine.checkpoint import Checkpoints
from coterie.methods.clusterbert import ClusterBERT
from coterie.methods.uft import UFT

Make = Callable[..., Path]
SETTINGS: dict[str, dict[str, Any]] = {
    "uft": {"epochs": 3, "masked_share": 0.3, "encoder_rate": 1e-3, "undo": False},
    "clusterbert": {"round_epochs": 1, "hardening_epochs": 1, "encoder_rate": 1e-3, "init": "kmeans"},
}
SHARED = {"trainable_layers": 1, "batch_size": 13}
# Two steps an epoch of masked words with up to 400 texts in a batch; then four an epoch.
CASES = [("uft", 2), ("uft", 4), ("uft", 8), ("clusterbert", 5), ("clusterbert", 10), ("clusterbert", 15)]

pytestmark = pytest.mark.filterwarnings("ignore:encoder .* has no masked-language-model head")


@pytest.fixture(scope="module")
def folder(make_masked_lm: Make) -> Path:
    return make_masked_lm("bert", head=False)


@pytest.fixture(scope="module")
def texts(different: Callable[[list[str]], list[str]]) -> list[str]:
    known = "film movie actor lamp garden flower tree coffee cup water printer screen battery parcel invoice bank"
    nouns = known.split(" ")
    found = [" ".join(nouns[(i * step + step) % 16] for step in range(1, 4 + i % 9)) for i in range(200)]
    return different(found)[:52]


@pytest.fixture(scope="module")
def unbroken(folder: Path, texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, TextClusterer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COTERIE_CACHE", str(tmp_path_factory.mktemp("unbroken")))
        return {method: fitted(method, folder, texts) for method in SETTINGS}


def fitted(method: str, folder: Path, texts: list[str]) -> TextClusterer:
    settings = SETTINGS[method] | SHARED
    return TextClusterer(3, method=method, effort="balanced", encoder=str(folder), settings=settings).fit(texts)


def timeless(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in entry.items() if name != "seconds"} for entry in history]


@pytest.mark.parametrize(("method", "step"), CASES)
def test_killed_in_the_middle_it_ends_the_same(
    method: str,
    step: int,
    folder: Path,
    texts: list[str],
    unbroken: Any,
    tmp_path: Path,
    monkeypatch: Any,
    dying_after: Make,
) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    checkpoints: list[Checkpoints] = [dying_after(tmp_path, step), Checkpoints(tmp_path)]

    @contextmanager
    def next_ones(*parts: str) -> Iterator[Checkpoints]:
        yield checkpoints.pop(0)

    monkeypatch.setattr(resumable, "checkpoints_for", next_ones)
    steps: list[str] = []
    model: Any = {"uft": UFT, "clusterbert": ClusterBERT}[method]
    losses = model.losses
    monkeypatch.setattr(
        model, "losses", lambda self, batch, phase: steps.append(phase.name) or losses(self, batch, phase)
    )
    with pytest.raises(SystemExit):
        fitted(method, folder, texts)
    assert len(steps) == step
    second = fitted(method, folder, texts)
    whole = unbroken[method]
    assert timeless(second.history_) == timeless(whole.history_)
    np.testing.assert_array_equal(second.labels_, whole.labels_)
    np.testing.assert_array_equal(second.probabilities_, whole.probabilities_)
    assert second.evidence_ == whole.evidence_
    in_all = {"uft": 5 * 1 + 3 * 4, "clusterbert": (2 + 2 + 1) * 4}[method]
    assert len(steps) == in_all, "it went on, and did not begin again"
