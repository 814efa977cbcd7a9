"""`coterie retrieval`: are the nearest texts the right ones, with the encoder as it was and as training has made it?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.console import print_json, print_rows, progress_on_stderr, text_column_like
from coterie.errors import ConfigError, InputError

if TYPE_CHECKING:
    import polars as pl

    from coterie.metrics.retrieval import Retrieval
    from coterie.persist.run import Run
    from coterie.types import Matrix, Progress

    Scoring = Callable[[Matrix, Progress], Retrieval]


def retrieval(
    run: Annotated[Path, typer.Argument(help="The run folder of a fit.")],
    file: Annotated[
        str | None, typer.Argument(help="A file in any format of fit; without one, the rows of the run.")
    ] = None,
    truth: Annotated[str | None, typer.Option(help="A column with true groups: every row asks for its own.")] = None,
    text: Annotated[str | None, typer.Option(help="With --truth: the texts; by default the column of the fit.")] = None,
    query: Annotated[str | None, typer.Option(help="Instead of --truth, for judged pairs: their queries.")] = None,
    candidate: Annotated[str | None, typer.Option(help="With --query: one candidate for it a row.")] = None,
    relevance: Annotated[
        str | None, typer.Option(help="With --query: 1 where the candidate is relevant, or 0.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Score how well similar texts are found (MAP, MRR), by a run's vectors and by those of the untrained encoder."""
    from coterie.persist.run import Run

    judged = [query, candidate, relevance]
    by_class = truth is not None and judged == [None] * 3
    by_judgement = truth is None and text is None and None not in judged
    if not (by_class or by_judgement):
        raise ConfigError(
            "say what is relevant in one of two ways: `--truth COLUMN`, and `--text COLUMN` where needed, for texts "
            "with true groups, or `--query COLUMN --candidate COLUMN --relevance COLUMN` for judged pairs"
        )
    finished = Run.open(run)
    frame, name = _rows(finished, file)
    if truth is not None:
        texts, scoring = _by_class(finished, frame, name, text, truth)
    else:
        texts, scoring = _by_judgement(frame, name, [str(column) for column in judged])
    with progress_on_stderr(quiet) as progress:
        scores = {
            space: scoring(vectors_of(texts, _told_for(space, progress)), _told_for(space, progress))
            for space, vectors_of in _spaces(finished).items()
        }
    _print(scores, json)


def _rows(run: Run, file: str | None) -> tuple[pl.DataFrame, str]:
    from coterie.data.readers import open_table

    if file is None:
        return run.assignments(), str(run.assignments_path)
    with open_table(file) as table:
        return table.read(), table.name


def _by_class(run: Run, frame: pl.DataFrame, name: str, text: str | None, truth: str) -> tuple[list[str], Scoring]:
    """The texts to encode, and how their vectors are scored."""
    import numpy as np

    from coterie.data.check import texts_of, values_of
    from coterie.data.columns import check_column
    from coterie.data.numbered import numbered
    from coterie.metrics.retrieval import same_class_retrieval

    if text is None and run.text_column not in frame.columns:
        text = text_column_like(run.text_column, frame, name)
    texts = texts_of(frame, check_column(frame, text or run.text_column, name, "--text"), name)
    classes = numbered(values_of(frame, check_column(frame, truth, name), name))[1]
    if np.bincount(classes).max() < 2:
        raise InputError(f"{name}: no two rows have the same value in {truth!r}, so there is nothing to find.")
    return texts, lambda vectors, progress: same_class_retrieval(vectors, classes, progress)


def _by_judgement(frame: pl.DataFrame, name: str, columns: Sequence[str]) -> tuple[list[str], Scoring]:
    """The same for rows of query, candidate and relevance: the queries come first, each text once."""
    import numpy as np

    from coterie.data.check import texts_of, values_of
    from coterie.data.columns import check_column
    from coterie.metrics.retrieval import judged_retrieval

    for column, option in zip(columns, ("--query", "--candidate", "--relevance"), strict=True):
        check_column(frame, column, name, option)
    queries, candidates = (texts_of(frame, column, name) for column in columns[:2])
    relevant = [
        _is_relevant(value, row, columns[2], name) for row, value in enumerate(values_of(frame, columns[2], name), 1)
    ]
    judged: dict[tuple[str, str], tuple[bool, int]] = {}
    for row, (pair, is_relevant) in enumerate(zip(zip(queries, candidates, strict=True), relevant, strict=True), 1):
        before, first = judged.setdefault(pair, (is_relevant, row))
        if before != is_relevant:
            raise InputError(
                f"{name}: rows {first:,} and {row:,} have the same query and candidate, once relevant and once not. "
                "Remove one of them."
            )
    if not any(relevant):
        raise InputError(f"{name}: no row is relevant by column {columns[2]!r}, so there is nothing to find.")
    asked, offered = ({text: place for place, text in enumerate(dict.fromkeys(part))} for part in (queries, candidates))
    pairs = np.array([(asked[one], offered[other]) for one, other in judged])
    is_right = np.array([is_relevant for is_relevant, _ in judged.values()])

    def scoring(vectors: Matrix, progress: Progress) -> Retrieval:
        return judged_retrieval(vectors[: len(asked)], vectors[len(asked) :], pairs, is_right)

    return [*asked, *offered], scoring


def _is_relevant(value: str, row: int, column: str, name: str) -> bool:
    """Numbers above 0 and `true` are relevant."""
    from coterie.data.messages import place, shown

    words = {"true": 1.0, "false": 0.0}
    try:
        number = words[value.lower()] if value.lower() in words else float(value)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise InputError(
            f"{name}: {place(row)}, column {shown(column)} holds {shown(value)}, which is no relevance. "
            "Write 1 or 0, or true or false."
        )
    return number > 0


def _spaces(run: Run) -> dict[str, Callable[[Sequence[str], Progress], Matrix]]:
    """What turns texts into vectors: the encoder before training and after it, and the model where it is more."""
    from coterie.features.transformer import encoder_of

    features = run.model().features_
    encoder = encoder_of(features)
    spaces: dict[str, Callable[[Sequence[str], Progress], Matrix]] = {}
    if encoder is not None:
        spaces["untrained encoder"] = encoder.with_weights({}).encode
        if encoder.tuned:
            spaces["trained encoder"] = encoder.encode
    if encoder is not features:
        spaces["model"] = features.transform
    return spaces


def _told_for(space: str, progress: Progress) -> Progress:
    return lambda stage, done, total: progress(f"{stage}, {space}", done, total)


def _print(scores: dict[str, Retrieval], json: bool) -> None:
    any_scores = next(iter(scores.values()))
    counts: dict[str, Any] = {"queries": any_scores.queries, "left_out": any_scores.left_out}
    if json:
        print_json({**counts, "scores": {space: {"map": got.map, "mrr": got.mrr} for space, got in scores.items()}})
        return
    print_rows(
        ("vectors", "map", "mrr"), [(space, f"{got.map:.4f}", f"{got.mrr:.4f}") for space, got in scores.items()]
    )
    left_out = f", {counts['left_out']:,} without a relevant candidate left out" if counts["left_out"] else ""
    many = "query" if counts["queries"] == 1 else "queries"
    print(f"\n{counts['queries']:,} {many}{left_out}")
