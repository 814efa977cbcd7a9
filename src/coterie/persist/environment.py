"""What a result was made with: versions and machine."""

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
