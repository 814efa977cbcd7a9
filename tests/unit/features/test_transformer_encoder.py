"""Sentence vectors: the same as transformers makes, and the same whatever else is encoded with them."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from coterie.errors import ConfigError, InputError, ModelFormatError
from coterie.features import bert
from coterie.features.bert import BertForward
from coterie.features.checkpoints import Pooling, find_checkpoint
from coterie.features.int8 import weight_steps
from coterie.features.transformer import TransformerEncoder
from coterie.types import Matrix, State

MakeModel = Callable[..., Path]
Precision = Literal["fp32", "int8"]
OTHERS = ["roberta", "distilbert", "mpnet", "camembert"]
SHORT = ["lamp", "coffee", "garden", "refund", "screen"]


@pytest.fixture(scope="module")
def others(make_model: MakeModel) -> dict[str, Path]:
    """RoBERTa's kin cannot use two of their positions, so they get two more."""
    sizes = {"distilbert": 50, "roberta": 52, "mpnet": 52, "camembert": 52}
    return {name: make_model(name, max_position_embeddings=size) for name, size in sizes.items()}


def encoder_of(folder: Path | str, **options: Any) -> TransformerEncoder:
    return TransformerEncoder(str(folder), cache=False, **options)


def reference(folder: Path, texts: list[str], pooling: str = "mean", max_length: int = 50) -> Matrix:
    """One text at a time through transformers: no batch, no padding, no mask."""
    from tokenizers import Tokenizer
    from transformers import AutoModel

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    vectors = []
    with torch.inference_mode():
        for text in texts:
            hidden = model(torch.tensor([tokenizer.encode(text).ids])).last_hidden_state[0]
            pooled = hidden.mean(0) if pooling == "mean" else hidden[0]
            vectors.append((pooled / pooled.norm()).numpy())
    return np.array(vectors)


def cosines(first: Matrix, second: Matrix) -> Matrix:
    return np.asarray((first * second).sum(axis=1))


def assert_independent_of_company(encoder: TransformerEncoder, texts: list[str]) -> None:
    together = encoder.encode(texts)
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = encoder.encode([texts[row] for row in order])
    np.testing.assert_array_equal(shuffled, together[order])
    for row, text in enumerate(texts):
        np.testing.assert_array_equal(encoder.encode([text])[0], together[row])


@pytest.fixture(scope="module")
def bundled() -> dict[str, TransformerEncoder]:
    return {"fp32": encoder_of("minilm"), "int8": encoder_of("minilm", precision="int8")}


def test_bundled_model_equals_transformers(bundled: dict[str, TransformerEncoder], demo_texts: list[str]) -> None:
    texts = demo_texts[:8]
    expected = reference(find_checkpoint("minilm").folder, texts, max_length=128)
    found = bundled["fp32"].encode(texts)
    assert isinstance(bundled["fp32"]._model.forward, BertForward)
    assert found.shape == (8, 384)
    assert found.dtype == np.float32
    assert cosines(found, expected).min() > 0.99999
    np.testing.assert_allclose(found, expected, atol=1e-5)
    int8 = bundled["int8"].encode(texts)
    assert not np.array_equal(int8, found)
    assert cosines(int8, expected).mean() > 0.99


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_bundled_vectors_do_not_depend_on_company(
    bundled: dict[str, TransformerEncoder], demo_texts: list[str], precision: Precision
) -> None:
    assert_independent_of_company(bundled[precision], [*demo_texts[:12], "hi", "a b"])


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_vectors_do_not_depend_on_company_with_any_threads(
    tiny_bert: Path, corpus: list[str], precision: Precision, count: int, threads: Callable[[int], None]
) -> None:
    """Many texts of one length: threads cut their batch within a text."""
    threads(count)
    texts = SHORT + corpus + [f"{first} {second} lamp" for first in corpus[1].split() for second in "abcdefg"]
    texts += [f"the {letter} coffee garden" for letter in "abcdefghijklmnopqrstuvwxyz"]
    assert_independent_of_company(encoder_of(tiny_bert, precision=precision), list(dict.fromkeys(texts)))


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_equal_texts_equal_vectors(tiny_bert: Path, corpus: list[str], precision: Precision) -> None:
    texts = [corpus[3], corpus[5], corpus[3], corpus[9], corpus[5], corpus[3]]
    vectors = encoder_of(tiny_bert, precision=precision).encode(texts)
    alone = encoder_of(tiny_bert, precision=precision).encode([corpus[3], corpus[5], corpus[9]])
    np.testing.assert_array_equal(vectors, alone[[0, 1, 0, 2, 1, 0]])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("name", ["bert", *OTHERS])
def test_pooling_against_a_direct_computation(
    others: dict[str, Path], tiny_bert: Path, corpus: list[str], name: str, pooling: str
) -> None:
    folder = tiny_bert if name == "bert" else others[name]
    encoder = encoder_of(folder, pooling=pooling)
    found = encoder.encode(corpus[:20])
    assert isinstance(encoder._model.forward, BertForward) == (name == "bert")
    assert found.shape == (20, 64)
    np.testing.assert_allclose(found, reference(folder, corpus[:20], pooling), atol=1e-5)


@pytest.mark.parametrize(
    ("published", "pooling"),
    [
        (None, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False, "include_prompt": True}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode": "cls"}, "cls"),
        # Of vectors of length 1 the sum over the root of the number of tokens is the mean.
        ({"pooling_mode_mean_sqrt_len_tokens": True, "pooling_mode_mean_tokens": False}, "mean"),
    ],
)
def test_an_encoder_is_read_as_it_was_published(
    tiny_bert: Path, tmp_path: Path, corpus: list[str], published: object, pooling: Pooling
) -> None:
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "encoder"))
    if published is not None:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(published))
    encoder = encoder_of(folder)
    np.testing.assert_array_equal(encoder.encode(corpus[:5]), encoder_of(folder, pooling=pooling).encode(corpus[:5]))
    assert encoder.state().config["pooling"] == pooling
    assert encoder_of(folder, pooling="mean").pooling == "mean"


def test_an_encoder_for_vectors_of_another_kind_is_told_of(tiny_bert: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "encoder"))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_lasttoken": true}')
    with pytest.warns(UserWarning, match="made for vectors of another kind .lasttoken in its 1_Pooling/config.json"):
        assert encoder_of(folder).pooling == "mean"


def test_a_step_after_the_tokens_is_told_of(tiny_bert: Path, tmp_path: Path) -> None:
    def made_of(*steps: str) -> TransformerEncoder:
        folder = tmp_path / "-".join(steps)
        shutil.copytree(tiny_bert, folder)
        modules = [{"type": f"sentence_transformers.models.{step}"} for step in steps]
        (folder / "modules.json").write_text(json.dumps(modules))
        return TransformerEncoder(str(folder))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made_of("Transformer", "Pooling", "Normalize").pooling == "mean"
    with pytest.warns(UserWarning, match=r"another kind \(Dense in its modules.json\).*before that step are taken"):
        assert made_of("Transformer", "Pooling", "Dense", "Normalize").pooling == "mean"


def test_unusual_bert_goes_through_transformers(make_model: MakeModel, corpus: list[str]) -> None:
    folder = make_model("bert", hidden_act="relu")
    encoder = encoder_of(folder)
    np.testing.assert_allclose(encoder.encode(corpus[:9]), reference(folder, corpus[:9]), atol=1e-5)
    assert not isinstance(encoder._model.forward, BertForward)


@pytest.mark.parametrize("name", OTHERS)
def test_int8_of_other_architectures(others: dict[str, Path], corpus: list[str], name: str) -> None:
    encoder = encoder_of(others[name], precision="int8")
    exact, coarse = encoder_of(others[name]).encode(corpus), encoder.encode(corpus)
    assert not np.array_equal(exact, coarse)
    assert cosines(exact, coarse).mean() > 0.99
    assert_independent_of_company(encoder, corpus[:20] + SHORT)


@pytest.mark.parametrize("name", OTHERS)
def test_other_architectures_do_not_depend_on_company(others: dict[str, Path], corpus: list[str], name: str) -> None:
    assert_independent_of_company(encoder_of(others[name]), corpus + SHORT)


@pytest.mark.parametrize("name", ["bert", *OTHERS])
def test_texts_longer_than_the_position_table(
    others: dict[str, Path], tiny_bert: Path, corpus: list[str], name: str
) -> None:
    folder = tiny_bert if name == "bert" else others[name]
    long = " ".join(corpus)
    vectors = encoder_of(folder, max_length=10_000).encode([long, f"{long} lamp", corpus[0]])
    np.testing.assert_allclose(vectors, reference(folder, [long, f"{long} lamp", corpus[0]]), atol=1e-5)
    np.testing.assert_array_equal(vectors[0], vectors[1])


def test_max_length(tiny_bert: Path, corpus: list[str]) -> None:
    vectors = encoder_of(tiny_bert, max_length=7).encode(corpus)
    np.testing.assert_allclose(vectors, reference(tiny_bert, corpus, max_length=7), atol=1e-5)


def test_texts_of_all_kinds_have_vectors(bundled: dict[str, TransformerEncoder]) -> None:
    vectors = bundled["fp32"].encode(["日本語のテキスト", "👍🏽", "­", "\x07", "...", "x" * 5000, "क्षत्रिय"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("texts", [["fine", ""], ["fine", None], "one text", ["fine", 7]])
def test_bad_texts_are_refused_before_any_work(texts: Any) -> None:
    with pytest.raises(InputError):
        encoder_of("/no/such/folder").encode(texts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "max"}, "pooling='max' is not known: use 'mean' or 'cls'"),
        ({"precision": "fp16"}, "precision='fp16' is not known: use 'fp32' or 'int8'"),
        ({"max_length": 2}, "max_length=2 leaves no room for a word: use 3 or more"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TransformerEncoder(**options)


def test_progress_reaches_its_total(tiny_bert: Path, corpus: list[str]) -> None:
    told: list[tuple[str, int, int]] = []
    encoder_of(tiny_bert).encode(corpus, lambda *call: told.append(call))
    encoding = [(done, total) for stage, done, total in told if stage == "encoding"]
    assert encoding == sorted(encoding)
    assert encoding[-1][0] == encoding[-1][1]
    assert {stage for stage, _, _ in told} == {"tokenising", "encoding"}


def test_state_round_trip(tiny_bert: Path, corpus: list[str]) -> None:
    encoder = TransformerEncoder(str(tiny_bert), pooling="cls", max_length=9, precision="int8")
    restored = TransformerEncoder.from_state(encoder.state())
    assert restored.state().config == encoder.state().config
    np.testing.assert_array_equal(restored.transform(corpus), encoder.fit_transform(corpus))


def test_state_of_other_weights_is_refused(tiny_bert: Path) -> None:
    config = encoder_of(tiny_bert).state().config | {"fingerprint": "0" * 64}
    with pytest.raises(ModelFormatError, match="another version of the encoder"):
        TransformerEncoder.from_state(State(config))


@pytest.mark.parametrize("name", ["bert", "distilbert"])
@pytest.mark.parametrize("damage", ["weights", "config", "list", "empty"])
def test_damaged_model_folder(
    others: dict[str, Path], tiny_bert: Path, tmp_path: Path, corpus: list[str], name: str, damage: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_bert if name == "bert" else others[name], folder)
    weights = folder / "model.safetensors"
    if damage == "weights":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif damage == "empty":
        weights.write_bytes(b"")
    else:
        (folder / "config.json").write_text("{" if damage == "config" else "[]")
    with pytest.raises(ConfigError, match="could not be loaded"):
        encoder_of(folder).encode(corpus[:2])


def test_loading_another_family_prints_nothing(make_masked_lm: MakeModel, capfd: Any) -> None:
    """transformers reports the head's weights as unexpected, and draws a bar."""
    folder = make_masked_lm("roberta")
    capfd.readouterr()
    encoder_of(folder).encode(["a short text"])
    assert capfd.readouterr() == ("", "")


def test_weights_that_are_missing_are_no_encoder(make_model: MakeModel) -> None:
    folder = make_model("roberta", seed=7)
    weights = load_file(folder / "model.safetensors")
    name = next(name for name in weights if name.endswith("layer.0.output.dense.weight"))
    save_file({key: value for key, value in weights.items() if key != name}, folder / "model.safetensors")
    with pytest.raises(ConfigError, match=r"lacks the weights 'encoder\.layer\.0\.output\.dense\.weight'"):
        encoder_of(folder).encode(["a short text"])


def test_without_memory_the_encoder_is_not_to_blame(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(bert, "load_bert", refused)
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        encoder_of(tiny_bert).encode(["a text"])


@pytest.fixture
def without_onednn(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A build of torch that has no 8-bit products, as far as we ask it."""
    monkeypatch.setattr(torch.ops, "onednn", SimpleNamespace())
    weight_steps.cache_clear()
    yield
    weight_steps.cache_clear()


@pytest.mark.usefixtures("without_onednn")
def test_without_8_bit_products_int8_is_an_error_that_names_torch(tiny_bert: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        encoder_of(tiny_bert, precision="int8").encode(["a text"])
    assert str(refused.value) == (
        f"precision='int8' needs the 8-bit products of oneDNN, which this build of torch ({torch.__version__}) "
        "does not have: use 'fp32'"
    )


@pytest.mark.usefixtures("without_onednn")
def test_without_8_bit_products_views_are_encoded_as_the_texts_are(tiny_bert: Path) -> None:
    encoder = encoder_of(tiny_bert)
    np.testing.assert_array_equal(encoder.in_8_bits().encode(SHORT), encoder.encode(SHORT))
