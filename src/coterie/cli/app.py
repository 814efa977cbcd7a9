"""`coterie`: the commands, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from coterie import __version__
from coterie.cli import doctor, encoders, evaluate, fit, methods, predict
from coterie.errors import CoterieError

BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="coterie",
    help="Group texts by meaning: exactly the groups you ask for, words and examples for each, "
    "a confidence for every row, and a model that sorts new texts the same way.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    fit.fit,
    predict.predict,
    evaluate.evaluate,
    methods.methods,
    encoders.encoders,
    doctor.doctor,
):
    app.command()(command)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"coterie {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Start with: coterie fit FILE --text COLUMN --k 12 --out RUN"""


def main() -> NoReturn:
    """Runs the command; a user sees a message and an exit code, never a traceback."""
    try:
        app()
    except CoterieError as error:
        _fail(str(error), BAD_INPUT)
    except KeyboardInterrupt:
        _fail("stopped. Vectors that were computed are kept: the same command goes on from there.", INTERRUPTED)
    except MemoryError:
        _fail("not enough memory for this. Use fewer rows, or --method minilm+minibatch.", 1)
    except BrokenPipeError:
        # The reader of our output has gone: nothing more to say, and nothing to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get("COTERIE_DEBUG"):
            raise
        _fail(
            f"this should not happen ({type(error).__name__}: {error}). Please report it, "
            "with the trace that COTERIE_DEBUG=1 shows.",
            1,
        )
    sys.exit(0)


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"coterie: {message}", err=True)
    sys.exit(code)
