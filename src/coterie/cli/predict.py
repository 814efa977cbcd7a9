"""`coterie predict`: groups for new texts, from a run's model."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from coterie.cli.console import (
    OR_SKIP,
    progress_on_stderr,
    say_how_many_are_skipped,
    say_how_plain_text_is_read,
    text_column_like,
)
from coterie.errors import ConfigError

ROWS_AT_ONCE = 8192


def predict(
    run: Annotated[Path, typer.Argument(help="The run folder of a fit.")],
    file: Annotated[str, typer.Argument(help="New texts, in any format of fit; - for standard input.")],
    text: Annotated[
        str | None,
        typer.Option(help="The column with the texts; by default that of the fit, or else the one with texts."),
    ] = None,
    out: Annotated[str, typer.Option(help="CSV, TSV, JSONL or Parquet, also .gz; - for CSV on standard output.")] = "-",
    skip_empty: Annotated[bool, typer.Option("--skip-empty", help="Leave out rows without a text.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Put new texts into the groups of a run: every input column, cluster and confidence. Memory does not grow."""
    from coterie.data.check import no_text_error, rows_with_text, texts_of
    from coterie.data.readers import open_table
    from coterie.data.sources import STANDARD_STREAM
    from coterie.data.writers import table_writer
    from coterie.features.legible import note_on_script
    from coterie.persist.new_run import check_names_free, with_answers
    from coterie.persist.run import Run

    finished = Run.open(run)
    if out != STANDARD_STREAM:
        finished.check_not_its_own(out)
        # os.path, because a Path of a name that no file can have raises instead of not being there.
        if os.path.exists(out) and os.path.exists(file) and os.path.samefile(out, file):
            raise ConfigError(f"{out}: these are the texts to be sorted. Give `--out` another name, so that they stay.")
    with open_table(file, text or finished.text_column) as table:
        check_names_free(table.columns, table.name, finished.outliers_below)
        wanted = text or (finished.text_column if finished.text_column in table.columns else None)
        model, illegible = None, None
        with progress_on_stderr(quiet) as progress, table_writer(out) as writer:
            done = skipped = 0
            progress("predicting", 0, 0)
            for batch in table.batches(ROWS_AT_ONCE):
                wanted = wanted or text_column_like(finished.text_column, batch, table.name)
                if not done and not quiet:
                    say_how_plain_text_is_read(table, batch)
                sorted_ones = rows_with_text(batch, wanted, table.name) if skip_empty else batch
                if len(sorted_ones):
                    texts = texts_of(sorted_ones, wanted, table.name, first_row=done + 1, if_empty=OR_SKIP)
                    if model is None:  # the first rows are sound, so it is worth loading
                        model = finished.model()
                        illegible = note_on_script(model.features_, texts)
                    writer.write(with_answers(sorted_ones, model.answers(texts), finished.outliers_below))
                done, skipped = done + len(batch), skipped + len(batch) - len(sorted_ones)
                progress("predicting", done, 0)
            if model is None:
                raise no_text_error(str(wanted), table.name)
            progress("predicting", done, done)
    if not quiet:
        say_how_many_are_skipped(skipped)
        if illegible:
            print(f"note: {illegible}", file=sys.stderr)
