"""Puts the tables of what was measured into the pages that show them.

    python benchmarks/tables.py            # writes them anew
    python benchmarks/tables.py --check    # only says whether they are those of the results

A table stands between `<!-- bench: FOLDER [OPTIONS] -->` and `<!-- end -->` in `docs/` or the README. FOLDER is one of
`results/`, the options are those of `coterie bench table`. `<!-- default: NAME -->` is one of `default_tables.py`.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import default_tables
from coterie.cli.app import app

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(<!-- (?P<kind>bench|default): (?P<asked>[^\n]*?) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


def main(check: bool) -> int:
    changed = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        before = page.read_text(encoding="utf-8")
        after = BLOCK.sub(lambda block: f"{block[1]}{_table(block['kind'], block['asked'])}\n{block['end']}", before)
        if after != before:
            changed.append(page.relative_to(ROOT))
            if not check:
                page.write_text(after, encoding="utf-8")
    for page in changed:
        print(f"{page}: {'its tables are not those of the results' if check else 'written'}")
    return int(check and bool(changed))


def _table(kind: str, asked: str) -> str:
    if kind == "default":
        return default_tables.table(asked)
    folder, *options = shlex.split(asked)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        app(["bench", "table", str(default_tables.RESULTS / folder), *options], standalone_mode=False)
    return printed.getvalue().strip()


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
