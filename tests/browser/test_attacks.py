"""A file whose every field is an attack: nothing runs, nothing leaves, and it is shown as what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ATTACKS = [
    "<script>window.hit = 1</script>",
    "</script><script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 1'>",
    "<svg onload=window.hit=1><a href='javascript:window.hit=1'>x</a></svg>",
    "\"><iframe src='https://example.invalid'></iframe>",
    "';window.hit=1;//",
    "{{ 7 * 7 }} {% raw %} ${window.hit=1} `",
    "<style>*{display:none}</style><link rel=stylesheet href=https://example.invalid/x.css>",
    "<meta http-equiv=refresh content='0;url=https://example.invalid'>",
    "<!-- ]]> --!> \u2028 \u2029 \u202e gnipool \x00\x08 \ud83d\ude00".encode("utf-16", "surrogatepass").decode(
        "utf-16"
    ),
    "__proto__",
    "constructor",
    '=HYPERLINK("https://example.invalid")',
    "a" * 5000,
]


@pytest.fixture(scope="module")
def hostile(fake_report: Callable[..., Path]) -> Path:
    whole = " ".join(ATTACKS[:9])
    return fake_report(
        ATTACKS * 5,
        4,
        text_column=ATTACKS[1],
        truth_column=ATTACKS[2],
        truth=ATTACKS[3] + "{}",
        input_name=ATTACKS[0].replace("/", "\\"),
        word=ATTACKS[2].replace("{", "").replace("}", "") + "{}",
        topics=[{"id": 0, "weight": 1.0, "words": [{"word": whole, "probability": 0.5}]}],
        method=whole,
        history=[
            {"phase": whole, "epoch": 1, "losses": {whole: 1.0, "__proto__": 2.0}, "score": 0.5},
            {"candidate": whole, "criterion": whole, "score": 0.5, "kept": True},
            {"note": whole},
            {"stage": whole, "seconds": 1.0},
        ],
    )


def is_untouched(it: Any) -> None:
    assert it.page.evaluate("window.hit") is None
    assert it.page.locator("iframe, img, object, embed, main script, main style, main link, main meta").count() == 0
    assert it.page.locator("a[href^=javascript]").count() == 0
    assert it.page.locator("body").is_visible()


def test_nothing_runs_and_everything_is_shown_as_it_is(open_page: Callable[..., Any], hostile: Path) -> None:
    it = open_page(hostile)
    is_untouched(it)
    assert it.text("h1") == ATTACKS[0].replace("/", "\\")
    for section in ("#cards", "#tree", "#truth", "#curves", "#facts-tables", "#legend", "#facts"):
        assert "window.hit" in it.page.locator(section).text_content()
    assert "<svg onload" in it.page.locator("#list").text_content()


def test_nothing_runs_when_it_is_used(open_page: Callable[..., Any], hostile: Path) -> None:
    it = open_page(hostile)
    it.page.fill("#search", "<script>")
    it.settle()
    assert 0 < it.count_shown() < len(ATTACKS) * 5
    it.page.locator("#list button").first.click()
    box = it.page.locator("#map").bounding_box()
    for right in range(10, int(box["width"]), 25):
        it.page.mouse.move(box["x"] + right, box["y"] + box["height"] / 2)
    it.page.locator("#cut").fill("2")
    it.page.fill("#search", "")
    it.page.locator("#legend button").first.click()
    it.settle()
    is_untouched(it)


def test_the_policy_stops_what_a_mistake_would_let_through(open_page: Callable[..., Any], hostile: Path) -> None:
    """Even code that puts markup or scripts into the page, or asks the network, gets nowhere."""
    it = open_page(hostile)
    tried = it.page.evaluate(
        """async () => {
          const failed = [];
          const attempt = async (name, act) => { try { await act(); } catch { failed.push(name); } };
          await attempt("markup", () => { document.body.innerHTML = "<b>x</b>"; });
          await attempt("fetch", () => fetch("https://example.invalid/"));
          await new Promise((done) => setTimeout(done, 50)); // until then the driver itself may evaluate
          await attempt("eval", () => (0, eval)("window.hit = 1"));
          const script = document.createElement("script");
          await attempt("script", () => { script.textContent = "window.hit = 1"; });
          return failed;
        }"""
    )
    assert tried == ["markup", "fetch", "eval", "script"]
    is_untouched(it)
    it.problems.clear()  # the browser has rightly complained
    it.requests[:] = it.requests[:1]
