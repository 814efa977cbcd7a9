"""A table as Markdown, HTML or LaTeX; every name in it is escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from string import Template
from xml.etree import ElementTree as Xml

from coterie.bench.table import Entry, Table

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "†": r"$\dagger$", "‡": r"$\ddagger$",
}  # fmt: skip


def markdown(table: Table) -> str:
    lines = [
        _markdown_row(["", *table.columns]),
        "|---|" + "--:|" * len(table.columns),
        *(_markdown_row([name, *entries]) for name, entries in [*table.rows, *table.paper_rows]),
        *(line for note in table.notes for line in ("", _one_line(note))),
    ]
    return "\n".join(lines)


def latex(table: Table) -> str:
    def row(name: str, entries: list[Entry]) -> str:
        cells = [
            # After the end of a row these two would be an option of it.
            ("{}" if name.startswith(("[", "*")) else "") + _tex(name),
            *(rf"\textbf{{{_tex(entry.text)}}}" if entry.ahead else _tex(entry.text) for entry in entries),
        ]
        return " & ".join(cells) + r" \\"

    lines = [
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\hline",
        " & ".join(["", *map(_tex, table.columns)]) + r" \\",
        r"\hline",
        *(row(name, entries) for name, entries in table.rows),
        *([r"\hline"] if table.paper_rows else []),
        *(row(name, entries) for name, entries in table.paper_rows),
        r"\hline",
        r"\end{tabular}",
        *(f"% {_one_line(note)}" for note in table.notes),
    ]
    return "\n".join(lines)


def html(table: Table) -> str:
    root = Xml.Element("table")
    heading = Xml.SubElement(Xml.SubElement(root, "thead"), "tr")
    for name in ["", *table.columns]:
        Xml.SubElement(heading, "th").text = name
    for kind, rows in (("ours", table.rows), ("published", table.paper_rows)):
        body = Xml.SubElement(root, "tbody", {"class": kind})
        for name, entries in rows:
            line = Xml.SubElement(body, "tr")
            Xml.SubElement(line, "th").text = name
            for entry in entries:
                cell = Xml.SubElement(line, "td")
                (Xml.SubElement(cell, "strong") if entry.ahead else cell).text = entry.text
    notes = Xml.Element("footer")
    for note in table.notes:
        Xml.SubElement(notes, "p").text = note
    page = Template((files("coterie.bench") / "table.html").read_text(encoding="utf-8"))
    # In ASCII, so that it is right whatever encoding the page is written in.
    written = [Xml.tostring(part, encoding="us-ascii", method="html").decode() for part in (root, notes)]
    return page.substitute(table=written[0], notes=written[1]).rstrip("\n")


RENDERERS: dict[str, Callable[[Table], str]] = {"markdown": markdown, "html": html, "latex": latex}


def _markdown_row(cells: Sequence[str | Entry]) -> str:
    return "| " + " | ".join(_markdown_cell(cell) for cell in cells) + " |"


def _markdown_cell(cell: str | Entry) -> str:
    if isinstance(cell, Entry):
        return f"**{_markdown_text(cell.text)}**" if cell.ahead else _markdown_text(cell.text)
    return _markdown_text(cell)


def _markdown_text(text: str) -> str:
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", _one_line(text))


def _tex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())
