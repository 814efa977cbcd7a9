"""BERT's forward pass against transformers' own, and the 8-bit products against whole numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from coterie.features.bert import BertForward, Linear, load_bert
from coterie.features.checkpoints import Checkpoint
from coterie.features.int8 import WHOLE, Int8Linear, quantise_linears, weight_steps

MakeModel = Callable[..., Path]


def forward_of(folder: Path, int8: bool = False) -> BertForward | None:
    return load_bert(Checkpoint("tiny", folder, "", "tiny"), int8)


def loaded(folder: Path, int8: bool = False) -> BertForward:
    bert = forward_of(folder, int8)
    assert bert is not None
    return bert


def reference(folder: Path, ids: Tensor) -> Tensor:
    from transformers import AutoModel

    with torch.inference_mode():
        return AutoModel.from_pretrained(folder, dtype=torch.float32).eval()(ids).last_hidden_state


def some_ids(texts: int, length: int, vocabulary: int = 160) -> Tensor:
    return torch.randint(2, vocabulary, (texts, length), generator=torch.Generator().manual_seed(texts + length))


def rewrite(folder: Path, change: Callable[[str, Tensor], tuple[str, Tensor]]) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file(dict(change(*item) for item in weights.items()), folder / "model.safetensors", {"format": "pt"})


def configure(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 48},
        {"hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "layer_norm_eps": 1e-3},
        {"type_vocab_size": 3, "max_position_embeddings": 17, "vocab_size": 190},
    ],
)
def test_same_hidden_states_as_transformers(make_model: MakeModel, sizes: dict[str, Any]) -> None:
    folder = make_model("bert", **sizes)
    bert = loaded(folder)
    for texts, length in ((1, 3), (7, 1), (5, 13), (2, 17)):
        ids = some_ids(texts, length)
        hidden = bert(ids)
        assert hidden.shape == (texts, length, sizes.get("hidden_size", 64))
        torch.testing.assert_close(hidden, reference(folder, ids), atol=1e-5, rtol=1e-5)


def test_names_of_other_files(make_model: MakeModel) -> None:
    """Checkpoints with heads prefix every name with `bert.`; the first ones call the norms gamma and beta."""
    folder = make_model("bert")
    ids = some_ids(4, 9)
    expected = reference(folder, ids)

    def old_name(name: str, tensor: Tensor) -> tuple[str, Tensor]:
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        return f"bert.{name}", tensor

    rewrite(folder, old_name)
    assert any("bert.embeddings.LayerNorm.gamma" in name for name in load_file(folder / "model.safetensors"))
    torch.testing.assert_close(loaded(folder)(ids), expected, atol=1e-5, rtol=1e-5)


def test_half_precision_weights_are_computed_in_single(make_model: MakeModel) -> None:
    folder = make_model("bert")
    rewrite(folder, lambda name, tensor: (name, tensor.half()))
    ids = some_ids(4, 9)
    hidden = loaded(folder)(ids)
    assert hidden.dtype == torch.float32
    torch.testing.assert_close(hidden, reference(folder, ids), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "unusual",
    [
        {"model_type": "electra"},
        {"hidden_act": "relu"},
        {"position_embedding_type": "relative_key"},
        {"is_decoder": True},
        {"num_hidden_layers": 3},
    ],
)
def test_unusual_models_are_left_to_transformers(make_model: MakeModel, unusual: dict[str, Any]) -> None:
    folder = make_model("bert", tokenizer=False)
    assert forward_of(folder) is not None
    configure(folder, **unusual)
    assert forward_of(folder) is None


def test_weights_in_several_files_are_left_to_transformers(make_model: MakeModel) -> None:
    folder = make_model("bert", tokenizer=False)
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    assert forward_of(folder) is None


@pytest.mark.parametrize("int8", [False, True])
def test_texts_do_not_see_each_other(tiny_bert: Path, int8: bool) -> None:
    bert = loaded(tiny_bert, int8)
    ids = some_ids(40, 11)
    together = bert(ids)
    for row in (0, 17, 39):
        assert torch.equal(bert(ids[row : row + 1])[0], together[row])


def test_int8_is_the_product_of_whole_numbers() -> None:
    generator = torch.Generator().manual_seed(0)
    weight, bias = torch.randn(24, 40, generator=generator), torch.randn(24, generator=generator)
    x = torch.randn(50, 40, generator=generator) * torch.logspace(-3, 3, 50)[:, None]
    weight_scale = weight.abs().amax(1, keepdim=True) / weight_steps()
    row_scale = x.abs().amax(1, keepdim=True) / 127
    whole_weight = np.round((weight / weight_scale).double().numpy())
    whole_x = np.floor((x / row_scale).double().numpy() + 0.5)
    expected = whole_x @ whole_weight.T * (row_scale.double() * weight_scale.double().T).numpy() + bias.numpy()
    np.testing.assert_allclose(Int8Linear(weight, bias)(x).numpy(), expected, rtol=1e-5, atol=1e-5)
    exact = (x.double() @ weight.double().T + bias).numpy()
    error = np.abs(Int8Linear(weight, bias)(x).numpy() - exact).max(axis=1)
    # Half a step of either factor in every term, at most.
    assert (error < 40 * (row_scale[:, 0] * weight.abs().max() + x.abs().amax(1) * weight_scale.max()).numpy()).all()
    assert (error / np.abs(exact - bias.numpy()).max(axis=1)).max() < 0.03 * WHOLE / weight_steps()


def test_int8_of_zeros_is_the_bias() -> None:
    bias = torch.arange(4.0)
    out = Int8Linear(torch.zeros(4, 8), bias)(torch.zeros(33, 8))
    assert torch.equal(out, bias.expand(33, 4))


def test_int8_of_a_row_ignores_a_huge_neighbour() -> None:
    generator = torch.Generator().manual_seed(1)
    linear = Int8Linear(torch.randn(16, 32, generator=generator), torch.zeros(16))
    x = torch.randn(64, 32, generator=generator)
    before = linear(x)
    x[5] *= 1e6
    after = linear(x)
    assert torch.equal(before[6:], after[6:])
    assert torch.equal(before[:5], after[:5])


@pytest.mark.parametrize("count", [1, 5, 7])
@pytest.mark.parametrize("kind", [Linear, Int8Linear])
@pytest.mark.parametrize("gelu", [False, True])
def test_products_do_not_depend_on_the_number_of_rows(
    kind: type[Linear] | type[Int8Linear], gelu: bool, count: int, threads: Callable[[int], None]
) -> None:
    """Whichever way the threads cut them."""
    threads(count)
    generator = torch.Generator().manual_seed(2)
    linear = kind(torch.randn(256, 64, generator=generator), torch.randn(256, generator=generator), gelu=gelu)
    x = torch.randn(1024, 64, generator=generator)
    together = linear(x)
    for rows in (32, 35, 77, 333, 700, 999, 1000, 1021):
        assert torch.equal(linear(x[:rows]), together[:rows])


@pytest.mark.parametrize("kind", [Linear, Int8Linear])
def test_gelu_comes_after_the_product(kind: type[Linear] | type[Int8Linear]) -> None:
    generator = torch.Generator().manual_seed(3)
    weight, bias = torch.randn(48, 64, generator=generator), torch.randn(48, generator=generator)
    x = torch.randn(40, 64, generator=generator)
    expected = torch.nn.functional.gelu(kind(weight, bias)(x))
    torch.testing.assert_close(kind(weight, bias, gelu=True)(x), expected, atol=1e-5, rtol=1e-5)


def test_every_linear_of_any_module_is_replaced() -> None:
    torch.manual_seed(0)
    inner = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8, bias=False))
    model = torch.nn.ModuleDict({"inner": inner, "norm": torch.nn.LayerNorm(16)})
    x = torch.randn(2, 20, 16)
    with torch.inference_mode():
        expected = inner(x)
        quantise_linears(model)
        found = inner(x)
    assert not any(isinstance(module, torch.nn.Linear) for module in model.modules())
    assert found.shape == (2, 20, 8)
    assert not torch.equal(found, expected)
    torch.testing.assert_close(found, expected, atol=0.05, rtol=0.05)
