"""BERT's forward pass for encoding only, on batches of texts of one length.

transformers' own model spends much of a short batch on masks, checks and separate projections. With texts of equal
length there is no mask, query, key and value are one product, and the library itself (seconds to import) is not
needed. Every row is computed by the same operations whatever else is in the batch, so a text's vector does not
depend on its company.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

if TYPE_CHECKING:
    from coterie.features.checkpoints import Checkpoint

FEWEST_ROWS = 32
"""Products of fewer rows take another path in the BLAS and round differently; short batches are filled up."""


class Linear:
    """x W' + b in float32."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self.weight, self.bias = weight.contiguous(), bias

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class Int8Linear:
    """x W' + b with 8-bit integers: one scale per output of W, one scale per row of x, found as it comes.

    A scale per row, not per batch as torch's own dynamic quantisation has it: half the error, and the same answer
    whatever else is in the batch. The deprecated quantised tensors of torch are not used.
    """

    ZERO = 128

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self.scales = weight.abs().amax(dim=1).clamp_min(1e-12) / 127
        quantised = (weight / self.scales[:, None]).round().to(torch.int8)
        self.packed = torch.ops.onednn.qlinear_prepack(quantised, None)
        self.zeros = torch.zeros(len(weight), dtype=torch.int32)
        self.bias = bias

    def __call__(self, x: Tensor) -> Tensor:
        row_scales = torch.linalg.vector_norm(x, ord=float("inf"), dim=1, keepdim=True).clamp_min_(1e-12) / 127
        # Adding a half before the cast, which truncates, rounds; unsigned because that is the fast path of the CPU.
        bytes_ = (x / row_scales).add_(self.ZERO + 0.5).to(torch.uint8)
        product = torch.ops.onednn.qlinear_pointwise(
            bytes_,
            1.0,
            self.ZERO,
            self.packed,
            self.scales,
            self.zeros,
            None,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        return torch.addcmul(self.bias, product, row_scales)


class _Int8Module(torch.nn.Module):
    def __init__(self, replaced: torch.nn.Linear) -> None:
        super().__init__()
        bias = replaced.bias if replaced.bias is not None else torch.zeros(replaced.out_features)
        self.linear = Int8Linear(replaced.weight.detach(), bias.detach())

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.reshape(-1, x.shape[-1])).view(*x.shape[:-1], -1)


def quantise_linears(model: torch.nn.Module) -> None:
    """Puts 8-bit products in the place of every linear layer of any architecture."""
    for name, child in list(model.named_children()):
        if isinstance(child, torch.nn.Linear):
            setattr(model, name, _Int8Module(child))
        else:
            quantise_linears(child)


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
        self.widen = linear(*pair("intermediate.dense"))
        self.narrow = linear(*pair("output.dense"))
        self.attention_norm = pair("attention.output.LayerNorm")
        self.output_norm = pair("output.LayerNorm")
        self.heads, self.eps = heads, eps
        # The tanh form differs by less than the rounding to 8 bits and is faster.
        self.gelu = "tanh" if int8 else "none"

    def __call__(self, x: Tensor, texts: int) -> Tensor:
        rows, width = x.shape
        split = self.query_key_value(x).view(texts, rows // texts, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(rows, width)
        x = F.layer_norm(self.attention_out(mixed).add_(x), (width,), *self.attention_norm, self.eps)
        wide = F.gelu(self.widen(x), approximate=self.gelu)
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
        texts, length = ids.shape
        if texts * length < FEWEST_ROWS:
            return self(ids.repeat(-(-FEWEST_ROWS // (texts * length)), 1))[:texts]
        x = (F.embedding(ids, self.words) + self.positions[:length]).view(texts * length, self.width)
        x = F.layer_norm(x, (self.width,), *self.norm, self.eps)
        for layer in self.layers:
            x = layer(x, texts)
        return x.view(texts, length, self.width)


def load_bert(checkpoint: Checkpoint, int8: bool) -> BertForward | None:
    """The forward pass of a BERT checkpoint; None for another architecture or an unusual variant of this one."""
    config = json.loads((checkpoint.folder / "config.json").read_text(encoding="utf-8"))
    usual = (
        config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
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
    try:
        return BertForward(config, renamed, int8)
    except KeyError:
        return None
