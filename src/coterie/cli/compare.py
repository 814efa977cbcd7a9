"""`coterie compare`: which pairs of texts training has moved most."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.console import print_json, print_rows, progress_on_stderr, shortened
from coterie.errors import ConfigError

if TYPE_CHECKING:
    from coterie.features.transformer import TransformerEncoder
    from coterie.persist.run import Run
    from coterie.types import Progress

LONGEST_NAME = 20


def compare(
    run: Annotated[Path, typer.Argument(help="The run folder of a fit that trained its encoder.")],
    labels: Annotated[str, typer.Option(help="The column that says which texts belong together.")] = "cluster",
    pairs: Annotated[int, typer.Option(min=1, help="How many pairs of each kind.")] = 5,
    out: Annotated[
        str | None, typer.Option(help="Write them, too: CSV, TSV, JSONL or Parquet, also .gz; - for CSV alone.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the pairs as JSON.")] = False,
) -> None:
    """Show the pairs of texts whose similarity training has changed most, in the same group and in different ones."""
    from coterie.data.writers import table_writer
    from coterie.persist.run import Run

    if json and out == "-":
        raise ConfigError("--json and --out - would both print: leave one of them out")
    finished = Run.open(run)
    if out is not None and out != "-":
        finished.check_not_its_own(out)
    # A file that cannot be written is told before the work.
    with nullcontext() if out is None else table_writer(out) as writer, progress_on_stderr(quiet) as progress:
        found = _moved(finished, labels, pairs, progress)
        if writer is not None:
            import polars as pl

            writer.write(pl.DataFrame(found, schema=_SCHEMA))
    if json:
        print_json(found)
    elif out != "-":
        _print(found)


_SCHEMA = {
    "kind": str,
    "before": float,
    "after": float,
    "change": float,
    "row": int,
    "other_row": int,
    "group": str,
    "other_group": str,
    "text": str,
    "other_text": str,
}


def _moved(run: Run, labels: str, count: int, progress: Progress) -> list[dict[str, Any]]:
    """A line for every pair, rows counted from 1; of equal texts the first row stands for all."""
    from coterie.data.check import texts_of, values_of
    from coterie.data.columns import check_column
    from coterie.data.numbered import numbered
    from coterie.describe.moved import moved_pairs

    frame, name = run.assignments(), str(run.assignments_path)
    groups = values_of(frame, check_column(frame, labels, name, option="--labels"), name)
    texts = texts_of(frame, run.text_column, name)
    encoder = _trained_encoder(run)
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        first.setdefault(text, row)
    distinct, rows = list(first), list(first.values())
    codes = numbered(groups[row] for row in rows)[1]
    before = encoder.with_weights({}).encode(distinct, progress)
    after = encoder.encode(distinct, lambda stage, done, total: progress(f"{stage} (trained)", done, total))
    return [
        {
            "kind": kind,
            "before": pair.before,
            "after": pair.after,
            "change": pair.after - pair.before,
            "row": rows[pair.first] + 1,
            "other_row": rows[pair.second] + 1,
            "group": groups[rows[pair.first]],
            "other_group": groups[rows[pair.second]],
            "text": distinct[pair.first],
            "other_text": distinct[pair.second],
        }
        for kind, found in moved_pairs(before, after, codes, count, progress).items()
        for pair in found
    ]


def _trained_encoder(run: Run) -> TransformerEncoder:
    from coterie.features.transformer import encoder_of

    encoder = encoder_of(run.model().features_)
    if encoder is None or not encoder.tuned:
        options = run.config["options"]
        raise ConfigError(
            f"{run.folder}: the model of this run has no trained encoder (method {options['method']!r}, effort "
            f"{options['effort']!r}), so no similarity has changed. Where training was tried and the start was kept, "
            "fit with `--set undo=false`, too; else with a method that trains it, as in "
            "`--method clusterbert --effort balanced`."
        )
    return encoder


def _print(found: list[dict[str, Any]]) -> None:
    width = max(60, min(160, shutil.get_terminal_size().columns))
    kinds = dict.fromkeys(entry["kind"] for entry in found)
    for kind in kinds:
        rows: list[tuple[str, ...]] = []
        for entry in (entry for entry in found if entry["kind"] == kind):
            numbers = (f"{entry['before']:.3f}", f"{entry['after']:.3f}", f"{entry['change']:+.3f}")
            rows.append((*numbers, shortened(entry["group"], LONGEST_NAME), entry["text"]))
            rows.append(("", "", "", shortened(entry["other_group"], LONGEST_NAME), entry["other_text"]))
        left = width - 24 - max(len("group"), *(len(row[3]) for row in rows)) - 2
        print(f"\n{kind}\n")
        print_rows(
            ("before", "after", "change", "group", "text"), [(*row[:4], shortened(row[4], left)) for row in rows]
        )
