"""Over time, by a column, repeated texts: the sections that not every report has."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Open = Callable[..., Any]

GROUPS = 14
ROWS = 600
REPEATED = "The queue at the door was far too long on Sunday, and nobody of the staff could tell us why."
SECTIONS = ("#over-time", "#by", "#repeats")
ATTACK = "</td><script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"


def own_text(number: int) -> str:
    """A text that is like no other."""
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    return " ".join(digest[at : at + 8] for at in range(0, 48, 8))


@pytest.fixture(scope="module")
def report(fake_report: Callable[..., Path]) -> Path:
    """Three years of months but one, forty values, one of them an attack; rows without a day or a value."""
    texts = [own_text(i) for i in range(ROWS)]
    texts[100:140] = [REPEATED] * 40
    texts[140:145] = [REPEATED.upper() + " :("] * 5
    texts[145:148] = [REPEATED.replace("door", "gate")] * 3
    texts[200:209] = ["n/a"] * 9
    texts[209:213] = [ATTACK, ATTACK, "None", "-"]
    days: list[str | None] = [f"{2023 + i % 3}-{i % 12 + 1:02}-15" for i in range(ROWS)]
    days = [None if day == "2024-05-15" or i < 4 else day for i, day in enumerate(days)]
    values: list[str | None] = [f"value {i % 39}" for i in range(ROWS)]
    values[:60] = [ATTACK] * 60
    values[60:63] = [None] * 3
    return fake_report(
        texts, GROUPS, columns={"day": days, ATTACK: values}, time_column="day", by_column=ATTACK, word="word{}"
    )


def test_a_run_without_them_has_no_such_sections(open_page: Open, fake_report: Any) -> None:
    it = open_page(fake_report([own_text(i) for i in range(30)], 3))
    for section in SECTIONS:
        assert not it.page.locator(section).is_visible()
        assert not it.page.locator(f"nav a[href='{section}']").is_visible()


def test_all_are_there_and_nothing_in_them_runs(open_page: Open, report: Path) -> None:
    it = open_page(report)
    for section in SECTIONS:
        assert it.page.locator(section).is_visible()
        assert it.page.locator(f"nav a[href='{section}']").is_visible()
    assert it.text("#by-title") == f"By {ATTACK}"
    assert ATTACK in it.page.locator("#values thead").text_content()
    assert ATTACK in it.page.locator("#repeats").text_content()
    it.page.locator("#periods summary").click()
    it.page.locator("#repeats summary").first.click()
    it.page.locator("#values select").select_option("counts")
    it.settle()
    assert it.page.evaluate("window.hit") is None
    assert it.page.locator("img, iframe, main script").count() == 0


def test_over_time(open_page: Open, report: Path) -> None:
    it = open_page(report)
    table = pl.read_parquet(report.parent / "assignments.parquet")
    assert "one bar is a month, 2023-01 to 2025-12" in it.text("#periods .about")
    missing = table["day"].null_count()
    assert f"{missing} rows have no date and are not drawn" in it.text("#periods .about")
    assert it.page.locator("#periods .curves figure").count() == 12
    it.page.get_by_role("button", name=f"Show all {GROUPS} groups").click()
    assert it.page.locator("#periods .curves figure").count() == GROUPS
    panel = it.page.locator("#periods [data-panel='3']")
    assert panel.locator("rect").count() == 36
    own = table.filter(pl.col("cluster") == 3)["day"].to_list()
    of_last = sum(day == "2025-12-15" for day in table["day"])
    panel.locator("svg.bars").focus()
    it.page.keyboard.press("End")
    assert panel.locator(".told").inner_text().startswith(f"2025-12: {own.count('2025-12-15')} of {of_last}")
    it.page.keyboard.press("ArrowLeft")
    assert panel.locator(".told").inner_text().startswith("2025-11: ")
    it.page.keyboard.press("Tab")
    assert panel.locator(".told").inner_text() == ""


def test_bars_in_numbers_and_in_another_order(open_page: Open, report: Path) -> None:
    it = open_page(report)
    order = "(all) => all.map((one) => one.dataset.panel)"
    largest = it.page.eval_on_selector_all("#periods [data-panel]", order)
    it.page.get_by_label("Order").nth(1).select_option("rise")
    rising = it.page.eval_on_selector_all("#periods [data-panel]", order)
    assert rising != largest
    it.page.get_by_label("Order").nth(1).select_option("fall")
    falling = it.page.eval_on_selector_all("#periods [data-panel]", order)
    assert falling[0] not in rising[:2]
    assert "%" in it.text("#periods [data-panel] .range")
    it.page.get_by_label("Bars").select_option("counts")
    assert "%" not in it.text("#periods [data-panel] .range span")


def test_the_table_has_every_number(open_page: Open, report: Path) -> None:
    it = open_page(report)
    it.page.locator("#periods summary").click()
    it.page.locator("#periods details tbody tr").first.wait_for()
    cells = it.page.eval_on_selector_all(
        "#periods details tbody tr", "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    assert len(cells) == 36
    dated = pl.read_parquet(report.parent / "assignments.parquet").filter(pl.col("day").is_not_null())
    assert sum(int(line[1]) for line in cells) == dated.height
    for group in range(GROUPS):
        total = sum(int(line[2 + group].split()[0]) for line in cells)
        assert total == dated.filter(pl.col("cluster") == group).height


def test_by_column(open_page: Open, report: Path) -> None:
    it = open_page(report)
    heads = it.page.locator("#values thead th .value").all_inner_texts()
    assert len(heads) == 33, "all, 30 values, all others, empty"
    assert heads[1] == ATTACK, "the most frequent comes first"
    assert heads[-2:] == ["all others (10)", "empty"]
    it.page.locator("#values select").select_option("counts")
    lines = it.page.eval_on_selector_all(
        "#values tbody tr", "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.lastChild.textContent))"
    )
    assert len(lines) == GROUPS
    table = pl.read_parquet(report.parent / "assignments.parquet")
    for group, line in enumerate(lines):
        assert int(line[1]) == table.filter(pl.col("cluster") == group).height == sum(map(int, line[2:]))
        assert int(line[2]) == table.filter((pl.col("cluster") == group) & (pl.col(ATTACK) == ATTACK)).height


def test_the_chosen_groups_are_shown_there_too(open_page: Open, report: Path) -> None:
    it = open_page(report)
    it.page.locator("#legend button[data-group='13']").click()
    assert it.page.eval_on_selector_all("#periods [data-panel]", "(all) => all.map((one) => one.dataset.panel)") == [
        "13"
    ]
    assert it.page.locator("#values tbody tr:visible").count() == 1
    chip = it.page.locator("#periods [data-panel='13'] .chip")
    chip.focus()
    it.page.keyboard.press("Enter")
    assert it.page.locator("#periods [data-panel]").count() == 12
    assert it.page.locator("#values tbody tr:visible").count() == GROUPS
    it.page.locator("#values tbody tr[data-line='2'] .chip").click()
    assert it.page.locator("#legend button[aria-pressed=true]").get_attribute("data-group") == "2"


def test_the_keyboard_keeps_its_place(open_page: Open, report: Path) -> None:
    it = open_page(report)
    it.page.locator("#periods [data-panel='5'] .chip").focus()
    it.page.keyboard.press("Enter")
    assert it.page.evaluate("document.activeElement.closest('[data-panel]').dataset.panel") == "5"


def test_repeated_texts(open_page: Open, report: Path) -> None:
    """39 + 4 + 2 + 8 copies, and one of the attack; two other wordings, and None is no copy of n/a."""
    it = open_page(report)
    assert "54 rows repeat another word for word, 2 nearly." in it.text("#repeated .about")
    first = it.page.locator("#repeated .repeats > li").first
    assert (first.locator(".times").first.inner_text(), first.locator(".words-of").first.inner_text()) == (
        "48 ×",
        REPEATED,
    )
    assert not first.locator("details li").first.is_visible()
    first.locator("summary").focus()
    it.page.keyboard.press("Enter")
    assert first.locator("summary").inner_text() == "2 other wordings, 8 of the 48 rows"
    assert first.locator("details .times").all_inner_texts() == ["5 ×", "3 ×"]
    assert it.page.locator("#repeated .repeats > li").count() == 2, "n/a is among those with hardly any content"
    group = first.locator(".chip").first.inner_text().split()[0]
    first.locator(".chip").first.click()
    assert it.page.locator("#legend button[aria-pressed=true]").get_attribute("data-group") == group


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        (1, "a text counts once, however often it is there; every row"),
        (3, "a text counts once, however often it is there, but 20 near repeats count one by one: they could be"),
        (5, "equal texts count once, and near repeats one by one, for there are too few texts;"),
    ],
)
def test_how_repeated_texts_weighed(groups: int, told: str, open_page: Open, fake_report: Any) -> None:
    texts = [*(own_text(i) for i in range(30)), *(f"{REPEATED} Message {i}." for i in range(21))]
    it = open_page(fake_report(texts, groups))
    assert f"When groups are learnt, {told}" in it.text("#repeated .about")


def test_hardly_any_content(open_page: Open, report: Path) -> None:
    it = open_page(report)
    assert it.text("#junk .about").startswith("11 rows hold hardly anything to group by")
    lines = it.page.locator("#junk .repeats > li")
    found = [
        (lines.nth(at).locator(".times").inner_text(), lines.nth(at).locator(".words-of").inner_text())
        for at in range(3)
    ]
    assert found == [("9 ×", "n/a"), ("1 ×", "None"), ("1 ×", "-")]


def test_only_repeats_or_only_junk(open_page: Open, fake_report: Any) -> None:
    plain = [own_text(i) for i in range(30)]
    it = open_page(fake_report([*plain, "n/a"], 3))
    assert it.page.locator("#junk").is_visible()
    assert it.page.locator("#repeated").count() == 0
    assert it.text("#junk .about").startswith("1 row holds hardly")
    it = open_page(fake_report([*plain, plain[0]], 3))
    assert it.page.locator("#junk").count() == 0
    assert it.text("#repeated .about").startswith("1 row repeats another word for word. ")


def test_on_a_phone_only_the_tables_scroll_sideways(open_page: Open, report: Path) -> None:
    it = open_page(report, viewport={"width": 375, "height": 700}, has_touch=True, is_mobile=True)
    it.page.locator("#periods summary").click()
    assert it.page.evaluate("document.documentElement.scrollWidth") == 375
    assert it.page.evaluate("(box => box.scrollWidth > box.clientWidth)(document.querySelector('#values .shares'))")
    it.page.locator("#periods [data-panel] svg.bars").first.tap()
    assert it.page.locator("#periods [data-panel] .told").first.inner_text().count(" of ") == 1


def test_one_period_and_one_value(open_page: Open, fake_report: Any) -> None:
    texts = [own_text(i) for i in range(20)]
    it = open_page(
        fake_report(
            texts, 2, columns={"day": [1774915200] * 20, "who": ["me"] * 20}, time_column="day", by_column="who"
        )
    )
    assert "one bar is a day, 2026-03-31 to 2026-03-31" in it.text("#periods .about")
    assert it.page.locator("#periods .change").count() == 0
    assert it.page.locator("#values thead .value").all_inner_texts() == ["all", "me"]
