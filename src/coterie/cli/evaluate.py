"""`coterie evaluate`: scores of a run, or of two columns of any file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli.console import print_json, print_rows
from coterie.data.messages import shown
from coterie.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from coterie.persist.run import Run


def evaluate(
    source: Annotated[str, typer.Argument(help="A run folder, or a file with both columns.", metavar="RUN|FILE")],
    truth: Annotated[str, typer.Option(help="The column with the true groups.")],
    labels: Annotated[str, typer.Option(help="The column with the groups to score.")] = "cluster",
    json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Score groups against a truth: acc, nmi (geometric), ari, purity, ami; for a run also silhouette and Dunn."""
    path = Path(source)
    # A name that is nothing yet and has no suffix was meant for a run: its error suggests runs.
    is_run = os.path.isdir(path) or (source != "-" and not os.path.exists(path) and not path.suffix)
    scores = _scores_of_run(path, truth, labels) if is_run else _scores_of_file(source, truth, labels)
    if json:
        print_json(scores)
    else:
        print_rows(("score", "value"), [(name, _shown(value)) for name, value in scores.items()])


def _scores_of_file(file: str, truth: str, labels: str) -> dict[str, float | None]:
    from coterie.data.readers import open_table

    with open_table(file) as table:
        frame, name = table.read(), table.name
    return dict(_external_scores(frame, name, truth, labels))


def _scores_of_run(folder: Path, truth: str, labels: str) -> dict[str, float | None]:
    from coterie.persist.run import Run

    run = Run.open(folder)
    frame = run.assignments()
    scores = _external_scores(frame, str(run.assignments_path), truth, labels)
    return scores | (run.internal_scores() if labels == "cluster" else _internal_scores(run, frame, labels))


def _external_scores(frame: pl.DataFrame, name: str, truth: str, labels: str) -> dict[str, float]:
    from coterie.data.check import is_known, values_of
    from coterie.data.columns import check_column
    from coterie.metrics.external import external_scores

    check_column(frame, truth, name)
    check_column(frame, labels, name, option="--labels")
    rows = zip(frame.get_column(truth).to_list(), values_of(frame, labels, name), strict=True)
    known = [(str(true), label) for true, label in rows if is_known(true)]
    if not known:
        raise InputError(f"{name}: column {shown(truth)} is empty in every row. Name a column with the true groups.")
    try:
        scores = external_scores(*zip(*known, strict=True))
    except InputError as error:
        raise InputError(f"{name}: columns {shown(truth)} and {shown(labels)}: {error}") from error
    return scores if len(known) == len(frame) else {"rows_with_truth": len(known), **scores}


def _internal_scores(run: Run, frame: pl.DataFrame, labels: str) -> dict[str, float | None]:
    from coterie.data.numbered import numbered
    from coterie.metrics.internal import finite, internal_scores

    vectors = run.model().transform(frame.get_column(run.text_column))
    return finite(internal_scores(vectors, numbered(frame.get_column(labels))[1]))


def _shown(value: float | None) -> str:
    if isinstance(value, int):  # a number of rows
        return f"{value:,}"
    return "not defined" if value is None else f"{value:.4f}"
