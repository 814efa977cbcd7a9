"""PNG files of SVG files, taken by a browser: it draws them as everybody else will see them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from coterie.data.atomic import atomic_file
from coterie.errors import ConfigError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

SCALE = 2
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge")
INSTALL = "pip install playwright, and Chromium: from your system, or by `playwright install chromium`"


def write_pngs(pictures: Sequence[Path]) -> list[Path]:
    """Beside every SVG file a PNG of it, with twice as many pixels as it has units."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        raise ConfigError(_sorry(pictures, "playwright is not installed")) from error
    written = []
    try:
        with sync_playwright() as playwright:
            browser = launched(playwright)
            for picture in pictures:
                width, height = _size(picture)
                page = browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=SCALE)
                page.goto(picture.resolve().as_uri())
                taken = page.screenshot()
                page.close()
                written.append(picture.with_suffix(".png"))
                with atomic_file(written[-1]) as file:
                    file.write(taken)
            browser.close()
    except Error as error:
        raise ConfigError(_sorry(pictures, str(error).strip().splitlines()[0])) from error
    return written


def launched(playwright: Playwright) -> Browser:
    """The first browser that is on this machine, or else playwright's own."""
    # A container's root has no namespaces for the sandbox; the pages are our own.
    arguments = ["--no-sandbox"] if sys.platform == "linux" and os.geteuid() == 0 else []
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    return playwright.chromium.launch(executable_path=found, args=arguments)


def _size(picture: Path) -> tuple[int, int]:
    root = Xml.parse(picture).getroot()
    return round(float(root.attrib["width"])), round(float(root.attrib["height"]))


def _sorry(pictures: Sequence[Path], why: str) -> str:
    return (
        f"{pictures[0].parent}: the SVG files are written, but not all PNG files, which a browser has to take "
        f"({why}). For those too: {INSTALL}."
    )
