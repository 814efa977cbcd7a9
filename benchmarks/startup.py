"""How long a person waits: `coterie --help`, and a fit of the demo file end to end with an empty cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from common import record, side_by_side


def main() -> None:
    demo = str(files("coterie") / "demo" / "support.csv")
    with tempfile.TemporaryDirectory() as folder:

        def coterie(*arguments: str) -> None:
            cache = tempfile.mkdtemp(dir=folder)
            subprocess.run(
                [str(Path(sys.executable).parent / "coterie"), *arguments],
                check=True,
                capture_output=True,
                env=os.environ | {"COTERIE_CACHE": cache},
            )

        out = str(Path(folder) / "run")
        seconds = side_by_side({"help": lambda: coterie("--help")}, 10) | side_by_side(
            {
                "fit of the demo file": lambda: coterie(
                    "fit", demo, "--text", "message", "--k", "12", "--out", out, "--force"
                )
            },
            3,
        )
    record("startup", {"seconds": seconds})


if __name__ == "__main__":
    main()
