"""Puts the tables of measured cells into the pages that show them.

    python benchmarks/tables.py            # writes them anew
    python benchmarks/tables.py --check    # only says whether they are those of the cells

A table stands between `<!-- bench: FOLDER [OPTIONS] -->` and `<!-- end -->` in `docs/`. FOLDER is one of `results/`,
the options are those of `coterie bench table`.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

from coterie.cli.app import app

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
BLOCK = re.compile(r"(<!-- bench: (?P<asked>[^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def main(check: bool) -> int:
    changed = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = BLOCK.sub(lambda block: f"{block[1]}{_table(block['asked'])}\n{block[3]}", before)
        if after != before:
            changed.append(page.relative_to(ROOT))
            if not check:
                page.write_text(after, encoding="utf-8")
    for page in changed:
        print(f"{page}: {'its tables are not those of the cells' if check else 'written'}")
    return int(check and bool(changed))


def _table(asked: str) -> str:
    folder, *options = shlex.split(asked)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        app(["bench", "table", str(RESULTS / folder), *options], standalone_mode=False)
    return printed.getvalue().strip()


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
