"""The evidence for the number of groups, as the report shows it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

Open = Callable[..., Any]

# Stability, silhouette and prediction strength; the ks are 1 : 2 : 4 : 8, so on a scale of ratios evenly apart.
TRIED = {2: (0.9, 0.1, 0.99), 4: (0.5, -0.1, 0.8), 8: (1.0, 0.4, 0.9), 16: (0.25, 0.2, 0.3)}
WHY = "8 groups: the best of 4 numbers tried <b>from</b> 2 to 16"
MEASURES = ("stability", "silhouette", "prediction_strength")


@pytest.fixture(scope="module")
def report(fake_report: Callable[..., Path]) -> Path:
    numbers = [{"k": k, **dict(zip(MEASURES, values, strict=True)), "chosen": k == 8} for k, values in TRIED.items()]
    return fake_report([f"text {row}" for row in range(60)], 8, history=[{"note": WHY}, *numbers])


def numbers_of(chart: Any, shape: str, name: str) -> list[float]:
    return [float(one.get_attribute(name)) for one in chart.locator(shape).all()]


def test_three_curves_with_the_chosen_number_marked(open_page: Open, report: Path) -> None:
    it = open_page(report)
    assert it.text("#number-why") == f"{WHY}."
    charts = it.page.locator("#number-curves figure")
    assert [chart.locator("b").inner_text() for chart in charts.all()] == [
        "Stability",
        "Silhouette",
        "Prediction strength",
    ]
    for at, chart in enumerate(charts.all()):
        values = [values[at] for values in TRIED.values()]
        across, down, radius = (numbers_of(chart, "circle", name) for name in ("cx", "cy", "r"))
        steps = [right - left for left, right in pairwise(across)]
        assert max(steps) - min(steps) < 0.2
        assert sorted(range(4), key=lambda one: -down[one]) == sorted(range(4), key=lambda one: values[one])
        assert [size > 3 for size in radius] == [False, False, True, False]
        mark = chart.locator("line.chosen")
        assert float(mark.get_attribute("x1")) == pytest.approx(across[2], abs=0.1)
        assert chart.locator("text.mark").text_content() == "8"


def test_the_charts_can_be_read_aloud(open_page: Open, report: Path) -> None:
    it = open_page(report)
    labels = [one.get_attribute("aria-label") for one in it.page.locator("#number-curves svg[role=img]").all()]
    assert labels == [
        "Stability from 2 to 16 groups: 1 at 8, which was chosen; highest 1 at 8",
        "Silhouette from 2 to 16 groups: 0.4 at 8, which was chosen; highest 0.4 at 8",
        "Prediction strength from 2 to 16 groups: 0.9 at 8, which was chosen; highest 0.99 at 2",
    ]
    assert it.page.locator("#number-curves circle title").first.text_content() == "2 groups: 0.9"


def test_the_numbers_are_there_as_a_table(open_page: Open, report: Path) -> None:
    it = open_page(report)
    table = it.page.locator("#number details table")
    assert not table.is_visible()
    it.page.locator("#number summary").focus()
    it.page.keyboard.press("Enter")
    assert table.is_visible()
    assert table.locator("thead").inner_text().split() == [
        "groups",
        "Stability",
        "Silhouette",
        "Prediction",
        "strength",
    ]
    assert table.locator("tbody tr").nth(2).inner_text().split() == ["8,", "chosen", "1.000", "0.400", "0.900"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_lines_stand_out(scheme: str, open_page: Open, report: Path) -> None:
    it = open_page(report, color_scheme=scheme)
    colour = (
        "(element) => [getComputedStyle(element).stroke, getComputedStyle(element.closest('figure')).backgroundColor]"
    )
    line, ground = it.page.locator("#number-curves path").first.evaluate(colour)
    assert contrast(line, ground) >= 3


def contrast(one: str, other: str) -> float:
    """Of two CSS colours, by WCAG's formula."""

    def luminance(colour: str) -> float:
        channels = [int(part) / 255 for part in colour[4:-1].split(",")]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_on_a_phone_it_fits(open_page: Open, report: Path) -> None:
    it = open_page(report, viewport={"width": 360, "height": 740})
    assert it.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_without_a_choice_there_is_no_such_part(open_page: Open, fake_report: Callable[..., Path]) -> None:
    it = open_page(fake_report(["one", "two", "three"], 2, history=[{"note": "of another kind"}]))
    assert not it.page.locator("#number").is_visible()
    assert not it.page.locator("nav a[href='#number']").is_visible()


@pytest.mark.parametrize("chosen", [3, 5])
def test_the_ends_of_the_range(chosen: int, open_page: Open, fake_report: Callable[..., Path]) -> None:
    history = [
        {"k": k, "stability": 0.0, "silhouette": 0.0, "prediction_strength": 0.0, "chosen": k == chosen} for k in (3, 5)
    ]
    it = open_page(fake_report(["one", "two", "three"], 3, history=history))
    chart = it.page.locator("#number-curves svg").first
    assert str(chosen) in [one.text_content() for one in chart.locator("text").all()]
    assert "NaN" not in it.page.locator("#number-curves").inner_html()
