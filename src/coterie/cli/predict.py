"""`coterie predict`: groups for new texts, from a run's model."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli.console import PLAIN_INPUT, progress_on_stderr
from coterie.errors import ConfigError

if TYPE_CHECKING:
    from coterie.data.tables import TableReader

ROWS_AT_ONCE = 8192


def predict(
    run: Annotated[Path, typer.Argument(help="The run folder of a fit.")],
    file: Annotated[str, typer.Argument(help="New texts, in any format of fit; - for standard input.")],
    text: Annotated[
        str | None,
        typer.Option(help="The column with the texts; by default that of the fit, or else the one with texts."),
    ] = None,
    out: Annotated[str, typer.Option(help="CSV, TSV, JSONL or Parquet, also .gz; - for CSV on standard output.")] = "-",
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Put new texts into the groups of a run: every input column, cluster and confidence. Memory does not grow."""
    from coterie.data.check import texts_of
    from coterie.data.columns import choose_text_column
    from coterie.data.readers import open_table
    from coterie.data.sources import STANDARD_STREAM
    from coterie.data.text_tables import PlainTextTable
    from coterie.data.writers import table_writer
    from coterie.persist.new_run import check_names_free, with_answers
    from coterie.persist.run import Run

    finished = Run.open(run)
    if out != STANDARD_STREAM:
        finished.check_not_its_own(out)
        # os.path, because a Path of a name that no file can have raises instead of not being there.
        if os.path.exists(out) and os.path.exists(file) and os.path.samefile(out, file):
            raise ConfigError(f"{out}: these are the texts to be sorted. Give `--out` another name, so that they stay.")
    with open_table(file) as table:
        check_names_free(table.columns, table.name, finished.outliers_below)
        wanted = text or (finished.text_column if finished.text_column in table.columns else None)
        if file == STANDARD_STREAM and isinstance(table, PlainTextTable) and not quiet:
            print(PLAIN_INPUT, file=sys.stderr)
        model = None
        with progress_on_stderr(quiet) as progress, table_writer(out) as writer:
            done = 0
            progress("predicting", 0, 0)
            for batch in table.batches(ROWS_AT_ONCE):
                column = choose_text_column(batch, wanted, table.name)
                if column != wanted:
                    _say_which(column, finished.text_column, table)
                    wanted = column
                texts = texts_of(batch, column, table.name, first_row=done + 1)
                model = model or finished.model()  # the first rows are sound, so it is worth loading
                writer.write(with_answers(batch, model.answers(texts), finished.outliers_below))
                done += len(texts)
                progress("predicting", done, 0)
            progress("predicting", done, done)


def _say_which(column: str, of_the_fit: str, table: TableReader) -> None:
    """A column that nobody named is no surprise where there is only one."""
    if len(table.columns) > 1:
        print(f"note: {table.name} has no column {of_the_fit!r}: the texts are those of {column!r}", file=sys.stderr)
