"""The encoders that can be trained: what their settings and weights are called, and which variants are not known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from coterie.data.messages import fault
from coterie.errors import ConfigError
from coterie.features.checkpoints import Checkpoint

_BERT_PARTS = {
    "query_key_value": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attention_out": ("attention.output.dense",),
    "attention_norm": ("attention.output.LayerNorm",),
    "widen": ("intermediate.dense",),
    "narrow": ("output.dense",),
    "output_norm": ("output.LayerNorm",),
}
_DISTILBERT_PARTS = {
    "query_key_value": ("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    "attention_out": ("attention.out_lin",),
    "attention_norm": ("sa_layer_norm",),
    "widen": ("ffn.lin1",),
    "narrow": ("ffn.lin2",),
    "output_norm": ("output_layer_norm",),
}
_BERT_SETTINGS = {
    "width": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "activation": "hidden_act",
}
_DISTILBERT_SETTINGS = {"width": "dim", "layers": "n_layers", "heads": "n_heads", "activation": "activation"}


@dataclass(frozen=True)
class Family:
    """Names of one architecture. `from_padding`: positions are counted from the padding token's number + 1."""

    prefix: str
    layer: str
    parts: dict[str, tuple[str, ...]]
    settings: dict[str, str]
    has_types: bool = True
    from_padding: bool = False


_BERT = Family("bert.", "encoder.layer", _BERT_PARTS, _BERT_SETTINGS)
_ROBERTA = Family("roberta.", "encoder.layer", _BERT_PARTS, _BERT_SETTINGS, from_padding=True)
_DISTILBERT = Family("distilbert.", "transformer.layer", _DISTILBERT_PARTS, _DISTILBERT_SETTINGS, has_types=False)

FAMILIES = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "distilbert": _DISTILBERT,
}


@dataclass(frozen=True)
class Architecture:
    family: Family
    width: int
    layers: int
    heads: int
    gelu: bool
    eps: float
    first_position: int
    longest: int

    def layer_names(self, index: int) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Our name of every part of a layer, and those of the checkpoint that it is put together from."""
        for ours, theirs in self.family.parts.items():
            yield ours, tuple(f"{self.family.layer}.{index}.{name}" for name in theirs)


class UntrainableError(ConfigError):
    """An encoder that can only be read with: why, and what to do about it."""

    def __init__(self, checkpoint: Checkpoint, found: str) -> None:
        self.why = f"encoder {checkpoint.name!r} cannot be trained, for {found}"
        super().__init__(
            f"{self.why}: use one of type {', '.join(FAMILIES)} with absolute positions and gelu or relu, or "
            "effort='fast', which leaves the encoder as it is (but not with tsdae)"
        )


def read_architecture(checkpoint: Checkpoint) -> Architecture:
    """From config.json."""
    try:
        config = json.loads((checkpoint.folder / "config.json").read_text(encoding="utf-8"))
        model_type = str(config["model_type"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"encoder {checkpoint.name!r}: config.json cannot be read ({fault(error)})") from error
    family = FAMILIES.get(model_type)
    if family is None:
        raise UntrainableError(checkpoint, f"it is of type {model_type!r}")
    defaults = {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}
    for name, usual in defaults.items():
        if config.get(name, usual) != usual:
            raise UntrainableError(checkpoint, f"it has {name}={config[name]!r}")
    activation = config.get(family.settings["activation"], "gelu")
    if activation not in ("gelu", "relu"):
        raise UntrainableError(checkpoint, f"it has {family.settings['activation']}={activation!r}")
    return _architecture(checkpoint, config, family, activation == "gelu")


def _architecture(checkpoint: Checkpoint, config: dict[str, Any], family: Family, gelu: bool) -> Architecture:
    try:
        width, layers, heads = (int(config[family.settings[name]]) for name in ("width", "layers", "heads"))
        first = int(config.get("pad_token_id", 1)) + 1 if family.from_padding else 0
        longest = int(config["max_position_embeddings"]) - first
        # DistilBERT's is not among its settings.
        eps = float(config.get("layer_norm_eps", 1e-12)) if family.has_types else 1e-12
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"encoder {checkpoint.name!r}: config.json lacks a setting or has a wrong one ({fault(error)})"
        ) from error
    return Architecture(family, width, layers, heads, gelu, eps, first, longest)


def read_weights(checkpoint: Checkpoint, architecture: Architecture) -> dict[str, Tensor]:
    """All weights in float32 under the names of the bare model: no prefix, no `gamma` and `beta`."""
    single = checkpoint.folder / "model.safetensors"
    files = [single] if single.is_file() else sorted(checkpoint.folder.glob("*.safetensors"))
    weights = {}
    try:
        for path in files:
            for name, tensor in load_file(path).items():
                plain = name.removeprefix(architecture.family.prefix).replace("LayerNorm.gamma", "LayerNorm.weight")
                weights[plain.replace("LayerNorm.beta", "LayerNorm.bias")] = tensor.float()
    except (OSError, SafetensorError, ValueError) as error:
        raise ConfigError(f"encoder {checkpoint.name!r}: its weights cannot be read ({error})") from error
    return weights
