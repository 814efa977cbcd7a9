"""Contextual substitution, with a model whose proposals are given and with tiny random checkpoints."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from coterie.augment import CheckpointMaskedLM, Contextual, masked_lm
from coterie.augment.contextual import CHOICES
from coterie.errors import ConfigError
from coterie.features.checkpoints import find_checkpoint
from coterie.features.tokens import load_tokenizer

TEXTS = [
    "The film and the actor.",
    "a lamp, a bulb",
    "Coffee (tea) garden flower tree",
    "printer screen battery parcel refund invoice bank money river " * 6,
    "unknown words only",
]


class Given:
    """Proposes the same words everywhere; `seen` are the masked rows as text."""

    def __init__(self, folder: Path, proposals: str, longest: int = 40) -> None:
        self.tokenizer = load_tokenizer(find_checkpoint(str(folder)))
        self.mask_id, self.longest = self.tokenizer.token_to_id("[MASK]"), longest
        self.words = proposals.split()
        self.seen: list[list[str]] = []

    def describe(self) -> str:
        return "given " + " ".join(self.words)

    def proposals(
        self, ids: NDArray[np.int64], rows: NDArray[np.int64], columns: NDArray[np.int64], count: int
    ) -> NDArray[np.int64]:
        assert (ids[rows, columns] == self.mask_id).all()
        assert (ids == self.mask_id).sum() == len(rows)
        assert ids.shape[1] <= self.longest
        self.seen += [[self.tokenizer.id_to_token(index) for index in row] for row in ids]
        return np.array([[self.tokenizer.token_to_id(word) for word in self.words]] * len(rows))


def views_of(model: Given, text: str, rate: float = 0.1) -> set[str]:
    return {Contextual(model, rate=rate, random_state=seed).augment([text])[0] for seed in range(100)}


def test_words_are_replaced_in_their_place(tiny_bert: Path) -> None:
    views = views_of(Given(tiny_bert, "lamp"), "The Film (and film).")
    assert views == {"The Lamp (and film).", "The Film (and lamp)."}


def test_choices_are_whole_words_other_than_the_word_and_no_stop_words(tiny_bert: Path) -> None:
    model = Given(tiny_bert, "film [CLS] ##s . the x lamp tea tea cup water bank money")
    assert views_of(model, "film") == {"lamp", "tea", "cup", "water", "bank"}
    assert CHOICES == 5


def test_word_stays_where_nothing_fits(tiny_bert: Path) -> None:
    assert views_of(Given(tiny_bert, "film ##s ."), "film!") == {"film!"}


def test_number_of_replaced_words_is_a_share_of_all(tiny_bert: Path) -> None:
    text = " ".join(["film", "the"] * 10)
    for rate, count in ((0.01, 1), (0.2, 4), (0.29, 5), (1.0, 10)):
        model = Given(tiny_bert, "lamp")
        view = Contextual(model, rate=rate).augment([text])[0]
        assert view.split().count("lamp") == count
        assert view.split().count("the") == 10
        assert model.seen[0].count("[MASK]") == count
    assert Contextual(model, rate=0).augment([text]) == [text]


def test_words_that_are_no_single_token_or_stop_words_stay(tiny_bert: Path) -> None:
    model = Given(tiny_bert, "lamp")
    texts = ["unknown strangeword 日本 😀", "The and is", "!?"]
    assert Contextual(model, rate=1).augment(texts) == texts
    assert not model.seen


def test_words_beyond_the_longest_text_stay(tiny_bert: Path) -> None:
    model = Given(tiny_bert, "lamp", longest=6)
    assert Contextual(model, rate=1).augment(["film " * 10]) == ["lamp " * 4 + "film " * 6]
    assert model.seen == [["[CLS]", *["[MASK]"] * 4, "[SEP]"]]


def test_white_space_is_no_part_of_how_far_a_text_is_read(tiny_bert: Path) -> None:
    contextual = Contextual(Given(tiny_bert, "lamp", longest=22), rate=0.5)
    assert contextual.augment([" " * 9000 + "film film"])[0].split() == contextual.augment(["film film"])[0].split()
    assert "lamp" in contextual.augment([" " * 9000 + "film film"])[0]
    assert Contextual(Given(tiny_bert, "lamp", longest=22), rate=0).augment([" " * 9000 + "film"]) == [
        " " * 9000 + "film"
    ]


def test_of_a_long_text_the_share_is_of_the_words_that_are_read(tiny_bert: Path) -> None:
    """A share of all 500 would be every word that the encoder sees."""
    view = Contextual(Given(tiny_bert, "lamp", longest=22), rate=0.1).augment(["film " * 500])[0]
    assert view.split().count("lamp") == 2


def test_tokens_that_begin_with_the_space_before_a_word(tiny_bert: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    model = Given(tiny_bert, "▁lamp film")
    words = ["▁film", "▁lamp", "film", "[MASK]", "▁"]
    model.tokenizer = Tokenizer(models.Unigram([("<unk>", -9.0), *((word, -1.0) for word in words)], 0))
    model.tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    model.tokenizer.add_special_tokens(["<unk>"])
    model.mask_id = model.tokenizer.token_to_id("[MASK]")
    assert Contextual(model, rate=1).augment(["film Film  film,film"]) == ["lamp Film  lamp,lamp"]


def test_draws_follow_from_the_text_and_the_seed(tiny_bert: Path) -> None:
    model = Given(tiny_bert, "lamp tea cup water bank")
    texts = [f"{'film ' * 9} {i}" for i in range(30)]
    views = Contextual(model, rate=0.5).augment(texts)
    assert Contextual(model, rate=0.5).augment(texts[::-1]) == views[::-1]
    assert Contextual(model, rate=0.5).augment(texts[3:4] * 2) == views[3:4] * 2
    assert len(set(views)) > 25
    one_word = Contextual(model).augment([f"film {i}" for i in range(60)])
    assert {view.split()[0] for view in one_word} == {"lamp", "tea", "cup", "water", "bank"}
    assert Contextual(model, rate=0.5, random_state=1).augment(texts) != views


def test_progress_and_description(tiny_bert: Path) -> None:
    told: list[tuple[str, int, int]] = []
    model = Given(tiny_bert, "lamp")
    Contextual(model).augment(["film", "film tea", "the", "film"], lambda *step: told.append(step))
    assert told == [("masking", 3, 3), ("augmenting", 1, 2), ("augmenting", 2, 2)]
    variants = [Contextual(model), Contextual(model, rate=0.2), Contextual(model, random_state=1)]
    variants.append(Contextual(Given(tiny_bert, "tea")))
    assert len({one.describe() for one in variants}) == 4
    with pytest.raises(ConfigError, match="rate=2"):
        Contextual(model, rate=2)


@pytest.mark.parametrize("kind", ["tiny_bert", "tiny_roberta"])
def test_checkpoints_propose_what_their_own_model_says(kind: str, request: pytest.FixtureRequest) -> None:
    from transformers import AutoModelForMaskedLM

    folder = request.getfixturevalue(kind)
    model = CheckpointMaskedLM(str(folder))
    plain = AutoModelForMaskedLM.from_pretrained(folder).eval()
    random = np.random.default_rng(0)
    ids = random.integers(5, 40, size=(6, 9))
    rows, columns = np.array([0, 0, 2, 5, 3]), np.array([1, 7, 3, 8, 0])
    ids[rows, columns] = model.mask_id
    with torch.no_grad():
        expected = plain(input_ids=torch.from_numpy(ids)).logits[rows, columns].topk(7).indices.numpy()
    assert (model.proposals(ids, rows, columns, 7) == expected).all()
    for row, column, wanted in zip(rows, columns, expected, strict=True):
        alone = model.proposals(ids[row : row + 1], np.array([0]), np.array([column]), 7)
        assert (alone[0] == wanted).all()
    assert model.proposals(ids, rows, columns, 10**6).shape == (5, plain.config.vocab_size)


@pytest.mark.parametrize(
    ("kind", "longest"), [("tiny_bert", 40), ("tiny_roberta", 38)], ids=["bert", "roberta counts from 2"]
)
def test_views_of_checkpoints(
    kind: str, longest: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = request.getfixturevalue(kind)
    model = CheckpointMaskedLM(find_checkpoint(str(folder)))
    assert model.longest == longest
    with monkeypatch.context() as patch:
        patch.setattr(masked_lm, "LONGEST", 10)
        assert model.longest == 10
    augmenter = Contextual(model, rate=0.3)
    views = augmenter.augment(TEXTS)
    assert views[4] == TEXTS[4]
    for text, view in zip(TEXTS[:4], views[:4], strict=True):
        assert view != text
        assert len(view.split()) == len(text.split())
    assert [augmenter.augment([text])[0] for text in TEXTS] == views
    assert augmenter.augment(TEXTS[::-1]) == views[::-1]
    assert Contextual(pickle.loads(pickle.dumps(model)), rate=0.3).augment(TEXTS) == views


def test_models_without_fused_attention_take_texts_one_by_one(tiny_bert: Path) -> None:
    fused, plain = CheckpointMaskedLM(str(tiny_bert)), CheckpointMaskedLM(str(tiny_bert))
    plain._model.config._attn_implementation = "eager"
    ids = np.random.default_rng(1).integers(5, 40, size=(4, 6))
    rows, columns = np.array([3, 0, 3, 1]), np.array([1, 2, 4, 5])
    ids[rows, columns] = plain.mask_id
    assert (plain.proposals(ids, rows, columns, 5) == fused.proposals(ids, rows, columns, 5)).all()


def test_checkpoints_without_a_head(make_model: Any, capfd: pytest.CaptureFixture[str]) -> None:
    names = ["minilm", str(make_model("bert", head=False)), str(make_model("roberta", head=False))]
    capfd.readouterr()
    for name in names:
        model = CheckpointMaskedLM(name)
        with pytest.raises(ConfigError, match=r"no masked-language-model head.*EDA"):
            Contextual(model).augment(["a film"])
    assert capfd.readouterr() == ("", "")


def test_loading_is_silent_and_leaves_transformers_as_it_was(
    tiny_bert: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    Contextual(CheckpointMaskedLM(str(tiny_bert))).augment(TEXTS)
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")


def test_checkpoints_with_a_part_of_the_head(tiny_bert: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    for path in tiny_bert.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    del weights["cls.predictions.transform.dense.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ConfigError, match=r"transform\.dense\.weight"):
        Contextual(CheckpointMaskedLM(str(tmp_path))).augment(["a film"])


def test_checkpoints_with_the_old_names_of_norms(tiny_bert: Path, tmp_path: Path) -> None:
    """bert-base-uncased on the hub calls them gamma and beta; its head is there all the same."""
    from safetensors.torch import load_file, save_file

    for path in tiny_bert.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in weights.items()
    }
    assert old.keys() != weights.keys()
    save_file(old, tmp_path / "model.safetensors", metadata={"format": "pt"})
    views = Contextual(CheckpointMaskedLM(str(tiny_bert))).augment(TEXTS)
    assert Contextual(CheckpointMaskedLM(str(tmp_path))).augment(TEXTS) == views


def test_checkpoints_that_are_no_masked_language_models(tiny_bert: Path, tmp_path: Path) -> None:
    for path in tiny_bert.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "gpt2"}))
    with pytest.raises(ConfigError, match="could not be loaded as a masked language model"):
        Contextual(CheckpointMaskedLM(str(tmp_path))).augment(["a film"])


def test_tokenizers_without_a_mask(tiny_bert: Path, tmp_path: Path) -> None:
    for path in tiny_bert.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    tokenizer = (tmp_path / "tokenizer.json").read_text()
    (tmp_path / "tokenizer.json").write_text(tokenizer.replace("[MASK]", "[GAP]"))
    with pytest.raises(ConfigError, match="no mask token"):
        _ = CheckpointMaskedLM(str(tmp_path)).mask_id
