"""The report of a run whose groups were edited: numbers with gaps, given names, the list of edits."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import coterie
from coterie.persist.new_run import write_run

ATTACK = "<img src=x onerror='window.hit = 1'>"


@pytest.fixture(scope="module")
def edited(
    texts: list[str], themes: list[str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, coterie.Clustering]:
    """Groups 1 (30 texts), 3, 4 and 5: 0 and 2 went into 1 and 3, which were divided again."""
    found = coterie.cluster(texts, 4, method="tfidf+kmeans").merge([3, 2, 1]).split(3, into=3).merge([4, 0])
    found = found.rename(5, ATTACK).rename(3, "rails, and, more")
    folder = tmp_path_factory.mktemp("edited") / "run"
    write_run(
        folder, found, pl.DataFrame({"text": texts, "theme": themes}), text_column="text", truth_column="theme",
        by_column="theme", input_name="in.csv", stage_seconds={}, started=time.monotonic(), force=False,
    )  # fmt: skip
    return folder / "report.html", found


def test_live_groups_their_names_and_the_edits(open_page: Callable[..., Any], edited: Any) -> None:
    page, found = edited
    it = open_page(page)
    live = sorted(found.groups, key=lambda group: -group.size)
    assert [group.id for group in live] == [4, 3, 5]
    shown = it.page.locator("#legend button")
    assert [shown.nth(at).get_attribute("data-group") for at in range(shown.count())] == ["4", "3", "5"]
    assert it.page.locator("#legend .number").all_inner_texts() == ["4", "3", "5"]
    assert it.page.locator("#legend .name").all_inner_texts() == [group.name for group in live]
    assert it.page.locator("#cards h3").all_inner_texts() == [f"{group.id} {group.name}" for group in live]
    assert ATTACK in it.text("#group-5")
    assert it.page.locator("#edits-list li").all_inner_texts() == [
        "groups 3, 2 and 1 merged into 3",
        "group 3 split into 3, 4 and 5",
        "groups 4 and 0 merged into 4",
        f"group 5 named “{ATTACK}”",
        "group 3 named “rails, and, more”",
    ]
    assert it.page.locator("#tree svg text").count() == 3
    assert "3 rails, and, more (15)" in it.page.locator("#tree").text_content()
    assert it.page.evaluate("window.hit") is None
    assert it.page.locator("main img").count() == 0


def test_a_chosen_group_has_its_own_line_by_column(open_page: Callable[..., Any], edited: Any) -> None:
    """Its number is not its place once groups were edited."""
    it = open_page(edited[0])
    lines = it.page.locator("#by tbody tr")
    for group in ("4", "3", "5"):
        name = it.page.locator(f"#by tr[data-line='{group}'] button")
        assert name.get_attribute("aria-pressed") == "false"
        name.click()
        it.settle()
        seen = [lines.nth(at).get_attribute("data-line") for at in range(lines.count()) if lines.nth(at).is_visible()]
        assert (seen, name.get_attribute("aria-pressed")) == ([group], "true")
        name.click()


def test_the_confusion_matrix_can_be_read_as_a_table(open_page: Callable[..., Any], edited: Any) -> None:
    page, found = edited
    it = open_page(page)
    it.page.locator("#truth summary").click()
    it.settle()
    counts = [int(text) for text in it.page.locator("#truth table td").all_inner_texts()]
    assert sum(counts) == len(found.labels)
    assert [text.split()[0] for text in it.page.locator("#truth thead th").all_inner_texts()[1:]] == ["4", "3", "5"]


def test_numbers_lead_to_the_right_texts(open_page: Callable[..., Any], edited: Any) -> None:
    page, found = edited
    it = open_page(page)
    for group in found.groups:
        it.page.locator(f"#legend button[data-group='{group.id}']").click()
        it.settle()
        assert it.count_shown() == group.size
        own = {text for text, label in zip(found.texts, found.labels, strict=True) if label == group.id}
        assert set(it.page.locator("#list .words-of").all_inner_texts()) == own
        it.page.locator(f"#legend button[data-group='{group.id}']").click()
    it.page.locator("#group-5 .chip").first.click()
    nearest = next(group for group in found.groups if group.id == 5).nearest[0][0]
    it.settle()
    assert it.page.locator("#legend button[aria-pressed=true]").get_attribute("data-group") == str(nearest)
    with it.page.expect_download() as download:
        it.page.click("#export")
    saved = pl.read_csv(download.value.path())
    assert set(saved["cluster"]) == {nearest}
    it.page.click("#clear")
    it.page.locator("#cut").fill("2")
    it.settle()
    assert it.page.locator("#truth .confusion text").all_text_contents()[-4:] == ["4", "3", "5", "group"]


def test_without_edits_there_is_no_list(open_page: Callable[..., Any], fake_report: Callable[..., Path]) -> None:
    it = open_page(fake_report(["a text", "another text", "one more"], 2))
    assert not it.page.locator("#edits").is_visible()
