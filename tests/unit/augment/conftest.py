"""Synonyms from a table, and tiny random masked language models with tokenizers of a few words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

MakeModel = Callable[..., Path]

TEXT = """
the film and the films is a movie cinema actor actress lamp light bulb garden flower tree coffee tea cup water paris
printer screen battery parcel refund invoice bank money river works broke arrived
"""
WORDS = [word for word in dict.fromkeys(TEXT.split()) if len(word) > 1]
SPECIAL = {
    "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
    "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
}


class Table:
    """Synonyms as given; `asked` are the words that were looked up."""

    def __init__(self, synonyms: Mapping[str, Sequence[str]]) -> None:
        self.synonyms = synonyms
        self.asked: set[str] = set()

    def describe(self) -> str:
        return f"table {sorted(self.synonyms.items())}"

    def prepare(self, words: Iterable[str]) -> None:
        self.asked.update(words)

    def of(self, word: str) -> Sequence[str]:
        self.asked.add(word)
        return self.synonyms.get(word, [])


@pytest.fixture
def table() -> type[Table]:
    return Table


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one test's own."""
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def word_piece_tokenizer() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokens = [*SPECIAL["bert"], *WORDS, "un", "##known", "##s", "x", "q", *".,!?'()"]
    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.add_special_tokens(SPECIAL["bert"])
    return tokenizer


def byte_level_tokenizer() -> Any:
    """RoBERTa's kind, trained until each word, `café` too, is one token with the space before it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=SPECIAL["roberta"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        min_frequency=2,
    )
    tokenizer.train_from_iterator([" " + " ".join([*WORDS, "café"])] * 3, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> MakeModel:
    """make_model("bert", head=False) -> its folder; every weight is random, those of the head too."""

    def make(model_type: str, head: bool = True, **changes: Any) -> Path:
        from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM

        tokenizer = byte_level_tokenizer() if model_type == "roberta" else word_piece_tokenizer()
        sizes = {
            "vocab_size": tokenizer.get_vocab_size(),
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 64,
            "max_position_embeddings": 40,
            "pad_token_id": 1 if model_type == "roberta" else 0,
        }
        config = AutoConfig.for_model(model_type, **(sizes | changes))
        model = (AutoModelForMaskedLM if head else AutoModel).from_config(config).eval()
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for weights in model.parameters():
                weights.copy_(torch.randn(weights.shape, generator=generator) * 0.5)
        folder = tmp_path_factory.mktemp(model_type)
        model.save_pretrained(folder)
        tokenizer.save(str(folder / "tokenizer.json"))
        return folder

    return make


@pytest.fixture(scope="session")
def tiny_bert(make_model: MakeModel) -> Path:
    return make_model("bert")


@pytest.fixture(scope="session")
def tiny_roberta(make_model: MakeModel) -> Path:
    return make_model("roberta")
