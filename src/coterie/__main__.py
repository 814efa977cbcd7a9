"""The command, also as `python -m coterie`: a stop is answered even while the program is still being loaded."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    try:
        from coterie.cli.app import main as run
    except KeyboardInterrupt:
        print("coterie: stopped.", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
