"""The loop: phases, rates, epochs, what it keeps and when it gives up."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

from coterie.engine import loop
from coterie.engine.batch import batches_of
from coterie.engine.loop import Outcome
from coterie.engine.phase import Phase
from coterie.engine.resumable import tell_of
from coterie.errors import ConfigError

Make = Callable[..., Any]
ROWS = 23


def changed(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> set[str]:
    """The parameter groups of which anything has changed."""
    parts = {"model.project": "project", "model.assign": "assign", "encoder": "encoder"}
    moved = {name for name in before if not np.array_equal(before[name], after[name])}
    return {group for name in moved for prefix, group in parts.items() if name.startswith(prefix)}


def never_better() -> Callable[[Any], float]:
    """A judge to whom every state is better than the last, so that the last one is what is left."""
    count = iter(range(10_000))
    return lambda labels: float(next(count))


# Phases


def test_phases_in_order_change_what_they_name_and_nothing_else(toy: Make, phase: Make, weights: Make) -> None:
    phases = [
        phase("first", 2, rates={"project": 0.1}, weights={"contrast": 1.0}),
        phase("second", 0),
        phase("third", 1, rates={"assign": 0.1}, weights={"class": 1.0}),
        phase("fourth", 2, rates={"encoder": 0.1, "assign": 0.1}, weights={"class": 1.0, "contrast": 1.0}),
    ]
    seen: list[tuple[str, dict[str, np.ndarray]]] = []
    training = toy(phases, judge=never_better())
    training.progress = lambda stage, done, total: seen.append((stage, weights(training)))
    before = weights(training)
    training.run()
    assert [entry["phase"] for entry in training.history] == ["first", "first", "third", "fourth", "fourth"]
    assert [entry["epoch"] for entry in training.history] == [1, 2, 1, 1, 2]
    for name, expected in {"first": {"project"}, "third": {"assign"}, "fourth": {"encoder", "assign"}}.items():
        after = next(state for stage, state in reversed(seen) if stage == f"training ({name})")
        assert changed(before, after) == expected
        before = after


def test_an_encoder_that_is_not_named_stands_still(toy: Make, phase: Make) -> None:
    training = toy([phase("still", 2, rates={"project": 0.1, "assign": 0.1}), phase("moving", 1)])
    training.run()
    model = training.model
    still = [
        gradient for (name, _), gradient in zip(model.batches, model.with_gradient, strict=True) if name == "still"
    ]
    moving = model.with_gradient[len(still) :]
    assert not any(still)
    assert moving
    assert all(moving)
    # Its vectors are looked up, not encoded again at every step.
    assert len(training.texts.encoded) == 2 * len(moving)


def test_an_encoder_with_nothing_to_train_counts_as_standing_still(toy: Make, phase: Make) -> None:
    training = toy([phase()])
    for parameter in training.encoder.parameters():
        parameter.requires_grad_(False)
    frozen = loop.Training(training.model, training.encoder, training.texts, judge=training.judge)
    assert [phase.trains_encoder for phase in frozen.phases] == [False]
    assert frozen.phases[0].rates == {"project": 0.02, "assign": 0.03}
    frozen.run()
    assert frozen.texts.encoded == []


def test_texts_are_looked_at_as_often_as_a_phase_says_and_after_its_last_epoch(toy: Make, phase: Make) -> None:
    training = toy([phase("rare", 5, look_every=2), phase("often", 2)])
    calls: list[int] = []
    encode_all = training.texts.encode_all
    training.texts.encode_all = lambda view, rows: calls.append(view) or encode_all(view, rows)
    training.run()
    looked = [(entry["phase"], entry["epoch"]) for entry in training.history if "score" in entry]
    assert looked == [("rare", 2), ("rare", 4), ("rare", 5), ("often", 1), ("often", 2)]
    assert all(entry["losses"] for entry in training.history)
    assert len(training.history) == 7
    assert len(calls) == 1 + len(looked)
    # In between a model is given the vectors that were seen last.
    first, second, third, fourth, *_ = (vectors for _, vectors in training.model.refreshed)
    assert torch.equal(first, second)
    assert not torch.equal(second, third)
    assert torch.equal(third, fourth)


def test_an_encoder_that_stands_still_is_looked_at_every_epoch(toy: Make, phase: Make) -> None:
    training = toy([phase("rare", 3, look_every=3)])
    for parameter in training.encoder.parameters():
        parameter.requires_grad_(False)
    frozen = loop.Training(training.model, training.encoder, training.texts, judge=training.judge)
    assert [("score" in entry) for entry in frozen.run().history] == [True, True, True]


def test_losses_count_by_their_weights(toy: Make, phase: Make, weights: Make) -> None:
    training = toy([phase(epochs=1, weights={"contrast": 2.0, "class": -0.5})])
    outcome = training.run()
    losses = outcome.history[0]["losses"]
    assert losses["total"] == pytest.approx(2.0 * losses["contrast"] - 0.5 * losses["class"], rel=1e-5)

    def moved(**changes: float) -> set[str]:
        counts = {"contrast": 1.0, "class": 1.0} | changes
        other = toy([phase(epochs=1, rates={"project": 0.1, "assign": 0.1}, weights=counts)], judge=never_better())
        before = weights(other)
        other.run()
        return changed(before, weights(other))

    assert moved() == {"project", "assign"}
    assert moved(contrast=0.0) == {"assign"}
    assert moved(**{"class": 0.0}) == {"project"}


# Learning rates


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 1, 1, 1, 1]),
        ({"decay": "linear"}, [1, 0.8, 0.6, 0.4, 0.2]),
        ({"warmup": 0.4}, [1 / 3, 2 / 3, 1, 1, 1]),
        ({"warmup": 0.4, "decay": "linear"}, [1 / 3, 2 / 3, 1, 2 / 3, 1 / 3]),
        ({"warmup": 1.0}, [1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6]),
    ],
)
def test_rates_rise_and_fall(options: dict[str, Any], expected: list[float]) -> None:
    phase = Phase("p", 1, {"a": 1.0}, {"b": 1.0}, 8, **options)
    assert [phase.rate_factor(step, 5) for step in range(5)] == pytest.approx(expected)


def test_rates_follow_the_phase_over_all_its_epochs(toy: Make, phase: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[list[float]] = []
    step = torch.optim.Adam.step

    def noting(self: torch.optim.Adam, *args: Any) -> Any:
        used.append([group["lr"] for group in self.param_groups])
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, "step", noting)
    toy([phase(epochs=2, rates={"project": 0.5, "assign": 2.0}, decay="linear")]).run()
    factors = [1 - step / 6 for step in range(6)]  # 23 texts in batches of about 8: three steps an epoch
    assert used == [pytest.approx([0.5 * factor, 2 * factor]) for factor in factors]


# Batches


@pytest.mark.parametrize(("rows", "size", "sizes"), [(23, 8, [8, 8, 7]), (9, 8, [9]), (3, 8, [3]), (12, 8, [6, 6])])
def test_batches_are_nearly_equal_and_hold_every_text_once(rows: int, size: int, sizes: list[int]) -> None:
    batches = batches_of(rows, size, [0, 1])
    assert [len(batch) for batch in batches] == sizes
    assert sorted(np.concatenate(batches).tolist()) == list(range(rows))


def test_every_epoch_sees_every_text_once_in_another_order(toy: Make, phase: Make) -> None:
    training = toy([phase(epochs=3)])
    training.run()
    batches = [rows for _, rows in training.model.batches]
    epochs = [[*batches[start], *batches[start + 1], *batches[start + 2]] for start in (0, 3, 6)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(ROWS))] * 3
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert list(range(ROWS)) not in epochs


def test_a_model_is_told_of_every_step_when_it_is_done(toy: Make, phase: Make) -> None:
    training = toy([phase("one", 2), phase("other", 1)])
    model, told = training.model, []
    weights: list[torch.Tensor] = []
    losses = model.losses

    def before(batch: Any, phase: Any) -> Any:
        weights.append(model.assign.weight.detach().clone())
        return losses(batch, phase)

    def after(batch: Any, phase: Any) -> None:
        assert not torch.is_grad_enabled()
        assert not torch.equal(model.assign.weight, weights[-1]), "with the weights of after the step"
        told.append((phase.name, batch.rows.tolist()))

    model.losses, model.after_step = before, after
    training.run()
    assert told == model.batches


def test_refresh_comes_before_every_epoch_with_the_vectors_of_all(toy: Make, phase: Make) -> None:
    training = toy([phase("a", 2), phase("b", 1, rates={"assign": 0.1})], judge=never_better())
    texts, encoder = training.texts, training.encoder
    expected: list[torch.Tensor] = []
    steps_before: list[int] = []
    refresh = training.model.refresh

    def noting(vectors: torch.Tensor, phase: Phase) -> None:
        with torch.no_grad():
            expected.append(encoder(texts.views[0]))
        steps_before.append(len(training.model.batches))
        refresh(vectors, phase)

    training.model.refresh = noting
    training.run()
    assert steps_before == [0, 3, 6]
    assert [name for name, _ in training.model.refreshed] == ["a", "a", "b"]
    for (_, vectors), wanted in zip(training.model.refreshed, expected, strict=True):
        torch.testing.assert_close(vectors, wanted)
    assert not torch.equal(expected[0], expected[1])


# The history


def test_history_tells_every_loss_and_how_the_groups_stand(
    toy: Make, phase: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count(0.0, 0.25)
    monkeypatch.setattr("coterie.engine.loop.time", SimpleNamespace(monotonic=lambda: next(ticks)))
    training = toy([phase("quiet", 1, judged=False), phase("loud", 2)])
    groups: list[np.ndarray] = []
    judge = training.judge
    training.judge = lambda labels: (groups.append(labels), judge(labels))[1]
    totals: list[float] = training.model.step_losses
    outcome = training.run()
    quiet, first, second = outcome.history
    assert "score" not in quiet
    for number, entry in enumerate(outcome.history):
        assert entry["losses"].keys() == {"contrast", "class", "total", "gradient"}
        assert entry["losses"]["total"] == pytest.approx(np.mean(totals[3 * number : 3 * number + 3]), rel=1e-5)
        assert entry["seconds"] == 0.25, "the clock is read when an epoch begins and ends"
    assert first["changed"] is None
    assert second["changed"] == (groups[0] != groups[1]).mean()
    for entry, labels in zip((first, second), groups, strict=True):
        assert entry["score"] == judge(labels)
        assert entry["groups"] == len(set(labels.tolist()))
        assert entry["largest"] == np.bincount(labels).max() / ROWS
        assert entry["observed"] == labels[batches_of(ROWS, 8, [0])[0]].mean()
    assert "observed" not in quiet  # neither true groups nor own ones were there
    json.dumps(outcome.history, allow_nan=False)


def test_true_groups_enter_the_history_and_nothing_else(toy: Make, phase: Make, weights: Make) -> None:
    blind, seeing = toy([phase()]), toy([phase()], truth=np.full(ROWS, 7))
    without, having = blind.run().history, seeing.run().history
    assert [entry["observed"] for entry in having] == [7.0, 7.0]
    assert all(entry["observed"] < 3 for entry in without)
    for one, other in zip(without, having, strict=True):
        assert one["losses"] == other["losses"]
    for name, value in weights(blind).items():
        assert_array_equal(value, weights(seeing)[name])


# Ends of a phase


STILL = {"rates": {"project": 0.01}, "weights": {"contrast": 1.0}}
"""Training that cannot change the groups."""


def test_a_phase_ends_when_groups_settle(toy: Make, phase: Make) -> None:
    steps_of_one_row = {"batch_size": 1, **STILL}  # 23 an epoch
    outcome = toy([phase("a", 50, stop_below=0.01, **steps_of_one_row), phase("b", 1)]).run()
    assert [entry["phase"] for entry in outcome.history] == ["a", "a", "b"]
    outcome = toy([phase("a", 5, **steps_of_one_row)]).run()
    assert len(outcome.history) == 5


def test_groups_that_stay_for_a_few_steps_have_not_settled(toy: Make, phase: Make) -> None:
    """An epoch has three steps here: after the first, seven make twenty."""
    outcome = toy([phase("a", 50, stop_below=0.01, **STILL), phase("b", 50, stop_below=0.01, **STILL)]).run()
    assert [entry["phase"] for entry in outcome.history] == ["a"] * 8 + ["b"] * 7


def test_a_phase_counts_its_own_steps_only(toy: Make, phase: Make) -> None:
    """The first ends with its epochs, twelve steps after it looked back."""
    outcome = toy([phase("a", 5, stop_below=0.01, **STILL), phase("b", 50, stop_below=0.01, **STILL)]).run()
    assert [entry["phase"] for entry in outcome.history] == ["a"] * 5 + ["b"] * 7


def test_slow_change_adds_up(toy: Make, phase: Make) -> None:
    """In every epoch one text of 23 is put elsewhere: less than a tenth then, more in twenty steps."""
    training = toy([phase("a", 30, stop_below=0.1, **STILL)])
    looks = iter(range(1, 100))

    def one_more(vectors: torch.Tensor) -> torch.Tensor:
        if len(vectors) == 1:
            return torch.zeros(1, 3)
        moved = (torch.arange(ROWS) < min(next(looks), 12)).long()
        return torch.nn.functional.one_hot(moved, 3).float()

    training.model.scores = one_more
    history = training.run().history
    assert all(entry["changed"] < 0.1 for entry in history[1:])
    # 7 move between epochs 1 and 8, 4 until epoch 15, none until epoch 22.
    assert len(history) == 22


def test_nothing_settles_while_rates_rise(toy: Make, phase: Make) -> None:
    outcome = toy([phase("a", 50, stop_below=0.01, warmup=0.5, **STILL)]).run()
    assert len(outcome.history) == 29  # looked back at in epochs 8, 15, 22 and 29; full rates from epoch 25 on


def test_what_prepares_goes_on_until_all_groups_are_known(toy: Make, phase: Make) -> None:
    def epochs(**options: Any) -> int:
        training = toy([phase("a", 30, stop_below=0.01, **STILL, **options)])
        with torch.no_grad():
            training.model.assign.bias[2] = -1000.0
        return len(training.run().history)

    assert epochs() == 8  # two of three groups are enough of a result
    assert epochs(candidate=False) == 30


# Steps


def test_gradients_are_cut_to_length(toy: Make, phase: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[float] = []

    def noting(self: torch.optim.Adam, *args: Any) -> None:
        gradients = [p.grad for group in self.param_groups for p in group["params"]]
        lengths.append(float(torch.cat([gradient.reshape(-1) for gradient in gradients]).norm()))

    monkeypatch.setattr(torch.optim.Adam, "step", noting)
    toy([phase(epochs=1, weights={"contrast": 1e4, "class": 1e4})]).run()
    assert lengths == pytest.approx([loop.LONGEST_GRADIENT] * 3, rel=1e-4)
    lengths.clear()
    toy([phase(epochs=1, weights={"contrast": 1e-4, "class": 1e-4})]).run()
    assert max(lengths) < 0.01  # short ones are left alone


# What is kept


def test_the_best_state_is_what_is_left(toy: Make, phase: Make, weights: Make) -> None:
    scores = [0.1, 0.7, 0.3, 0.6]
    given, states = iter(scores), []

    def judge(labels: np.ndarray) -> float:
        states.append(weights(training))
        return next(given)

    training = toy([phase("a", 2), phase("b", 2)], judge=judge)
    outcome = training.run()
    assert outcome.score == 0.7
    assert [entry.get("best", False) for entry in outcome.history] == [True, True, False, False]
    assert changed(states[1], states[3]) == {"project", "assign", "encoder"}
    for name, value in weights(training).items():
        assert_array_equal(value, states[1][name])
    assert not training.model.training
    assert not training.encoder.training


KEEP_BEST = pytest.mark.parametrize("keep_best", [True, False])
"""Where the last state is wanted, one that a guard had to stop is not."""


@KEEP_BEST
def test_a_loss_that_is_no_number_ends_training_at_the_best_state(
    toy: Make, phase: Make, weights: Make, keep_best: bool
) -> None:
    whole = toy([phase("a", 2)], judge=never_better())
    whole.run()
    training = toy([phase("a", 5), phase("b", 5)], judge=never_better(), keep_best=keep_best)

    def spoil(losses: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        spoiled = len(training.model.batches) == 8  # the second step of the third epoch
        return {name: loss * math.nan if spoiled else loss for name, loss in losses.items()}

    training.model.spoil = spoil
    outcome = training.run()
    assert len(outcome.history) == 2
    assert outcome.score == 1.0
    assert outcome.notes == [
        "the loss or its gradient was no number in 'a', epoch 3: the best state before it was kept"
    ]
    for name, value in weights(training).items():
        assert_array_equal(value, weights(whole)[name])


def test_before_any_judgement_there_is_no_score(toy: Make, phase: Make, weights: Make) -> None:
    training = toy([phase("a", 5, judged=False)])
    training.model.spoil = lambda losses: {name: loss * math.inf for name, loss in losses.items()}
    before = weights(training)
    outcome = training.run()
    assert (outcome.score, outcome.history) == (None, [])
    assert outcome.notes == ["the loss or its gradient was no number in 'a', epoch 1: training ended there"]
    assert changed(before, weights(training)) == set()


@KEEP_BEST
def test_groups_that_collapse_end_training_at_the_best_state(
    toy: Make, phase: Make, weights: Make, keep_best: bool
) -> None:
    training = toy([phase("a", 6), phase("b", 6)], judge=never_better(), keep_best=keep_best)
    states: list[dict[str, np.ndarray]] = []
    scores = training.model.scores

    def collapsing(vectors: torch.Tensor) -> torch.Tensor:
        states.append(weights(training))
        found = scores(vectors)
        return found if len(training.history) < 3 else torch.zeros_like(found)  # all in group 0

    training.model.scores = collapsing
    outcome = training.run()
    assert [entry["groups"] > 1 for entry in outcome.history] == [True, True, False]
    assert outcome.score == 1.0
    assert len(outcome.notes) == 1
    assert "the groups collapsed (1 left) in 'a', epoch 3" in outcome.notes[0]
    best = states[3]  # two calls a look; the second look's
    for name in ("model.assign.weight", "model.project.weight", "encoder.weight"):
        assert_array_equal(weights(training)[name], best[name])
        assert not np.array_equal(best[name], states[-1][name])


def test_an_encoder_is_trained_no_further_than_the_floor(toy: Make, phase: Make, weights: Make) -> None:
    """What is left is the last state that was not below it, be an earlier one better."""
    given, states = iter([1.0, 0.9, 0.95, 0.89, 2.0]), []

    def judge(labels: np.ndarray) -> float:
        states.append(weights(training))
        return next(given)

    training = toy([phase("a", 6), phase("b", 6)], judge=judge, keep_best=False, floor=0.9)
    outcome = training.run()
    assert [entry.get("too_far", False) for entry in outcome.history] == [False, False, False, True]
    assert outcome.notes == [
        "the groups went too far from the start in 'a', epoch 4: the best state before it was kept"
    ]
    assert outcome.score == 0.95
    for name, value in weights(training).items():
        assert_array_equal(value, states[2][name])
    assert changed(states[2], states[3]) == {"project", "assign", "encoder"}


def test_the_first_state_is_left_where_none_is_above_the_floor(toy: Make, phase: Make, weights: Make) -> None:
    training, once = (toy([phase("a", epochs)], judge=lambda labels: 0.5, keep_best=False, **own)
                      for epochs, own in ((3, {"floor": 0.9}), (1, {})))  # fmt: skip
    once.run()
    outcome = training.run()
    assert (outcome.score, len(outcome.history)) == (0.5, 1)
    assert changed(weights(once), weights(training)) == set()
    assert outcome.notes == ["the groups went too far from the start in 'a', epoch 1: training ended there"]


def test_a_still_encoder_has_no_floor(toy: Make, phase: Make) -> None:
    """Its heads are compared as they are, and the best is kept."""
    still = phase("a", 3, rates={"project": 0.1, "assign": 0.1})
    outcome = toy([still], judge=lambda labels: 0.5, floor=0.9).run()
    assert (len(outcome.history), outcome.notes) == (3, [])


def test_few_groups_at_the_beginning_are_no_collapse(toy: Make, phase: Make) -> None:
    training = toy([phase("a", 4)], judge=never_better())
    scores = training.model.scores
    training.model.scores = lambda vectors: scores(vectors) * (len(training.history) > 2)
    outcome = training.run()
    assert [entry["groups"] for entry in outcome.history][:2] == [1, 1]
    assert outcome.notes == []
    assert [entry.get("best", False) for entry in outcome.history] == [False, False, True, True]


# Chance


def test_the_same_seed_gives_the_same_and_another_another(toy: Make, phase: Make, weights: Make) -> None:
    def run(seed: int, disturb: int) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
        torch.manual_seed(disturb)
        training = toy([phase("a", 2), phase("b", 2)], seed=seed, judge=never_better())
        history = training.run().history
        return weights(training), history

    (first, history), (again, same), (other, _) = run(1, 1), run(1, 2), run(2, 1)
    for name, value in first.items():
        assert_array_equal(value, again[name])
    assert [entry["losses"] for entry in history] == [entry["losses"] for entry in same]
    assert changed(first, other) == {"project", "assign", "encoder"}


def test_dropout_falls_differently_in_every_step_and_view(toy: Make, phase: Make) -> None:
    training = toy([phase(epochs=2)], dropout=0.5)
    masks: list[tuple[bool, ...]] = []
    training.model.drop.register_forward_hook(
        lambda module, given, dropped: masks.append(tuple((dropped == 0).flatten().tolist()[:40]))
    )
    training.run()
    assert len(set(masks)) == len(masks) == 12


def test_the_chance_of_others_is_left_alone(toy: Make, phase: Make) -> None:
    training = toy([phase()])
    torch.manual_seed(3)
    before = torch.get_rng_state()
    training.run()
    assert torch.equal(torch.get_rng_state(), before)


def test_a_survey_of_all_texts_comes_first_and_after_every_epoch(toy: Make, phase: Make) -> None:
    training = toy([phase("quiet", 1, judged=False), phase("still", 2, rates={"assign": 0.05}), phase("moving", 1)])
    seen: list[tuple[str | None, np.ndarray]] = []

    def survey(vectors: torch.Tensor, now: Phase | None) -> dict[str, float]:
        seen.append((now.name if now else None, vectors.numpy().copy()))
        return {"figure": float(len(seen))}

    training.model.survey = survey
    history = training.run().history
    assert [(entry["phase"], entry["epoch"], entry["figure"]) for entry in history] == [
        ("start", 0, 1), ("quiet", 1, 2), ("still", 1, 3), ("still", 2, 4), ("moving", 1, 5),
    ]  # fmt: skip
    assert [name for name, _ in seen] == [None, "quiet", "still", "still", "moving"]
    vectors = [vectors for _, vectors in seen]
    assert all(len(found) == ROWS for found in vectors)
    assert not np.allclose(vectors[0], vectors[1]), "as the encoder is after the epoch"
    assert_array_equal(vectors[1], vectors[2])
    assert not np.allclose(vectors[3], vectors[4])


def test_a_model_without_a_survey_has_no_entry_before_the_first_epoch(toy: Make, phase: Make) -> None:
    assert [entry["epoch"] for entry in toy([phase("a", 2)]).run().history] == [1, 2]


# What is seen from outside


def test_what_a_watch_gives_must_be_fit_for_a_history(toy: Make, phase: Make) -> None:
    training = toy([phase("only", 1)], watch=lambda vectors: {"mean": vectors.mean()})
    with pytest.raises(ConfigError, match=r"watch: what it gave cannot be kept in the history .*float32"):
        training.run()
    assert training.history == []
    training = toy([phase("only", 1)], watch=lambda vectors: {3: (1, 2)})
    training.run()
    assert training.history[0][loop.WATCHED] == {"3": [1, 2]}


def test_a_watch_is_shown_the_start_and_the_end_of_every_phase(toy: Make, phase: Make, weights: Make) -> None:
    phases = [phase("first", 2), phase("none", 0), phase("second", 1)]
    seen: list[np.ndarray] = []

    def watch(vectors: np.ndarray) -> dict[str, Any]:
        seen.append(vectors)
        return {"number": len(seen)}

    training = toy(phases, watch=watch)
    training.model.represented = lambda vectors: vectors + 100
    as_encoded = training._known.vectors().numpy().copy()
    training.run()
    told = [(entry["phase"], entry["epoch"], entry.get(loop.WATCHED)) for entry in training.history]
    assert told == [
        ("start", 0, {"number": 1}),
        ("first", 1, None),
        ("first", 2, {"number": 2}),
        ("second", 1, {"number": 3}),
    ]
    assert_array_equal(seen[0], as_encoded)
    # Afterwards as the model sees them.
    assert all(vectors.min() > 50 for vectors in seen[1:])
    assert not np.array_equal(seen[1], seen[2])

    # Watching changes nothing, and without it nobody asks how the model sees them.
    other = toy(phases)
    other.model.represented = lambda vectors: pytest.fail("nobody watches")
    other.run()
    assert [entry["phase"] for entry in other.history] == ["first", "first", "second"]
    for name, tensor in weights(other).items():
        assert_array_equal(tensor, weights(training)[name])


def test_a_phase_that_ends_early_is_shown_too(toy: Make, phase: Make) -> None:
    training = toy([phase("only", 50, stop_below=1.1)], watch=lambda vectors: {})
    training.run()
    assert len(training.history) < 50
    assert [loop.WATCHED in entry for entry in training.history] == [True] + [False] * (len(training.history) - 2) + [
        True
    ]


def test_what_is_taught_is_scored_by_the_truth_alone(toy: Make, phase: Make) -> None:
    """Of 23 texts in three groups (8, 8, 7), two of the first are taught the second: 21 of 23 are right."""
    truth = np.arange(ROWS) % 3
    taught = torch.from_numpy(truth.copy())
    taught[[0, 3]] = 1
    training = toy([phase("only", 2)], truth=truth)
    training.model.taught = lambda: taught
    training.run()
    assert [entry["taught"]["acc"] for entry in training.history] == [pytest.approx(21 / 23)] * 2
    without = toy([phase("only", 1)])
    without.model.taught = lambda: taught
    without.run()
    assert "taught" not in without.history[0]


def test_what_broke_off_is_told_where_there_is_no_evidence() -> None:
    with pytest.warns(UserWarning, match="the loss was no number"):
        tell_of(Outcome([], None, False, ["the loss was no number"]))
