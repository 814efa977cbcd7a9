import subprocess
import sys

import pytest

PROGRAM = """
import ctypes
import numpy as np
from coterie.engine.freed import give_back_freed

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

# Blocks too small to be mapped, every other one freed: what is free lies between what is in use.
libc = ctypes.CDLL(None)
libc.mallopt(-3, 1 << 30)
blocks = [np.ones(100_000, dtype=np.uint8) for _ in range(4_000)]
del blocks[::2]
before = resident()
give_back_freed()
print(before - resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system's files and glibc are needed")
def test_what_lies_free_between_blocks_in_use_is_given_back() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert int(ran.stdout) > 100_000_000
