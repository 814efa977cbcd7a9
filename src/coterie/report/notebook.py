"""A clustering in a notebook: a map and a table, as plain HTML without any script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coterie.report.colours import LIGHT, group_styles
from coterie.report.page import page_template

if TYPE_CHECKING:
    from coterie.result import Clustering

MOST_POINTS = 3000
MOST_GROUPS = 50
SIDE = 360
MARGIN = 12


def notebook_html(clustering: Clustering) -> str:
    """Every text in it is escaped; a notebook may show it to anyone."""
    labels, points = clustering.labels, clustering.map
    shown = np.linspace(0, len(points) - 1, min(len(points), MOST_POINTS)).astype(np.int64)
    places = MARGIN + (points * (1, -1) + 1) / 2 * (SIDE - 2 * MARGIN)
    groups = sorted(clustering.groups, key=lambda group: -group.size)
    styles = group_styles(np.array([np.median(points[labels == group.id], axis=0) for group in groups]))
    colours = {group.id: LIGHT[colour] for group, (colour, _) in zip(groups, styles, strict=True)}
    marks = {group.id: "" for group in groups}
    for row in shown:
        marks[int(labels[row])] += f"M{places[row, 0]:.1f} {places[row, 1]:.1f}h0"
    return page_template("notebook.html").render(
        side=SIDE,
        texts=len(points),
        groups=groups[:MOST_GROUPS],
        more=max(0, len(groups) - MOST_GROUPS),
        notes=clustering.notes,
        colours=colours,
        marks=[(colours[group], path) for group, path in marks.items() if path],
    )
