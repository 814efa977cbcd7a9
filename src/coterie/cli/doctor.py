"""`coterie doctor`: is everything here that is needed?"""

from __future__ import annotations

import platform
from typing import Annotated, Any

import typer

from coterie.cli.console import print_json, print_rows

GIB = 1 << 30


def doctor(json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False) -> None:
    """Show versions, threads, the encoder and its hashes, disk and memory."""
    findings = examine()
    if json:
        print_json(findings)
    else:
        print_rows(("what", "found"), [(name, str(value)) for name, value in _flat(findings)])
    if not findings["encoder"]["ready"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    import os
    import shutil

    import torch

    from coterie.features.cache import cache_bytes, cache_folder
    from coterie.memory import available_memory
    from coterie.persist.environment import versions

    folder = cache_folder()
    existing = next(path for path in [folder, *folder.parents] if path.exists())
    return {
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": versions(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "encoder": _encoder(),
        "memory free (GiB)": round(available_memory() / GIB, 1),
        "disk free (GiB)": round(shutil.disk_usage(existing).free / GIB, 1),
        "cache folder": str(folder),
        "cache size (GiB)": round(cache_bytes() / GIB, 2),
    }


def _encoder() -> dict[str, Any]:
    from coterie.errors import ConfigError
    from coterie.features.checkpoints import BUNDLED, BUNDLED_SHA256, find_checkpoint

    try:
        folder = find_checkpoint(BUNDLED).folder
    except ConfigError as error:
        return {"name": BUNDLED, "ready": False, "problem": str(error)}
    return {"name": BUNDLED, "ready": True, "folder": str(folder), "sha256 (as expected)": BUNDLED_SHA256}


def _flat(findings: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in findings.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{name}: ")
        else:
            rows.append((prefix + name, value))
    return rows
