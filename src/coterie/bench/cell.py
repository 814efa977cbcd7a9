"""One cell of a plan, in a process of its own: fit, then score every read-out.

    python -m coterie.bench.cell RESULT.json    (the cell as one line of JSON on standard input)

Standard input stays open for as long as the runner lives; when it ends, so does this process.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.bench.data import LabelledTexts, digests, load, load_file
from coterie.bench.plan import STAGES, WITH_SECOND_STEPS, Cell
from coterie.errors import CoterieError, InputError

if TYPE_CHECKING:
    from coterie.methods.base import Fit
    from coterie.types import Labels, Matrix, Watch

RUNNER_GONE = 3
MADE_ONCE = ("encoding", "training (ae)", "training (ae,", "training (kate)")
"""Beginnings of stages that are left out where the cache has what they make."""
Scores = dict[str, float]


def run_cell(cell: Cell) -> dict[str, Any]:
    """What the cell's file holds; a cell that fails is a result too."""
    from coterie.memory import peak_memory_mb
    from coterie.own_code import code_digest
    from coterie.persist.environment import machine, processor, versions

    # Before the fit: they may change meanwhile.
    started, files, code = time.monotonic(), digests(cell), code_digest()
    try:
        result = {"status": "done", **_measured(cell)}
    except Exception as error:
        result = {
            "status": "failed",
            "error": str(error) if isinstance(error, CoterieError) else f"{type(error).__name__}: {error}",
            "seconds": round(time.monotonic() - started, 2),
            "peak_memory_mb": round(peak_memory_mb()),
        }
    threads = os.environ.get("OMP_NUM_THREADS", "default")
    return {
        "cell": cell.as_json(),
        **result,
        **files,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine() | {"processor": processor(), "threads": threads},
        "versions": versions() | {"code": code},
    }


def _measured(cell: Cell) -> dict[str, Any]:
    from coterie.bench.stages import Stages, taken_out
    from coterie.engine.loop import RESUMED
    from coterie.memory import peak_memory_mb

    data = _texts(cell)
    k = cell.k or len(set(data.labels))
    seen: set[str] = set()
    stages = Stages(data.labels, k, cell.seed) if cell.keep == STAGES else None
    started = time.monotonic()
    fit = _fit(cell, cell.method, k, data, seen, settings=cell.settings or None, watch=stages)
    seconds = time.monotonic() - started - (stages.seconds if stages else 0.0)
    cost = {"seconds": round(seconds, 2), "peak_memory_mb": round(peak_memory_mb())}
    kept = {"stages": taken_out(fit.history, data.labels)} if stages else {}
    scores = {"kept": _scores(data.labels, fit.labels)}
    if _is_trained(cell.method, fit):
        scores |= _read_outs(cell, fit, k, data)
    if cell.keep == WITH_SECOND_STEPS:
        scores |= _second_steps(cell, fit, k, data)
    return {
        "rows": len(data.texts),
        "k": k,
        "groups": len(set(fit.labels.tolist())),
        **cost,
        "encoded": any(stage.startswith(MADE_ONCE) for stage in seen),
        "resumed": RESUMED in seen,
        "scores": scores,
        "evidence": fit.evidence,
        "history": fit.history,
        **kept,
    }


def _fit(
    cell: Cell,
    method: str,
    k: int,
    data: LabelledTexts,
    seen: set[str],
    settings: Any = None,
    watch: Watch | None = None,
) -> Fit:
    from coterie.estimator import TextClusterer

    model = TextClusterer(
        k,
        method=method,
        # Checked by the registry, whose error is the cell's. The untrained read-out has the trained one's restarts.
        effort=cell.effort if method == cell.method else "fast",  # type: ignore[arg-type]
        encoder=cell.encoder,
        word_vectors=cell.word_vectors if method == cell.method else None,
        settings=settings,
        random_state=cell.seed,
    )
    views = data.views if method == cell.method else ()
    return model.fitted(
        data.texts, data.labels, views=views, watch=watch, progress=lambda stage, done, total: seen.add(stage)
    )


def _is_trained(method: str, fit: Fit) -> bool:
    """`auto` may train, and may leave it: then there is nothing to set beside its labels."""
    from coterie.methods.deep import TRAINED_HEAD
    from coterie.registry import AUTO, DEEP, HAC_SD, SELF_TAUGHT

    if method == AUTO:
        return TRAINED_HEAD in fit.candidates
    return method in (*DEEP, *SELF_TAUGHT, HAC_SD.name) or method.split("+")[0] == "tsdae"


def _read_outs(cell: Cell, fit: Fit, k: int, data: LabelledTexts) -> dict[str, Scores]:
    """The trained head, k-means on what was trained, and k-means on the encoder as it was before."""
    import numpy as np

    from coterie.clusterers import KMeans
    from coterie.methods.deep import TRAINED_HEAD
    from coterie.methods.two_step import RESTARTS

    pooling = {name: value for name, value in cell.settings.items() if name == "pooling"}
    untrained = _fit(cell, "minilm+kmeans", k, data, set(), settings=pooling or None)
    found = {"untrained": _scores(data.labels, untrained.labels)}
    if TRAINED_HEAD in fit.candidates:
        found["head"] = _scores(data.labels, fit.candidates[TRAINED_HEAD].labels)
    if (vectors := _trained_vectors(fit)) is not None:
        groups = KMeans(k, n_init=RESTARTS, random_state=cell.seed).fit(vectors).labels_
        found["kmeans"] = _scores(data.labels, np.asarray(groups))
    return found


def _second_steps(cell: Cell, fit: Fit, k: int, data: LabelledTexts) -> dict[str, Scores]:
    from coterie.bench.second_steps import second_steps

    trained = _trained_vectors(fit)
    groups = second_steps(data.texts, fit.vectors if trained is None else trained, k, cell)
    return {name: _scores(data.labels, labels) for name, labels in groups.items()}


def _trained_vectors(fit: Fit) -> Matrix | None:
    """None where nothing was trained."""
    from coterie.methods.deep import TRAINED_HEAD, with_trained_encoder
    from coterie.methods.self_taught import TRAINED_NETWORK

    # A head that never learnt is left out; k-means may have been found on its encoder all the same.
    having = (TRAINED_HEAD, with_trained_encoder("kmeans"), TRAINED_NETWORK)
    return next((one.vectors for name, one in fit.candidates.items() if name.endswith(having)), None)


def _texts(cell: Cell) -> LabelledTexts:
    data = load(cell.data) if isinstance(cell.data, str) else load_file(cell.data)
    if cell.views is not None:
        data = _with_views(data, load(f"{cell.data_name}_{cell.views}"))
    rows = slice(cell.rows)
    return LabelledTexts(data.labels[rows], data.texts[rows], tuple(view[rows] for view in data.views))


def _with_views(data: LabelledTexts, augmented: LabelledTexts) -> LabelledTexts:
    if augmented.labels != data.labels:
        raise InputError("the augmented texts are not those of the set, row by row")
    return augmented


def _scores(truth: Sequence[str], labels: Labels) -> Scores:
    from coterie.metrics.external import external_scores

    return {name: round(value, 6) for name, value in external_scores(truth, labels.tolist()).items()}


def strict_json(value: Any) -> Any:
    """The same with what is no number in JSON as None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): strict_json(entry) for key, entry in value.items()}
    return [strict_json(entry) for entry in value] if isinstance(value, list | tuple) else value


def _leave_with_the_runner() -> None:
    sys.stdin.read()
    os._exit(RUNNER_GONE)


def main() -> None:
    from coterie.data.atomic import write_json_atomic

    cell = Cell(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_leave_with_the_runner, daemon=True).start()
    write_json_atomic(Path(sys.argv[1]), strict_json(run_cell(cell)))


if __name__ == "__main__":
    main()
