"""The pictures of the report in these pages: light and dark, on a desktop and on a phone."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from coterie.bench.png import launched

READY = "html[data-ready=yes]"
SIZES = {"desktop": (1440, 1000), "phone": (390, 844)}
PICTURES = Path(__file__).parent / "images"


def main() -> None:
    report = Path(sys.argv[1]).resolve() / "report.html"
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = launched(playwright)
        for device, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                page = browser.new_page(
                    viewport={"width": width, "height": height},
                    device_scale_factor=2 if device == "phone" else 1,
                    color_scheme=scheme,
                )
                page.goto(report.as_uri())
                page.wait_for_selector(READY)
                page.wait_for_timeout(500)  # until the map has been drawn
                page.screenshot(path=PICTURES / f"report-{device}-{scheme}.png")
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
