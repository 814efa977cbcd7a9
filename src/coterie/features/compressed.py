"""Bags of words made narrow by a network that learns to say them again: an autoencoder, and KATE.

Both are trained on the texts themselves, by the loop that trains everything, and need no encoder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from coterie.engine.batch import Batch, batch_count, seed_torch
from coterie.engine.checkpoint import forget_checkpoints
from coterie.engine.phase import Model, Phase
from coterie.engine.resumable import tell_of, train, training_key
from coterie.engine.workers import Workers
from coterie.features.bag import BagOfWords, StemStrengths, StemTfidf
from coterie.features.kept_networks import keep_network, kept_network
from coterie.nn.autoencoder import Autoencoder
from coterie.nn.kate import Kate
from coterie.nn.texts import StillTexts
from coterie.types import Matrix, Progress, State, silent
from coterie.vectors import in_blocks, unit_rows

SHORT = 20
"""Texts of fewer different stems on average are short. Titles, tweets and snippets have 5 to 17 of them, posts, reviews
and articles 34 and more (eleven sets)."""


class _Compressor(Model):
    """A network that is trained to give back what it read."""

    def __init__(self, network: nn.Module, phase: Phase, loss: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.network, self._phase, self._loss = network, phase, loss

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"network": list(self.network.parameters())}

    def phases(self) -> list[Phase]:
        return [self._phase]

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        vectors = batch.vectors(0)
        return {"reconstruction": self._loss(self.network(vectors), vectors)}


class Autoencoded:
    """The code of an autoencoder d - 500 - 2000 - 200 - 2000 - 500 - d on TF-IDF of the 3,000 commonest stems.

    As in ADSL: Adam, batches of 64, squared error; learning rate 5e-4, or 5e-5 for short texts, as the paper has it for
    StackOverflow. The paper gives no number of epochs: here they make about 3,000 steps, and are at most 40.

    What one network makes of a text depends much on the weights that it began with. Of several, which began
    differently, the codes stand side by side, each of length 1.
    """

    kind: ClassVar[str] = "ae"
    layers: ClassVar[tuple[int, ...]] = (500, 2000, 200)
    steps: ClassVar[int] = 3000
    most_epochs: ClassVar[int] = 40
    batch_size: ClassVar[int] = 64
    rate: ClassVar[float] = 5e-4
    rate_for_short_texts: ClassVar[float] = 5e-5
    only_for_training: ClassVar[tuple[str, ...]] = ("decoder.", "out_bias")
    """Beginnings of the names of weights that a finished model does without. Those it has are float64: `in_blocks`."""

    def __init__(self, random_state: int = 0, count: int = 1) -> None:
        self.random_state = random_state
        self.bag = self._new_bag()
        self.networks = [nn.Module()] * count

    def fit_transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        read = self.bag.fit_transform(texts, progress)
        self.networks = [self._learnt(read, *named, progress).double() for named in self._seeds().items()]
        return self._codes(read)

    def transform(self, texts: Sequence[str], progress: Progress = silent) -> Matrix:
        return self._codes(self.bag.transform(texts, progress))

    def state(self) -> State:
        count = len(self.networks)
        state = State({"random_state": self.random_state, "width": len(self.bag.vocabulary), "count": count})
        for number, network in enumerate(self.networks):
            weights = network.state_dict().items()
            kept = {name: tensor.float() for name, tensor in weights if not name.startswith(self.only_for_training)}
            arrays = {name: tensor.numpy() for name, tensor in kept.items()}
            state.nest(f"network{number}", State({}, arrays))
        state.nest("bag", self.bag.state())
        return state

    @classmethod
    def from_state(cls, state: State) -> Self:
        made = cls(state.config["random_state"], state.config["count"])
        made.bag = type(made.bag).from_state(state.child("bag"))
        with torch.random.fork_rng(devices=[]):  # weights are drawn before they are read
            made.networks = [made._new_network(state.config["width"]) for _ in made.networks]
        for number, network in enumerate(made.networks):
            arrays = state.child(f"network{number}").arrays
            weights = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
            network.load_state_dict(weights, strict=False)
            network.double()
        return made

    # What KATE does otherwise.

    def _new_bag(self) -> BagOfWords:
        return StemTfidf()

    def _new_network(self, width: int) -> nn.Module:
        return Autoencoder(width, self.layers)

    @staticmethod
    def _loss(made: Tensor, given: Tensor) -> Tensor:
        return ((made - given) ** 2).sum(dim=1).mean()

    @staticmethod
    def _begin(network: nn.Module, read: Matrix) -> None:
        """What it is given before it learns; an autoencoder begins from nothing."""

    # What both do.

    def _seeds(self) -> dict[str, int]:
        """The networks by name; the first is that of a single one, which need not be trained again for several."""
        count = len(self.networks)
        names = [self.kind] if count == 1 else [f"{self.kind}, {number} of {count}" for number in range(1, count + 1)]
        drawn = np.random.SeedSequence(self.random_state).generate_state(count - 1)
        return dict(zip(names, (self.random_state, *drawn.tolist()), strict=True))

    def _learnt(self, read: Matrix, name: str, seed: int, progress: Progress) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            seed_torch([seed])
            network = self._new_network(read.shape[1])
        self._begin(network, read)
        workers = Workers()
        size = min(self.batch_size, len(read))
        epochs = min(max(1, round(self.steps / batch_count(len(read), size))), self.most_epochs)
        rate = self.rate_for_short_texts if np.count_nonzero(read) / len(read) < SHORT else self.rate
        shapes = [tuple(weight.shape) for weight in network.parameters()]
        key = training_key(self.kind, f"{shapes} {epochs} {rate} {seed}", hashlib.sha256(read.data).hexdigest())
        kept = kept_network(workers, *key)
        if kept is not None:
            network.load_state_dict(kept)
            return network
        # No groups yet, so nothing to judge.
        phase = Phase(name, epochs, {"network": rate}, {"reconstruction": 1.0}, size, judged=False)
        model = _Compressor(network, phase, self._loss).to(workers.device)
        still = StillTexts([read], workers.device)
        outcome = train(model, nn.Module(), still, key, workers=workers, seed=seed, progress=progress)
        network = model.network.cpu()
        tell_of(outcome)
        if not outcome.notes:  # what broke off is not for the next time
            keep_network(workers, network.state_dict(), *key)
        forget_checkpoints(*key)
        return network

    def _codes(self, read: Matrix) -> Matrix:
        def code(rows: NDArray[np.float64]) -> NDArray[np.float64]:
            with torch.no_grad():
                codes = [network.encode(torch.from_numpy(rows)).numpy() for network in self.networks]  # type: ignore[operator]
            return codes[0] if len(codes) == 1 else np.hstack([unit_rows(one) for one in codes])

        return in_blocks(read, code)


class KateCodes(Autoencoded):
    """The code of a k-competitive autoencoder on log(1 + count) of the 3,000 commonest stems, the largest of a text 1.

    As published for 128 topics: 32 winners, energy 6.26, binary cross-entropy, tied weights. Nearly all that it reads
    is 0, so it begins with the words' means; from nothing, it learns little else. Of texts held out, those of five
    sets are told best after 400 to 800 steps (its authors stop by such texts), and worse later.
    """

    kind: ClassVar[str] = "kate"
    steps: ClassVar[int] = 700
    topics: ClassVar[int] = 128
    winners: ClassVar[int] = 32
    energy: ClassVar[float] = 6.26
    rate_for_short_texts: ClassVar[float] = Autoencoded.rate

    def _new_bag(self) -> BagOfWords:
        return StemStrengths()

    def _new_network(self, width: int) -> nn.Module:
        return Kate(width, self.topics, self.winners, self.energy)

    @staticmethod
    def _begin(network: nn.Module, read: Matrix) -> None:
        assert isinstance(network, Kate)
        network.expect(torch.from_numpy(read.mean(axis=0)))

    @staticmethod
    def _loss(made: Tensor, given: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(made, given, reduction="none").sum(dim=1).mean()
