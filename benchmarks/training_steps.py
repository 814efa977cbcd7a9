"""Steps a second of AECL's third stage against the plain way of doing it, in turns in one run.

    COTERIE_DATA=FOLDER python benchmarks/training_steps.py

The plain way is that of the published codes: every text of a batch is tokenised as it comes and padded to 32 tokens,
and all layers of transformers' own model are trained in its training mode. Both sides compute AECL's losses with the
same model on the same batches of 400 texts in two views.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from common import bench_set, record, side_by_side
from coterie.augment import fixed_view, make_augmenters
from coterie.engine.batch import Batch, batches_of
from coterie.engine.phase import ENCODER
from coterie.engine.workers import Workers
from coterie.features.transformer import TransformerEncoder
from coterie.methods.aecl import AECL, AECLSettings
from coterie.methods.deep_model import Task
from coterie.nn.encoder import TrainableEncoder
from coterie.nn.texts import TrainingTexts

PADDED_TO = 32
ROUNDS = 5


class PlainTexts:
    """Tokenised at every step, padded to 32, all layers, dropout on."""

    def __init__(self, folder: str, views: list[list[str]]) -> None:
        self.tokenizer, self.model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).train()
        self.views = views

    def encode(self, view: int, rows: np.ndarray) -> Tensor:
        texts = [self.views[view][row] for row in rows]
        fed = self.tokenizer(texts, padding="max_length", truncation=True, max_length=PADDED_TO, return_tensors="pt")
        hidden = self.model(**fed).last_hidden_state
        mask = fed["attention_mask"][:, :, None]
        return nn.functional.normalize((hidden * mask).sum(dim=1) / mask.sum(dim=1), dim=1)


def main() -> None:
    _, texts = bench_set("stackoverflow")
    texts = texts[: int(sys.argv[1]) if len(sys.argv) > 1 else 4000]
    encoder = TransformerEncoder()
    (augmenter,) = make_augmenters("eda", encoder, texts, None, [0])
    views = [texts, fixed_view(augmenter, texts)]
    tokens = [encoder.tokens(view) for view in views]
    sides: dict[str, Any] = {"plain": PlainTexts(str(encoder.checkpoint.folder), views)}
    for name, layers in {"all layers": "all", "balanced": 2}.items():
        for bf16 in (False, True):
            trained = TrainableEncoder(encoder.checkpoint, trainable_layers=layers, bf16=bf16)  # type: ignore[arg-type]
            trained.saved_bytes //= 2
            sides[name + (", bf16" if bf16 else "")] = TrainingTexts(trained, tokens)
    workers, rows = Workers(), iter(batches_of(len(texts), 400, [0]) * 10)
    contenders = {name: _stepper(side, workers, len(texts), rows) for name, side in sides.items()}
    for step in contenders.values():
        step()  # warm
    seconds = side_by_side(contenders, ROUNDS)
    best = {name: min(values) for name, values in seconds.items()}
    ratios = {name: round(best["plain"] / best[name], 2) for name in best if name != "plain"}
    median = {name: float(np.median(values)) for name, values in seconds.items()}
    median_ratios = {name: round(median["plain"] / median[name], 2) for name in ratios}
    record(
        "training_steps",
        {"seconds_per_step": seconds, "times_faster_best": ratios, "times_faster_median": median_ratios},
    )


def _stepper(side: Any, workers: Workers, rows: int, batches: Any) -> Any:
    torch.manual_seed(0)
    model = AECL(AECLSettings(), Task(384, 20, rows, "balanced", 0))
    phase = model.phases()[-1]
    encoder = side.model if isinstance(side, PlainTexts) else side.encoder
    trained = [parameter for parameter in encoder.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(
        [{"params": trained, "lr": phase.rates[ENCODER]}, {"params": list(model.parameters())}]
    )

    def step() -> None:
        model.train()
        encoder.train()
        losses = model.losses(Batch(side, next(batches), workers, [0]), phase)
        optimizer.zero_grad()
        torch.stack([phase.weights[name] * loss for name, loss in losses.items()]).sum().backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    main()
