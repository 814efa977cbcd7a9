"""A training under a key: killed, the same one goes on where it stopped."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import torch
from torch import nn

from coterie.engine.batch import Texts
from coterie.engine.checkpoint import NoCheckpoints, checkpoints_for
from coterie.engine.loop import Outcome, Training, indifferent
from coterie.engine.phase import Model
from coterie.engine.workers import Workers
from coterie.own_code import code_digest
from coterie.types import Labels, Look, Progress, silent


def training_key(*parts: str, truth: Labels | None = None, watch: Look | None = None) -> list[str]:
    """What a training is found again by: `parts` tell what is trained on what, in full.

    Other code or another torch may give other numbers, and what the history has beside the losses depends on who looks.
    """
    seen = "" if truth is None else hashlib.sha256(truth.tobytes()).hexdigest()
    return [*parts, code_digest(), torch.__version__, f"{seen} {'watched' if watch else ''}"]


def train(
    model: Model,
    encoder: nn.Module,
    texts: Texts,
    key: Sequence[str],
    *,
    workers: Workers,
    judge: Callable[[Labels], float] = indifferent,
    seed: int = 0,
    truth: Labels | None = None,
    watch: Look | None = None,
    keep_best: bool = True,
    floor: float | None = None,
    progress: Progress = silent,
) -> Outcome:
    """Trains model and encoder; `key` is its `training_key`. `forget_checkpoints` when all is done."""
    # The first process keeps them for all: of several that asked, only one would get the lock.
    with checkpoints_for(*key) if workers.is_main else nullcontext(NoCheckpoints()) as checkpoints:
        return Training(
            model, encoder, texts, judge=judge, seed=seed, checkpoints=checkpoints, workers=workers, truth=truth,
            watch=watch, keep_best=keep_best, floor=floor, progress=progress,
        ).run()  # fmt: skip


def tell_of(outcome: Outcome) -> None:
    """Where features are trained there are no groups yet whose evidence could hold the notes."""
    for note in outcome.notes:
        warnings.warn(note, UserWarning, stacklevel=2)
