"""Tiny random encoders of several architectures, with a tokenizer for a few lines; a training that is killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from coterie.engine.checkpoint import Checkpoints, Saved

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


SIZES: dict[str, Any] = {
    "vocab_size": 160,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 256,
    "max_position_embeddings": 50,
}


@pytest.fixture(scope="session")
def corpus() -> list[str]:
    """Texts of 3 to 20 words; none is twice there."""
    nouns = ["invoice", "refund", "parcel", "password", "printer", "screen", "battery", "lamp", "coffee", "garden"]
    verbs = ["arrived", "broke", "vanished", "works", "burns", "leaks", "froze"]
    return [
        " ".join([*(nouns[(i * step) % 10] for step in range(1, 2 + i % 17)), verbs[i % 7], str(i)]) for i in range(60)
    ]


@pytest.fixture(scope="session")
def different() -> Callable[[list[str]], list[str]]:
    """different(texts) -> those that repeat no earlier one: all of them weigh in training."""
    from coterie.data.duplicates import find_duplicates

    return lambda texts: [texts[row] for row in find_duplicates(texts).kept.tolist()]


@pytest.fixture(scope="session")
def tokenizer_file(corpus: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Word pieces with [CLS] 0, [PAD] 1 and [SEP] 2, RoBERTa's numbers; padding and truncation to 8 are baked in."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    # Written down, because a trained vocabulary is another one in every process.
    words = sorted({word for text in corpus for word in text.split() if word.isalpha()})
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    tokens = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", *letters, *(f"##{letter}" for letter in letters), *words]
    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(pad_id=1, pad_token="[PAD]", length=8)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


@pytest.fixture(scope="session")
def make_model(tokenizer_file: Path, tmp_path_factory: pytest.TempPathFactory) -> MakeModel:
    """make_model("roberta", hidden_size=96) -> its folder. Every weight is random, biases and norms too."""

    def make(model_type: str, seed: int = 0, tokenizer: bool = True, **changes: Any) -> Path:
        from transformers import AutoConfig, AutoModel

        folder = tmp_path_factory.mktemp(model_type)
        if model_type == "distilbert":
            names = {"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads"}
            names["intermediate_size"] = "hidden_dim"
        else:
            names = {}
        sizes = {names.get(name, name): value for name, value in SIZES.items()} | {"pad_token_id": 1}
        model = AutoModel.from_config(AutoConfig.for_model(model_type, **(sizes | changes))).eval()
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, weights in model.named_parameters():
                noise = torch.randn(weights.shape, generator=generator)
                weights.copy_(1 + 0.3 * noise if "norm.weight" in name.lower() else 0.2 * noise)
        model.save_pretrained(folder)
        if tokenizer:
            (folder / "tokenizer.json").write_bytes(tokenizer_file.read_bytes())
        return folder

    return make


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
def make_masked_lm(tmp_path_factory: pytest.TempPathFactory) -> MakeModel:
    """make_masked_lm("bert", head=False) -> its folder; every weight is random, those of the head too."""

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


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Sets torch's number of threads for one test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


class _DyingAfter(Checkpoints):
    def __init__(self, folder: Path, step: int) -> None:
        super().__init__(folder)
        self.step, self.asked = step, 0

    @property
    def due(self) -> bool:
        self.asked += 1
        return self.asked == self.step

    def save(self, saved: Saved) -> None:
        super().save(saved)
        raise SystemExit


@pytest.fixture(scope="session")
def dying_after() -> Callable[[Path, int], Checkpoints]:
    """Checkpoints that are saved once, after so many steps, and then the process exits."""
    return _DyingAfter
