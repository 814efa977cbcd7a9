"""`coterie datasets`: the benchmark sets, which of them are here, and how to get one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from coterie.cli.console import print_json, print_rows, progress_on_stderr

app = typer.Typer(invoke_without_command=True)


@app.callback()
def datasets(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="Print the records as JSON.")] = False,
) -> None:
    """List the benchmark data sets; `coterie datasets get NAME` downloads one."""
    if context.invoked_subcommand is not None:
        return
    from coterie.bench.data import data_folder, state_of
    from coterie.bench.records import data_sets

    known = [(record, state_of(record)) for record in data_sets().values()]
    if json:
        print_json([asdict(record) | {"state": state} for record, state in known])
        return
    rows = [
        (record.name, f"{record.rows:,}" if record.rows else "-", f"{record.classes:,}", state, record.about)
        for record, state in known
    ]
    print_rows(("set", "rows", "classes", "state", "what it is"), rows)
    print(f"\nThe folder is {data_folder()} (COTERIE_DATA). Licences and citations: coterie datasets --json")


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="The name of a set.")],
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Download a set from its public source, convert it, check its bytes and put it in the folder."""
    from coterie.bench.data import get as get_set
    from coterie.bench.data import path_of, state_of
    from coterie.bench.records import data_set

    record = data_set(name)
    if state_of(record) == "ready":
        print(f"{path_of(record)}: already here, sha256 as recorded")
        return
    with progress_on_stderr(quiet) as progress:
        path, checked = get_set(name, progress)
    as_recorded = {
        "file": "sha256 of the file as recorded",
        "content": "sha256 of its content as recorded (zlib here compresses to other bytes)",
    }
    print(f"{path}: {record.rows:,} rows, {as_recorded[checked]}")
    print(f"Licence: {record.licence}. Please cite: {record.citation}")
