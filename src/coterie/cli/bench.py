"""`coterie bench`: run a plan of experiments, set what came out beside the papers' numbers, and draw it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.console import on_one_line
from coterie.errors import ConfigError, StoppedError

if TYPE_CHECKING:
    from coterie.bench.plan import Cell

app = typer.Typer(no_args_is_help=True, help="Run plans of experiments and show what came out.")
RESULTS = Path("bench-results")


class Format(StrEnum):
    MARKDOWN = "markdown"
    HTML = "html"
    LATEX = "latex"


@app.command()
def run(
    plan: Annotated[Path, typer.Argument(help="A plan in TOML: methods x data x seeds x effort.")],
    out: Annotated[Path | None, typer.Option(help="The folder of results; bench-results/NAME by default.")] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Cells at a time; they share the processor, so seconds are longer.")
    ] = 1,
) -> None:
    """Run every cell of PLAN that is not done, the failed ones too; stopped at any time, the same command goes on."""
    from coterie.bench.plan import read_plan
    from coterie.bench.runner import run_plan

    planned = read_plan(plan)
    folder = out or RESULTS / planned.name
    numbers = {cell.file_name: number for number, cell in enumerate(planned.cells, start=1)}
    _say_what_is_not_here(planned.cells)

    def place(cell: Cell) -> str:
        number = numbers[cell.file_name]
        return f"{number}/{len(numbers)}  {cell.data_name}  {cell.row}  seed {cell.seed}"

    def show_begun(cell: Cell) -> None:
        # In a log the line with the result is enough; who looks on wants to know what is running.
        if sys.stdout.isatty():
            print(f"{place(cell)} ...", flush=True)

    failed = 0
    try:
        for cell, result, fresh in run_plan(planned, folder, jobs, show_begun):
            failed += result["status"] == "failed"
            print(f"{place(cell)}: {_outcome(cell, result)}{'' if fresh else '  (was there)'}", flush=True)
    except KeyboardInterrupt as error:
        raise StoppedError(
            f"stopped. Cells that were finished are kept in {folder}; the same command goes on with the others."
        ) from error
    print(f"\n{len(planned.cells)} cells in {folder}" + (f", {failed} of them failed" if failed else ""))
    if failed == len(planned.cells):  # a few that failed are results; all of them are a mistake
        raise ConfigError(f"no cell could be run. The last one said: {result['error']}")


def _say_what_is_not_here(cells: Sequence[Cell]) -> None:
    """At once, rather than by cells that fail one after the other."""
    from coterie.bench.data import path_of
    from coterie.bench.records import data_set

    known = [cell.data for cell in cells if isinstance(cell.data, str)]
    absent = [name for name in dict.fromkeys(known) if not path_of(data_set(name)).is_file()]
    if absent:
        concerned = sum(name in absent for name in known)
        print(
            f"Not here: {', '.join(absent)}. {concerned:,} of {len(cells):,} cells read them and will fail, unless "
            "they are done. Get a set by `coterie datasets get NAME`, or point COTERIE_DATA at a folder that has it.",
            flush=True,
        )


@app.command()
def table(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `coterie bench run` has written.")],
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.MARKDOWN,
    metrics: Annotated[str, typer.Option(help="Which scores, as acc,nmi,ari,purity.")] = "acc,nmi",
    readout: Annotated[
        str | None, typer.Option(help="kept, head, kmeans, untrained, umap+kmeans…; the plan's by default.")
    ] = None,
    costs: Annotated[
        bool, typer.Option("--costs", help="A line for each data set instead: every read-out, minutes and memory.")
    ] = False,
) -> None:
    """Print mean and spread over the seeds, with the papers' own numbers below."""
    from coterie.bench.costs import cost_table
    from coterie.bench.render import RENDERERS
    from coterie.bench.runner import read_cells
    from coterie.bench.table import build_table

    names = [name.strip() for name in metrics.split(",") if name.strip()]
    if costs and readout is not None:
        raise ConfigError("--costs shows every read-out: leave --readout out")
    cells = read_cells(folders)
    print(RENDERERS[format.value](cost_table(cells, names) if costs else build_table(cells, names, readout)))


@app.command()
def plot(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `coterie bench run` has written.")],
    out: Annotated[Path, typer.Option(help="The folder for the pictures.")],
    figure: Annotated[
        str | None, typer.Option(help="Only maps, stages, similarity, sweeps or labels; by default all.")
    ] = None,
) -> None:
    """Draw the papers' figures from what was measured, as SVG and PNG."""
    from coterie.bench.plot import draw
    from coterie.bench.png import write_pngs
    from coterie.bench.runner import read_cells

    files, missing = draw(read_cells(folders), out, figure)
    for path in files:
        print(path)
    for sentence in missing:
        print(sentence, file=sys.stderr)
    for path in write_pngs(files):
        print(path)


def _outcome(cell: Cell, result: dict[str, Any]) -> str:
    """The scores of the read-out that the plan asks for, or all of what went wrong."""
    from coterie.bench.table import score_of

    if result["status"] == "failed":
        return f"failed: {on_one_line(result['error'])}"
    scores = score_of(result, cell.readout)
    cost = f"{result['seconds']:.0f} s, {result['peak_memory_mb']:,} MB"
    if scores is None:
        return f"it has no read-out {cell.readout}, {cost}"
    of = "" if cell.readout == "kept" else f"{cell.readout} "
    return f"{of}acc {100 * scores['acc']:.1f}, nmi {100 * scores['nmi']:.1f}, {cost}"
