"""What the systems with an autoencoder share: how it is trained before there are groups, and centres among its codes.

Pretraining is `greedy`, a phase for each pair of layers under dropout and then all of them together without it (DEC
3.2), or `joint`, all of them together from the start. Then come the first centres: with `init="kmeans"` those of
k-means on the codes, as published; with `init="two-view"` the means of the first groups' codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from coterie.clusterers import KMeans
from coterie.engine.batch import Batch
from coterie.engine.phase import Phase
from coterie.methods.centres import Centres
from coterie.methods.deep_model import Task, given
from coterie.methods.on_features import FeatureSettings
from coterie.nn.autoencoder import Autoencoder

NOISE = 0.2
RESTARTS = 20
SETTLED = 0.001
"""Training ends when fewer texts than this share change group in an epoch."""
FEWEST_EPOCHS = 3
"""Of the clustering, however many texts there are: what is learnt is renewed, and looked back at, once an epoch."""
WHOLE, CLUSTERING = "autoencoder", "clustering"


class Steps(NamedTuple):
    """How long it trains one pair of layers, the whole autoencoder, and at most the groups."""

    pair: int
    whole: int
    clustering: int


@dataclass(frozen=True)
class AutoencoderSettings(FeatureSettings):
    """`layers`: widths from the first hidden layer to the code. The epochs are left to the effort."""

    batch_size: int = 256
    layers: tuple[int, ...] = (500, 500, 2000, 10)
    pretraining: Literal["greedy", "joint"] = "greedy"
    rate: float = 1e-3
    pair_epochs: int | None = None
    pretraining_epochs: int | None = None
    epochs: int | None = None

    def idle(self) -> dict[str, str]:
        return {"pair_epochs": "pretraining=joint"} if self.pretraining == "joint" else {}


class Autoencoding(Centres):
    """A subclass says what is learnt once there are centres: `clustering_losses`, and what each of them counts."""

    settings: Any
    only_for_training: ClassVar[tuple[str, ...]] = (*Centres.only_for_training, "autoencoder.decoder")
    augmentations: ClassVar[int] = 0
    steps: ClassVar[dict[str, Steps]] = {
        "fast": Steps(100, 300, 300),
        "balanced": Steps(300, 1000, 1000),
        "full": Steps(50_000, 100_000, 20_000),
    }
    trains_centres: ClassVar[bool] = True

    def __init__(self, settings: Any, task: Task) -> None:
        super().__init__(settings, task)
        self.autoencoder = Autoencoder(task.width, settings.layers)
        self.pairs = [f"layer {number}" for number in range(1, len(settings.layers) + 1)]

    def clustering_weights(self) -> dict[str, float]:
        raise NotImplementedError

    def clustering_losses(self, x: Tensor, codes: Tensor, rows: Tensor) -> dict[str, Tensor]:
        """Of the texts of these rows, which the autoencoder reads as x."""
        raise NotImplementedError

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        pairs = {name: self.autoencoder.pair_parameters(pair) for pair, name in enumerate(self.pairs)}
        return {**pairs, "centres": [self.centres]}

    def phases(self) -> list[Phase]:
        chosen, steps, size = self.settings, self.steps[self.task.effort], self.batch_size
        pair_epochs = given(chosen.pair_epochs, self.epochs_of(steps.pair)) if chosen.pretraining == "greedy" else 0
        whole_epochs = given(chosen.pretraining_epochs, self.epochs_of(steps.whole))
        epochs = given(chosen.epochs, max(FEWEST_EPOCHS, self.epochs_of(steps.clustering)))
        layers = dict.fromkeys(self.pairs, chosen.rate)
        centres = {"centres": chosen.rate} if self.trains_centres else {}
        again = {"reconstruction": 1.0}
        return [
            *(Phase(name, pair_epochs, {name: chosen.rate}, again, size, judged=False) for name in self.pairs),
            Phase(WHOLE, whole_epochs, layers, again, size, judged=False),
            Phase(CLUSTERING, epochs, layers | centres, self.clustering_weights(), size, stop_below=SETTLED),
        ]

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        # Coordinates of about 1, as DEC has them.
        x = self.scale * batch.vectors(0)
        if phase.name == CLUSTERING:
            return self.clustering_losses(x, self.autoencoder.encode(x), batch.rows)
        if phase.name == WHOLE:
            return {"reconstruction": functional.mse_loss(self.autoencoder(x), x)}
        before, after = self.autoencoder.one_pair(x, self.pairs.index(phase.name), NOISE)
        return {"reconstruction": functional.mse_loss(after, before)}

    def refresh(self, vectors: Tensor, phase: Phase) -> None:
        """When pretraining is done, once: the first centres."""
        if phase.name != CLUSTERING or self.placed:
            return
        if self.settings.init == "kmeans":
            means = KMeans(self.task.n_clusters, n_init=RESTARTS, random_state=self.task.random_state)
            self.first_groups.copy_(torch.from_numpy(means.fit(self.all_places(vectors).cpu().numpy()).labels_))
        self.start_at_first_groups(vectors)

    @property
    def place_width(self) -> int:
        return int(self.settings.layers[-1])

    def places(self, vectors: Tensor) -> Tensor:
        return self.autoencoder.encode(self.scale * vectors)
