"""What people see while they wait, and how results are printed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from coterie.data.messages import so_many_texts
from coterie.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from coterie.data.tables import TableReader
    from coterie.types import Progress

LEAST_DONE = 0.02
"""Of a stage, before there is any telling how long it takes."""
SECONDS_BETWEEN_LINES = 10.0
EXAMPLES_SHOWN = 2
WORDS_SHOWN = 8
LINES_LOOKED_AT = 20
OR_SKIP = "Remove such rows, fill them in, or leave them out with --skip-empty."
"""What to do about rows without a text."""
NARROWEST = 30
"""A column that is wrapped has this width at least."""


def say_how_plain_text_is_read(table: TableReader, sample: pl.DataFrame) -> None:
    """Where nothing but its content told that a table is plain text, or where plain text may have columns."""
    from coterie.data.formats import format_of_name
    from coterie.data.text_tables import PlainTextTable

    if not isinstance(table, PlainTextTable):
        return
    if format_of_name(table.name) is None:
        print(f"note: {table.name} is read as plain text, one text a line", file=sys.stderr)
    tabs = sample.head(LINES_LOOKED_AT).to_series().str.count_matches("\t").unique().to_list()
    if len(tabs) == 1 and tabs[0] > 0:
        print(
            f"note: {table.name}: every line has a tab, and is read as one text. If that is between columns, "
            "give the file a name that ends in .tsv",
            file=sys.stderr,
        )


def text_column_like(of_the_fit: str, frame: pl.DataFrame, name: str) -> str:
    """The column to take where that of the fit is missing: of the same name but for its case, or the one with texts."""
    from coterie.data.columns import choose_text_column

    alike = [column for column in frame.columns if column.casefold() == of_the_fit.casefold()]
    try:
        column = alike[0] if len(alike) == 1 else choose_text_column(frame, None, name)
    except InputError as error:
        unclear = str(error).removeprefix(f"{name}: ")
        raise InputError(f"{name}: there is no column {of_the_fit!r}, that of the fit; {unclear}") from error
    if len(frame.columns) > 1:  # no surprise where there is only one
        print(f"note: {name} has no column {of_the_fit!r}: the texts are those of {column!r}", file=sys.stderr)
    return column


def say_how_many_are_skipped(rows: int) -> None:
    if rows:
        what = "row has no text, and is" if rows == 1 else "rows have no text, and are"
        print(f"note: {rows:,} {what} left out", file=sys.stderr)


def is_over(done: int, total: int) -> bool:
    return 0 < total <= done


class Turns:
    """When the turn of each stage began: a stage that was done and comes again, for other texts, begins anew."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}

    def seconds(self, stage: str, done: int, total: int) -> float:
        """Seconds of the stage's turn so far."""
        now = time.monotonic()
        seconds = now - self._began.setdefault(stage, now)
        if is_over(done, total):
            del self._began[stage]
        return seconds


class StageTimes:
    """Passes progress on and remembers how long each stage took in all its turns, for `history.jsonl`."""

    def __init__(self, shown: Progress) -> None:
        self.shown = shown
        self.seconds: dict[str, float] = {}
        self._turns = Turns()
        self._over: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        seconds = self._turns.seconds(stage, done, total)
        self.seconds[stage] = self._over.get(stage, 0.0) + seconds
        if is_over(done, total):
            self._over[stage] = self.seconds[stage]
        self.shown(stage, done, total)


@contextmanager
def progress_on_stderr(quiet: bool) -> Iterator[Progress]:
    """A live bar with time left on a terminal, plain lines elsewhere, nothing when quiet."""
    if quiet:
        from coterie.types import silent

        yield silent
    elif sys.stderr.isatty():
        with _live_bars() as bars:
            yield bars
    else:
        yield PlainLines()


class PlainLines:
    """One line when a stage ends, and one every ten seconds of a long one."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._last_line: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        seconds = self._turns.seconds(stage, done, total)
        last = self._last_line.setdefault(stage, 0.0)
        if is_over(done, total):
            self._say(f"{stage}: done in {seconds:.1f} s")
            del self._last_line[stage]
        elif seconds - last >= SECONDS_BETWEEN_LINES and done:
            self._last_line[stage] = seconds
            self._say(f"{stage}: {_how_far(done, total, seconds)}")

    def _say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


def _how_far(done: int, total: int, seconds: float) -> str:
    if not total:
        return f"{done:,} so far"
    share = done / total
    # The first steps, with something to load or to set up, say nothing of the others.
    left = f", about {seconds / share - seconds:.0f} s left" if share >= LEAST_DONE else ""
    return f"{100 * share:.0f}%{left}"


@contextmanager
def _live_bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Task, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars
    from rich.text import Text

    class _TimeLeft(TimeRemainingColumn):
        def render(self, task: Task) -> Text:
            known = task.time_remaining is not None and not task.finished
            return super().render(task).append(" left") if known else Text()

    columns = (
        TextColumn("{task.description:<24}"),
        BarColumn(),
        TextColumn("{task.fields[far]}"),
        TimeElapsedColumn(),
        _TimeLeft(),
    )
    tasks: dict[str, TaskID] = {}
    with Bars(*columns, console=Console(stderr=True)) as bars:

        def show(stage: str, done: int, total: int) -> None:
            far = f"{100 * done / total:>3.0f}%" if total else f"{done:,} so far"
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total or None, far=far)
            elif bars.tasks[tasks[stage]].finished and done < total:
                bars.reset(tasks[stage])
            bars.update(tasks[stage], completed=done, total=total or None, far=far)

        yield show


def print_json(value: Any) -> None:
    # Where the terminal knows fewer characters than the texts have, they are written as JSON's own escapes.
    knows_all = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    print(json.dumps(value, ensure_ascii=not knows_all, indent=2))


def on_one_line(text: str) -> str:
    """With nothing in it that would steer the terminal."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def shortened(text: str, width: int) -> str:
    """One line of at most `width` characters."""
    line = on_one_line(text)
    return line if len(line) <= width else line[: width - 1] + "…"


def print_group(group: dict[str, Any], words: int = WORDS_SHOWN, examples: int = EXAMPLES_SHOWN) -> None:
    """A group as `clusters.json` has it: number, size, the name it was given, words and a few texts."""
    import shutil

    width = max(60, min(120, shutil.get_terminal_size().columns))
    telling = ", ".join(word["word"] for word in group["words"][:words])
    heading = f"{group['given_name']}: {telling}" if "given_name" in group else telling
    print(f"\n{group['id']:>3}  {so_many_texts(group['size'])}  {shortened(heading, width - 18)}")
    for example in group["examples"][:examples]:
        print(f"       {shortened(example, width - 8)}")


def print_rows(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A table in aligned columns; the last column may be of any length, and is wrapped on a terminal."""
    import shutil
    import textwrap

    widths = [max(len(row[index]) for row in [headings, *rows]) for index in range(len(headings))]
    before = sum(widths[:-1]) + 2 * len(widths[:-1])
    room = max(NARROWEST, shutil.get_terminal_size().columns - before) if sys.stdout.isatty() else None
    for row in [headings, *rows]:
        *cells, last = row
        start = "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths[:-1], strict=True))
        first, *more = textwrap.wrap(last, room) if room and last else [last]
        print(f"{start}{first}".rstrip())
        for line in more:
            print(" " * before + line)
