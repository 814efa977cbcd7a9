"""`coterie report`: the page of a finished run, written anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from coterie.errors import ConfigError

PAGES = (".html", ".htm")


def report(
    run: Annotated[Path, typer.Argument(help="The run folder of a fit.")],
    out: Annotated[Path | None, typer.Option(help="The page to write; by default report.html in the run.")] = None,
) -> None:
    """Write a run's report: one page with a map of all texts, a card for each group, scores and settings."""
    from coterie.persist.run import Run
    from coterie.report.build import write_report

    finished = Run.open(run)
    page = finished.report_path
    if out is not None and os.path.realpath(out) != os.path.realpath(page):
        finished.check_not_its_own(out)
        if out.suffix.lower() not in PAGES:
            raise ConfigError(f"{out}: the report is a web page. Give `--out` a name that ends in .html.")
        page = out
    write_report(finished, page)
    print(f"Report: {page} (open it in a browser)")
