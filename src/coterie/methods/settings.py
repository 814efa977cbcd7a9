"""A method's own settings: which there are, and what they may be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from coterie.data.messages import nearest
from coterie.errors import ConfigError

LEAST = {
    **dict.fromkeys(
        [
            "batch_size",
            "dimensions",
            "interval",
            "layers",
            "max_words",
            "neighbours",
            "round_epochs",
            "told_every",
            "topics",
            "words",
        ],
        1,
    ),
    "r": 2,
}
"""Numbers may be 0, but not these; none may be negative."""

Chosen = TypeVar("Chosen")


def read_settings(settings_class: type[Chosen], given: Mapping[str, Any], method: str) -> Chosen:
    """The settings of a method with these changed; an unknown name or an unfit value is an error that says so."""
    kinds = get_type_hints(settings_class)
    names = [field.name for field in fields(settings_class)]  # type: ignore[arg-type]
    for name, value in given.items():
        if name not in names:
            guess = nearest(name, names)
            hint = f"did you mean {guess!r}?" if guess else f"there are {', '.join(names)}"
            raise ConfigError(f"setting {name!r} is not known to the method {method!r}: {hint}")
        least = LEAST.get(name, 0)
        if not _fits(value, kinds[name], least):
            raise ConfigError(
                f"setting {name}={value!r} of the method {method!r} does not fit: give {_said(kinds[name], least)}"
            )
    return settings_class(**given)


def _fits(value: Any, kind: Any, least: int) -> bool:
    if get_origin(kind) in (Union, UnionType):
        return any(_fits(value, part, least) for part in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind) and not isinstance(value, bool)
    if get_origin(kind) is tuple:
        return isinstance(value, list | tuple) and len(value) > 0 and all(_fits(one, int, least) for one in value)
    if kind is NoneType:
        return value is None
    if kind is bool:
        return isinstance(value, bool)
    if kind in (int, float):
        right = isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
        return right and least <= value < math.inf
    return isinstance(value, kind)


def _said(kind: Any, least: int) -> str:
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_said(part, least) for part in get_args(kind))
    if get_origin(kind) is Literal:
        return " or ".join(repr(choice) for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return f"a list of whole numbers from {least} on"
    from_on = f"from {least} on"
    return {
        int: f"a whole number {from_on}",
        float: f"a number {from_on}",
        bool: "true or false",
        NoneType: "none",
    }.get(kind, str(kind))
