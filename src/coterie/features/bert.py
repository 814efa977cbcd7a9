"""BERT's forward pass for encoding only, on batches of texts of one length.

transformers' own model spends much of a short batch on masks, checks and separate projections. With texts of equal
length there is no mask, query, key and value are one product, and the library itself (seconds to import) is not
needed. Every row is computed by the same operations whatever else is in the batch, so a text's vector does not
depend on its company.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from coterie.errors import ModelFormatError
from coterie.features.int8 import Int8Linear

if TYPE_CHECKING:
    from coterie.features.checkpoints import Checkpoint

FEWEST_ROWS = 32
"""Products of fewer rows take another path in the BLAS and round differently; short batches are filled up."""


def filled_up(ids: Tensor) -> Tensor:
    """A batch of fewer than FEWEST_ROWS tokens repeated until it has as many; other batches as they are."""
    return ids if ids.numel() >= FEWEST_ROWS else ids.repeat(-(-FEWEST_ROWS // ids.numel()), 1)


class Linear:
    """act(x W' + b) in float32, act being nothing or GELU.

    Through oneDNN with the weights laid out once, where this build of torch has it: up to 1.4 times as fast as the
    default BLAS, and GELU costs nothing on top.
    """

    def __init__(self, weight: Tensor, bias: Tensor, gelu: bool = False) -> None:
        self.weight, self.bias, self.gelu = weight.contiguous(), bias, gelu
        self.packed = None
        if hasattr(torch.ops.mkldnn, "_linear_pointwise"):
            self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight)

    def __call__(self, x: Tensor) -> Tensor:
        if self.packed is not None:
            after, algorithm = ("gelu", "none") if self.gelu else ("none", "")
            product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, after, [], algorithm)
            return product
        plain = F.linear(x, self.weight, self.bias)
        return F.gelu(plain) if self.gelu else plain


class Layer:
    """One transformer block, post-norm as in BERT."""

    def __init__(self, weights: dict[str, Tensor], prefix: str, heads: int, eps: float, int8: bool) -> None:
        linear = Int8Linear if int8 else Linear

        def pair(name: str) -> tuple[Tensor, Tensor]:
            return weights[f"{prefix}.{name}.weight"], weights[f"{prefix}.{name}.bias"]

        projections = [pair(f"attention.self.{name}") for name in ("query", "key", "value")]
        self.query_key_value = linear(
            torch.cat([weight for weight, _ in projections]), torch.cat([bias for _, bias in projections])
        )
        self.attention_out = linear(*pair("attention.output.dense"))
        self.widen = linear(*pair("intermediate.dense"), gelu=True)
        self.narrow = linear(*pair("output.dense"))
        self.attention_norm = pair("attention.output.LayerNorm")
        self.output_norm = pair("output.LayerNorm")
        self.heads, self.eps = heads, eps

    def __call__(self, x: Tensor, texts: int) -> Tensor:
        rows, width = x.shape
        split = self.query_key_value(x).view(texts, rows // texts, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(rows, width)
        x = F.layer_norm(self.attention_out(mixed).add_(x), (width,), *self.attention_norm, self.eps)
        wide = self.widen(x)
        return F.layer_norm(self.narrow(wide).add_(x), (width,), *self.output_norm, self.eps)


class BertForward:
    """Token ids of shape (texts, length) to last hidden states of shape (texts, length, width)."""

    def __init__(self, config: dict[str, object], weights: dict[str, Tensor], int8: bool) -> None:
        self.width = int(str(config["hidden_size"]))
        self.eps = float(str(config.get("layer_norm_eps", 1e-12)))
        self.longest = int(str(config["max_position_embeddings"]))
        heads = int(str(config["num_attention_heads"]))
        self.words = weights["embeddings.word_embeddings.weight"]
        # Single texts are all of type 0, so its vector can be added to the positions once and for all.
        self.positions = (
            weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self.norm = (weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"])
        self.layers = [
            Layer(weights, f"encoder.layer.{index}", heads, self.eps, int8)
            for index in range(int(str(config["num_hidden_layers"])))
        ]

    @torch.inference_mode()
    def __call__(self, ids: Tensor) -> Tensor:
        asked, ids = len(ids), filled_up(ids)
        texts, length = ids.shape
        x = (F.embedding(ids, self.words) + self.positions[:length]).view(texts * length, self.width)
        x = F.layer_norm(x, (self.width,), *self.norm, self.eps)
        for layer in self.layers:
            x = layer(x, texts)
        return x.view(texts, length, self.width)[:asked]


def replace_weights(weights: dict[str, Tensor], tuned: Mapping[str, NDArray[np.float32]]) -> None:
    """Puts tuned weights in the place of those of the same name and shape; one that has none is an error."""
    for name, array in tuned.items():
        if name not in weights or weights[name].shape != array.shape:
            raise ModelFormatError(
                f"the tuned weights {name!r} of shape {array.shape} do not belong to this encoder: "
                "give the checkpoint that they were trained from"
            )
        # A copy, for the array may be read-only, which tensors cannot be.
        weights[name] = torch.from_numpy(np.array(array, dtype=np.float32))


def load_bert(
    checkpoint: Checkpoint, int8: bool, tuned: Mapping[str, NDArray[np.float32]] | None = None
) -> BertForward | None:
    """The forward pass of a BERT checkpoint; None for another architecture or an unusual variant of this one.

    `tuned` weights, under the names of the bare model, take the place of the checkpoint's.
    """
    config = json.loads((checkpoint.folder / "config.json").read_text(encoding="utf-8"))
    usual = (
        isinstance(config, dict)
        and config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not config.get("is_decoder")
        and (checkpoint.folder / "model.safetensors").is_file()
    )
    if not usual:
        return None
    from safetensors.torch import load_file

    renamed = {}
    for name, tensor in load_file(checkpoint.folder / "model.safetensors").items():
        plain = name.removeprefix("bert.").replace("LayerNorm.gamma", "LayerNorm.weight")
        renamed[plain.replace("LayerNorm.beta", "LayerNorm.bias")] = (
            tensor.float() if tensor.is_floating_point() else tensor
        )
    replace_weights(renamed, tuned or {})
    try:
        return BertForward(config, renamed, int8)
    except KeyError:
        return None
