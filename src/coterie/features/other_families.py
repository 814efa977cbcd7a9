"""Encoders that are not of BERT's form, by way of transformers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.messages import listed
from coterie.errors import ConfigError
from coterie.features.checkpoints import Checkpoint

if TYPE_CHECKING:
    from torch import Tensor


class OtherFamily:
    """Ids of shape (texts, length) to hidden states; at most `longest` tokens, `width` numbers each."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.longest = int(getattr(model.config, "max_position_embeddings", 512)) - reserved_positions(model)
        self.width = int(model.config.hidden_size)
        # MPNet, DeBERTa and others without torch's fused attention multiply head by head, and those products round by
        # where in memory they stand: each text goes alone, or its vector would depend on its company.
        self._one_by_one = model.config._attn_implementation != "sdpa"

    def __call__(self, ids: Tensor) -> Tensor:
        import torch

        from coterie.features.bert import filled_up

        if self._one_by_one and len(ids) > 1:
            return torch.cat([self(text[None]) for text in ids])
        batch = filled_up(ids)
        hidden: Tensor = self._model(input_ids=batch, attention_mask=torch.ones_like(batch)).last_hidden_state
        return hidden[: len(ids)]


def load_other(checkpoint: Checkpoint, int8: bool, tuned: Mapping[str, NDArray[np.float32]]) -> OtherFamily:
    import torch
    from transformers import AutoModel

    from coterie.features.bert import replace_weights
    from coterie.features.int8 import quantise_linears

    with quiet_transformers():
        model, info = AutoModel.from_pretrained(
            str(checkpoint.folder), dtype=torch.float32, use_safetensors=True, output_loading_info=True
        )
    # A pooler is never read, and many checkpoints have none.
    made_up = sorted(name for name in info["missing_keys"] if not name.startswith("pooler."))
    if made_up:
        raise ConfigError(f"encoder {checkpoint.name!r} lacks the weights {listed(made_up)}: give a whole checkpoint")
    model.eval()
    if tuned:
        weights = model.state_dict()
        replace_weights(weights, tuned)
        model.load_state_dict(weights)
    if int8:
        quantise_linears(model)
    return OtherFamily(model)


def reserved_positions(model: Any) -> int:
    """RoBERTa, MPNet and their kin count positions from padding_idx + 1: two of their 514 can never be used."""
    positions = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(positions, "padding_idx", None)
    return 0 if padding is None else int(padding) + 1


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Its bar and its report of weights are not ours to print; what matters of them becomes an error."""
    from transformers.utils import logging

    verbosity, has_bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if has_bar:
            logging.enable_progress_bar()
