"""`coterie report`: the page of a finished run, written anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="The run folder of a fit.")],
    out: Annotated[Path | None, typer.Option(help="The page to write; by default report.html in the run.")] = None,
) -> None:
    """Write a run's report: one page with a map of all texts, a card for each group, scores and settings."""
    from coterie.persist.run import Run
    from coterie.report.build import write_report

    finished = Run.open(run)
    page = out or finished.report_path
    write_report(finished, page)
    print(f"Report: {page} (open it in a browser)")
