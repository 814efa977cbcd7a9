"""Masked language models: which words fit into a gap of a text."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.data.messages import listed
from coterie.errors import ConfigError
from coterie.features.checkpoints import Checkpoint, find_checkpoint
from coterie.features.other_families import quiet_transformers, reserved_positions
from coterie.features.tokens import load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LONGEST = 128
"""Tokens of a text, special ones included, that a checkpoint is shown at most."""

MASK_TOKENS = ("[MASK]", "<mask>", "<|mask|>")

_HEADS = (
    {"predictions.transform.dense.weight"},  # BERT
    {"lm_head.dense.weight"},  # RoBERTa and MPNet
    {"vocab_transform.weight"},  # DistilBERT
    {"predictions.dense.weight"},  # ALBERT and ELECTRA
    {"head.dense.weight", "decoder.bias"},  # ModernBERT, whose classifiers have the first of the two as well
)
"""How the names of weights end that only a masked-LM head has."""


class MaskedLM(Protocol):
    """Proposes tokens for masked places; where its head comes from is its own affair."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Without padding or truncation."""

    @property
    def mask_id(self) -> int: ...

    @property
    def longest(self) -> int:
        """Tokens of the longest row it takes, special ones included."""

    def describe(self) -> str:
        """Tells two models apart whatever they are called."""

    def proposals(
        self, ids: NDArray[np.int64], rows: NDArray[np.int64], columns: NDArray[np.int64], count: int
    ) -> NDArray[np.int64]:
        """The `count` likeliest tokens for each masked place `ids[rows[i], columns[i]]`, the likeliest first.

        `ids` holds texts of one length, a text a row, with the masks in place. A text's proposals do not depend on
        the other rows.
        """


def mask_id_of(tokenizer: Tokenizer, name: str) -> int:
    found = [index for index in map(tokenizer.token_to_id, MASK_TOKENS) if index is not None]
    if not found:
        raise ConfigError(f"{name!r} has no mask token such as [MASK]: give a checkpoint of a masked language model")
    return found[0]


def has_head(checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint has a masked-LM head, told by the names of its weights: nothing is loaded."""
    from safetensors import safe_open

    names: set[str] = set()
    for path in checkpoint.folder.glob("*.safetensors"):
        with safe_open(path, "np") as weights:
            names.update(weights.keys())
    return any(all(any(name.endswith(end) for name in names) for end in head) for head in _HEADS)


class CheckpointMaskedLM:
    """A Hugging Face checkpoint with its masked-LM head, such as bert-base-uncased or roberta-base.

    `checkpoint` is a model folder, a name on the hub, or a Checkpoint. Sentence encoders such as the bundled MiniLM
    are published without the head, which is an error here: transformers would make up a random one.
    """

    def __init__(self, checkpoint: str | Checkpoint) -> None:
        self.checkpoint = find_checkpoint(checkpoint) if isinstance(checkpoint, str) else checkpoint

    def __getstate__(self) -> dict[str, Any]:
        return {"checkpoint": self.checkpoint}

    def describe(self) -> str:
        return f"checkpoint-head 1 {self.checkpoint.fingerprint} max_length={LONGEST}"

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return load_tokenizer(self.checkpoint)

    @cached_property
    def mask_id(self) -> int:
        return mask_id_of(self.tokenizer, self.checkpoint.name)

    @property
    def longest(self) -> int:
        positions = int(getattr(self._model.config, "max_position_embeddings", 512))
        return min(LONGEST, positions - reserved_positions(self._model.base_model))

    @cached_property
    def _model(self) -> Any:
        return _load(self.checkpoint)

    def proposals(
        self, ids: NDArray[np.int64], rows: NDArray[np.int64], columns: NDArray[np.int64], count: int
    ) -> NDArray[np.int64]:
        count = min(count, int(self._model.config.vocab_size))
        if len(ids) == 1 or self._model.config._attn_implementation == "sdpa":
            return self._likeliest(ids, rows, columns, count)
        # As in encoding: models without torch's fused attention round by where a text stands in its batch.
        found = np.empty((len(rows), count), dtype=np.int64)
        for row in range(len(ids)):
            mine = rows == row
            found[mine] = self._likeliest(ids[row : row + 1], np.zeros_like(rows[mine]), columns[mine], count)
        return found

    def _likeliest(
        self, ids: NDArray[np.int64], rows: NDArray[np.int64], columns: NDArray[np.int64], count: int
    ) -> NDArray[np.int64]:
        import torch

        from coterie.features.bert import filled_up

        at = (torch.from_numpy(rows), torch.from_numpy(columns))
        head = self._model.get_output_embeddings()

        def only_masked(module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            # The product with the whole vocabulary, half of a small model's work, for the masked places alone.
            return (inputs[0][at], *inputs[1:]) if inputs[0].ndim == 3 else inputs

        hook = head.register_forward_pre_hook(only_masked) if head is not None else None
        try:
            with torch.inference_mode():
                batch = filled_up(torch.from_numpy(ids))
                logits = self._model(input_ids=batch, attention_mask=torch.ones_like(batch)).logits
        finally:
            if hook is not None:
                hook.remove()
        logits = logits[at] if logits.ndim == 3 else logits
        found: NDArray[np.int64] = logits.topk(count, dim=1).indices.numpy()
        return found


def _load(checkpoint: Checkpoint) -> Any:
    """The model in eval mode, every weight of it read from the checkpoint."""
    import torch
    from transformers import AutoModelForMaskedLM

    try:
        with quiet_transformers():
            model, info = AutoModelForMaskedLM.from_pretrained(
                str(checkpoint.folder), dtype=torch.float32, use_safetensors=True, output_loading_info=True
            )
    except Exception as error:
        raise ConfigError(
            f"{checkpoint.name!r} could not be loaded as a masked language model ({type(error).__name__}: {error}): "
            "give a checkpoint of one, such as bert-base-uncased"
        ) from error
    made_up = sorted({*info["missing_keys"], *(str(key) for key in info["mismatched_keys"])})
    if made_up:
        raise ConfigError(
            f"{checkpoint.name!r} has no masked-language-model head (its weights lack {listed(made_up)}): "
            "give a checkpoint that has one, such as bert-base-uncased, or use EDA instead"
        )
    return model.eval()
