"""A method's own settings: which there are, and what they may be."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from coterie.data.messages import nearest
from coterie.errors import ConfigError


class OwnSettings:
    """What the settings of every method can tell of themselves."""

    def idle(self) -> dict[str, str]:
        """Settings that mean nothing as the others are: name, and which other one is the cause."""
        return {}


Chosen = TypeVar("Chosen", bound=OwnSettings)


@dataclass(frozen=True)
class Range:
    """Finite numbers from `least` to `most`; with `above` not `least` itself."""

    least: float = 0
    most: float = math.inf
    above: bool = False

    def __contains__(self, value: float) -> bool:
        return (value > self.least if self.above else value >= self.least) and value <= self.most and value < math.inf

    def __str__(self) -> str:
        if self.most < math.inf:
            return f"above {self.least} and at most {self.most}" if self.above else f"from {self.least} to {self.most}"
        return f"above {self.least}" if self.above else f"from {self.least} on"


ANY, FROM_ONE, DIVISOR, SHARE = Range(), Range(1), Range(above=True), Range(most=1)
RANGES = {
    **dict.fromkeys(["batch_size", "dimensions", "interval", "layers", "max_words", "neighbours"], FROM_ONE),
    **dict.fromkeys(["round_epochs", "rounds", "told_every", "topics", "words"], FROM_ONE),
    **dict.fromkeys(["alpha", "balance", "epsilon", "tau_cluster", "tau_instance", "temperature"], DIVISOR),
    **dict.fromkeys(["augment_rate", "delta", "threshold"], SHARE),
    **dict.fromkeys(["lambda_clustering", "lambda_hardening", "masked_share"], Range(most=1, above=True)),
    "r": Range(2),
}
"""What the numbers of these names may be, of whatever method; all others may be 0 and anything above it."""


def read_settings(
    settings_class: type[Chosen], given: Mapping[str, Any], method: str, without: Collection[str] = ()
) -> Chosen:
    """The settings of a method with these changed; a name or a value of no use is an error that says so.

    Those named in `without` the method has, but they mean nothing where it is used.
    """
    kinds = get_type_hints(settings_class)
    names = [field.name for field in fields(settings_class) if field.name not in without]  # type: ignore[arg-type]
    for name, value in given.items():
        if name not in names:
            guess = nearest(name, names)
            hint = f"did you mean {guess!r}?" if guess else f"there are {', '.join(names)}"
            raise ConfigError(f"setting {name!r} is not known to the method {method!r}: {hint}")
        allowed = RANGES.get(name, ANY)
        if not _fits(value, kinds[name], allowed):
            raise ConfigError(
                f"setting {name}={value!r} of the method {method!r} does not fit: give {_said(kinds[name], allowed)}"
            )
    chosen = settings_class(**given)
    refuse_idle(chosen.idle(), given, method)
    return chosen


def refuse_idle(idle: Mapping[str, str], given: Collection[str], method: str) -> None:
    """An error if one of these was given; it names what leaves no use for it."""
    for name, cause in idle.items():
        if name in given:
            raise ConfigError(
                f"the setting {name!r} is of no use to the method {method!r} with {cause}: leave it out, or change that"
            )


def _fits(value: Any, kind: Any, allowed: Range) -> bool:
    if get_origin(kind) in (Union, UnionType):
        return any(_fits(value, part, allowed) for part in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind) and not isinstance(value, bool)
    if get_origin(kind) is tuple:
        return isinstance(value, list | tuple) and len(value) > 0 and all(_fits(one, int, allowed) for one in value)
    if kind is NoneType:
        return value is None
    if kind is bool:
        return isinstance(value, bool)
    if kind in (int, float):
        right = isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
        return right and value in allowed
    return isinstance(value, kind)


def _said(kind: Any, allowed: Range) -> str:
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_said(part, allowed) for part in get_args(kind))
    if get_origin(kind) is Literal:
        return " or ".join(repr(choice) for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return f"a list of whole numbers {allowed}"
    return {
        int: f"a whole number {allowed}",
        float: f"a number {allowed}",
        bool: "true or false",
        NoneType: "none",
    }.get(kind, str(kind))
