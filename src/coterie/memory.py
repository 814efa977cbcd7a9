"""How much memory there is, and how much this process has held."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

USUAL_MEMORY = 8 << 30
CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")
"""Lines `NUMBER:CONTROLLERS:/PATH`; version 2 of Linux's control groups names no controllers."""
GROUP_FILES = {
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""By controller, that is by version: limit, use, and the name in `memory.stat` of what of it can go at once."""


ALLOCATIONS_THAT_FAILED = ("DefaultCPUAllocator", "CUDA out of memory", "std::bad_alloc")
"""In what torch says of it, which is a RuntimeError like any other."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python, the system or torch says here that there is no memory left."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    said = str(error) if isinstance(error, RuntimeError) else ""
    return isinstance(error, MemoryError) or any(part in said for part in ALLOCATIONS_THAT_FAILED)


def peak_memory_mb() -> float:
    """The most memory this process has held so far."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        # The counter below begins with what the program held that started this one.
        return _numbers(Path("/proc/self/status"))["VmHWM:"] / 1024
    try:
        import resource
    except ImportError:  # Windows has no such counter in the standard library
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if platform.system() != "Darwin" else peak / (1 << 20)


def available_memory() -> int:
    """Bytes that can be used without swapping; all of the memory, or a guess, where the system does not tell."""
    free = USUAL_MEMORY
    with contextlib.suppress(OSError, ValueError, AttributeError):  # Windows has no `sysconf`
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, KeyError):
        free = _numbers(Path("/proc/meminfo"))["MemAvailable:"] * 1024
    return min(free, *(_left_in_group(folder, *GROUP_FILES[controller]) for folder, controller in _control_groups()))


def _control_groups() -> Iterator[tuple[Path, str]]:
    """Folder and controller of every group that limits this process: its own, those around it, and the outermost.

    A container often sees its own group as the outermost one, under whatever path the machine has for it.
    """
    own = {"": PurePosixPath(), "memory": PurePosixPath()}
    with contextlib.suppress(OSError):
        for line in OWN_GROUPS.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            own |= {name: PurePosixPath(path.lstrip("/")) for name in controllers.split(",") if name in own}
    for controller, innermost in own.items():
        for inside in (innermost, *innermost.parents):
            yield CONTROL_GROUPS / controller / inside, controller


def _left_in_group(folder: Path, limit: str, used: str, reclaimable: str) -> int:
    """What a control group, which may hold less than the machine has, still allows; files that were read can go."""
    try:
        # Version 2 says `max` where there is no limit.
        allowed = int((folder / limit).read_text())
        kept = int((folder / used).read_text()) - _numbers(folder / "memory.stat")[reclaimable]
    except (OSError, ValueError, KeyError):
        return sys.maxsize
    return max(0, allowed - kept)


def _numbers(path: Path) -> dict[str, int]:
    """A file of lines with a name, a number and perhaps a unit."""
    lines = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return {parts[0]: int(parts[1]) for parts in lines if len(parts) > 1 and parts[1].isdigit()}
