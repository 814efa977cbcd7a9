"""Texts with masks in them, and a head that tells what the masks hide."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from coterie.augment.masked_lm import mask_id_of
from coterie.augment.vocabulary import special_ids
from coterie.engine.batch import Batch
from coterie.features.tokens import Tokens, load_tokenizer
from coterie.nn.corpus_head import CorpusHead
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.marks import Marks
from coterie.nn.masked_head import ENOUGH_PLACES, HELD_OUT_SHARE, PLACES_AT_ONCE
from coterie.nn.texts import TrainingTexts
from coterie.types import Progress


class MaskedWords(nn.Module):
    """Masked views of the texts of a training, added to them, and a head: the checkpoint's own, or a new one.

    A new head (`is_new`) has to be trained first, on the first `lessons` of the views: no more than it takes to have
    places enough. It starts from a regression, and a tenth of the texts is held out from it. Without `telling` there
    are only the views.
    """

    held_out: Tensor
    held_out_states: Tensor
    held_out_ids: Tensor

    def __init__(
        self, encoder: TrainableEncoder, texts: TrainingTexts, *,
        share: float, views: int, telling: bool, seed: int, progress: Progress,
    ) -> None:  # fmt: skip
        super().__init__()
        tokenizer, tokens = load_tokenizer(encoder.checkpoint), texts.tokens
        mask_id = mask_id_of(tokenizer, encoder.checkpoint.name)
        maskable = ~np.isin(tokens.ids, sorted(special_ids(tokenizer)))
        masked = [masked_view(tokens, maskable, mask_id, share, [seed, draw]) for draw in range(views)]
        self.views = [texts.add_view(view, progress) for view in masked]
        self.marks = [Marks.differing(view, tokens) for view in masked]
        self.telling, self.is_new, self.lessons = telling, False, 0
        if not telling:
            return
        # A corpus of nothing but unknown tokens has nothing to tell.
        self.head = CorpusHead(encoder, tokens.ids[maskable] if maskable.any() else tokens.ids)
        self.is_new = not self.head.published
        if self.is_new:
            self._begin(texts, seed)
            warnings.warn(
                f"encoder {encoder.checkpoint.name!r} has no masked-language-model head, so one is trained on the "
                f"{len(texts):,} texts first; how many masked tokens it tells in texts held out is in the history",
                stacklevel=2,
            )

    def vectors(self, batch: Batch, turn: int) -> Tensor:
        """The batch's vectors in the view of this turn."""
        return batch.vectors(self.views[turn])

    def read(self, batch: Batch, turn: int) -> tuple[Tensor, Tensor]:
        """The same, and how little expected every token was that a mask hides."""
        vectors, states = batch.marked(self.views[turn], self.marks[turn])
        return vectors, self.head.surprise(states, batch.tokens(self.marks[turn]))

    def learnt(self, batch: Batch, turn: int) -> Tensor:
        """Which of the masks that `read` is about are of texts that a new head may be trained on."""
        counts = torch.from_numpy(self.marks[turn].counts).to(batch.rows.device)[batch.rows]
        return torch.repeat_interleave(~self.held_out[batch.rows], counts)

    def accuracy(self) -> float | None:
        """Share of the masked tokens that a new head tells in the texts held out from it; the encoder must be still."""
        if len(self.held_out_ids) == 0:
            return None
        return float(self.head.told(self.held_out_states, self.held_out_ids).double().mean())

    @property
    def texts_at_once(self) -> int:
        """As many texts as have about the masks of one batch of a new head's training."""
        texts, masks = len(self.held_out), sum(len(marks.ids) for marks in self.marks[: self.lessons]) / self.lessons
        return min(texts, max(1, round(PLACES_AT_ONCE * texts / max(1, masks))))

    @torch.no_grad()
    def _begin(self, texts: TrainingTexts, seed: int) -> None:
        rows, random = len(texts), np.random.default_rng([seed, len(texts)])
        aside = np.zeros(rows, dtype=bool)
        aside[random.permutation(rows)[: round(HELD_OUT_SHARE * rows)]] = True
        learnt: list[tuple[Tensor, Tensor]] = []
        for view, marks in zip(self.views, self.marks, strict=True):
            states = texts.encode_all_marked(view, np.arange(rows), marks)[1].cpu()
            kept, ids = torch.from_numpy(np.repeat(~aside, marks.counts)), torch.from_numpy(marks.ids)
            learnt.append((states[kept], ids[kept]))
            if len(learnt) == 1:
                self.register_buffer("held_out_states", states[~kept], persistent=False)
                self.register_buffer("held_out_ids", ids[~kept], persistent=False)
            if sum(len(ids) for _, ids in learnt) >= ENOUGH_PLACES:
                break
        self.lessons = len(learnt)
        self.register_buffer("held_out", torch.from_numpy(aside), persistent=False)
        states, ids = (torch.cat(parts) for parts in zip(*learnt, strict=True))
        if len(ids):
            chosen = torch.from_numpy(random.permutation(len(ids))[:ENOUGH_PLACES])  # files are often sorted
            self.head.begin(states[chosen], ids[chosen])


def masked_view(tokens: Tokens, maskable: NDArray[np.bool_], mask_id: int, share: float, seed: list[int]) -> Tokens:
    """Each token that may be masked is, with this probability."""
    chosen = maskable & (np.random.default_rng(seed).random(len(tokens.ids)) < share)
    return Tokens(np.where(chosen, mask_id, tokens.ids).astype(np.int32), tokens.offsets)
