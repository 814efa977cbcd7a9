"""Hidden states at marked places of texts in training: those of the encoder, whatever order and company."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import coterie.nn.encoder as encoder_module
import coterie.nn.texts as texts_module
from coterie.engine.batch import Batch
from coterie.engine.known import Known
from coterie.engine.workers import Workers
from coterie.features.checkpoints import find_checkpoint
from coterie.features.tokens import Tokens
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.marks import Marks
from coterie.nn.texts import TrainingTexts

MASK = 4
RANDOM = np.random.default_rng(3)
PIECES = [RANDOM.integers(5, 150, size=size).astype(np.int32) for size in (9, 3, 17, 9, 4, 30, 12, 3)]
TEXTS = Tokens.of([*PIECES, PIECES[0]])
CHOSEN = RANDOM.random(len(TEXTS.ids)) < 0.3
CHOSEN[: TEXTS.offsets[1]] = CHOSEN[TEXTS.offsets[-2] :]  # the last text is the first once more
CHOSEN[TEXTS.offsets[4] : TEXTS.offsets[5]] = False
MASKED = Tokens(np.where(CHOSEN, MASK, TEXTS.ids).astype(np.int32), TEXTS.offsets)
MARKS = Marks.differing(MASKED, TEXTS)
ROWS = np.array([6, 0, 4, 2, 8, 5])


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))


def read(folder: Path, **options: Any) -> TrainingTexts:
    texts = TrainingTexts(TrainableEncoder(find_checkpoint(str(folder)), **options), [TEXTS])
    assert texts.add_view(MASKED) == 1
    return texts


def expected(encoder: TrainableEncoder, rows: np.ndarray) -> torch.Tensor:
    """One text at a time."""
    states = []
    for row in rows:
        start, stop = TEXTS.offsets[row], TEXTS.offsets[row + 1]
        hidden = encoder.hidden(torch.from_numpy(MASKED.ids[start:stop]), np.array([stop - start]))
        states.append(hidden[torch.from_numpy(CHOSEN[start:stop])])
    return torch.cat(states)


@pytest.mark.parametrize("chunk", [1024, 8])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("layers", [1, "all"])
def test_states_and_vectors_are_those_of_the_encoder(
    tiny_bert: Path, layers: Any, pooling: Any, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_module, "TOKENS_IN_CHUNK", chunk)
    texts = read(tiny_bert, trainable_layers=layers, pooling=pooling)
    vectors, states = texts.encode_marked(1, ROWS, MARKS)
    torch.testing.assert_close(vectors, texts.encode(1, ROWS), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(states, expected(texts.encoder, ROWS), atol=1e-4, rtol=1e-4)
    assert MARKS.taken(ROWS).ids.tolist() == [
        token for row in ROWS for token in TEXTS.ids[TEXTS.offsets[row] : TEXTS.offsets[row + 1]][
            CHOSEN[TEXTS.offsets[row] : TEXTS.offsets[row + 1]]
        ]
    ]  # fmt: skip


def test_gradients_reach_the_trained_layers_from_both(tiny_bert: Path) -> None:
    found = []
    for part in (0, 1):
        texts = read(tiny_bert, trainable_layers=1)
        texts.encode_marked(1, ROWS, MARKS)[part].square().sum().backward()
        found.append({name for name, value in texts.encoder.named_parameters() if value.grad is not None})
    assert all(name.startswith("layers.1.") for name in found[0] | found[1])
    assert found[0] == found[1]


@pytest.mark.parametrize("tokens_at_once", [8192, 10])
def test_of_all_texts_without_gradient(tiny_bert: Path, tokens_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_module, "TOKENS_AT_ONCE", tokens_at_once)
    texts = read(tiny_bert, trainable_layers=1, dropout=0.5)
    texts.encoder.train()
    rows = np.arange(len(TEXTS))[::-1].copy()
    vectors, states = texts.encode_all_marked(1, rows, MARKS)
    assert not states.requires_grad
    assert texts.encoder.training
    texts.encoder.eval()
    torch.testing.assert_close(vectors, texts.encode_all(1, rows), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(states, expected(texts.encoder, rows).detach(), atol=1e-4, rtol=1e-4)


def test_a_batch_gives_states_in_its_own_order_with_the_tokens_that_belong_there(tiny_bert: Path) -> None:
    texts = read(tiny_bert, trainable_layers=1)
    batch = Batch(texts, ROWS, Workers(), [0])
    vectors, states = batch.marked(1, MARKS)
    torch.testing.assert_close(vectors, texts.encode(1, ROWS))
    torch.testing.assert_close(states, expected(texts.encoder, ROWS), atol=1e-4, rtol=1e-4)
    assert batch.tokens(MARKS).tolist() == MARKS.taken(ROWS).ids.tolist()


def test_while_the_encoder_is_still_they_are_looked_up(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = read(tiny_bert, trainable_layers=1)
    known = Known(texts, texts.encoder, Workers())
    passes = []
    whole = TrainingTexts.encode_all_marked
    monkeypatch.setattr(
        TrainingTexts, "encode_all_marked", lambda self, *given: passes.append(given[0]) or whole(self, *given)
    )
    for rows in (ROWS, ROWS[::-1].copy(), np.array([4])):
        vectors, states = known.encode_marked(1, rows, MARKS)
        torch.testing.assert_close(vectors, texts.encode(1, rows).detach(), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(states, expected(texts.encoder, rows).detach(), atol=1e-4, rtol=1e-4)
        assert not states.requires_grad
    assert passes == [1]
    with torch.no_grad():
        for parameter in filter(lambda weight: weight.requires_grad, texts.encoder.parameters()):
            parameter.mul_(1.5)
    known.forget()
    found = known.encode_marked(1, ROWS, MARKS)[1]
    torch.testing.assert_close(found, expected(texts.encoder, ROWS).detach(), atol=1e-4, rtol=1e-4)
    other = MARKS.every(2, 0)
    assert len(known.encode_marked(1, np.arange(9), other)[1]) == other.offsets[-1]
    assert passes == [1, 1, 1], "for other marks it is another pass"
