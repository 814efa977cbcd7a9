"""How groups are told apart on a map, also by people who see fewer colours: a colour and a shape for each.

The eight colours were searched for, on a light and on a dark ground: any two of them differ by at least 0.13 in OKLab
for normal sight and by 0.11 for every kind of colour blindness (0.08 in the well-known palette of Okabe and Ito). More
groups than colours get other shapes as well, and what lies close on the map gets styles that differ most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LIGHT = ("#2b83ef", "#d4b459", "#066f27", "#b94ca0", "#15b8f4", "#52387e", "#e17b9e", "#8d900f")
DARK = ("#188ffc", "#bfac58", "#008209", "#a03fa5", "#01fdff", "#31c4fc", "#cc7199", "#cde53a")
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "plus")

_OTHER_SHAPE_ONLY = 0.6
"""How alike two styles of one colour and different shapes are, where the same style is 1."""


def group_styles(centres: NDArray[np.floating]) -> list[tuple[int, int]]:
    """For each group, by its centre on the map, the numbers of its colour and its shape.

    No more shapes are used than needed, and no style more often than needed.
    """
    shapes = min(len(SHAPES), -(-len(centres) // len(LIGHT)))
    styles = [(colour, shape) for shape in range(shapes) for colour in range(len(LIGHT))]
    alike = np.array([[_alikeness(one, other) for other in styles] for one in styles])
    left = np.full(len(styles), -(-len(centres) // len(styles)))
    chosen: list[int] = []
    for group, centre in enumerate(centres):
        nearness = 1 / (((centres[:group] - centre) ** 2).sum(axis=1) + 0.01)
        clash = alike[:, chosen] @ nearness
        best = int(np.where(left > 0, clash, np.inf).argmin())
        left[best] -= 1
        chosen.append(best)
    return [styles[style] for style in chosen]


def _alikeness(one: tuple[int, int], other: tuple[int, int]) -> float:
    if one[0] != other[0]:
        return 0.0
    return 1.0 if one == other else _OTHER_SHAPE_ONLY
