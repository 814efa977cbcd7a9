"""`coterie methods`: what there is to choose from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from coterie.cli.console import print_json, print_rows


def methods(json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False) -> None:
    """List the methods that --method takes."""
    from coterie.registry import known_methods

    known = known_methods()
    if json:
        print_json([asdict(info) for info in known])
        return
    print_rows(("method", "from", "what it does"), [(info.name, info.source, info.title) for info in known])
    print("\nUMAP can go in between, as in minilm+umap+kmeans (needs the extra `umap`).")
