"""The report as a person uses it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Open = Callable[..., Any]

GROUPS = 5
ROWS = 400
EPOCHS = [
    {
        "phase": phase,
        "epoch": epoch,
        "losses": {"total": 3.0 / epoch, "contrast": None if epoch == 1 else 1.0},
        "score": 0.1,
    }
    for phase in ("first", "second")
    for epoch in (1, 2, 3)
]
TOPICS = [
    {"id": 0, "weight": 0.1679, "words": [{"word": "bread", "probability": 0.7}]},
    {"id": 1, "weight": 0.8321, "words": [{"word": word, "probability": 0.3} for word in ("fruit", "trees")]},
]


@pytest.fixture(scope="module")
def report(fake_report: Callable[..., Path]) -> Path:
    texts = [f"text number {i} about {'apples' if i % 4 == 0 else 'pears'}" for i in range(ROWS)]
    texts[7] = "=1+1 needle"
    return fake_report(texts, GROUPS, truth_column="theme", history=EPOCHS, topics=TOPICS)


def a_point(it: Any) -> tuple[float, float]:
    """Where on the screen some point of the map is, found by pointing along lines until one answers."""
    box = it.page.locator("#map").bounding_box()
    for down in range(60, int(box["height"]) - 40, 12):
        for right in range(20, int(box["width"]) - 20, 12):
            it.page.mouse.move(box["x"] + right, box["y"] + down)
            if it.page.locator("#tip").is_visible():
                return box["x"] + right, box["y"] + down
    raise AssertionError("no point was found on the map")


def legend(it: Any, group: int) -> Any:
    return it.page.locator(f"#legend button[data-group='{group}']")


def test_everything_is_shown(open_page: Open, report: Path) -> None:
    it = open_page(report)
    assert it.text("h1") == "texts.csv"
    assert it.text("#selection") == f"All {ROWS} texts"
    assert it.page.locator("#cards article").count() == GROUPS
    topics = it.page.locator("#group-0 section", has_text="Topics").locator("li")
    assert topics.all_text_contents() == ["83 % · fruit, trees", "17 % · bread"], "the weightiest first"
    assert it.page.locator("#tree svg text").count() == GROUPS
    assert it.page.locator("#truth .confusion rect").count() == GROUPS
    assert [it.page.locator("#curves figure b").nth(at).inner_text() for at in range(3)] == [
        "total",
        "score",
        "contrast",
    ]
    assert "silhouette" in it.text("#settings")


def test_pointing_at_a_text_shows_it(open_page: Open, report: Path) -> None:
    it = open_page(report)
    a_point(it)
    assert "text number" in it.text("#tip") or "needle" in it.text("#tip")
    assert "confidence" in it.text("#tip")
    it.page.mouse.move(5, 5)
    assert not it.page.locator("#tip").is_visible()


def test_clicking_a_group_filters_and_again_frees(open_page: Open, report: Path) -> None:
    it = open_page(report)
    before = it.picture()
    size = int(legend(it, 2).locator(".many").inner_text())
    legend(it, 2).click()
    it.settle()
    assert it.count_shown() == size
    assert it.picture() != before
    legend(it, 2).click()
    it.settle()
    assert it.count_shown() == ROWS
    assert it.picture() == before


def test_clicking_a_point_filters_its_group(open_page: Open, report: Path) -> None:
    it = open_page(report)
    place = a_point(it)
    group = it.text("#tip .meta").split()[0]
    it.page.mouse.click(*place)
    assert it.page.locator("#legend button[aria-pressed=true]").get_attribute("data-group") == group
    assert 0 < it.count_shown() < ROWS


def test_search_lists_what_has_the_words(open_page: Open, report: Path) -> None:
    it = open_page(report)
    it.page.fill("#search", "ABOUT apples")
    it.settle()
    assert it.count_shown() == ROWS // 4
    it.page.fill("#search", "needle")
    it.settle()
    assert it.count_shown() == 1
    assert "needle" in it.text("#list")
    it.page.click("#clear")
    assert it.count_shown() == ROWS


def test_the_slider_moves_the_outliers(open_page: Open, report: Path) -> None:
    it = open_page(report)
    before = it.picture()
    it.page.locator("#threshold").fill("0.6")
    it.settle()
    shown = it.text("#outlier-count")
    outliers = int(shown.split()[2])
    assert 0 < outliers < ROWS
    assert it.count_shown() == ROWS  # marked, not taken away
    assert it.picture() != before
    it.page.check("#only-outliers")
    assert it.count_shown() == outliers
    it.page.locator("#threshold").fill("0.3")
    it.settle()
    assert it.count_shown() < outliers


def test_the_threshold_of_the_run_is_where_the_slider_starts(open_page: Open, fake_report: Any) -> None:
    it = open_page(fake_report([f"text {i}" for i in range(30)], 3, outliers_below=0.55))
    assert it.text("#threshold-value") == "0.55"
    assert int(it.text("#outlier-count").split()[2]) > 0


def test_lasso_and_download(open_page: Open, report: Path) -> None:
    it = open_page(report)
    it.page.click("#lasso")
    box = it.page.locator("#map").bounding_box()
    middle = box["x"] + box["width"] / 2
    corners = [(box["x"] + 4, box["y"] + 4), (middle, box["y"] + 4), (middle, box["y"] + box["height"] - 4)]
    corners.append((box["x"] + 4, box["y"] + box["height"] - 4))
    it.page.mouse.move(*corners[0])
    it.page.mouse.down()
    for corner in corners[1:]:
        it.page.mouse.move(*corner, steps=4)
    it.page.mouse.up()
    it.settle()
    chosen = it.count_shown()
    assert 0 < chosen < ROWS
    with it.page.expect_download() as waiting:
        it.page.click("#export")
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text("utf-8-sig"), newline="")))
    assert len(rows) == chosen
    assert list(rows[0]) == ["row", "cluster", "name", "confidence", "outlier", "text", "theme"]
    assert all(row["theme"] == f"class {row['cluster']}" for row in rows)


def test_the_download_is_safe_in_a_spreadsheet(open_page: Open, report: Path) -> None:
    it = open_page(report)
    it.page.fill("#search", "needle")
    it.settle()
    with it.page.expect_download() as waiting:
        it.page.click("#export")
    (row,) = csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text("utf-8-sig"), newline=""))
    assert (row["row"], row["text"]) == ("8", "'=1+1 needle")


def test_cutting_the_tree_recolours_the_map(open_page: Open, report: Path) -> None:
    it = open_page(report)
    before = it.picture()
    it.page.locator("#cut").fill("2")
    it.settle()
    assert it.text("#cut-value") == "2"
    assert it.picture() != before
    assert len(set(it.page.eval_on_selector_all("#legend path", "paths => paths.map((path) => path.style.fill)"))) == 2


def test_dark_and_light(open_page: Open, report: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = open_page(report), open_page(report, color_scheme="dark")
    assert light.page.evaluate(ground) != dark.page.evaluate(ground)
    assert light.picture() != dark.picture()
    light.page.click("#theme")
    light.settle()
    assert light.page.evaluate(ground) == dark.page.evaluate(ground)
    assert light.picture() == dark.picture()


def test_the_keyboard_is_enough(open_page: Open, report: Path) -> None:
    it = open_page(report)
    before = it.picture()
    it.page.focus("#map")
    for key in ("+", "ArrowLeft"):
        it.page.keyboard.press(key)
        it.settle()
        assert it.picture() != before
    it.page.keyboard.press("0")
    it.settle()
    assert it.picture() == before
    legend(it, 1).focus()
    it.page.keyboard.press("Enter")
    assert it.count_shown() < ROWS
    it.page.keyboard.press("Escape")
    assert it.count_shown() == ROWS
    it.page.locator("#list button").first.focus()
    it.settle()
    assert it.picture() != before  # the focused text is marked on the map


def test_on_a_phone_nothing_is_wider_than_the_screen(open_page: Open, report: Path) -> None:
    it = open_page(report, viewport={"width": 375, "height": 700}, has_touch=True, is_mobile=True)
    assert it.page.evaluate("document.documentElement.scrollWidth") == 375
    assert it.page.locator("#map").bounding_box()["width"] > 320
    box = it.page.locator("#legend button").first.bounding_box()
    assert box["height"] >= 40


def test_one_group_and_one_text(open_page: Open, fake_report: Any) -> None:
    it = open_page(fake_report(["the only text there is"], 1))
    assert it.text("#selection") == "All 1 texts"
    assert it.page.locator("#cards article").count() == 1


def test_many_groups(open_page: Open, fake_report: Any) -> None:
    it = open_page(fake_report([f"text {i}" for i in range(600)], 152))
    assert it.page.locator("#legend button").count() == 152
    for _ in range(20):  # cards are made as they come into sight
        it.page.locator("#cards article").last.scroll_into_view_if_needed()
        it.settle()
    assert it.page.locator("#cards article").count() == 152


def test_fifty_thousand_rows_are_all_there(open_page: Open, fake_report: Any) -> None:
    it = open_page(fake_report([f"a text of ordinary length about number {i} and so on" for i in range(50_000)], 20))
    assert it.count_shown() == 50_000
    it.page.fill("#search", "number 777")
    it.page.locator("#selection", has_text=" of ").wait_for()
    assert it.count_shown() == 11  # 777 and 7770 to 7779


@pytest.mark.parametrize("width", [1200, 420])
def test_a_long_name_leaves_room_for_the_confidence(open_page: Open, report: Path, width: int) -> None:
    it = open_page(report)
    it.page.set_viewport_size({"width": width, "height": 800})
    meta = it.page.locator("#list .meta").first
    meta.locator(".name").evaluate("element => { element.textContent = 'a very long name '.repeat(20); }")
    sure, box = meta.locator(".sure").bounding_box(), meta.bounding_box()
    assert float(meta.locator(".sure").inner_text()) > 0
    assert sure["width"] > 0
    assert sure["x"] + sure["width"] <= box["x"] + box["width"] + 1
    assert box["x"] + box["width"] <= width
