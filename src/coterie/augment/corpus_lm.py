"""A masked language model for encoders that have none: a head is trained on the texts themselves.

Some words of the texts are masked, the encoder is run over them once, and a head tied to its input embeddings learns
to tell the words from the hidden states. It proposes words of the texts and no others.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from coterie.augment.base import digest_of
from coterie.augment.masked_lm import mask_id_of
from coterie.augment.vocabulary import input_matrix, special_ids, whole_words
from coterie.data.check import check_texts
from coterie.engine.batch import Batch
from coterie.engine.loop import Training
from coterie.engine.phase import Model, Phase
from coterie.engine.workers import Workers
from coterie.errors import ConfigError
from coterie.features.bert import FEWEST_ROWS
from coterie.features.tokens import Tokens, equal_length_batches
from coterie.features.words import words_of
from coterie.nn.masked_head import ENOUGH_PLACES, EPOCHS, HELD_OUT_SHARE, PLACES_AT_ONCE, RATE, TiedHead
from coterie.nn.texts import StillTexts
from coterie.types import Labels, Matrix, Progress, silent

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from coterie.features.transformer import TransformerEncoder

VERSION = 1
"""To be raised when the same texts give other proposals."""

MASKED_SHARE = 0.15
TOKEN_BUDGET = 1024


@dataclass(frozen=True)
class Maskings:
    """Texts with masks in them: `tokens`; where in the flat ids the masks are; which token and which text was there."""

    tokens: Tokens
    places: NDArray[np.int64]
    originals: NDArray[np.int64]
    texts: NDArray[np.int64]


def masked_texts(
    tokens: Tokens, mask_id: int, special: Sequence[int], seed: int, most: int = ENOUGH_PLACES
) -> Maskings:
    """Every text with 15% of its tokens masked, then with the next 15%, until each was masked once or `most` were."""
    random = np.random.default_rng(seed)
    lengths, starts = tokens.lengths, tokens.offsets[:-1]
    places = np.flatnonzero(~np.isin(tokens.ids, special))
    texts = np.repeat(np.arange(len(tokens)), lengths)[places]
    shuffled = np.lexsort((random.random(len(places)), texts))
    places, counts = places[shuffled], np.bincount(texts, minlength=len(tokens))
    rank = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    turn = rank // np.maximum(1, np.rint(MASKED_SHARE * counts)).astype(np.int64)[texts]
    # Where not all can be masked, all texts in their first turn come before any in its second, in random order.
    chosen = np.lexsort((random.permutation(len(tokens))[texts], turn))[:most]
    places, texts, turn = places[chosen], texts[chosen], turn[chosen]
    copies, copy_of = np.unique(turn * len(tokens) + texts, return_inverse=True)
    masked = tokens.taken(copies % len(tokens))
    at = masked.offsets[copy_of] + places - starts[texts]
    masked.ids[at] = mask_id
    return Maskings(masked, at, tokens.ids[places].astype(np.int64), texts)


class CorpusMaskedLM:
    """An encoder with a head that was trained on these texts, when it is first asked for proposals.

    `accuracy` is the share of masked tokens that the head tells in texts it was not trained on, `baseline` the share
    that the most frequent token would be; both None where there are too few texts. `history` is the training's.
    """

    accuracy: float | None = None
    baseline: float | None = None
    history: Sequence[dict[str, Any]] = ()

    def __init__(self, encoder: TransformerEncoder, texts: Sequence[str], progress: Progress = silent) -> None:
        # As in the other augmenters, words come from the checkpoint, whatever an encoder was tuned to since.
        self.encoder = encoder.with_weights({}) if encoder.tuned else encoder
        self.texts = list(dict.fromkeys(check_texts(texts)))
        self.progress = progress

    def describe(self) -> str:
        encoder = self.encoder
        settings = f"{encoder.precision} max_length={encoder.max_length} torch={torch.__version__}"
        return f"corpus-head {VERSION} {encoder.checkpoint.fingerprint} {settings} texts={digest_of(self.texts)}"

    @property
    def tokenizer(self) -> Tokenizer:
        return self.encoder.tokenizer

    @cached_property
    def mask_id(self) -> int:
        return mask_id_of(self.tokenizer, self.encoder.checkpoint.name)

    @property
    def longest(self) -> int:
        return self.encoder.longest

    def proposals(
        self, ids: NDArray[np.int64], rows: NDArray[np.int64], columns: NDArray[np.int64], count: int
    ) -> NDArray[np.int64]:
        head = self.head
        if head is None:
            return np.empty((len(rows), 0), dtype=np.int64)
        with torch.inference_mode():
            hidden = self.encoder.hidden_states(ids)[torch.from_numpy(rows), torch.from_numpy(columns)]
            # As in encoding: products of fewer rows round differently.
            enough = hidden.repeat(-(-FEWEST_ROWS // max(1, len(hidden))), 1)
            logits = head(enough)[: len(hidden), torch.from_numpy(self._proposed)]
            best = logits.topk(min(count, len(self._proposed)), dim=1).indices
        return np.asarray(self.vocabulary[self._proposed][best.numpy()])

    @cached_property
    def _tokens(self) -> Tokens:
        return self.encoder.tokens(self.texts, self.progress)

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        """How often each token is in the texts; special ones do not count."""
        counts = np.bincount(self._tokens.ids, minlength=self.tokenizer.get_vocab_size())
        counts[self._special] = 0
        return counts

    @property
    def _special(self) -> list[int]:
        return sorted(special_ids(self.tokenizer))

    @cached_property
    def vocabulary(self) -> NDArray[np.int64]:
        """The tokens of the texts, which the head tells apart."""
        return np.flatnonzero(self._counts)

    @cached_property
    def _proposed(self) -> NDArray[np.int64]:
        """Where in the vocabulary the tokens are that can be proposed.

        Not those that look like words and only begin them: svn is sv and ##n, and sv is no word of these texts.
        """
        seen = {word for text in self.texts for word in words_of(text)}
        parts = [index for index, word in whole_words(self.tokenizer).items() if word.lower() not in seen]
        return np.flatnonzero(~np.isin(self.vocabulary, parts))

    @cached_property
    def head(self) -> TiedHead | None:
        """Trained here; None where the texts have no token that is known."""
        if len(self.vocabulary) == 0:
            return None
        maskings = masked_texts(self._tokens, self.mask_id, self._special, seed=0)
        targets = np.searchsorted(self.vocabulary, maskings.originals)
        head = TiedHead(self._words, torch.from_numpy(self._counts[self.vocabulary]).float())
        held_out, hidden = _held_out(maskings.texts), self._hidden(maskings)
        if hidden.shape[1] != head.words.shape[1]:
            raise ConfigError(
                f"encoder {self.encoder.checkpoint.name!r} has hidden states of width {hidden.shape[1]} and input "
                f"embeddings of width {head.words.shape[1]}, so no head can be tied to them: use 'eda' instead"
            )
        head.begin(torch.from_numpy(hidden[~held_out]), torch.from_numpy(targets[~held_out]))
        model = _MaskedPlaces(head, targets[~held_out], hidden[held_out], targets[held_out])
        places = StillTexts([hidden[~held_out]], torch.device("cpu"))
        training = Training(
            model, nn.Module(), places, workers=_Alone(), truth=targets[~held_out], progress=self.progress
        )
        self.history = training.run().history
        if held_out.any():
            self.accuracy = model.held_out_accuracy()
            self.baseline = float((targets[held_out] == self._counts[self.vocabulary].argmax()).mean())
        self._tell()
        return head

    @property
    def _words(self) -> Tensor:
        """The vocabulary's input embeddings."""
        matrix = input_matrix(self.encoder.checkpoint, self.tokenizer.get_vocab_size())
        return torch.from_numpy(matrix[self.vocabulary])

    def _hidden(self, maskings: Maskings) -> Matrix:
        """The hidden states at the masked places, from one pass over the texts."""
        tokens = maskings.tokens
        slot_of = np.full(len(tokens.ids), -1, dtype=np.int64)
        slot_of[maskings.places] = np.arange(len(maskings.places))
        slots, states, done = [], [], 0
        for length, rows in equal_length_batches(tokens, TOKEN_BUDGET):
            here = slot_of[tokens.offsets[rows][:, None] + np.arange(length)]
            hidden = self.encoder.hidden_states(tokens.rows(rows, length))
            states.append(hidden[torch.from_numpy(here >= 0)].numpy())
            slots.append(here[here >= 0])
            done += len(rows) * length
            self.progress("reading masked texts", done, len(tokens.ids))
        found: Matrix = np.concatenate(states)[np.argsort(np.concatenate(slots))]
        return found

    def _tell(self) -> None:
        known = "there were too few texts to tell how well it does"
        if self.accuracy is not None and self.baseline is not None:
            known = (
                f"in texts held out from it, it tells {self.accuracy:.0%} of the masked tokens "
                f"(always the most frequent one: {self.baseline:.0%})"
            )
        warnings.warn(
            f"encoder {self.encoder.checkpoint.name!r} has no masked-language-model head, so one was trained on the "
            f"{len(self.texts)} different texts: {known}. Words come from these texts alone; for a published model's "
            "words use an encoder with a head, such as bert-base-uncased",
            stacklevel=2,
        )


class _MaskedPlaces(Model):
    """Rows are masked places: the encoder's hidden states there, and the tokens to be told from them."""

    targets: Tensor
    held_out: Tensor
    held_out_targets: Tensor

    def __init__(self, head: TiedHead, targets: Labels, held_out: Matrix, held_out_targets: Labels) -> None:
        super().__init__()
        self.head = head
        self.register_buffer("targets", torch.from_numpy(targets))
        self.register_buffer("held_out", torch.from_numpy(held_out))
        self.register_buffer("held_out_targets", torch.from_numpy(held_out_targets))

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"head": list(self.head.parameters())}

    def phases(self) -> list[Phase]:
        rates, weights = {"head": RATE}, {"masked": 1.0}
        return [Phase("masked words", EPOCHS, rates, weights, PLACES_AT_ONCE, decay="linear", judged=False)]

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        return {"masked": functional.cross_entropy(self.head(batch.vectors()), self.targets[batch.rows])}

    def observations(self, batch: Batch, groups: Tensor) -> dict[str, float]:
        return {"held_out": self.held_out_accuracy()} if len(self.held_out) else {}

    @torch.no_grad()
    def held_out_accuracy(self) -> float:
        told = [self.head(part).argmax(dim=1) for part in torch.split(self.held_out, PLACES_AT_ONCE)]
        return float((torch.cat(told) == self.held_out_targets).double().mean())


class _Alone(Workers):
    """This process by itself: another one may find its view on disk and have no head to train."""

    def __init__(self) -> None:
        self.rank, self.count, self.device = 0, 1, torch.device("cpu")


def _held_out(texts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The places of a tenth of the texts: other places of the same text would give the words away."""
    distinct = np.random.default_rng(1).permutation(np.unique(texts))
    return np.isin(texts, distinct[: round(HELD_OUT_SHARE * len(distinct))])
