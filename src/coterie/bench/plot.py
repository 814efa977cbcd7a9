"""`coterie bench plot`: every figure that the cells have enough for, as files; and of the others, what gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from coterie.bench import figures
from coterie.bench.data import make_folder
from coterie.bench.figure import Figure
from coterie.bench.measured import Cells, measured
from coterie.bench.plan import Result
from coterie.bench.svg import figure_svg
from coterie.data.atomic import atomic_file
from coterie.data.messages import fault, nearest
from coterie.errors import ConfigError, ModelFormatError


@dataclass(frozen=True)
class Kind:
    """A kind of figure: what makes it, what it needs, and the plans of this project that give that."""

    make: Callable[[Cells], list[Figure]]
    needs: str
    plans: Sequence[str]


KINDS = {
    "maps": Kind(
        figures.maps,
        'cells of a trained method with keep = "stages" and without `vary`',
        ["aecl-figures-cpu", "clusterbert-figures-cpu", "deccrl-figures-cpu", "uft-figures-cpu"],
    ),
    "stages": Kind(
        figures.stages,
        'cells without `vary` of clusterbert, or of another trained method with keep = "stages"',
        ["clusterbert-figures-cpu", "deccrl-figures-cpu"],
    ),
    "similarity": Kind(figures.similarity, "cells of aecl without `vary`", ["aecl-figures-cpu", "aecl-cpu"]),
    "sweeps": Kind(figures.sweeps, "cells with `vary`", ["aecl-figures-cpu", "deccrl-figures-cpu", "adsl-figures-cpu"]),
    "labels": Kind(figures.labels, "cells of adsl", ["adsl-figures-cpu", "adsl-cpu"]),
}


def draw(results: Sequence[Result], out: Path, only: str | None = None) -> tuple[list[Path], list[str]]:
    """Writes the figures as SVG; gives the files, and for each kind that is not there a sentence that says why."""
    if only is not None and only not in KINDS:
        guess = nearest(only, KINDS)
        hint = f"did you mean {guess!r}?" if guess else f"there are {', '.join(KINDS)}"
        raise ConfigError(f"figure {only!r} is not known: {hint}")
    cells = measured(results)
    made = {name: _made(kind, cells) for name, kind in KINDS.items() if only in (None, name)}
    missing = [_why(name) for name, found in made.items() if not found]
    found = _with_own_names([figure for own in made.values() for figure in own])
    if not found:
        raise ConfigError("there is nothing to draw in these cells. " + " ".join(missing))
    make_folder(out)
    files = []
    for figure in found:
        files.append(out / f"{figure.stem}.svg")
        with atomic_file(files[-1]) as file:
            file.write(figure_svg(figure))
    return files, missing


def _made(kind: Kind, cells: Cells) -> list[Figure]:
    try:
        return kind.make(cells)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFormatError(
            f"a cell has not what `coterie bench run` writes ({fault(error)}). Delete its file and run the plan again."
        ) from error


def _why(name: str) -> str:
    kind = KINDS[name]
    plans = " or ".join(f"benchmarks/plans/{plan}.toml" for plan in kind.plans)
    return f"{name}: not drawn; this takes {kind.needs}, as {plans} gives."


def _with_own_names(found: Sequence[Figure]) -> list[Figure]:
    """Two ways of one name must not be one file."""
    seen: dict[str, int] = {}
    named = []
    for figure in found:
        stem = figure.stem.casefold()
        seen[stem] = seen.get(stem, 0) + 1
        named.append(figure if seen[stem] == 1 else replace(figure, stem=f"{figure.stem}-{seen[stem]}"))
    return named
