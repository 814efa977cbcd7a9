"""Which state of this package's own code is running."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@cache
def code_digest() -> str:
    """Of this package's own files: what two runs of one digest made was made by the same code."""
    digest = hashlib.sha256()
    for path in sorted(FOLDER.rglob("*.py")):
        digest.update(path.relative_to(FOLDER).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
