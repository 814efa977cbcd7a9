"""`coterie encoders`: which encoders can be used here."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any

import typer

from coterie.cli.console import print_json, print_rows


def encoders(json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False) -> None:
    """List the encoders that --encoder takes."""
    found = known_encoders()
    if json:
        print_json(found)
        return
    rows = [(entry["name"], str(entry["width"] or "-"), entry["state"], entry["where"]) for entry in found]
    print_rows(("encoder", "width", "state", "where"), rows)
    print("\nAny folder with a Hugging Face encoder (config.json, tokenizer.json, *.safetensors) works too,")
    print("and any name on the Hugging Face hub where there is a network: --encoder bert-base-uncased")


def known_encoders() -> list[dict[str, Any]]:
    """The bundled encoder and those in the Hugging Face cache of this machine."""
    from coterie.errors import ConfigError
    from coterie.features.checkpoints import BUNDLED, find_checkpoint

    try:
        checkpoint = find_checkpoint(BUNDLED)
        width, state = _width(checkpoint.folder), "ready, hashes checked"
    except ConfigError as error:
        width, state = None, str(error)
    return [{"name": BUNDLED, "width": width, "state": state, "where": "bundled"}, *_cached()]


def _cached() -> list[dict[str, Any]]:
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repositories = scan_cache_dir().repos
    except CacheNotFound:
        return []
    found = []
    for repository in sorted(repositories, key=lambda entry: entry.repo_id):
        for revision in repository.revisions:
            names = {file.file_name for file in revision.files}
            if "config.json" not in names or not any(name.endswith(".safetensors") for name in names):
                continue
            with contextlib.suppress(OSError, ValueError):  # a spoilt config: nothing that can be used
                width = _width(revision.snapshot_path)
                found.append({"name": repository.repo_id, "width": width, "state": "ready", "where": "cached"})
    return found


def _width(folder: Any) -> int | None:
    import json

    width = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("hidden_size")
    return int(width) if width is not None else None
