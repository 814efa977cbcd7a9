"""Which of several processes this is; apart from `workers`, so that nothing heavy is loaded to know it."""

from __future__ import annotations

import os


def process_rank() -> int:
    """As `torchrun` says; 0 when there is only one process."""
    return int(os.environ.get("RANK", "0"))
