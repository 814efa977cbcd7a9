"""The page's own files, and a policy under which a browser runs nothing but them."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template

SCRIPTS = ("data.js", "shapes.js", "map.js", "charts.js", "cards.js", "shares.js", "repeats.js", "report.js")


def page_file(name: str) -> str:
    return (files("coterie.report") / "page" / name).read_text(encoding="utf-8")


@cache
def page_template(name: str) -> Template:
    """A template in which every value is escaped."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["thousands"] = "{:,}".format
    return environment.from_string(page_file(name))


@cache
def page_script() -> str:
    """The page's whole program, closed in itself."""
    return '"use strict";\n{\n' + "\n".join(page_file(name) for name in SCRIPTS) + "}\n"


def content_policy(script: str, style: str) -> str:
    """Nothing is loaded, sent or run; only this script and this style are let through, by their hashes."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
