"""`coterie bench`: run a plan of experiments, set what came out beside the papers' numbers, and draw it."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie.cli.console import shortened
from coterie.errors import ConfigError

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
    """Run every cell of PLAN that has no result yet; stopped at any time, the same command goes on."""
    from coterie.bench.plan import read_plan
    from coterie.bench.runner import run_plan

    planned = read_plan(plan)
    folder = out or RESULTS / planned.name
    failed = 0
    for number, (cell, result, fresh) in enumerate(run_plan(planned, folder, jobs), start=1):
        failed += result["status"] == "failed"
        place = f"{number}/{len(planned.cells)}  {cell.data_name}  {cell.row}  seed {cell.seed}"
        print(f"{place}: {_outcome(result)}{'' if fresh else '  (was there)'}", flush=True)
    print(f"\n{len(planned.cells)} cells in {folder}" + (f", {failed} of them failed" if failed else ""))


@app.command()
def table(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `coterie bench run` has written.")],
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.MARKDOWN,
    metrics: Annotated[str, typer.Option(help="Which scores, as acc,nmi,ari,purity.")] = "acc,nmi",
    readout: Annotated[str | None, typer.Option(help="kept, head, kmeans or untrained; the plan's by default.")] = None,
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
    from coterie.bench.runner import read_cells

    files, missing = draw(read_cells(folders), out, figure)
    for path in files:
        print(path)
    for sentence in missing:
        print(sentence, file=sys.stderr)


def _outcome(result: dict[str, Any]) -> str:
    if result["status"] == "failed":
        return f"failed: {shortened(result['error'], 200)}"
    scores = result["scores"]["kept"]
    return (
        f"acc {100 * scores['acc']:.1f}, nmi {100 * scores['nmi']:.1f}, "
        f"{result['seconds']:.0f} s, {result['peak_memory_mb']:,} MB"
    )
