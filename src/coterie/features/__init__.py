"""From texts to vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.features.bag import BagOfWords, Tfidf, TopicMixture
    from coterie.features.sif import Sif
    from coterie.features.transformer import TransformerEncoder
    from coterie.features.two_views import TwoViews

__all__ = ["BagOfWords", "Sif", "Tfidf", "TopicMixture", "TransformerEncoder", "TwoViews"]

_HOMES = {
    "BagOfWords": "bag",
    "Sif": "sif",
    "Tfidf": "bag",
    "TopicMixture": "bag",
    "TransformerEncoder": "transformer",
    "TwoViews": "two_views",
}


def __getattr__(name: str) -> Any:
    # Loaded on demand: bags of words need no torch.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"coterie.features.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'coterie.features' has no attribute {name!r}")
