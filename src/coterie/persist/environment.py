"""What a result was made with: versions, machine, time and memory."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = (
    "coterie",
    "torch",
    "tokenizers",
    "transformers",
    "scikit-learn",
    "scipy",
    "numpy",
    "polars",
    "pyarrow",
    "safetensors",
)


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def machine() -> dict[str, str | int | None]:
    return {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()}


def processor() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def peak_memory_mb() -> float:
    """The most memory this process has held so far."""
    try:
        import resource
    except ImportError:  # Windows has no such counter in the standard library
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if platform.system() != "Darwin" else peak / (1 << 20)


def available_memory() -> int:
    """Bytes that can be used without swapping; all of the memory where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
