"""An encoder that costs nothing, and batches without a loop, for the tests of trained methods."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from coterie.engine.batch import Batch
from coterie.engine.workers import Workers
from coterie.methods import deep
from coterie.methods.base import Fit
from coterie.methods.deep_model import Task
from coterie.nn.texts import StillTexts
from coterie.types import Matrix

WIDTH = 12
THEMES = ("bread", "train", "garden", "bank")


class FakeEncoder:
    """Texts to unit vectors by their first word, and a little by all the rest; it notes what it encodes."""

    pooling, max_length, precision = "mean", 128, "fp32"
    checkpoint = SimpleNamespace(fingerprint="fake")

    def __init__(self) -> None:
        self.encoded: list[list[str]] = []

    def encode(self, texts: Sequence[str], progress: object = None) -> Matrix:
        self.encoded.append(list(texts))
        vectors = np.array([3 * self._noise(text.split()[0]) + self._noise(text) for text in texts])
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    fit_transform = transform = encode

    def with_weights(self, tuned: dict[str, Any]) -> FakeEncoder:
        assert tuned == {}
        return self

    def in_8_bits(self) -> FakeEncoder:
        return self

    def _noise(self, text: str) -> Matrix:
        return np.random.default_rng(zlib.crc32(text.encode())).normal(size=WIDTH)


@pytest.fixture
def fake_encoder() -> FakeEncoder:
    return FakeEncoder()


@pytest.fixture(scope="session")
def themed() -> tuple[list[str], np.ndarray]:
    """Forty-eight texts of four themes, and the number of each one's theme."""
    truth = np.arange(48) % 4
    return [f"{THEMES[theme]} number {row} of many" for row, theme in enumerate(truth)], truth


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one test's own."""
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def head_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all candidates the trained head is kept."""

    def best(candidates: dict[str, Fit], *others: Any) -> tuple[Fit, list[dict[str, Any]]]:
        return candidates["trained head"], []

    monkeypatch.setattr(deep, "best_of", best)


def vectors_of(rows: int, groups: np.ndarray | None = None, seed: int = 0, noise: float = 0.3) -> torch.Tensor:
    random = np.random.default_rng(seed)
    centres = np.eye(WIDTH)[np.zeros(rows, dtype=int) if groups is None else groups]
    vectors = centres + noise * random.normal(size=(rows, WIDTH))
    return torch.from_numpy((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32))


@pytest.fixture
def points() -> Callable[..., torch.Tensor]:
    """points(rows, groups, seed=0, noise=0.3) -> unit vectors around the axes of their groups."""
    return vectors_of


@pytest.fixture
def batch_of() -> Callable[..., Batch]:
    """batch_of([view, ...], rows) -> a Batch of these rows."""

    def make(views: Sequence[torch.Tensor], rows: Sequence[int]) -> Batch:
        workers = Workers()
        texts = StillTexts([view.numpy() for view in views], workers.device)
        return Batch(texts, np.asarray(rows, dtype=np.int64), workers, [0])

    return make


@pytest.fixture
def model_of() -> Callable[..., Any]:
    """model_of(AECL, AECLSettings(...), groups, k) -> a model that is about to begin with these groups."""

    def make(model: Any, settings: Any, groups: np.ndarray, n_clusters: int, effort: str = "fast") -> Any:
        torch.manual_seed(0)
        made = model(settings, Task(WIDTH, n_clusters, len(groups), effort, 0))
        made.begin(np.asarray(groups, dtype=np.int64))
        return made

    return make
