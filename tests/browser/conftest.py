"""Reports in a real browser: Debian's chromium, driven by playwright. Without one these tests are skipped."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
READY = "html[data-ready=yes]"


@dataclass
class Opened:
    """A page that is open, and what went wrong on it or left it."""

    page: Page
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()

    def count_shown(self) -> int:
        """How many texts the heading of the list speaks of."""
        words = self.text("#selection").replace("All ", "").split()
        return int(words[0].replace(",", ""))

    def picture(self) -> str:
        """The map as it is drawn now."""
        return str(self.page.evaluate("document.getElementById('map').toDataURL()"))

    def settle(self) -> None:
        """Waits until what was asked for is drawn."""
        self.page.wait_for_timeout(200)
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    missing = "no chromium is on this machine: apt-get install chromium"
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    # A container's root has no namespaces for the sandbox; the pages are our own.
    arguments = ["--no-sandbox"] if sys.platform == "linux" and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Opened]]:
    """open_page(file, color_scheme="dark", ...) -> the page, ready, from disk; its end must be without problems."""
    opened: list[Opened] = []

    def open_(file: Path, **options: Any) -> Opened:
        page = browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **options}).new_page()
        it = Opened(page)
        opened.append(it)
        page.on("console", lambda message: it.problems.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: it.problems.append(str(error)))
        page.on("dialog", lambda dialog: (it.problems.append("a dialog opened"), dialog.dismiss()))
        page.on("request", lambda request: it.requests.append(request.url))
        started = time.monotonic()
        page.goto(file.as_uri())
        page.wait_for_selector(READY, state="attached", timeout=60_000)
        it.seconds = time.monotonic() - started
        it.settle()
        return it

    yield open_
    for it in opened:
        assert it.problems == []
        assert [url for url in it.requests if not url.startswith(("file:", "blob:file:"))] == []
        assert sum(url.startswith("file:") for url in it.requests) == 1
        it.page.context.close()


def write_fake_run(folder: Path, texts: list[str], groups: int, **changes: Any) -> Path:
    """A run folder as `fit` writes it, with random groups on a random map: no texts need to be understood."""
    import json

    from coterie.persist.run import Run
    from coterie.report.build import write_report

    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    labels = np.sort(random.integers(groups, size=len(texts)))[::-1].copy()
    labels[:groups] = np.arange(groups)
    centres = random.uniform(-0.8, 0.8, size=(groups, 2))
    points = np.clip(centres[labels] + 0.06 * random.normal(size=(len(texts), 2)), -1, 1)
    text_column, truth_column = changes.get("text_column", "text"), changes.get("truth_column")
    table: dict[str, list[Any]] = {text_column: texts}
    if truth_column:
        table[truth_column] = [changes.get("truth", "class {}").format(label) for label in labels]
    table |= changes.get("columns", {})
    frame = pl.DataFrame(table).with_columns(
        cluster=pl.Series(labels), confidence=pl.Series(random.uniform(0.2, 1, size=len(texts)).astype(np.float32))
    )
    frame.write_parquet(folder / "assignments.parquet")
    pl.DataFrame(points.astype(np.float32), schema=["x", "y"]).write_parquet(folder / "map.parquet")
    word = changes.get("word", "word{}")
    described = [
        {
            "id": group,
            "name": word.format(group),
            "size": int((labels == group).sum()),
            "confidence": 0.6,
            "words": [{"word": word.format(group), "score": 0.5}, {"word": "second", "score": 0.2}],
            "examples": [texts[group]],
            "borderline": [
                {"text": texts[0], "confidence": 0.5, "other": (group + 1) % groups, "other_confidence": 0.4}
            ],
            "nearest": [{"id": (group + 1) % groups, "similarity": 0.5}],
            "topics": changes.get("topics", []),
        }
        for group in range(groups)
    ]
    history = changes.get("history", [])
    config = {
        "format": 1,
        "created": "2026-01-01T00:00:00+00:00",
        "options": {"method": changes.get("method", "auto"), "n_clusters": groups},
        "outliers_below": changes.get("outliers_below"),
        "input": {
            "name": changes.get("input_name", "texts.csv"),
            "rows": len(texts),
            "columns": list(table),
            "text_column": text_column,
            "truth_column": truth_column,
            "time_column": changes.get("time_column"),
            "by_column": changes.get("by_column"),
        },
        "versions": {"coterie": "0"},
        "machine": {"system": "Linux"},
    }
    documents = {
        "clusters.json": described,
        "config.json": config,
        "metrics.json": {"seconds": 1.0, "acc": 0.5, "silhouette": 0.1},
        "hierarchy.json": [[0.1 * (i + 1), i + 1, 0] for i in range(groups - 1)],
    }
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document))
    (folder / "history.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in history))
    run = Run.open(folder)
    write_report(run, run.report_path)
    return run.report_path


@pytest.fixture(scope="session")
def fake_report(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """fake_report(texts, groups, text_column=...) -> report.html of a made-up run."""

    def make(texts: list[str], groups: int = 5, **changes: Any) -> Path:
        return write_fake_run(tmp_path_factory.mktemp("fake") / "run", texts, groups, **changes)

    return make
