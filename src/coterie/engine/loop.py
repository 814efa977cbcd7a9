"""The loop, the only one: it steps through phases, looks at everything once an epoch, keeps the best, and saves.

It knows no paper: a `Model` says what its phases and losses are. It knows no files: `Checkpoints` keep its state.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from coterie.engine.batch import Batch, Rows, Texts, batches_of, seed_torch
from coterie.engine.checkpoint import Checkpoints, NoCheckpoints, Saved
from coterie.engine.freed import give_back_freed
from coterie.engine.interrupt import deferred_interrupt
from coterie.engine.known import Known
from coterie.engine.phase import ENCODER, ROWS_AT_ONCE, Model, Phase
from coterie.engine.state import Position, TrainingState, last_saved, load_optimizer, load_weights, weights_of
from coterie.engine.workers import Workers
from coterie.errors import ConfigError
from coterie.metrics.external import external_scores
from coterie.types import Labels, Look, Progress, silent

LONGEST_GRADIENT = 1.0
START = "start"
WATCHED = "watched"
"""In the history: what the one who watches gave."""
RESUMED = "going on from a checkpoint"
"""A stage of progress: what came before it was done by a process that was stopped."""
FEWEST_GROUPS_SHARE = 0.5
"""Training has collapsed when fewer than this share of the groups asked for have any text."""
SETTLING_STEPS = 20
"""Groups that stay as they are over fewer steps say nothing: of a few hundred texts an epoch is two or three."""


@dataclass
class Outcome:
    """What came of a training.

    `score` is that of the best state seen whose groups could be kept and were enough, None if there was none; `looked`
    says whether any state was looked at whose groups could be kept, were there enough.
    """

    history: list[dict[str, Any]]
    score: float | None
    looked: bool
    notes: list[str] = field(default_factory=list)


def indifferent(labels: Labels) -> float:
    """A judge where there is nothing to choose between."""
    return 0.0


class Training:
    """Trains a model and its encoder through the model's phases.

    `judge` scores a grouping without labels, the higher the better. Afterwards model and encoder are in the best state
    seen; with `keep_best=False` in the last, unless a guard had to stop it. With a `floor` training of the encoder ends
    where its groups are judged at less, and goes back to the last state before, if there was one. `truth`, where known,
    only enters the history; so does what `watch` makes of all vectors, before the first epoch and at the end of every
    phase.
    """

    def __init__(
        self,
        model: Model,
        encoder: nn.Module,
        texts: Texts,
        *,
        judge: Callable[[Labels], float] = indifferent,
        seed: int = 0,
        checkpoints: Checkpoints | NoCheckpoints | None = None,
        workers: Workers | None = None,
        truth: Labels | None = None,
        watch: Look | None = None,
        keep_best: bool = True,
        floor: float | None = None,
        progress: Progress = silent,
    ) -> None:
        self.model, self.encoder, self.texts = model, encoder, texts
        self.keep_best, self.floor = keep_best, floor
        self.judge, self.seed, self.progress = judge, seed, progress
        self.checkpoints = checkpoints or NoCheckpoints()
        self.workers = workers or Workers()
        self.truth, self.watch = truth, watch
        self.phases = model.phases()
        if not any(parameter.requires_grad for parameter in encoder.parameters()):
            self.phases = [phase.with_encoder_still() for phase in self.phases]
        self.state = TrainingState()
        self._optimizer: torch.optim.Optimizer | None = None
        self._known = Known(texts, encoder, self.workers)
        self._seen: Tensor | None = None

    @property
    def history(self) -> list[dict[str, Any]]:
        return self.state.history

    @property
    def notes(self) -> list[str]:
        return self.state.notes

    def run(self) -> Outcome:
        with torch.random.fork_rng(devices=[]), deferred_interrupt() as interrupted:
            self._resume()
            self._look_before()
            while self.state.position.phase < len(self.phases):
                if not self._epoch(self.phases[self.state.position.phase], interrupted):
                    self._next_phase(len(self.phases))
            # What comes after training takes time too, and may be stopped.
            self._save()
            if self.workers.agree(interrupted()):
                raise KeyboardInterrupt
            if self.keep_best or self.notes:
                self._restore_best()
            self.model.eval()
            self.encoder.eval()
        candidates = {phase.name for phase in self.phases if phase.judged and phase.candidate}
        looked = any(entry["phase"] in candidates and "score" in entry for entry in self.history)
        return Outcome(self.history, self.state.best_score, looked, self.notes)

    # One epoch, one step.

    def _epoch(self, phase: Phase, interrupted: Callable[[], bool]) -> bool:
        """False when training must end here."""
        if phase.epochs == 0:
            self._next_phase()
            return True
        optimizer = self._optimizer_of(phase)
        place = self.state.position
        if place.step == 0:
            self.model.refresh(self._last_seen(), phase)
            self.state.sums, self.state.epoch_started = {}, time.monotonic()
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
        place = self.state.position
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
        with torch.no_grad():
            self.model.after_step(batch, phase)
        if phase.trains_encoder:
            self._known.forget()
        self.state.steps_since += 1
        for name, loss in {**losses, "total": total, "gradient": length}.items():
            self.state.sums[name] = self.state.sums.get(name, 0.0) + float(loss.detach())
        return True

    def _batch(self, rows: Rows, phase: Phase) -> Batch:
        place = self.state.position
        texts = self.texts if phase.trains_encoder else self._known
        return Batch(texts, rows, self.workers, [self.seed, place.phase, place.epoch, place.step])

    # Once an epoch: everything is looked at.

    def _look_before(self) -> None:
        if self.history or not self.phases:
            return
        vectors = self._last_seen()
        figures = self.model.survey(vectors, None) | self._watched(vectors)
        if figures:
            self.history.append({"phase": START, "epoch": 0, "losses": {}, "seconds": 0.0, **figures})

    def _look(self, phase: Phase, steps: int) -> bool:
        place = self.state.position
        means = {name: value / steps for name, value in self.state.sums.items()}
        entry: dict[str, Any] = {"phase": phase.name, "epoch": place.epoch + 1, "losses": means}
        entry["seconds"] = round(time.monotonic() - self.state.epoch_started, 3)
        self.history.append(entry)
        self.model.eval()
        last = place.epoch + 1 == phase.epochs
        if not last and (place.epoch + 1) % phase.look_every:
            place.epoch, place.step = place.epoch + 1, 0
            return True
        if phase.trains_encoder:  # of a still one a look is short, and there are hundreds
            give_back_freed()
        self._seen = None
        if phase.judged:
            entry |= self._judged(phase)
        entry |= self._observations(phase)
        entry |= self.model.survey(self._last_seen(), phase) | self._taught()
        ended = last or self._has_settled(phase)
        stopped = "collapsed" in entry or "too_far" in entry
        if self.watch is not None and (ended or stopped):
            with torch.no_grad():
                entry |= self._watched(self.model.represented(self._known.vectors()))
        if ended:
            if place.epoch + 1 < phase.epochs:
                self.progress(f"training ({phase.name})", phase.epochs * steps, phase.epochs * steps)
            self._next_phase()
        else:
            place.epoch, place.step = place.epoch + 1, 0
        return not stopped

    def _has_settled(self, phase: Phase) -> bool:
        """Whether less than `stop_below` of the texts have changed group in the last `SETTLING_STEPS` or more."""
        state = self.state
        before, now = state.compared, state.labels
        if phase.stop_below is None or now is None or (before is not None and state.steps_since < SETTLING_STEPS):
            return False
        state.compared, state.steps_since = now, 0
        rising = state.position.epoch + 1 < phase.warmup * phase.epochs
        if before is None or rising or float((now != before).mean()) >= phase.stop_below:
            return False
        # While groups are still missing nothing changes either; what only prepares is done when all have been learnt.
        return self._is_whole(len(np.unique(now)), FEWEST_GROUPS_SHARE if phase.candidate else 1.0)

    def _last_seen(self) -> Tensor:
        """The vectors of all texts as they were when last looked at; now, if they never were."""
        if self._seen is None:
            self._seen = self._known.vectors()
        return self._seen

    def _judged(self, phase: Phase) -> dict[str, Any]:
        """What there is to say of the groups as they are now; the best ones so far are kept."""
        place, before, labels = self.state.position, self.state.labels, self._groups()
        self.state.labels = labels
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
        floor = self.floor if phase.trains_encoder else None
        too_far = whole and floor is not None and score < floor
        if too_far:
            entry["too_far"] = True
            self._note(f"the groups went too far from the start in {phase.name!r}, epoch {place.epoch + 1}")
        best = self.state.best_score
        if whole and (best is None or (score > best if floor is None else not too_far)):
            self.state.best_score, self.state.best = score, weights_of(self.model, self.encoder)
            entry["best"] = True
        # A head that has just begun to learn knows few groups: that is no collapse.
        if not whole and self.state.best_score is not None:
            entry["collapsed"] = True
            self._note(f"the groups collapsed ({found} left) in {phase.name!r}, epoch {place.epoch + 1}")
        return entry

    def _groups(self) -> Labels:
        vectors = self._known.vectors()
        with torch.no_grad():
            self.model.settle(vectors)
            parts = [self.model.scores(part).argmax(dim=1) for part in torch.split(vectors, ROWS_AT_ONCE)]
        return np.asarray(torch.cat(parts).cpu().numpy(), dtype=np.int64)

    def _is_whole(self, found: int, share: float = FEWEST_GROUPS_SHARE) -> bool:
        asked = self.model.scores(self._known.vectors()[:1]).shape[1]
        return found >= max(min(asked, 2), share * asked)

    def _observations(self, phase: Phase) -> dict[str, float]:
        """Of one random batch, the same every epoch."""
        rows = batches_of(len(self.texts), phase.batch_size, [self.seed])[0]
        groups = self.truth if self.truth is not None else self.state.labels
        if groups is None:
            return {}
        with torch.no_grad():
            batch = Batch(self._known, rows, self.workers, [self.seed])
            return self.model.observations(batch, torch.from_numpy(groups[rows]).to(self.workers.device))

    def _taught(self) -> dict[str, Any]:
        """How the groups that this epoch taught stand by the true ones."""
        groups = None if self.truth is None else self.model.taught()
        if self.truth is None or groups is None:
            return {}
        scores = external_scores(self.truth.tolist(), groups.tolist())
        return {"taught": {name: scores[name] for name in ("acc", "nmi")}}

    def _watched(self, vectors: Tensor) -> dict[str, Any]:
        if self.watch is None:
            return {}
        found = self.watch(vectors.cpu().numpy())
        try:
            # As it comes back from a checkpoint, so that a history that was gone on with is that of an unbroken run.
            return {WATCHED: json.loads(json.dumps(found))}
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"watch: what it gave cannot be kept in the history ({error}): give plain numbers and texts"
            ) from error

    # States: phases, the best one, checkpoints.

    def _next_phase(self, number: int | None = None) -> None:
        self.state.position = Position(self.state.position.phase + 1 if number is None else number)
        self.state.compared, self.state.steps_since = self.state.labels, 0
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
        end = "the best state before it was kept" if self.state.best else "training ended there"
        self.notes.append(f"{note}: {end}")

    def _load_weights(self, weights: Saved) -> None:
        load_weights(self.model, self.encoder, weights)
        self._known.forget()
        self._seen = None

    def _restore_best(self) -> None:
        if self.state.best:
            self._load_weights(Saved({}, self.state.best))

    def _save(self) -> None:
        if self.workers.is_main:
            self.checkpoints.save(self.state.saved(weights_of(self.model, self.encoder), self._optimizer))
            give_back_freed()

    def _resume(self) -> None:
        seed_torch([self.seed])
        saved = last_saved(self.checkpoints, self.workers)
        if saved is None:
            return
        fresh = weights_of(self.model, self.encoder)
        try:
            self._go_on_from(saved)
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError):
            # Of other code under the same name: from the start, then.
            self._load_weights(Saved({}, fresh))
            self.state, self._optimizer = TrainingState(), None
        else:
            self.progress(RESUMED, 1, 1)

    def _go_on_from(self, saved: Saved) -> None:
        self._load_weights(saved)
        self.state = TrainingState.of(saved)
        if self.state.position.phase < len(self.phases):
            load_optimizer(self._optimizer_of(self.phases[self.state.position.phase]), saved)
