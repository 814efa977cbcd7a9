"""A head over the tokens of a corpus: the checkpoint's own against transformers, and a new one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from coterie.features.checkpoints import find_checkpoint
from coterie.nn.corpus_head import CorpusHead
from coterie.nn.encoder import TrainableEncoder

MakeModel = Callable[..., Path]
IDS = np.array([9, 7, 12, 7, 20], dtype=np.int32)
VOCABULARY = [7, 9, 12, 20]


def encoder_of(folder: Path, **options: Any) -> TrainableEncoder:
    return TrainableEncoder(find_checkpoint(str(folder)), **{"trainable_layers": 1} | options)


@pytest.fixture(scope="module")
def folders(make_masked_lm: MakeModel) -> dict[str, Path]:
    sizes = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}
    return {
        "bert": make_masked_lm("bert"),
        "roberta": make_masked_lm("roberta", layer_norm_eps=1e-2),
        "distilbert": make_masked_lm("distilbert", **sizes),
    }


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_the_checkpoints_own_head_is_used(folders: dict[str, Path], family: str) -> None:
    from transformers import AutoModelForMaskedLM

    folder = folders[family]
    theirs = AutoModelForMaskedLM.from_pretrained(str(folder)).eval()
    ids = torch.tensor([[0, 9, 7, 12, 2]])
    encoder = encoder_of(folder)
    head = CorpusHead(encoder, IDS)
    assert head.published
    with torch.no_grad():
        logits = theirs(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0, 1:4][:, VOCABULARY]
        hidden = encoder.hidden(ids[0], np.array([5]))[1:4]
        found = head.surprise(hidden, torch.tensor([9, 20, 7]))
    expected = -logits.log_softmax(dim=1)[torch.arange(3), torch.tensor([1, 3, 0])]
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_without_one_the_head_is_new_and_knows_the_frequencies(make_masked_lm: MakeModel) -> None:
    encoder = encoder_of(make_masked_lm("bert", head=False))
    head = CorpusHead(encoder, IDS)
    assert not head.published
    assert head.vocabulary.tolist() == VOCABULARY
    assert head.tied.bias.softmax(0).tolist() == pytest.approx([0.4, 0.2, 0.2, 0.2])
    torch.testing.assert_close(head.tied.words, encoder.words.detach()[VOCABULARY])


@pytest.mark.parametrize("change", [{"tie_word_embeddings": False}, {"hidden_act": "relu"}])
def test_a_head_of_another_form_is_not_used(folders: dict[str, Path], tmp_path: Path, change: dict[str, Any]) -> None:
    for path in folders["bert"].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | change))
    assert not CorpusHead(encoder_of(tmp_path), IDS).published


def test_its_words_are_trained_only_with_the_whole_encoder(folders: dict[str, Path]) -> None:
    for layers in ("all", 1):
        encoder = encoder_of(folders["bert"], trainable_layers=layers)
        head = CorpusHead(encoder, IDS)
        assert "words" not in " ".join(name for name, _ in head.named_parameters())
        head.surprise(torch.randn(2, encoder.width), torch.tensor([7, 20])).sum().backward()
        if layers == "all":
            assert encoder.words.grad is not None
            assert set(encoder.words.grad.abs().sum(dim=1).nonzero()[:, 0].tolist()) == set(VOCABULARY)
        else:
            assert encoder.words.grad is None


def test_told_is_whether_the_likeliest_token_is_right(folders: dict[str, Path]) -> None:
    head = CorpusHead(encoder_of(folders["bert"]), IDS)
    hidden = torch.randn(50, 32, generator=torch.Generator().manual_seed(0))
    surprise = torch.stack([head.surprise(hidden, torch.full((50,), token)) for token in VOCABULARY])
    best = torch.tensor(VOCABULARY)[surprise.argmin(dim=0)]
    assert head.told(hidden, best).all()
    assert not head.told(hidden, torch.where(best == 7, 9, 7)).any()
    assert not head.told(hidden, torch.full((50,), 8)).any(), "a token that is not in the vocabulary is never told"
