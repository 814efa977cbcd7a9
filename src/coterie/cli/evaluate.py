"""`coterie evaluate`: scores of a run, or of two columns of any file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coterie.cli.console import print_json, print_rows


def evaluate(
    source: Annotated[str, typer.Argument(help="A run folder, or a file with both columns.", metavar="RUN|FILE")],
    truth: Annotated[str, typer.Option(help="The column with the true groups.")],
    labels: Annotated[str, typer.Option(help="The column with the groups to score.")] = "cluster",
    json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Score groups against a truth: acc, nmi (geometric), ari, purity, ami; for a run also silhouette and Dunn."""
    scores = (
        _scores_of_run(Path(source), truth, labels)
        if Path(source).is_dir() or not Path(source).suffix
        else _scores_of_file(source, truth, labels)
    )
    if json:
        print_json(scores)
    else:
        print_rows(("score", "value"), [(name, _shown(value)) for name, value in scores.items()])


def _scores_of_file(file: str, truth: str, labels: str) -> dict[str, float | None]:
    from coterie.data.check import values_of
    from coterie.data.columns import check_column
    from coterie.data.readers import open_table
    from coterie.metrics.external import external_scores

    with open_table(file) as table:
        frame, name = table.read(), table.name
    check_column(frame, truth, name)
    check_column(frame, labels, name, option="--labels")
    return dict(external_scores(values_of(frame, truth, name), values_of(frame, labels, name)))


def _scores_of_run(folder: Path, truth: str, labels: str) -> dict[str, float | None]:
    from coterie.metrics.internal import internal_scores
    from coterie.persist.run import Run, finite

    run = Run.open(folder)
    scores = _scores_of_file(str(run.assignments_path), truth, labels)
    frame = run.assignments()
    vectors = run.model().transform(frame.get_column(run.text_column))
    codes = _codes(frame.get_column(labels))
    return scores | finite(internal_scores(vectors, codes))


def _codes(column: Any) -> Any:
    import numpy as np

    return np.unique([str(value) for value in column], return_inverse=True)[1]


def _shown(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.4f}"
