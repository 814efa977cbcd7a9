"""How many threads a step of training is worth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread(wanted: bool) -> Iterator[None]:
    """torch keeps to a single thread in the block, if so wanted.

    Threads that sleep while they wait, as those of the command line do so that a busy machine stays usable, take longer
    to wake than a small product takes: a step of ADSL on 350 words takes 19 ms with one and 35 with two.
    """
    before = torch.get_num_threads()
    if wanted:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
