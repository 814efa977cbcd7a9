"""`coterie edit`: merge, split and name the groups of a run; everything can be undone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.console import print_group, progress_on_stderr
from coterie.data.messages import texts_in_groups
from coterie.errors import ConfigError

if TYPE_CHECKING:
    from coterie.edits import Edits
    from coterie.persist.edited_run import EditedRun

app = typer.Typer(no_args_is_help=True)
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]


def _is_a_run(given: Path) -> Path:
    """The run comes before what is done to it; the other way round sounds as natural."""
    commands = {command.callback.__name__ for command in app.registered_commands if command.callback}
    if str(given) in commands and not given.exists():
        raise ConfigError(f"the run comes first: `coterie edit RUN {given} ...`")
    return given


@app.callback()
def edit(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="The run folder of a fit.", callback=_is_a_run)],
) -> None:
    """Merge, split and name the groups of a run: labels, report and predictions follow. Undo takes back the last."""
    context.obj = run


@app.command()
def merge(
    context: typer.Context,
    groups: Annotated[list[int], typer.Argument(help="The group that stays, then those that go into it.")],
    quiet: Quiet = False,
) -> None:
    """Make several groups one, which has the number of the first."""
    _edit(context, quiet, lambda edited: edited.model.edits_.merged(groups))


@app.command()
def split(
    context: typer.Context,
    group: Annotated[int, typer.Argument(help="The group to divide.")],
    into: Annotated[int, typer.Option(help="How many parts.")],
    quiet: Quiet = False,
) -> None:
    """Divide a group by meaning: the largest part keeps its number, the others get new ones."""
    _edit(context, quiet, lambda edited: edited.divided(group, into))


@app.command()
def rename(
    context: typer.Context,
    group: Annotated[int, typer.Argument(help="The group to name.")],
    name: Annotated[str, typer.Argument(help="Its name, in quotes if it has spaces.")],
    quiet: Quiet = False,
) -> None:
    """Give a group a name of your own."""
    _edit(context, quiet, lambda edited: edited.model.edits_.renamed({group: name}))


@app.command()
def undo(context: typer.Context, quiet: Quiet = False) -> None:
    """Take back the last edit; again and again, back to what the fit found."""
    _edit(context, quiet, lambda edited: edited.model.edits_.undone())


@app.command()
def name(
    context: typer.Context,
    endpoint: Annotated[str, typer.Option(help="Where to ask, such as http://localhost:11434/v1.")],
    model: Annotated[str, typer.Option(help="The language model to ask for names.")],
    key_env: Annotated[str | None, typer.Option(help="The variable of the environment that holds the key.")] = None,
    max_calls: Annotated[int, typer.Option(min=1, help="Ask nothing if more calls were needed.")] = 50,
    quiet: Quiet = False,
) -> None:
    """Let a language model name every group without a name: one call each, with its words and five of its texts."""
    from coterie.naming import Endpoint

    asked = Endpoint(endpoint, model, _key(key_env))

    def named(edited: EditedRun) -> Edits:
        edits = edited.model.edits_
        nameless = [group for group in edited.run.groups() if group["id"] not in edits.names]
        if not nameless:
            raise ConfigError(
                f"{edited.run.folder}: every group has a name. Change one with `coterie edit RUN rename`."
            )
        return edits.renamed(asked.names(nameless, max_calls, edited.progress))

    _edit(context, quiet, named)


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"--key-env {variable!r}: there is no such variable, or it is empty. Put the key into it.")
    return key


def _edit(context: typer.Context, quiet: bool, made: Callable[[EditedRun], Edits]) -> None:
    from coterie.persist.edited_run import EditedRun
    from coterie.persist.run import Run

    run = Run.open(context.obj)
    with progress_on_stderr(quiet) as progress:
        edited = EditedRun(run, progress)
        before, after = edited.model.edits_, made(edited)
        groups = edited.write(after)
    _print_changes(before, after, groups)
    rows = sum(group["size"] for group in groups)
    print(f"\n{texts_in_groups(rows, len(groups))}. Report: {run.report_path} (open it in a browser)")


def _print_changes(before: Edits, after: Edits, groups: list[dict[str, Any]]) -> None:
    """What was done or taken back, and the groups that it is about."""
    undone, done = before.log[len(after.log) :], after.log[len(before.log) :]
    for one in undone:
        print(f"Undone: {one}")
    for one in done:
        print(f"Done: {one}")
    concerned = {group for one in (*undone, *done) for group in one.ids}
    for group in groups:
        if group["id"] in concerned:
            print_group(group)
