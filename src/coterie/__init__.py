"""Coterie groups texts by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from coterie.api import cluster
    from coterie.errors import ConfigError, CoterieError, InputError, ModelFormatError
    from coterie.estimator import TextClusterer
    from coterie.result import Clustering
    from coterie.systems import (
        ADSL,
        AECL,
        DCN,
        DEC,
        DECCRL,
        HACSD,
        IDEC,
        RSTC,
        SCCL,
        STCC,
        UFT,
        ClusterBERT,
        Consensus,
        SelfTrain,
        Tandem,
        VaSCL,
    )

__all__ = [
    "ADSL",
    "AECL",
    "DCN",
    "DEC",
    "DECCRL",
    "HACSD",
    "IDEC",
    "RSTC",
    "SCCL",
    "STCC",
    "UFT",
    "ClusterBERT",
    "Clustering",
    "ConfigError",
    "Consensus",
    "CoterieError",
    "InputError",
    "ModelFormatError",
    "SelfTrain",
    "Tandem",
    "TextClusterer",
    "VaSCL",
    "cluster",
]

_HOMES = {
    **dict.fromkeys(
        ["ADSL", "AECL", "DCN", "DEC", "DECCRL", "HACSD", "IDEC", "RSTC", "SCCL", "STCC", "UFT"], "systems"
    ),
    **dict.fromkeys(["ClusterBERT", "Consensus", "SelfTrain", "Tandem", "VaSCL"], "systems"),
    "Clustering": "result",
    "ConfigError": "errors",
    "CoterieError": "errors",
    "InputError": "errors",
    "ModelFormatError": "errors",
    "TextClusterer": "estimator",
    "cluster": "api",
}


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]


def __getattr__(name: str) -> Any:
    # Loaded on demand, so that `coterie --help` imports neither torch nor scikit-learn.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"coterie.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'coterie' has no attribute {name!r}")
