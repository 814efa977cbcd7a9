"""Pictures: valid, the same bytes every time, as many lines and points as there are, whatever the names are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from xml.etree import ElementTree as Xml

import pytest

from coterie.bench.axes import evenly_named, fitted, numbered
from coterie.bench.figure import Cloud, Curves, Figure, Line, Point
from coterie.bench.svg import MARKED, MOST_NAMES, figure_svg
from coterie.report.colours import LIGHT

SPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script> & \x00\x1b \ud800 \"'"


def of_class(root: Xml.Element, name: str) -> list[Xml.Element]:
    return [element for element in root.iter() if element.get("class") == name]


def texts(root: Xml.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SPACE}text")]


def look(marks: Xml.Element) -> tuple[str | None, str | None, str]:
    """Colour and shape: what follows the place of the first mark."""
    first = marks.get("d", "").split("M")[1]
    return marks.get("fill"), marks.get("stroke"), re.sub(r"^[-\d.]+ [-\d.]+", "", first)


def sweep(lines: int = 3, points: int = 4, spread: float | None = 2.0) -> Figure:
    made = [
        Line(f"set {number}", [Point(x, 50 + number + x, spread) for x in range(points)]) for number in range(lines)
    ]
    names = [str(value) for value in range(points)]
    panels = [Curves("ACC", "λ1", "percent", made, names), Curves("NMI", "λ1", "percent", made[:1], names)]
    return Figure("sweep", "ACC over λ1", ["three seeds"], panels)


def clouds(groups: int, points: int = 60) -> Figure:
    places = [(0.9 - number / points, number / points) for number in range(points)]
    own = [number % groups for number in range(points)]
    panels = [Cloud(title, places, own) for title in ("before training", "after joint")]
    return Figure("maps", "t-SNE", ["60 texts"], panels, [f"group {number}" for number in range(groups)])


def test_a_line_for_every_line_and_a_mark_for_every_point() -> None:
    root = Xml.fromstring(figure_svg(sweep()))
    assert root.tag == f"{SPACE}svg"
    assert len(of_class(root, "panel")) == 2
    lines = of_class(root, "line")
    assert len(lines) == 3 + 1
    for line in lines:
        spread, stroke, marks = line
        assert stroke.get("d", "").count("L") == 3
        assert marks.get("d", "").count("M") == 4
        assert spread.get("d", "").count("M") == 4
    assert [line[1].get("stroke") for line in lines] == [*LIGHT[:3], LIGHT[0]]
    assert {"ACC over λ1", "three seeds", "ACC", "NMI", "λ1", "percent", "set 0", "set 2"} <= set(texts(root))


def test_the_ways_of_a_set_have_its_colour() -> None:
    ways = ["", "plain", "still", "short", "long"]
    made = [Line(data, [Point(0, 1), Point(1, 2)], way) for way in ways for data in ("a", "b")]
    root = Xml.fromstring(figure_svg(Figure("x", "t", ["n"], [Curves("p", "x", "y", made, ["0", "1"])])))
    drawn = of_class(root, "line")
    assert [line[0].get("stroke") for line in drawn] == [LIGHT[0], LIGHT[1]] * len(ways)
    assert len({(line[0].get("stroke"), line[0].get("stroke-dasharray"), look(line[1])) for line in drawn}) == len(made)
    assert {"a", "a, plain", "b, long"} <= set(texts(root))
    # Of one set alone every way has a colour of its own.
    root = Xml.fromstring(figure_svg(Figure("x", "t", ["n"], [Curves("p", "x", "y", made[::2], ["0", "1"])])))
    assert [line[0].get("stroke") for line in of_class(root, "line")] == list(LIGHT[: len(ways)])


def test_where_a_line_is() -> None:
    """Worked out by hand: one panel of 300 x 250 at (82, 77), y from 0 to 10 with 6 percent of room."""
    line = Line("only", [Point(0, 0), Point(1, 10)])
    root = Xml.fromstring(figure_svg(Figure("x", "t", ["n"], [Curves("p", "x", "y", [line], ["a", "b"])])))
    (drawn,) = of_class(root, "line")
    left, top, width, height = 16 + 66, 16 + 22 + 17 + 22, 300, 250
    low = top + height - height * 0.6 / 11.2
    high = top + height * 0.6 / 11.2
    expected = f"M{left + width / 4:g} {low:.2f}L{left + 3 * width / 4:g} {high:.2f}"
    assert drawn[0].get("d") == expected


def test_many_points_have_a_band() -> None:
    root = Xml.fromstring(figure_svg(sweep(points=MARKED + 1)))
    assert of_class(root, "marks") == []
    assert all(band.get("d", "").endswith("z") for band in of_class(root, "spread"))
    assert of_class(Xml.fromstring(figure_svg(sweep(spread=None))), "spread") == []


def test_every_text_is_on_every_map() -> None:
    root = Xml.fromstring(figure_svg(clouds(20)))
    panels = of_class(root, "panel")
    assert len(panels) == 2
    for panel in panels:
        groups = of_class(panel, "points")
        assert len(groups) == 20
        # A cross and a plus are two strokes; their second one begins with a small m.
        assert sum(group.get("d", "").count("M") for group in groups) == 60
    assert len([text for text in texts(root) if text.startswith("group ")]) == 20
    assert len({look(group) for group in of_class(panels[0], "points")}) == 20


def test_too_many_groups_have_no_legend() -> None:
    root = Xml.fromstring(figure_svg(clouds(MOST_NAMES + 1)))
    assert [text for text in texts(root) if text.startswith("group ")] == []


def test_everything_is_on_the_canvas() -> None:
    for figure in (sweep(lines=20), clouds(20), clouds(MOST_NAMES)):
        root = Xml.fromstring(figure_svg(figure))
        width, height = float(root.get("width", 0)), float(root.get("height", 0))
        for text in root.iter(f"{SPACE}text"):
            assert 0 < float(text.get("x", 0)) < width
            assert 0 < float(text.get("y", 0)) < height


def test_names_cannot_break_the_picture() -> None:
    line = Line(HOSTILE, [Point(1, 1), Point(2, 2)])
    written = figure_svg(Figure("x", HOSTILE, [HOSTILE], [Curves(HOSTILE, HOSTILE, HOSTILE, [line])]))
    root = Xml.fromstring(written)
    assert list(root.iter(f"{SPACE}script")) == []
    assert b"<script" not in written
    assert any("alert(1)" in text for text in texts(root))


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from test_svg import clouds, sweep
from coterie.bench.svg import figure_svg
sys.stdout.buffer.write(figure_svg(sweep()) + figure_svg(clouds(20)))
"""


def test_the_same_bytes_in_every_process() -> None:
    script = SCRIPT.format(folder=os.path.dirname(__file__))
    seen = {
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert seen == {figure_svg(sweep()) + figure_svg(clouds(20))}


@pytest.mark.parametrize(
    ("low", "high", "names"),
    [
        (0, 1, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (61.2, 70.9, ["62", "64", "66", "68", "70"]),
        (-0.03, 0.012, ["-0.03", "-0.02", "-0.01", "0.00", "0.01"]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, names: list[str]) -> None:
    axis = fitted(low, high, 250, 0)
    assert [name for _, name in axis.ticks] == names
    assert all(
        axis.at(value) == pytest.approx(250 * (axis.high - value) / (axis.high - axis.low)) for value, _ in axis.ticks
    )


def test_noise_does_not_fill_a_panel_of_percentages() -> None:
    axis = fitted(69.0, 69.06, 250, 0, least_span=1.0)
    assert axis.high - axis.low > 1
    assert (axis.high + axis.low) / 2 == pytest.approx(69.03)
    assert fitted(0, 10, 250, 0, least_span=1.0) == fitted(0, 10, 250, 0)

    def height(unit: str) -> float:
        """Of the line, from its lowest to its highest point."""
        line = Line("only", [Point(0, 69.0), Point(1, 69.06)])
        root = Xml.fromstring(figure_svg(Figure("x", "t", [], [Curves("p", "x", unit, [line], ["a", "b"])])))
        ys = [float(place.split()[1]) for place in of_class(root, "line")[0][0].get("d", "")[1:].split("L")]
        return max(ys) - min(ys)

    assert height("percent") < 20 < 200 < height("")


def test_long_names_of_stages_are_whole_and_turned() -> None:
    names = ["start", "domain adaptation", "hardening of clusters", "joint"]
    line = Line("only", [Point(x, x) for x in range(4)])

    def drawn(named: list[str]) -> Xml.Element:
        return Xml.fromstring(figure_svg(Figure("x", "t", [], [Curves("p", "stage", "y", [line], named)])))

    root, short = drawn(names), drawn(["a", "b", "c", "d"])
    ticks = [text for text in root.iter(f"{SPACE}text") if text.text in names]
    assert [tick.text for tick in ticks] == names
    assert all("rotate(-30 " in tick.get("transform", "") for tick in ticks)
    # The turned names have room, above the title of the axis and on the canvas.
    taller = float(root.get("height", 0)) - float(short.get("height", 0))
    assert taller >= 0.5 * 6 * len("hardening of clusters")
    assert not any("rotate(-30" in text.get("transform", "") for text in short.iter(f"{SPACE}text"))


def test_epochs_are_whole_numbers() -> None:
    assert [name for _, name in numbered(1, 3, 0, 100).ticks] == ["1", "2", "3"]
    assert [name for _, name in numbered(1, 60, 0, 100).ticks] == ["10", "20", "30", "40", "50", "60"]
    assert [name for _, name in numbered(1, 1, 0, 100).ticks] == ["0", "1", "2"]


def test_one_value_has_an_axis_too() -> None:
    axis = fitted(0.0, 0.0, 100, 0)
    assert axis.at(0.0) == 50
    assert evenly_named(["only"], 0, 100).at(0) == 50
