"""The loop, the only one: it steps through phases, looks at everything once an epoch, keeps the best, and saves.

It knows no paper: a `Model` says what its phases and losses are. It knows no files: `Checkpoints` keep its state.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from coterie.engine.batch import Batch, Rows, Texts, batches_of, seed_torch
from coterie.engine.checkpoint import Checkpoints, NoCheckpoints, Saved
from coterie.engine.interrupt import deferred_interrupt
from coterie.engine.known import Known
from coterie.engine.phase import ENCODER, Model, Phase
from coterie.engine.workers import Workers
from coterie.types import Labels, Progress, silent

LONGEST_GRADIENT = 1.0
START = "start"
FEWEST_GROUPS_SHARE = 0.5
"""Training has collapsed when fewer than this share of the groups asked for have any text."""


@dataclass
class Position:
    """The next step to be done."""

    phase: int = 0
    epoch: int = 0
    step: int = 0


@dataclass
class Outcome:
    """What came of a training. `score` is that of the state that was kept, None if no state was ever judged."""

    history: list[dict[str, Any]]
    score: float | None
    notes: list[str] = field(default_factory=list)


class Training:
    """Trains a model and its encoder through the model's phases.

    `judge` scores a grouping without labels, the higher the better. Afterwards model and encoder are in the best state
    seen; with `keep_best=False` in the last, unless a guard had to stop it. `truth`, where known, only enters the
    history.
    """

    def __init__(
        self,
        model: Model,
        encoder: nn.Module,
        texts: Texts,
        *,
        judge: Callable[[Labels], float],
        seed: int = 0,
        checkpoints: Checkpoints | NoCheckpoints | None = None,
        workers: Workers | None = None,
        truth: Labels | None = None,
        keep_best: bool = True,
        progress: Progress = silent,
    ) -> None:
        self.model, self.encoder, self.texts = model, encoder, texts
        self.keep_best = keep_best
        self.judge, self.seed, self.progress = judge, seed, progress
        self.checkpoints = checkpoints or NoCheckpoints()
        self.workers = workers or Workers()
        self.truth = truth
        self.phases = model.phases()
        if not any(parameter.requires_grad for parameter in encoder.parameters()):
            self.phases = [phase.with_encoder_still() for phase in self.phases]
        self.position = Position()
        self.history: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.best: dict[str, Tensor] = {}
        self.best_score: float | None = None
        self._labels: Labels | None = None
        self._sums: dict[str, float] = {}
        self._optimizer: torch.optim.Optimizer | None = None
        self._known = Known(texts, encoder, self.workers)
        self._epoch_started = 0.0
        self._seconds_before = 0.0

    def run(self) -> Outcome:
        with torch.random.fork_rng(devices=[]), deferred_interrupt() as interrupted:
            self._resume()
            self._look_before()
            while self.position.phase < len(self.phases):
                if not self._epoch(self.phases[self.position.phase], interrupted):
                    self._next_phase(len(self.phases))
            # What comes after training takes time too, and may be stopped.
            self._save()
            if self.workers.agree(interrupted()):
                raise KeyboardInterrupt
            if self.keep_best or self.notes:
                self._restore_best()
            self.model.eval()
            self.encoder.eval()
        return Outcome(self.history, self.best_score, self.notes)

    # One epoch, one step.

    def _epoch(self, phase: Phase, interrupted: Callable[[], bool]) -> bool:
        """False when training must end here."""
        if phase.epochs == 0:
            self._next_phase()
            return True
        optimizer = self._optimizer_of(phase)
        place = self.position
        if place.step == 0:
            self.model.refresh(self._known.vectors(), phase)
            self._sums = {}
        self._epoch_started, self._seconds_before = time.monotonic() - self._seconds_before, 0.0
        batches = batches_of(len(self.texts), phase.batch_size, [self.seed, place.phase, place.epoch])
        for rows in batches[place.step :]:
            if not self._step(phase, optimizer, rows, len(batches)):
                return False
            place.step += 1
            self.progress(
                f"training ({phase.name})", place.epoch * len(batches) + place.step, phase.epochs * len(batches)
            )
            if self.workers.agree(interrupted()):
                self._save()
                raise KeyboardInterrupt
            if self.workers.agree(self.checkpoints.due):
                self._save()
        return self._look(phase, len(batches))

    def _step(self, phase: Phase, optimizer: torch.optim.Optimizer, rows: Rows, steps_in_epoch: int) -> bool:
        place = self.position
        factor = phase.rate_factor(place.epoch * steps_in_epoch + place.step, phase.epochs * steps_in_epoch)
        for group in optimizer.param_groups:
            group["lr"] = group["full_rate"] * factor
        self.model.train()
        self.encoder.train(phase.trains_encoder)
        batch = self._batch(rows, phase)
        losses = self.model.losses(batch, phase)
        total = torch.stack([phase.weights[name] * loss for name, loss in losses.items()]).sum()
        optimizer.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        self.workers.average_gradients(trained)
        length = nn.utils.clip_grad_norm_(trained, LONGEST_GRADIENT)
        if not (math.isfinite(float(total.detach())) and math.isfinite(float(length))):
            self._note(f"the loss or its gradient was no number in {phase.name!r}, epoch {place.epoch + 1}")
            return False
        optimizer.step()
        if phase.trains_encoder:
            self._known.forget()
        for name, loss in {**losses, "total": total, "gradient": length}.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(loss.detach())
        return True

    def _batch(self, rows: Rows, phase: Phase) -> Batch:
        place = self.position
        texts = self.texts if phase.trains_encoder else self._known
        return Batch(texts, rows, self.workers, [self.seed, place.phase, place.epoch, place.step])

    # Once an epoch: everything is looked at.

    def _look_before(self) -> None:
        if self.history or not self.phases:
            return
        figures = self.model.survey(self._known.vectors(), None)
        if figures:
            self.history.append({"phase": START, "epoch": 0, "losses": {}, "seconds": 0.0, **figures})

    def _look(self, phase: Phase, steps: int) -> bool:
        place = self.position
        means = {name: value / steps for name, value in self._sums.items()}
        entry: dict[str, Any] = {"phase": phase.name, "epoch": place.epoch + 1, "losses": means}
        entry["seconds"] = round(time.monotonic() - self._epoch_started, 3)
        self.history.append(entry)
        self.model.eval()
        if phase.judged:
            entry |= self._judged(phase)
        entry |= self._observations(phase)
        entry |= self.model.survey(self._known.vectors(), phase)
        changed = entry.get("changed")
        # While most groups are still missing nothing changes either.
        settled = phase.stop_below is not None and changed is not None and changed < phase.stop_below
        settled = settled and self._is_whole(entry["groups"])
        if settled or self._no_longer_rising(phase) or place.epoch + 1 == phase.epochs:
            self._next_phase()
        else:
            place.epoch, place.step = place.epoch + 1, 0
        return not entry.get("collapsed")

    def _judged(self, phase: Phase) -> dict[str, Any]:
        """What there is to say of the groups as they are now; the best ones so far are kept."""
        before, labels = self._labels, self._groups()
        self._labels = labels
        found, score = len(np.unique(labels)), self.judge(labels)
        entry = {
            "score": score,
            "groups": found,
            "largest": float(np.bincount(labels).max() / len(labels)),
            "changed": None if before is None else float((labels != before).mean()),
        }
        if not phase.candidate:
            return entry
        whole = self._is_whole(found)
        if whole and (self.best_score is None or score > self.best_score):
            self.best_score, self.best = score, self._weights()
            entry["best"] = True
        # A head that has just begun to learn knows few groups: that is no collapse.
        if not whole and self.best_score is not None:
            entry["collapsed"] = True
            self._note(f"the groups collapsed ({found} left) in {phase.name!r}, epoch {self.position.epoch + 1}")
        return entry

    def _groups(self) -> Labels:
        vectors = self._known.vectors()
        with torch.no_grad():
            self.model.settle(vectors)
            parts = [self.model.scores(part).argmax(dim=1) for part in torch.split(vectors, 2048)]
        return np.asarray(torch.cat(parts).cpu().numpy(), dtype=np.int64)

    def _is_whole(self, found: int) -> bool:
        asked = self.model.scores(self._known.vectors()[:1]).shape[1]
        return found >= max(min(asked, 2), FEWEST_GROUPS_SHARE * asked)

    def _no_longer_rising(self, phase: Phase) -> bool:
        looks = [entry for entry in self.history if entry["phase"] == phase.name]
        return (
            phase.patience is not None
            and len(looks) > phase.patience
            and not any(entry.get("best") for entry in looks[-phase.patience :])
        )

    def _observations(self, phase: Phase) -> dict[str, float]:
        """Of one random batch, the same every epoch."""
        rows = batches_of(len(self.texts), phase.batch_size, [self.seed])[0]
        groups = self.truth if self.truth is not None else self._labels
        if groups is None:
            return {}
        with torch.no_grad():
            batch = Batch(self._known, rows, self.workers, [self.seed])
            return self.model.observations(batch, torch.from_numpy(groups[rows]).to(self.workers.device))

    # States: phases, the best one, checkpoints.

    def _next_phase(self, number: int | None = None) -> None:
        self.position = Position(self.position.phase + 1 if number is None else number)
        self._optimizer = None

    def _optimizer_of(self, phase: Phase) -> torch.optim.Optimizer:
        if self._optimizer is None:
            groups = self.model.parameter_groups()
            groups[ENCODER] = [parameter for parameter in self.encoder.parameters() if parameter.requires_grad]
            chosen = [
                {"params": groups[name], "lr": rate, "full_rate": rate}
                for name, rate in phase.rates.items()
                if groups[name]
            ]
            self._optimizer = torch.optim.Adam(chosen, fused=True)
            for parameters in groups.values():
                for parameter in parameters:
                    parameter.grad = None
        return self._optimizer

    def _note(self, note: str) -> None:
        self.notes.append(f"{note}: the best state before it was kept")

    def _weights(self) -> dict[str, Tensor]:
        parts = {"model": self.model.state_dict(), "encoder": _Trained(self.encoder).state_dict()}
        return {
            f"{part}/{name}": tensor.detach().cpu().clone()
            for part, tensors in parts.items()
            for name, tensor in tensors.items()
        }

    def _load_weights(self, weights: Saved) -> None:
        self.model.load_state_dict(weights.part("model"))
        _Trained(self.encoder).load(weights.part("encoder"))
        self._known.forget()

    def _restore_best(self) -> None:
        if self.best:
            self._load_weights(Saved({}, self.best))

    def _save(self) -> None:
        if not self.workers.is_main:
            return
        document = {
            "position": asdict(self.position),
            "history": self.history,
            "notes": self.notes,
            "best_score": self.best_score,
            "sums": self._sums,
            "elapsed": time.monotonic() - self._epoch_started,
        }
        saved = Saved(document, self._weights())
        saved.add("best", self.best)
        if self._optimizer is not None:
            for index, state in self._optimizer.state_dict()["state"].items():
                saved.add(f"optimizer/{index}", state)
        if self._labels is not None:
            saved.add("labels", {"last": torch.from_numpy(self._labels)})
        self.checkpoints.save(saved)

    def _resume(self) -> None:
        seed_torch([self.seed])
        saved = self.checkpoints.load() if self.workers.is_main else None
        if self.workers.count > 1:
            packed = self.workers.from_main(None if saved is None else saved.packed())
            saved = None if packed is None else Saved.unpacked(packed)
        if saved is None:
            return
        fresh = self._weights()
        try:
            self._go_on_from(saved)
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError):
            # Of other code under the same name: from the start, then.
            self._load_weights(Saved({}, fresh))
            self.position, self.history, self.notes, self._sums = Position(), [], [], {}
            self.best, self.best_score, self._labels, self._optimizer = {}, None, None, None
            self._seconds_before = 0.0

    def _go_on_from(self, saved: Saved) -> None:
        document = saved.document
        self._load_weights(saved)
        self.position = Position(**document["position"])
        self.history, self.notes = document["history"], document["notes"]
        self.best_score, self._sums = document["best_score"], document["sums"]
        self._seconds_before = float(document["elapsed"])
        self.best = saved.part("best")
        labels = saved.part("labels")
        self._labels = labels["last"].numpy() if labels else None
        if self.position.phase < len(self.phases):
            optimizer = self._optimizer_of(self.phases[self.position.phase])
            state = optimizer.state_dict()
            indices = {int(name.split("/")[0]) for name in saved.part("optimizer")}
            state["state"] = {index: saved.part(f"optimizer/{index}") for index in indices}
            optimizer.load_state_dict(state)


class _Trained:
    """The part of an encoder that is trained: all that a checkpoint must hold of it."""

    def __init__(self, encoder: nn.Module) -> None:
        self._parameters = {name: value for name, value in encoder.named_parameters() if value.requires_grad}

    def state_dict(self) -> dict[str, Tensor]:
        return dict(self._parameters)

    def load(self, tensors: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self._parameters.items():
                parameter.copy_(tensors[name])
