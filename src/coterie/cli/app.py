"""`coterie`: the commands, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from pathlib import Path
from typing import NoReturn, TextIO

import typer

from coterie import __version__
from coterie.cli import (
    bench,
    compare,
    datasets,
    doctor,
    edit,
    encoders,
    evaluate,
    fit,
    methods,
    predict,
    report,
    retrieval,
    topics,
)
from coterie.errors import CoterieError, StoppedError
from coterie.memory import is_out_of_memory

BAD_INPUT = 2
INTERRUPTED = 130
FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
OF_WHOLE_FILES = ("evaluate", "retrieval")
"""Commands that hold all rows of a file at once: with fewer of them they need less memory."""

app = typer.Typer(
    name="coterie",
    help="Group texts by meaning: exactly the groups you ask for, words and examples for each, "
    "a confidence for every row, and a model that sorts new texts the same way.\n\n"
    "Start with: coterie fit FILE --text COLUMN --k 12 --out RUN",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    fit.fit,
    predict.predict,
    evaluate.evaluate,
    retrieval.retrieval,
    compare.compare,
    report.report,
    topics.topics,
    methods.methods,
    encoders.encoders,
    doctor.doctor,
):
    app.command()(command)
app.add_typer(edit.app, name="edit")
app.add_typer(datasets.app, name="datasets")
app.add_typer(bench.app, name="bench")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"coterie {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """What comes before the name of a command."""


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """What we have to tell a user, in one plain line; other libraries' warnings are for programmers."""
    if category is UserWarning and Path(filename).is_relative_to(Path(__file__).parents[1]):
        print(f"note: {message}", file=sys.stderr)


BRIEF_WAIT = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "20000"}
"""Threads that wait for the next product spin for some microseconds and then sleep.

Without sleep, steps take several times as long when other programs want the cores; without spinning, on an idle machine
small products take longer to wake a thread than to compute (benchmarks/waiting_threads.py). Only GNU's OpenMP, which
torch has on Linux, knows the way between; others just sleep.
"""


def _let_threads_wait_briefly() -> None:
    """Unless the user has said how they should wait."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.update(BRIEF_WAIT | os.environ)


def main() -> NoReturn:
    """Runs the command; a user sees a message and an exit code, never a traceback."""
    _let_threads_wait_briefly()
    warnings.showwarning = _show_warning
    # A stream that the shell has closed is None, and what is printed to None goes to standard output.
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # Where the terminal knows fewer characters than the texts have, a question mark is better than no answer.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        _run()
    except StoppedError as error:
        _fail(str(error), INTERRUPTED)
    except CoterieError as error:
        _fail(str(error), BAD_INPUT)
    except KeyboardInterrupt:
        again = " Nothing was written; given again, the same command goes on where it stopped."
        _fail("stopped." + (again if sys.argv[1:2] == ["fit"] else ""), INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone: nothing more to say, and nothing to say it to.
        _drop_output()
        sys.exit(1)
    except Exception as error:
        if is_out_of_memory(error):
            _fail(f"not enough memory for this. {_how_to_need_less_memory()}", 1)
        if isinstance(error, OSError) and error.errno in FULL_DISK:
            _drop_output()
            where = error.filename or "standard output"
            _fail(f"{where}: nothing could be written: the disk is full; make room, or write elsewhere.", BAD_INPUT)
        if os.environ.get("COTERIE_DEBUG"):
            raise
        _fail(
            f"this should not happen ({type(error).__name__}: {error}). Please report it, "
            "with the trace that COTERIE_DEBUG=1 shows.",
            1,
        )
    sys.exit(0)


def _run() -> None:
    """The command; typer always ends with SystemExit, by which time the output may still wait to be written."""
    try:
        app()
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer has taken the KeyboardInterrupt
            raise KeyboardInterrupt from end
        sys.stdout.flush()
        raise


def _how_to_need_less_memory() -> str:
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command == "fit":
        return "Use fewer rows, or --method minilm+minibatch."
    fewer_rows = "Use fewer rows, or close" if command in OF_WHOLE_FILES else "Close"
    return f"{fewer_rows} other programs and try again."


def _drop_output() -> None:
    """What could not be printed would be tried again at exit, with an error that nobody catches."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"coterie: {message}", err=True)
    sys.exit(code)
