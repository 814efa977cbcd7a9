"""Groups of the same texts by Coterie's default and by its peers, in one run: quality, seconds, peak memory, ratios.

    python benchmarks/peers.py make                                   # an environment for each peer, from PyPI
    COTERIE_DATA=FOLDER python benchmarks/peers.py run [SET ...]      # StackOverflow's titles where no set is named

BERTopic as it comes, and with k-means at the true k; sentence-transformers with scikit-learn's k-means; scikit-learn's
LDA, each text in its likeliest topic. Each runs in an environment of its own (`peers/NAME.txt` has the versions) and in
a process of its own, from texts to groups, loading included, with the same checkpoint and Coterie's cache empty. In
turns, `ROUNDS` times; the better time of each counts. Results are in `results/peers.json`.

To try it out: `--only lda,coterie` takes some of them, `--here` runs them in this environment, COTERIE_ROWS=500 takes
fewer texts and COTERIE_RESULTS=FOLDER puts the results elsewhere.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import bench_set, record

FOLDER = Path(__file__).parent
REQUIREMENTS, ENVIRONMENTS = FOLDER / "peers", FOLDER / ".peers"
CONSTRAINTS = FOLDER.parent / "constraints.txt"
ROUNDS = 2
OURS = "coterie"
CONTENDERS = {
    OURS: None,
    "bertopic": "bertopic",
    "bertopic+kmeans": "bertopic",
    "sentence-transformers+kmeans": "sentence-transformers",
    "lda": "scikit-learn",
}
"""Each contender and its environment; ours is this one."""
SHOWN_PACKAGES = ("coterie", "torch", "transformers", "scikit-learn", "sentence-transformers", "bertopic", "umap-learn")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "run"])
    parser.add_argument("sets", nargs="*", default=["stackoverflow"])
    parser.add_argument("--only", help="some of " + ",".join(CONTENDERS))
    parser.add_argument("--here", action="store_true", help="in this environment, whatever is in it")
    asked = parser.parse_args()
    names = asked.only.split(",") if asked.only else list(CONTENDERS)
    for name in names:
        if name not in CONTENDERS:
            parser.error(f"{name!r} is no contender: there are {', '.join(CONTENDERS)}")
    if asked.what == "make":
        for environment in dict.fromkeys(filter(None, map(CONTENDERS.get, names))):
            make(environment)
        return
    pythons = {name: sys.executable if asked.here else python_of(CONTENDERS[name]) for name in names}
    found = {name: measure(name, pythons) for name in asked.sets}
    record("peers", {"rounds": ROUNDS, "own_environments": not asked.here, "sets": found})


def make(environment: str) -> None:
    """Once; and again when its requirements have changed."""
    folder = ENVIRONMENTS / environment
    if _is_ready(environment):
        print(f"{folder}: is there")
        return
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    wanted = ["-r", str(REQUIREMENTS / f"{environment}.txt"), "-c", str(CONSTRAINTS)]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
    _mark(environment).write_text(_digest(environment), encoding="utf-8")
    print(f"{folder}: made")


def python_of(environment: str | None) -> str:
    if environment is None:
        return sys.executable
    if not _is_ready(environment):
        sys.exit(f"the environment {environment!r} is not there, or is old: python benchmarks/peers.py make")
    return str(ENVIRONMENTS / environment / "bin" / "python")


def measure(data: str, pythons: dict[str, str]) -> dict[str, Any]:
    """Every contender on one set, in turns."""
    from coterie.features.checkpoints import bundled_folder

    truth, texts = bench_set(data)
    task = {"texts": texts, "k": len(set(truth)), "encoder": str(bundled_folder())}
    best: dict[str, dict[str, Any]] = {}
    for name in [*pythons] * ROUNDS:
        one = contend(name, pythons[name], task, truth)
        print(data, name, {key: value for key, value in one.items() if key != "packages"}, file=sys.stderr)
        if name not in best or one["seconds"] < best[name]["seconds"]:
            best[name] = one
    measured = {"texts": len(texts), "k": task["k"], "contenders": best}
    return measured | ({"times_coterie": ratios(best)} if OURS in best else {})


def contend(name: str, python: str, task: dict[str, Any], truth: list[str]) -> dict[str, Any]:
    from coterie.metrics.external import external_scores

    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder) / "task.json", Path(folder) / "answer.json"
        given.write_text(json.dumps(task), encoding="utf-8")
        subprocess.run(
            [python, str(REQUIREMENTS / "contender.py"), name, str(given), str(answer)],
            check=True,
            stdout=sys.stderr,
            env=os.environ | {"COTERIE_CACHE": str(Path(folder) / "cache")},
        )
        found = json.loads(answer.read_text(encoding="utf-8"))
    labels, packages = found.pop("labels"), found.pop("packages")
    scores = external_scores(truth, labels)
    return {
        **found,
        "acc": round(100 * scores["acc"], 1),
        "nmi": round(100 * scores["nmi"], 1),
        "groups": len(set(labels) - {-1}),
        "rows_left_out_percent": round(100 * labels.count(-1) / len(labels), 1),
        "packages": {name: packages[name] for name in SHOWN_PACKAGES if name in packages},
    }


def ratios(best: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Of each peer, how many times Coterie's seconds and memory."""
    return {
        name: {what: round(one[what] / best[OURS][what], 2) for what in ("seconds", "peak_memory_mb")}
        for name, one in best.items()
        if name != OURS
    }


def _mark(environment: str) -> Path:
    return ENVIRONMENTS / environment / "requirements.sha256"


def _digest(environment: str) -> str:
    wanted = (REQUIREMENTS / f"{environment}.txt").read_bytes() + CONSTRAINTS.read_bytes()
    return hashlib.sha256(wanted).hexdigest()


def _is_ready(environment: str) -> bool:
    mark = _mark(environment)
    return mark.exists() and mark.read_text(encoding="utf-8") == _digest(environment)


if __name__ == "__main__":
    main()
