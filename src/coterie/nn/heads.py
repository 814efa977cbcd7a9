"""The small networks that trained methods put on an encoder."""

from __future__ import annotations

from torch import nn


def two_layers(width: int, dimensions: int) -> nn.Sequential:
    """width -> width -> dimensions: the projection and classification heads of the contrastive systems."""
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, dimensions))
