"""`coterie fit`: from a file of texts to a run folder."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.console import (
    OR_SKIP,
    StageTimes,
    print_group,
    print_json,
    progress_on_stderr,
    say_how_many_are_skipped,
    say_how_plain_text_is_read,
)
from coterie.cli.findings import check_shown_columns, print_content, print_shares
from coterie.data.messages import texts_in_groups
from coterie.errors import ConfigError, InputError, StoppedError
from coterie.registry import Effort, Precision

if TYPE_CHECKING:
    import polars as pl

    from coterie.data.tables import TableReader
    from coterie.result import Clustering
    from coterie.types import NClusters

GROUPS_SHOWN = 30
WORDS_OF_A_TEXT = 5
GAPS_IN_TRUTH = (
    "Fill it in, or fit without `--truth`: `coterie evaluate RUN --truth COLUMN` then scores the rows that have one."
)


def fit(
    file: Annotated[
        str, typer.Argument(help="CSV, TSV, JSONL, Parquet or plain text, also .gz; - for standard input.")
    ],
    k: Annotated[str, typer.Option("--k", help="How many groups: a number, auto, or a range such as 5-40.")],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    text: Annotated[str | None, typer.Option(help="The column with the texts.")] = None,
    method: Annotated[str, typer.Option(help="See `coterie methods`.")] = "auto",
    effort: Annotated[Effort, typer.Option(help="How long it may take.")] = "fast",
    encoder: Annotated[str, typer.Option(help="See `coterie encoders`; a folder or a Hugging Face name.")] = "minilm",
    precision: Annotated[Precision, typer.Option(help="int8 encodes faster, slightly coarser.")] = "fp32",
    word_vectors: Annotated[
        str | None, typer.Option(help="A word2vec or GloVe file, for sif, deccrl, adsl, stcc and consensus.")
    ] = None,
    augment_columns: Annotated[
        str | None, typer.Option(help="Columns with other wordings of each text, for trained methods: eda or a,b.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the method itself, as init=kmeans; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same texts and seed, same groups.")] = 0,
    truth: Annotated[str | None, typer.Option(help="A column with true groups, used only for scores.")] = None,
    time_column: Annotated[
        str | None, typer.Option("--time", metavar="COLUMN", help="A column of dates: the groups over time.")
    ] = None,
    by_column: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="A column of values: the groups by each of them.")
    ] = None,
    outliers: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Mark rows with a confidence below this as outliers; they keep their group."),
    ] = None,
    skip_empty: Annotated[bool, typer.Option("--skip-empty", help="Leave out rows without a text.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a finished run of this name.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress and no summary.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Group the texts of FILE and write labels, words, scores, a report and the model to a run folder."""
    from coterie.data.check import written_n_clusters
    from coterie.engine.ranks import process_rank
    from coterie.persist.new_run import check_free, write_run

    started = time.monotonic()
    is_main = process_rank() == 0  # of several processes that train together the first prints and writes for all
    if is_main:
        check_free(out, force)
    own = _settings(set_ or [])
    n_clusters = written_n_clusters(k, "--k")
    frame, column, texts, views = _read(
        file, text, truth, n_clusters, augment_columns, outliers, time_column, by_column, skip_empty,
        tell=is_main and not quiet,
    )  # fmt: skip
    from coterie.api import cluster  # slow to load, so only now that the input is known to be sound

    options: dict[str, Any] = {
        "n_clusters": n_clusters,
        "method": method,
        "effort": effort,
        "encoder": encoder,
        "precision": precision,
        "word_vectors": word_vectors,
        "settings": own or None,
        "random_state": seed,
    }
    groups = None if truth is None else frame.get_column(truth).to_list()
    with progress_on_stderr(quiet or not is_main) as shown:
        progress = StageTimes(shown)
        clustering = cluster(texts, truth=groups, views=views, progress=progress, **options)
        if not is_main:
            return
        clustering.draw_map(progress)
        metrics = write_run(
            out,
            clustering,
            frame,
            text_column=column,
            truth_column=truth,
            input_name=file,
            stage_seconds=progress.seconds,
            started=started,
            force=force,
            outliers_below=outliers,
            time_column=time_column,
            by_column=by_column,
        )
    try:
        if json:
            print_json(
                {
                    "run": str(out),
                    "metrics": metrics,
                    "clusters": [group.to_dict() for group in clustering.groups],
                    "notes": clustering.notes,
                }
            )
        elif not quiet:
            _print_summary(clustering, metrics, out)
    except KeyboardInterrupt:
        raise StoppedError(f"stopped. The run was finished, and is in {out}.") from None


def _settings(written: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in map(_setting, written):
        if name in found:
            raise ConfigError(f"--set {name}=... is given twice, with {found[name]!r} and {value!r}: leave one out")
        found[name] = value
    return found


def _setting(written: str) -> tuple[str, Any]:
    """A name and a value: a number, true, false, none, or a word."""
    import json

    name, equals, value = written.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"--set {written!r} is not understood: write NAME=VALUE, as in --set init=kmeans")
    words = {"true": True, "false": False, "none": None}
    try:
        return name.strip(), words[value.lower()] if value.lower() in words else json.loads(value)
    except ValueError:
        return name.strip(), value


def _say_which(column: str, table: TableReader, frame: pl.DataFrame) -> None:
    """Of a column that nobody named, unless its name says all, and of lines that have none."""
    from coterie.data.text_tables import PLAIN_TEXT_COLUMN

    if column != PLAIN_TEXT_COLUMN:
        print(f"note: the texts are those of {column!r}; `--text NAME` names another column", file=sys.stderr)
        if len(column.split()) >= WORDS_OF_A_TEXT:
            print("note: that reads like a text: the first line must have the names of the columns", file=sys.stderr)
    say_how_plain_text_is_read(table, frame)


def _read(
    file: str,
    text: str | None,
    truth: str | None,
    n_clusters: NClusters,
    augment_columns: str | None,
    outliers: float | None,
    time_column: str | None,
    by_column: str | None,
    skip_empty: bool,
    tell: bool,
) -> tuple[pl.DataFrame, str, list[str], list[list[str]]]:
    """The table, its text column, its texts and their other wordings, all checked before any heavy work."""
    from coterie.data.check import check_n_clusters, no_text_error, rows_with_text, texts_of, values_of
    from coterie.data.columns import check_column, choose_text_column
    from coterie.data.readers import open_table
    from coterie.persist.new_run import check_names_free

    with open_table(file, text) as table:
        name = table.name
        frame = table.read()
    column = choose_text_column(frame, text, name)
    if text is None and tell:
        _say_which(column, table, frame)
    skipped = 0
    if skip_empty:
        rows = len(frame)
        frame = rows_with_text(frame, column, name)
        skipped = rows - len(frame)
        if frame.is_empty():
            raise no_text_error(column, name)
        if tell:
            say_how_many_are_skipped(skipped)
    names = [part.strip() for part in (augment_columns or "").split(",") if part.strip()]
    with _rows_counted_without(skipped):
        if truth is not None:
            values_of(frame, check_column(frame, truth, name), name, to_do=GAPS_IN_TRUTH)
        check_shown_columns(frame, column, name, time_column, by_column)
        check_names_free(frame.columns, name, outliers)
        texts = texts_of(frame, column, name, if_empty=OR_SKIP)
        check_n_clusters(texts, n_clusters, name=name, option="--k")
        views = [texts_of(frame, check_column(frame, view, name, "--augment-columns"), name) for view in names]
    return frame, column, texts, views


@contextmanager
def _rows_counted_without(skipped: int) -> Iterator[None]:
    """A row that a message names has another number in the file where rows before it were left out."""
    try:
        yield
    except InputError as error:
        if not skipped:
            raise
        raise InputError(f"{error} (Rows are counted without the {skipped:,} that --skip-empty leaves out.)") from error


def _print_summary(clustering: Clustering, metrics: dict[str, Any], out: Path) -> None:
    for group in clustering.groups[:GROUPS_SHOWN]:
        print_group(group.to_dict())
    if len(clustering.groups) > GROUPS_SHOWN:
        print(f"\n     and {len(clustering.groups) - GROUPS_SHOWN:,} smaller groups, in {out}/clusters.json")
    print()
    for note in clustering.notes:
        print(f"  note  {note}")
    _print_tried(clustering.evidence)
    print_content(metrics, clustering)
    print_shares(out)
    if "acc" in metrics:
        scores = ", ".join(f"{name} {100 * metrics[name]:.1f}" for name in ("acc", "nmi", "ari"))
        print(f"Against the truth: {scores}")
    if "outliers" in metrics:
        count, least = metrics["outliers"], clustering.confidence.min()
        share = count / len(clustering.texts)
        print(
            f"Outliers: {count:,} of {len(clustering.texts):,} rows ({share:.1%}); the least confidence is {least:.2f}"
        )
    print(
        f"{texts_in_groups(len(clustering.texts), len(clustering.groups))}, {metrics['seconds']:.1f} s, "
        f"peak memory {metrics['peak_memory_mb']:,.0f} MB"
    )
    print(f"Results: {out}/assignments.csv (every row), {out}/clusters.json, {out}/model")
    print(f"Report: {out}/report.html (open it in a browser)")


def _print_tried(evidence: list[dict[str, Any]]) -> None:
    for entry in (entry for entry in evidence if "candidate" in entry):
        mark = "kept" if entry.get("kept") else "    "
        why = f" ({entry['because']})" if "because" in entry else ""
        print(f"  {mark}  {entry['candidate']:<28} {_scores(entry)}{why}")


def _scores(entry: dict[str, Any]) -> str:
    """What it was compared by: one score, or one in each space that was looked at, and what the words say."""
    if "by_space" not in entry:
        return f"{entry['criterion']} {entry['score']:.3f}"
    before, *after = entry["by_space"]
    silhouettes = f"silhouette {before:.3f}" + "".join(f" before training, {score:.3f} after" for score in after)
    return silhouettes + (f", words {entry['words']:.3f}" if "words" in entry else "")
