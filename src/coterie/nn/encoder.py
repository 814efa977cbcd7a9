"""A transformer encoder that can be trained, in part or as a whole, and wastes nothing on padding.

A batch is sorted by length and cut into chunks; within a chunk the tokens of all texts are one flat matrix, and only
attention looks at the texts, a group of equal length at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint as recomputed

from coterie.data.messages import shown
from coterie.data.whole_number import whole_number
from coterie.errors import ConfigError
from coterie.features.checkpoints import Checkpoint
from coterie.features.tokens import token_places
from coterie.nn.families import read_architecture, read_weights
from coterie.nn.layers import Affine, Groups, Layer, split_by_group, with_empty_rows

TOKENS_IN_CHUNK = 4096
"""Products are fast from about 1,000 rows on; but the gradients of all weights are added up once a chunk."""

SAVED_BYTES = 1_000_000_000
"""What a batch may keep for backward; the chunks beyond it are computed a second time instead."""


@dataclass(frozen=True)
class Chunk:
    """Texts `first` to `last`, their tokens `start` to `stop`, and the runs of equal length among them."""

    first: int
    last: int
    start: int
    stop: int
    groups: tuple[tuple[int, int], ...]


class TrainableEncoder(torch.nn.Module):
    """Token ids to unit vectors, with gradients for the upper `trainable_layers`; "all" means the embeddings too.

    With `bf16` the products of training are of 16-bit numbers. The ids of a batch come flat, text after text in any
    order, with the length of each. `saved_bytes` may be lowered by a caller who encodes several batches before going
    backward.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        trainable_layers: int | Literal["all"] = "all",
        pooling: Literal["mean", "cls"] = "mean",
        dropout: float = 0.0,
        bf16: bool = False,
    ) -> None:
        super().__init__()
        if pooling not in ("mean", "cls"):
            raise ConfigError(f"pooling={pooling!r} is not known: use 'mean' or 'cls'")
        if not 0 <= dropout < 1:
            raise ConfigError(f"dropout={dropout} is no share: use 0 or more and less than 1")
        self.architecture = read_architecture(checkpoint)
        self.first_trainable = first_trainable(trainable_layers, self.architecture.layers)
        self.whole = trainable_layers == "all"
        self.checkpoint, self.pooling, self.dropout, self.bf16 = checkpoint, pooling, dropout, bf16
        self.width, self.longest = self.architecture.width, self.architecture.longest
        self.saved_bytes = SAVED_BYTES
        try:
            self._build(read_weights(checkpoint, self.architecture))
        except KeyError as error:
            raise ConfigError(f"encoder {checkpoint.name!r} lacks the weights {error.args[0]!r}") from error
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(self.whole or self._is_upper(name))

    def _is_upper(self, name: str) -> bool:
        part, _, rest = name.partition(".")
        return part == "layers" and int(rest.partition(".")[0]) >= self.first_trainable

    def _build(self, weights: dict[str, Tensor]) -> None:
        architecture = self.architecture

        def joined(names: tuple[str, ...]) -> Affine:
            return Affine(*(torch.cat([weights[f"{name}.{kind}"] for name in names]) for kind in ("weight", "bias")))

        self.words = torch.nn.Parameter(weights["embeddings.word_embeddings.weight"])
        self.positions = torch.nn.Parameter(weights["embeddings.position_embeddings.weight"])
        self.types: torch.nn.Parameter | None = None
        if architecture.family.has_types:
            self.types = torch.nn.Parameter(weights["embeddings.token_type_embeddings.weight"])
        self.norm = joined(("embeddings.LayerNorm",))
        layers = []
        for index in range(architecture.layers):
            parts = {ours: joined(theirs) for ours, theirs in architecture.layer_names(index)}
            dropout = self.dropout if index >= self.first_trainable else 0.0
            layers.append(Layer(parts, architecture.heads, architecture.eps, architecture.gelu, dropout, self.bf16))
        self.layers = torch.nn.ModuleList(layers)

    @property
    def device(self) -> torch.device:
        return self.words.device

    def forward(self, ids: Tensor, lengths: NDArray[np.int64]) -> Tensor:
        """Unit vectors, one a text, in the order given."""
        places, order = _sorted(lengths)
        return self._vectors(self._below(_at(ids.to(self.device), places), lengths[order]), lengths, order)

    def from_states(self, states: Tensor, lengths: NDArray[np.int64]) -> Tensor:
        """Unit vectors from what `below` has given for these texts."""
        places, order = _sorted(lengths)
        return self._vectors(_at(states.to(self.device), places), lengths, order)

    def hidden(self, ids: Tensor, lengths: NDArray[np.int64]) -> Tensor:
        """The last hidden state of every token, flat in the order given."""
        places, order = _sorted(lengths)
        states = self._below(_at(ids.to(self.device), places), lengths[order])
        flat = _joined(self.above(states, lengths[order], self.layered), states)
        return flat if places is None else flat[places.argsort()]

    def marked(self, states: Tensor, lengths: NDArray[np.int64], marks: Tensor) -> tuple[Tensor, Tensor]:
        """Unit vectors, and the last hidden state of the tokens that `marks` is true of.

        From what `below` has given for these texts, which are in order of length.
        """
        marks = marks.to(self.device)

        def run(x: Tensor, chunk: Chunk) -> Tensor:
            x = self.layered(x, chunk)
            return torch.cat([self._pool(x, chunk), x[marks[chunk.start : chunk.stop]]])

        states = states.to(self.device)
        parts = self.above(states, lengths, run)
        texts = [chunk.last - chunk.first for chunk in _chunks(lengths)]
        pooled = _joined([part[:count] for part, count in zip(parts, texts, strict=True)], states)
        hidden = _joined([part[count:] for part, count in zip(parts, texts, strict=True)], states)
        return functional.normalize(pooled, dim=1), hidden

    def below(self, ids: Tensor, lengths: NDArray[np.int64], causal: bool = False) -> Tensor:
        """The hidden state of every token below the first trainable layer, flat in the order given.

        It never changes while the layers above are trained, unless the whole encoder is: only then it has a gradient.
        With `causal` no token has seen those after it.
        """
        places, order = _sorted(lengths)
        states = self._below(_at(ids.to(self.device), places), lengths[order], causal)
        return states if places is None else states[places.argsort()]

    def _vectors(self, states: Tensor, lengths: NDArray[np.int64], order: NDArray[np.int64]) -> Tensor:
        """From states in sorted order to vectors in the order of `lengths`."""
        parts = self.above(states, lengths[order], lambda x, chunk: self._pool(self.layered(x, chunk), chunk))
        pooled = _joined(parts, states)
        back = torch.from_numpy(np.argsort(order)).to(self.device)
        return functional.normalize(pooled[back], dim=1)

    def _below(self, ids: Tensor, lengths: NDArray[np.int64], causal: bool = False) -> Tensor:
        """Embeddings and frozen layers, of texts in order of length."""
        if self.whole:
            # Embedded all at once: the gradient of the table is as large as the table, for every chunk it would be.
            return self._embed(ids, lengths)
        with torch.no_grad():
            states = torch.empty(len(ids), self.width, device=self.device)
            for chunk in _chunks(lengths):
                taken = slice(chunk.start, chunk.stop)
                x = self._embed(ids[taken], lengths[chunk.first : chunk.last])
                states[taken] = _through(self.layers[: self.first_trainable], x, chunk.groups, causal)
        return states

    def _embed(self, ids: Tensor, lengths: NDArray[np.int64]) -> Tensor:
        starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
        positions = torch.from_numpy(np.arange(len(starts)) - starts + self.architecture.first_position)
        x = functional.embedding(ids.long(), self.words)
        x = x + functional.embedding(positions.to(self.device), self.positions)
        if self.types is not None:
            x = x + self.types[0]
        x = functional.layer_norm(x, (self.width,), self.norm.weight, self.norm.bias, self.architecture.eps)
        return functional.dropout(x, self.dropout) if self.whole and self.training and self.dropout else x

    @property
    def upper(self) -> list[Layer]:
        """The layers that are trained."""
        return [layer for layer in self.layers[self.first_trainable :] if isinstance(layer, Layer)]

    def layered(self, x: Tensor, chunk: Chunk) -> Tensor:
        """What the trainable layers make of the tokens of a chunk."""
        return _through(self.upper, x, chunk.groups)

    def above(self, states: Tensor, lengths: NDArray[np.int64], run: Callable[[Tensor, Chunk], Tensor]) -> list[Tensor]:
        """`run` on every chunk of states from below, of texts in order of length; memory for backward is bounded."""
        chunks, upper = list(_chunks(lengths)), self.upper
        saved = 0
        made: list[Tensor] = []
        parts = states.split_with_sizes([chunk.stop - chunk.start for chunk in chunks])
        for chunk, x in zip(chunks, parts, strict=True):
            if torch.is_grad_enabled():
                longest = chunk.groups[-1][1]
                saved += 4 * len(x) * sum(layer.saved_floats(longest) for layer in upper)
            if saved <= self.saved_bytes:
                made.append(run(x, chunk))
            else:
                random = self.training and self.dropout > 0
                made.append(recomputed(run, x, chunk, use_reentrant=False, preserve_rng_state=random))
        return made

    def _pool(self, x: Tensor, chunk: Chunk) -> Tensor:
        pooled = []
        *parts, _ = split_by_group(x, chunk.groups)
        for part, (texts, length) in zip(parts, chunk.groups, strict=True):
            tokens = part.view(texts, length, self.width)
            pooled.append(tokens.mean(dim=1) if self.pooling == "mean" else tokens[:, 0])
        return torch.cat(pooled)

    def tuned_weights(self) -> dict[str, NDArray[np.float32]]:
        """What is trained, under the names that the bare model has in transformers."""
        with torch.no_grad():
            return {name: part.detach().float().cpu().numpy().copy() for name, part in self._named_parts()}

    def _named_parts(self) -> Iterator[tuple[str, Tensor]]:
        """Every trainable weight of the checkpoint: its name, and where it is in our parameters."""
        if self.whole:
            yield "embeddings.word_embeddings.weight", self.words
            yield "embeddings.position_embeddings.weight", self.positions
            if self.types is not None:
                yield "embeddings.token_type_embeddings.weight", self.types
            yield "embeddings.LayerNorm.weight", self.norm.weight
            yield "embeddings.LayerNorm.bias", self.norm.bias
        for index in range(self.first_trainable, self.architecture.layers):
            for ours, theirs in self.architecture.layer_names(index):
                affine = getattr(self.layers[index], ours)
                for kind in ("weight", "bias"):
                    pieces = getattr(affine, kind).chunk(len(theirs))
                    yield from zip((f"{name}.{kind}" for name in theirs), pieces, strict=True)


def _through(layers: Iterable[torch.nn.Module], x: Tensor, groups: Groups, causal: bool = False) -> Tensor:
    tokens = len(x)
    x = with_empty_rows(x)
    for layer in layers:
        x = layer(x, groups, causal)
    return x[:tokens]


def first_trainable(trainable_layers: int | Literal["all"], layers: int) -> int:
    """The lowest layer that is trained of an encoder with so many; an error where it has not as many."""
    if trainable_layers == "all":
        return 0
    count = whole_number(trainable_layers)
    if count is None:
        raise ConfigError(f"trainable_layers={shown(trainable_layers)} is not known: use 'all' or a number")
    if not 0 <= count <= layers:
        raise ConfigError(f"trainable_layers={count}: this encoder has {layers}, use 0 to {layers} or 'all'")
    return layers - count


def _sorted(lengths: NDArray[np.int64]) -> tuple[Tensor | None, NDArray[np.int64]]:
    """The order of texts by length, and where each token then comes from; None if all are in place already."""
    order = np.argsort(lengths, kind="stable")
    if np.array_equal(order, np.arange(len(order))):
        return None, order
    return torch.from_numpy(token_places(np.cumsum(lengths) - lengths, lengths, order)), order


def _joined(parts: list[Tensor], states: Tensor) -> Tensor:
    """The parts of all chunks; of no texts there are none."""
    return torch.cat(parts) if parts else states


def _at(flat: Tensor, places: Tensor | None) -> Tensor:
    return flat if places is None else flat[places.to(flat.device)]


def _chunks(lengths: NDArray[np.int64]) -> Iterator[Chunk]:
    """Texts in order of length, cut where a chunk would have more than TOKENS_IN_CHUNK tokens."""
    ends = np.cumsum(lengths)
    first = 0
    while first < len(lengths):
        start = int(ends[first] - lengths[first])
        last = max(first + 1, int(np.searchsorted(ends, start + TOKENS_IN_CHUNK, side="right")))
        values, counts = np.unique(lengths[first:last], return_counts=True)
        groups = tuple(zip(counts.tolist(), values.tolist(), strict=True))
        yield Chunk(first, last, start, int(ends[last - 1]), groups)
        first = last
