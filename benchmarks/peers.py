"""Groups of the same texts by Coterie's default and by its peers, in one run: quality, seconds, peak memory, ratios.

    python benchmarks/peers.py make                                   # an environment for each peer, from PyPI
    COTERIE_DATA=FOLDER python benchmarks/peers.py run [SET ...]      # StackOverflow's titles where no set is named

BERTopic as it comes, and with k-means at the true k; sentence-transformers with scikit-learn's k-means; scikit-learn's
LDA, each text in its likeliest topic. Each runs in an environment of its own (`peers/NAME.txt` has the versions) and in
a process of its own, from texts to groups, loading included, with the same checkpoint and Coterie's cache empty. In
turns, `ROUNDS` times: the fastest counts for seconds and memory, scores are the mean and the spread over all. Results
are in `results/peers.json`, written after every run; one that fails is a result too.

To try it out: `--only lda,coterie` takes some of them, `--here` runs them in this environment, COTERIE_ROWS=500 takes
fewer texts and COTERIE_RESULTS=FOLDER puts the results elsewhere.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common import bench_set, keep, record

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
COSTS = ("seconds", "peak_memory_mb")
QUALITY = ("acc", "nmi", "groups", "rows_left_out_percent")
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
    found: dict[str, Any] = {}
    result = {"rounds": ROUNDS, "own_environments": not asked.here, "sets": found}
    for data in asked.sets:
        for so_far in measure(data, pythons):
            found[data] = so_far
            keep("peers", result)
    record("peers", result)


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


def measure(data: str, pythons: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Every contender on one set, in turns; what is known after each run."""
    from coterie.features.checkpoints import bundled_folder

    truth, texts = bench_set(data)
    task = {"texts": texts, "k": len(set(truth)), "encoder": str(bundled_folder())}
    runs: dict[str, list[dict[str, Any]]] = {}
    for name in [*pythons] * ROUNDS:
        one = contend(name, pythons[name], task, truth)
        print(data, name, {key: value for key, value in one.items() if key != "packages"}, file=sys.stderr)
        runs.setdefault(name, []).append(one)
        contenders = {known: summary(own) for known, own in runs.items()}
        yield {"texts": len(texts), "k": task["k"], "contenders": contenders, "times_coterie": ratios(contenders)}


def contend(name: str, python: str, task: dict[str, Any], truth: list[str]) -> dict[str, Any]:
    """One run, or its error: a peer that fails must not cost the others' results."""
    from coterie.bench.runner import last_words
    from coterie.metrics.external import external_scores

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as errors:
        given, answer = Path(folder) / "task.json", Path(folder) / "answer.json"
        given.write_text(json.dumps(task), encoding="utf-8")
        ended = subprocess.run(
            [python, str(REQUIREMENTS / "contender.py"), name, str(given), str(answer)],
            check=False,
            stdout=sys.stderr,
            stderr=errors,
            env=os.environ | {"COTERIE_CACHE": str(Path(folder) / "cache")},
        )
        if ended.returncode != 0:
            return {"error": last_words(ended.returncode, errors)}
        found = json.loads(answer.read_text(encoding="utf-8"))
    labels, packages = found.pop("labels"), found.pop("packages")
    scores = external_scores(truth, labels)
    return {
        **found,
        "acc": 100 * scores["acc"],
        "nmi": 100 * scores["nmi"],
        "groups": len(set(labels) - {-1}),
        "rows_left_out_percent": 100 * labels.count(-1) / len(labels),
        "packages": {name: packages[name] for name in SHOWN_PACKAGES if name in packages},
    }


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Seconds and memory of the fastest run, the rest as mean and standard deviation over all that did not fail."""
    done = [run for run in runs if "error" not in run]
    errors = [run["error"] for run in runs if "error" in run]
    failed = {"errors": errors} if errors else {}
    if not done:
        return failed
    fastest = min(done, key=lambda run: run["seconds"])
    return {
        "runs": len(done),
        **{what: fastest[what] for what in COSTS},
        **{what: _mean_and_spread([run[what] for run in done]) for what in QUALITY},
        "packages": fastest["packages"],
        **failed,
    }


def _mean_and_spread(values: Sequence[float]) -> dict[str, float]:
    spread = {"sd": round(statistics.stdev(values), 2)} if len(values) > 1 else {}
    return {"mean": round(statistics.mean(values), 1), **spread}


def ratios(contenders: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Of each peer, how many times Coterie's seconds and memory; nothing where one of the two has no run."""
    measured = {name: one for name, one in contenders.items() if "seconds" in one}
    ours = measured.pop(OURS, None)
    if ours is None:
        return {}
    return {name: {what: round(one[what] / ours[what], 2) for what in COSTS} for name, one in measured.items()}


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
