"""What UMAP and IDEC make of the vectors that a method ends with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie.bench.cell import run_cell
from coterie.bench.costs import cost_table
from coterie.bench.plan import SECOND_STEPS, WITH_SECOND_STEPS, Cell
from coterie.bench.second_steps import second_steps
from coterie.bench.table import build_table
from coterie.features.transformer import TransformerEncoder
from coterie.vectors import unit_rows


def test_groups_that_are_there_are_found_by_each() -> None:
    """The vectors count, and not the texts, which say nothing of the groups."""
    random = np.random.default_rng(5)
    truth = np.repeat([0, 1, 2], 40)
    vectors = unit_rows((np.eye(12)[truth * 4] + random.normal(0, 0.1, (120, 12))).astype(np.float32))
    texts = [f"the text of row {row}" for row in range(len(truth))]
    found = second_steps(texts, vectors, 3, Cell("minilm+kmeans", "tweet"))
    assert list(found) == list(SECOND_STEPS)
    assert {name: adjusted_rand_score(truth, labels) > 0.95 for name, labels in found.items()} == dict.fromkeys(
        SECOND_STEPS, True
    )


def test_idec_reads_the_vectors_and_then_those_of_umap(monkeypatch: pytest.MonkeyPatch) -> None:
    """These at length 1 on average, as it expects; a head that never learnt is left out."""
    flat = np.array([[10, 0], [14, 0], [10, 0], [14, 0]], dtype=np.float32)
    vectors = np.eye(4, dtype=np.float32)
    read: list[Any] = []

    def by_idec(texts: Any, given: Any, k: int, cell: Cell) -> Any:
        read.append(given)
        return None if given is vectors else np.array([1, 1, 0, 0])

    monkeypatch.setattr("coterie.bench.second_steps.umap_space", lambda given, seed: flat)
    monkeypatch.setattr("coterie.bench.second_steps._by_idec", by_idec)
    found = second_steps(list("abcd"), vectors, 2, Cell("minilm+kmeans", "tweet"))
    assert list(found) == ["umap+kmeans", "umap+idec"]
    assert found["umap+kmeans"][0] == found["umap+kmeans"][2] != found["umap+kmeans"][1]
    assert found["umap+idec"].tolist() == [1, 1, 0, 0]
    assert read[0] is vectors
    assert read[1].tolist() == [[-1, 0], [1, 0], [-1, 0], [1, 0]]


@pytest.mark.parametrize("method", ["minilm+kmeans", "aecl"])
def test_a_cell_has_their_scores_beside_the_others(
    texts_file: dict[str, str], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the encoder as the cell has it."""
    pooled = []

    def encoder(name: str, pooling: Any) -> TransformerEncoder:
        pooled.append(pooling)
        return TransformerEncoder(name, pooling=pooling)

    monkeypatch.setattr("coterie.bench.second_steps.TransformerEncoder", encoder)
    quick = {"contrast_epochs": 1, "guided_epochs": 2, "joint_epochs": 1, "init": "kmeans"}
    settings = {"aecl": quick, "minilm+kmeans": {"pooling": "cls"}}[method]
    result = run_cell(Cell(method, texts_file, settings=settings, keep=WITH_SECOND_STEPS, readout="umap+kmeans"))
    assert result["status"] == "done", result
    assert set(pooled) == {settings.get("pooling")}
    usual = ["kept", "untrained", "head", "kmeans"] if method == "aecl" else ["kept"]
    assert list(result["scores"]) == [*usual, *SECOND_STEPS]
    assert cost_table([result], ["acc"]).columns[1:8] == ["kept", "head", "kmeans", "untrained", *SECOND_STEPS]
    (row,) = build_table([result], ["acc"]).rows
    assert row[1][0].text == f"{100 * result['scores']['umap+kmeans']['acc']:.1f}"
