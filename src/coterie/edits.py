"""Groups as people have changed them since the fit: joined, divided, named.

The fitted model stays as it is; a log of edits says what to make of its answers. A merge adds up columns of the
probabilities, a split multiplies one by the answers of a small classifier inside the group. A text's group changes only
if it was in a group that was edited: its label follows the log, and is not taken anew from the probabilities.

Numbers of groups are never given twice. The first group named in a merge keeps its number and the others are retired;
the largest part of a split keeps the number and the others get new ones. Every number ever given has a column, that
of a retired one is 0.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.data.messages import shown
from coterie.data.whole_number import whole_number
from coterie.errors import ConfigError, InputError
from coterie.methods.base import Answers, Fit, labels_of
from coterie.methods.nearest_centre import NearestCentre
from coterie.types import Labels, Matrix
from coterie.vectors import distinct_rows

if TYPE_CHECKING:
    from coterie.estimator import TextClusterer

LONGEST_NAME = 80
_JOINERS = "\u200c\u200d"
"""Marks without width that some scripts are spelt with, and some emoji."""


@dataclass(frozen=True)
class Merge:
    """The texts of all these groups are in the first of them."""

    ids: tuple[int, ...]

    def __str__(self) -> str:
        return f"groups {_listed(self.ids)} merged into {self.ids[0]}"

    def apply(self, vectors: Matrix, answers: Answers) -> None:
        labels, probabilities = answers
        kept, *others = self.ids
        # One column after the other, so that a row is summed in the same order alone and in company.
        for other in others:
            probabilities[:, kept] += probabilities[:, other]
            probabilities[:, other] = 0
        labels[np.isin(labels, others)] = kept


@dataclass(frozen=True, eq=False)
class Split:
    """The texts of the first of these groups, divided among all of them by which centre is nearest."""

    ids: tuple[int, ...]
    parts: NearestCentre

    def __str__(self) -> str:
        return f"group {self.ids[0]} split into {_listed(self.ids)}"

    def apply(self, vectors: Matrix, answers: Answers) -> None:
        labels, probabilities = answers
        shares = self.parts.probabilities(vectors)
        inside = labels == self.ids[0]
        labels[inside] = np.array(self.ids)[labels_of(shares[inside])]
        probabilities[:, self.ids] = probabilities[:, [self.ids[0]]] * shares


@dataclass(frozen=True)
class Rename:
    """Each of these groups has the name in its place: all that one command named, so that one undo takes it back."""

    ids: tuple[int, ...]
    names: tuple[str, ...]

    def __str__(self) -> str:
        named = ", ".join(f"{group} named “{name}”" for group, name in zip(self.ids, self.names, strict=True))
        return f"group {named}" if len(self.ids) == 1 else f"groups {named}"


Edit = Merge | Split | Rename


@dataclass(frozen=True, eq=False)
class Edits:
    """The log of what was done to the `n_fitted` groups of a fit, in order."""

    n_fitted: int
    log: tuple[Edit, ...] = ()

    @property
    def regroupings(self) -> list[Merge | Split]:
        """The edits that change which group a text is in."""
        return [edit for edit in self.log if not isinstance(edit, Rename)]

    @cached_property
    def width(self) -> int:
        """How many numbers were ever given."""
        return self.n_fitted + sum(len(edit.ids) - 1 for edit in self.log if isinstance(edit, Split))

    @cached_property
    def retired(self) -> dict[int, int]:
        """Every group that is no more, and the one that it was merged into."""
        return {other: edit.ids[0] for edit in self.log if isinstance(edit, Merge) for other in edit.ids[1:]}

    @cached_property
    def live(self) -> list[int]:
        return [group for group in range(self.width) if group not in self.retired]

    @cached_property
    def names(self) -> dict[int, str]:
        """The names that people gave to groups that there still are."""
        given: dict[int, str] = {}
        for edit in self.log:
            if isinstance(edit, Rename):
                given |= zip(edit.ids, edit.names, strict=True)
        return {group: name for group, name in given.items() if group not in self.retired}

    def answers(self, vectors: Matrix, probabilities: Matrix, labels: Labels | None = None) -> Answers:
        """What the edits make of the fitted model's probabilities, and of the fit's own labels for its texts."""
        labels = labels_of(probabilities) if labels is None else labels.copy()
        if not self.regroupings:
            return Answers(labels, probabilities)
        table = np.zeros((len(probabilities), self.width), dtype=np.float32)
        table[:, : self.n_fitted] = probabilities
        answers = Answers(labels, table)
        for edit in self.regroupings:
            edit.apply(vectors, answers)
        return answers

    def merged(self, ids: Sequence[Any]) -> Edits:
        if isinstance(ids, str) or not isinstance(ids, Sequence | np.ndarray):
            raise ConfigError(f"the groups to merge must be a list, and {shown(ids)} was given: give [3, 7]")
        groups = tuple(self.known(group) for group in ids)
        if len(groups) < 2:
            raise ConfigError("a merge needs at least 2 groups: name the one that stays, then those that go into it")
        twice = next((group for group in groups if groups.count(group) > 1), None)
        if twice is not None:
            raise ConfigError(f"group {twice} is named twice: a group cannot be merged with itself")
        return self._then(Merge(groups))

    def divided(self, group: Any, parts: NearestCentre) -> Edits:
        """With a group divided into as many parts as there are centres."""
        new = range(self.width, self.width + len(parts.centres) - 1)
        return self._then(Split((self.known(group), *new), parts))

    def renamed(self, names: Mapping[Any, Any]) -> Edits:
        """With a name for each of these groups, as one edit."""
        ids = tuple(self.known(group) for group in names)
        return self._then(Rename(ids, tuple(_checked_name(name) for name in names.values())))

    def undone(self) -> Edits:
        """Without the last edit."""
        if not self.log:
            raise ConfigError("there is nothing to undo: the groups are as the fit left them")
        return replace(self, log=self.log[:-1])

    def known(self, group: Any) -> int:
        """The number of a group that there is."""
        number = whole_number(group)
        if number in self.retired:
            raise ConfigError(f"group {number} was merged into {self.retired[number]}. {self._there_are()}")
        if number is None or not 0 <= number < self.width:
            raise ConfigError(f"there is no group {shown(group)}. {self._there_are()}")
        return number

    def _then(self, edit: Edit) -> Edits:
        return replace(self, log=(*self.log, edit))

    def _there_are(self) -> str:
        gone = ", ".join(f"{group} into {into}" for group, into in sorted(self.retired.items()))
        return f"The groups are {_ranges(self.live)}" + (f"; merged: {gone}." if gone else ".")


def divided(model: TextClusterer, texts: Sequence[str], group: int, into: int) -> Edits:
    """The edits of a fitted model and one more: k-means on the vectors of the group's own texts.

    As in the fit, a text that repeats another weighs once.
    """
    from coterie.data.duplicates import find_duplicates, training_rows
    from coterie.methods.two_step import TwoStep

    check_division(model.edits_, texts, model.labels_, group, into)
    rows = np.flatnonzero(model.labels_ == group)
    learnt = rows[training_rows(find_duplicates([texts[row] for row in rows.tolist()]), into).kept]
    apart = len(distinct_rows(model.vectors_[learnt])[0])
    _check_parts(group, into, apart, f"this method can tell only {apart:,} of its texts apart")
    steps = TwoStep(model.features_, "kmeans", random_state=model.random_state)
    found = Fit(model.features_, steps.grouped(model.vectors_[learnt], into).assigner, model.vectors_[rows])
    found.number_by_size()
    parts = len(np.unique(found.labels))
    _check_parts(group, into, parts, f"only {parts:,} were found")
    assert isinstance(found.assigner, NearestCentre)
    return model.edits_.divided(group, found.assigner)


def check_division(edits: Edits, texts: Sequence[str], labels: Labels, group: Any, into: Any) -> None:
    """Before any work: is there such a group, and has it texts enough?"""
    number = edits.known(group)
    parts = whole_number(into)
    if parts is None or parts < 2:
        raise ConfigError(f"group {number} cannot be split into {shown(into)}: give a whole number from 2 on")
    different = len({texts[row] for row in np.flatnonzero(labels == number).tolist()})
    noun = "text" if different == 1 else "texts"
    _check_parts(number, parts, different, f"it has only {different:,} different {noun}")


def _check_parts(group: int, into: int, most: int, found: str) -> None:
    if into > most:
        advice = f"Ask for at most {most:,}." if most > 1 else "It cannot be split."
        raise InputError(f"group {group}: {into:,} parts were asked for, but {found}. {advice}")


def _checked_name(name: Any) -> str:
    if not isinstance(name, str):
        raise ConfigError(f"a name must be a str, and {shown(name)} was given: give one with letters or digits")
    cleaned = clean_name(name)
    if not cleaned:
        raise ConfigError(f"the name {shown(name)} is empty: give one with letters or digits")
    if len(cleaned) > LONGEST_NAME:
        raise ConfigError(f"the name {shown(cleaned)} is too long: use at most {LONGEST_NAME} characters")
    return cleaned


def clean_name(name: str) -> str:
    """One line without characters that are not seen or that turn the direction of writing."""
    kept = (char if _is_seen(char) else " " if char.isspace() else "" for char in name)
    return " ".join("".join(kept).split()).strip(_JOINERS)


def _is_seen(char: str) -> bool:
    return char in _JOINERS or unicodedata.category(char)[0] not in "CZ" or char == " "


def _listed(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids[:-1])) + f" and {ids[-1]}"


def _ranges(ids: Sequence[int]) -> str:
    """Numbers for a person: 0 to 6, 8, 10 to 12."""
    starts = [group for group in ids if group - 1 not in ids]
    ends = [group for group in ids if group + 1 not in ids]
    return ", ".join(
        f"{start} to {end}" if end > start else str(start) for start, end in zip(starts, ends, strict=True)
    )
