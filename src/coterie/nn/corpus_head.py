"""A head over the tokens of a corpus, tied to an encoder in training.

A token that does not occur is never a target. Leaving it out is as if its bias were minus infinity: the softmax is
exact over the tokens that are left, a third of the work on short texts.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from coterie.losses.tokens import token_surprise
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.families import read_weights
from coterie.nn.masked_head import TiedHead

_DENSE, _NORM = ("predictions.transform.dense", "predictions.transform.LayerNorm")
_NAMES = (
    (f"cls.{_DENSE}", f"cls.{_NORM}", ("cls.predictions.bias", "cls.predictions.decoder.bias")),  # BERT
    ("lm_head.dense", "lm_head.layer_norm", ("lm_head.bias", "lm_head.decoder.bias")),  # RoBERTa
    ("vocab_transform", "vocab_layer_norm", ("vocab_projector.bias",)),  # DistilBERT
)
"""What the dense part, the norm and the bias of a head are called."""


class CorpusHead(nn.Module):
    """Hidden states to how little each of these tokens was expected there.

    `published` says whether the checkpoint's own head was taken over. The words are the encoder's input embeddings:
    where the whole encoder is trained, the head's gradient reaches them too.
    """

    vocabulary: Tensor

    def __init__(self, encoder: TrainableEncoder, ids: NDArray[np.integer[Any]]) -> None:
        """`ids`: every token that will have to be told, as often as it will."""
        super().__init__()
        vocabulary, counts = np.unique(ids.astype(np.int64), return_counts=True)
        self._encoder = (encoder,)  # in a tuple, or its weights would be the head's
        self.register_buffer("vocabulary", torch.from_numpy(vocabulary), persistent=False)
        # The encoder may have been moved already; a head is moved when all of it is there.
        words = encoder.words.detach()[self.vocabulary].cpu()
        self.tied = TiedHead(words, torch.from_numpy(counts).float(), encoder.architecture.eps)
        published = _published(encoder, self.vocabulary)
        self.published = published is not None
        if published is not None:
            self.tied.load_state_dict(published)

    def begin(self, hidden: Tensor, ids: Tensor) -> None:
        """A better start for a new head, from hidden states and the tokens there."""
        self.tied.begin(hidden, self._columns(ids))

    def surprise(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """-log of the probability of each token at its place."""
        (encoder,) = self._encoder
        words = encoder.words[self.vocabulary] if encoder.whole else self.tied.words
        shaped = self.tied.shaped(hidden)
        return token_surprise(shaped, words, self.tied.bias, self._columns(ids), encoder.bf16)

    @torch.no_grad()
    def told(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """Whether the likeliest token of each place is the right one."""
        (encoder,) = self._encoder
        words = encoder.words[self.vocabulary]
        parts = torch.split(self.tied.shaped(hidden), 1024)
        found = [(part @ words.T + self.tied.bias).argmax(dim=1) for part in parts]
        return self.vocabulary[torch.cat(found)] == ids

    def _columns(self, ids: Tensor) -> Tensor:
        return torch.searchsorted(self.vocabulary, ids)


def _published(encoder: TrainableEncoder, vocabulary: Tensor) -> dict[str, Tensor] | None:
    """The weights of the checkpoint's own head, for these tokens; None where it has none that is tied and of gelu."""
    config = json.loads((encoder.checkpoint.folder / "config.json").read_text(encoding="utf-8"))
    if not config.get("tie_word_embeddings", True) or not encoder.architecture.gelu:
        return None
    weights = read_weights(encoder.checkpoint, encoder.architecture)
    for dense, norm, biases in _NAMES:
        bias = next((weights[name] for name in biases if name in weights), None)
        if f"{dense}.weight" in weights and bias is not None:
            parts = {
                f"{ours}.{kind}": weights[f"{theirs}.{kind}"]
                for ours, theirs in (("dense", dense), ("norm", norm))
                for kind in ("weight", "bias")
            }
            return {**parts, "bias": bias[vocabulary]}
    return None
