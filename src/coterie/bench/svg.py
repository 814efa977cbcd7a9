"""Figures as SVG: the same figure is the same bytes, wherever and whenever it is drawn.

Colours and shapes are the report's, which people with colour blindness can tell apart. Names stand beside the panels,
never on the data. Written here rather than by a plotting library, because all that is needed of one are axes, lines,
points and names, and that its output does not change with its version.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree import ElementTree as Xml

from coterie.bench.axes import Axis, evenly_named, fitted, numbered
from coterie.bench.figure import Cloud, Curves, Figure, Line, Point
from coterie.report.colours import LIGHT, SHAPES, group_styles

PANEL_HEIGHT, CURVES_WIDTH, CLOUD_WIDTH = 250, 300, 250
LEFT, GAP, BELOW, PANEL_TITLE = 66, 24, 48, 22
MARGIN, TITLE, NOTE, ENTRY = 16, 22, 17, 18
MAPS_IN_ROW, CURVES_IN_ROW = 4, 2
LEAST_SPAN = {"percent": 5.0}
"""By the unit: a smaller difference is noise, and must not fill a panel."""
TURNED_BY = 30
"""Degrees, of names along an axis that are too long to stand side by side."""
MOST_NAMES = 32
"""A legend with more groups than this helps nobody."""
LONGEST_NAME = 34
CHARACTER = 6.6
INK, FAINT, GRID = "#1c1c1c", "#5a5a5a", "#dddddd"
DASHES = ("", "6 4", "2 3", "8 3 2 3")
MARKED = 30
"""Lines of more points than this have no marks on them, and a band in the place of whiskers."""

_SUBPATHS = {
    "square": "m-{0} -{0}h{1}v{1}h-{1}z",
    "triangle": "m0 -{0}l{0} {1}h-{1}z",
    "diamond": "m0 -{0}l{0} {0}l-{0} {0}l-{0} -{0}z",
    "cross": "m-{0} -{0}l{1} {1}m0 -{1}l-{1} {1}",
    "plus": "m-{0} 0h{1}m-{0} -{0}v{1}",
}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Style(NamedTuple):
    colour: str
    shape: str = SHAPES[0]
    dash: str = ""


@dataclass(frozen=True)
class Frame:
    """Where a panel is on the picture."""

    x: float
    y: float
    width: float
    height: float = PANEL_HEIGHT


@dataclass(frozen=True)
class Legend:
    """The names of a figure, to the right of its panels, in as many columns as their height needs."""

    names: dict[str, Style]
    x: float
    top: float
    rows: int
    width: float
    with_lines: bool

    @classmethod
    def beside(cls, frames: Sequence[Frame], names: dict[str, Style], with_lines: bool) -> Legend:
        right = max(frame.x + frame.width for frame in frames) + MARGIN
        top, bottom = frames[0].y, max(frame.y + frame.height for frame in frames)
        longest = max((len(_shortened(name)) for name in names), default=0)
        return cls(names, right, top, int((bottom - top) // ENTRY), 44 + CHARACTER * longest, with_lines)

    @property
    def columns(self) -> int:
        return -(-len(self.names) // self.rows)


def figure_svg(figure: Figure) -> bytes:
    """The figure as a file that stands alone."""
    styles, frames = _styles(figure), _frames(figure)
    legend = Legend.beside(frames, styles if len(styles) <= MOST_NAMES else {}, isinstance(figure.panels[0], Curves))
    below = BELOW + _room_for_names(figure) if legend.with_lines else MARGIN
    words = [8.4 * len(figure.title), *(CHARACTER * len(note) for note in figure.notes)]
    width = max(legend.x + legend.columns * legend.width, 2 * MARGIN + max(words))
    root = _canvas(width, max(frame.y + frame.height for frame in frames) + below)
    Xml.SubElement(root, "title").text = _clean(figure.title)
    Xml.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    _text(root, MARGIN, MARGIN + 12, figure.title, **{"font-size": "15", "font-weight": "bold"})
    for row, note in enumerate(figure.notes):
        _text(root, MARGIN, MARGIN + TITLE + NOTE * row + 10, note, fill=FAINT)
    for panel, frame in zip(figure.panels, frames, strict=True):
        group = Xml.SubElement(root, "g", {"class": "panel"})
        title = _shortened(panel.title, int(frame.width / CHARACTER))
        _text(group, frame.x + frame.width / 2, frame.y - 8, title, **{"text-anchor": "middle"})
        if isinstance(panel, Cloud):
            _draw_cloud(group, panel, frame, list(styles.values()))
        else:
            _draw_curves(group, panel, frame, styles)
    _draw_legend(root, legend)
    return f"{Xml.tostring(root, encoding='unicode')}\n".encode()


def _canvas(width: float, height: float) -> Xml.Element:
    size = {"width": _number(width), "height": _number(height), "viewBox": f"0 0 {_number(width)} {_number(height)}"}
    font = {"font-family": "Helvetica, Arial, sans-serif", "font-size": "12", "fill": INK}
    return Xml.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, "role": "img", **font})


def _frames(figure: Figure) -> list[Frame]:
    """Panels side by side, in several rows where there are many."""
    top = MARGIN + TITLE + NOTE * len(figure.notes) + PANEL_TITLE
    frames = []
    for number, panel in enumerate(figure.panels):
        is_map = isinstance(panel, Cloud)
        row, column = divmod(number, MAPS_IN_ROW if is_map else CURVES_IN_ROW)
        width, left = (CLOUD_WIDTH, 0) if is_map else (CURVES_WIDTH, LEFT)
        below = GAP if is_map else BELOW + _room_for_names(figure)
        x = MARGIN + left + column * (width + left + GAP)
        frames.append(Frame(x, top + row * (PANEL_HEIGHT + below + PANEL_TITLE), width))
    return frames


def _styles(figure: Figure) -> dict[str, Style]:
    """How every line, or every group of the maps, is drawn."""
    maps = [panel for panel in figure.panels if isinstance(panel, Cloud)]
    if maps:
        return _styles_of_groups(figure.groups, maps[-1])
    lines = {line.name: line for panel in figure.panels if isinstance(panel, Curves) for line in panel.lines}
    data = list(dict.fromkeys(line.data for line in lines.values()))
    ways = list(dict.fromkeys(line.way for line in lines.values()))
    if len(data) == 1 or len(data) > len(LIGHT):
        return {name: _look(number, number, number // len(LIGHT)) for number, name in enumerate(lines)}
    # One colour for each data set, so that its ways can be compared.
    looks = {name: (data.index(line.data), ways.index(line.way)) for name, line in lines.items()}
    return {name: _look(colour, colour + way, way) for name, (colour, way) in looks.items()}


def _look(colour: int, shape: int, dash: int) -> Style:
    return Style(LIGHT[colour % len(LIGHT)], SHAPES[shape % len(SHAPES)], DASHES[dash % len(DASHES)])


def _styles_of_groups(names: Sequence[str], shown: Cloud) -> dict[str, Style]:
    """Groups that are near each other on the last map differ most."""
    import numpy as np

    places, groups = np.array(shown.places), np.array(shown.groups)
    centres = np.array(
        [places[groups == group].mean(axis=0) if (groups == group).any() else (0, 0) for group in range(len(names))]
    )
    chosen = group_styles(centres)
    return {name: Style(LIGHT[colour], SHAPES[shape]) for name, (colour, shape) in zip(names, chosen, strict=True)}


# Maps


def _draw_cloud(parent: Xml.Element, panel: Cloud, frame: Frame, styles: Sequence[Style]) -> None:
    _outline(parent, frame)
    middle_x, middle_y = frame.x + frame.width / 2, frame.y + frame.height / 2
    reach = frame.width / 2 - 6
    size = 1.4 if len(panel.places) > 1000 else 2.0
    for group, style in enumerate(styles):
        own = [
            (middle_x + reach * x, middle_y - reach * y)
            for (x, y), number in zip(panel.places, panel.groups, strict=True)
            if number == group
        ]
        if own:
            marks = _marks(parent, own, style, size)
            marks.set("class", "points")
            marks.set("opacity", "0.8")


def _marks(parent: Xml.Element, places: Sequence[tuple[float, float]], style: Style, size: float) -> Xml.Element:
    """One path for all of them: every mark begins with an M."""
    if style.shape == "circle":
        subpath = "h0"
        look = {
            "fill": "none",
            "stroke": style.colour,
            "stroke-width": _number(2.2 * size),
            "stroke-linecap": "round",
        }
    elif style.shape in ("cross", "plus"):
        subpath = _SUBPATHS[style.shape].format(_number(size), _number(2 * size))
        look = {"fill": "none", "stroke": style.colour, "stroke-width": _number(0.7 * size)}
    else:
        subpath = _SUBPATHS[style.shape].format(_number(size), _number(2 * size))
        look = {"fill": style.colour}
    path = "".join(f"M{_number(x)} {_number(y)}{subpath}" for x, y in places)
    return Xml.SubElement(parent, "path", {"d": path, **look})


# Curves


def _draw_curves(parent: Xml.Element, panel: Curves, frame: Frame, styles: dict[str, Style]) -> None:
    across, up = _axes(panel, frame)
    _draw_axes(parent, panel, frame, across, up)
    for line in panel.lines:
        if line.points:
            group = Xml.SubElement(parent, "g", {"class": "line"})
            _draw_line(group, line, styles[line.name], across, up)


def _axes(panel: Curves, frame: Frame) -> tuple[Axis, Axis]:
    points = [point for line in panel.lines for point in line.points]
    lows = [point.y - (point.spread or 0) for point in points]
    highs = [point.y + (point.spread or 0) for point in points]
    up = fitted(min(lows), max(highs), frame.y + frame.height, frame.y, LEAST_SPAN.get(panel.y_title, 0.0))
    if panel.x_names is not None:
        return evenly_named(panel.x_names, frame.x, frame.x + frame.width), up
    xs = [point.x for point in points]
    return numbered(min(xs), max(xs), frame.x, frame.x + frame.width), up


def _draw_axes(parent: Xml.Element, panel: Curves, frame: Frame, across: Axis, up: Axis) -> None:
    bottom, room = frame.y + frame.height, _room_below(panel)
    for value, name in up.ticks:
        y = up.at(value)
        grid = f"M{_number(frame.x)} {_number(y)}h{_number(frame.width)}"
        Xml.SubElement(parent, "path", {"d": grid, "stroke": GRID, "fill": "none"})
        _text(parent, frame.x - 6, y + 4, name, **{"text-anchor": "end", "fill": FAINT})
    for value, name in across.ticks:
        x = across.at(value)
        Xml.SubElement(parent, "path", {"d": f"M{_number(x)} {_number(bottom)}v4", "stroke": FAINT, "fill": "none"})
        _text(parent, x, bottom + 17, _shortened(name), **_tick_look(x, bottom + 17, turned=bool(room)))
    _outline(parent, frame)
    _text(parent, frame.x + frame.width / 2, bottom + 36 + room, panel.x_title, **{"text-anchor": "middle"})
    left, middle = frame.x - 52, frame.y + frame.height / 2
    turned = {"text-anchor": "middle", "transform": f"rotate(-90 {_number(left)} {_number(middle)})"}
    _text(parent, left, middle, panel.y_title, **turned)


def _room_for_names(figure: Figure) -> float:
    return max((_room_below(panel) for panel in figure.panels if isinstance(panel, Curves)), default=0.0)


def _room_below(panel: Curves) -> float:
    """What the names along the axis take when they must be turned; nothing where they can stand side by side."""
    names = [_shortened(name) for name in panel.x_names or ()]
    longest = CHARACTER * max(map(len, names), default=0)
    return longest * math.sin(math.radians(TURNED_BY)) if longest > CURVES_WIDTH / max(1, len(names)) else 0.0


def _tick_look(x: float, y: float, turned: bool) -> dict[str, str]:
    if not turned:
        return {"text-anchor": "middle", "fill": FAINT}
    return {"text-anchor": "end", "fill": FAINT, "transform": f"rotate(-{TURNED_BY} {_number(x)} {_number(y)})"}


def _draw_line(parent: Xml.Element, line: Line, style: Style, across: Axis, up: Axis) -> None:
    places = [(across.at(point.x), up.at(point.y)) for point in line.points]
    many = len(places) > MARKED
    if any(point.spread for point in line.points):
        _draw_spread(parent, line.points, style, across, up, as_band=many)
    path = "L".join(f"{_number(x)} {_number(y)}" for x, y in places)
    _stroke(parent, f"M{path}", style)
    if not many:
        _marks(parent, places, style, 3).set("class", "marks")


def _draw_spread(
    parent: Xml.Element, points: Sequence[Point], style: Style, across: Axis, up: Axis, as_band: bool
) -> None:
    if as_band:
        upper = [(across.at(point.x), up.at(point.y + (point.spread or 0))) for point in points]
        lower = [(across.at(point.x), up.at(point.y - (point.spread or 0))) for point in points]
        path = "L".join(f"{_number(x)} {_number(y)}" for x, y in [*upper, *reversed(lower)])
        look = {"fill": style.colour, "opacity": "0.18"}
        Xml.SubElement(parent, "path", {"class": "spread", "d": f"M{path}z", **look})
        return
    whiskers = "".join(
        f"M{_number(across.at(x))} {_number(up.at(y - spread))}V{_number(up.at(y + spread))}"
        for x, y, spread in points
        if spread
    )
    look = {"fill": "none", "stroke": style.colour, "stroke-width": "1.2", "opacity": "0.7"}
    Xml.SubElement(parent, "path", {"class": "spread", "d": whiskers, **look})


# What all have


def _draw_legend(root: Xml.Element, legend: Legend) -> None:
    group = Xml.SubElement(root, "g", {"class": "legend"})
    for number, (name, style) in enumerate(legend.names.items()):
        column, row = divmod(number, legend.rows)
        x, y = legend.x + column * legend.width, legend.top + ENTRY * row + 6
        if legend.with_lines:
            _stroke(group, f"M{_number(x)} {_number(y)}h24", style)
        _marks(group, [(x + 12, y)], style, 3)
        entry = _text(group, x + 30, y + 4, _shortened(name))
        Xml.SubElement(entry, "title").text = _clean(name)


def _stroke(parent: Xml.Element, path: str, style: Style) -> None:
    dashed = {"stroke-dasharray": style.dash} if style.dash else {}
    look = {"fill": "none", "stroke": style.colour, "stroke-width": "1.8", "stroke-linejoin": "round", **dashed}
    Xml.SubElement(parent, "path", {"d": path, **look})


def _outline(parent: Xml.Element, frame: Frame) -> None:
    place = {"x": frame.x, "y": frame.y, "width": frame.width, "height": frame.height}
    attributes = {name: _number(value) for name, value in place.items()}
    Xml.SubElement(parent, "rect", {**attributes, "fill": "none", "stroke": FAINT, "stroke-width": "0.8"})


def _text(parent: Xml.Element, x: float, y: float, text: str, **look: str) -> Xml.Element:
    element = Xml.SubElement(parent, "text", {"x": _number(x), "y": _number(y), **look})
    element.text = _clean(text)
    return element


def _clean(text: str) -> str:
    """On one line, and without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", " ".join(text.split()))


def _shortened(name: str, longest: int = LONGEST_NAME) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"


def _number(value: float) -> str:
    """One hundredth of a unit is finer than any screen."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
