"""Runs the cells of a plan, each in a process of its own; those that are done are not run again.

The cells of a folder are those of the plan that was run in it last, and all that have a result. So several plans can be
run into one folder, and what left a plan before it was run is waited for no more.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from coterie.bench.data import digests, files_read, make_folder
from coterie.bench.plan import FILE_OF_CELL, Cell, Plan, Result
from coterie.data.atomic import write_json_atomic
from coterie.data.messages import fault, shown
from coterie.errors import ConfigError, ModelFormatError

OUT_OF_MEMORY = -9
LAST_WORDS = 500
PLANNED = "plan.json"
"""The cells of a folder, those without a result too, each as the plan that was run last calls it."""
BEST_LAST = ("missing", "failed", "done")


def run_plan(
    plan: Plan, folder: Path, jobs: int = 1, begun: Callable[[Cell], None] = lambda cell: None
) -> Iterator[tuple[Cell, Result, bool]]:
    """Each cell with its result, and whether it was run now; `jobs` cells at a time, which share the processor.

    A cell that failed, or whose file has changed, is run again. `begun` is told of every cell that is run, from the
    thread that does it.
    """
    make_folder(folder)
    with_result = {name: cell for name, cell in _cells_of(folder).items() if (folder / name).exists()}
    planned = with_result | {cell.file_name: cell.as_json() for cell in plan.cells}
    write_json_atomic(folder / PLANNED, planned)
    processes = _Processes(jobs)
    pool = ThreadPoolExecutor(jobs)

    def result_of(cell: Cell) -> tuple[Cell, Result, bool]:
        path = folder / cell.file_name
        fresh = not path.exists() or _is_to_be_run_again(cell, read_cell(path))
        if fresh:
            begun(cell)
            processes.run(cell, path)
        return cell, read_cell(path), fresh

    try:
        for answer in [pool.submit(result_of, cell) for cell in plan.cells]:
            yield answer.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        processes.stop()
        pool.shutdown()


def _is_to_be_run_again(cell: Cell, result: Result) -> bool:
    """It failed, or a file that it read has changed since. One that is not there now is no reason to lose a result."""
    changed = (digest is not None and result.get(name) != digest for name, digest in digests(cell).items())
    return result["status"] == "failed" or any(changed)


def read_cells(folders: list[Path]) -> list[Result]:
    """Every cell of these folders once, as the last folder that has it calls it, with the best of its results: one that
    was done before one that failed, of several the latest."""
    found: dict[str, Result] = {}
    for folder in folders:
        cells = _cells_of(folder)
        if not cells:
            raise ConfigError(f"{folder}: no plan was run in it. Run one: coterie bench run PLAN.toml --out {folder}")
        for name, cell in cells.items():
            path = folder / name
            own = read_cell(path) if path.exists() else {"status": "missing"}
            known = found.get(name, own)
            best: Result = max(known, own, key=_worth)
            found[name] = {**best, "cell": cell}
    return _of_the_latest_files(list(found.values()))


def _of_the_latest_files(results: list[Result]) -> list[Result]:
    """One that read a file of the user's own before it changed is no result to set beside those that read it later."""
    done = sorted((result for result in results if result["status"] == "done"), key=_worth)
    latest = {
        (name, path): result.get(name) for result in done for name, path in files_read(Cell(**result["cell"])).items()
    }

    def is_of_now(result: Result) -> bool:
        files = files_read(Cell(**result["cell"]))
        return all(result.get(name) == latest[name, path] for name, path in files.items())

    return [
        result if result["status"] != "done" or is_of_now(result) else {"cell": result["cell"], "status": "missing"}
        for result in results
    ]


def _worth(result: Result) -> tuple[int, str]:
    return BEST_LAST.index(result["status"]), result.get("date", "")


def _cells_of(folder: Path) -> dict[str, Any]:
    """By their files' names; of plans that run into one folder at the same time only one has its cells listed."""
    planned = _planned(folder)
    if not planned:
        return {}
    unlisted = {path.name for path in folder.iterdir() if FILE_OF_CELL.search(path.name)} - planned.keys()
    return planned | {name: read_cell(folder / name)["cell"] for name in sorted(unlisted)}


def _planned(folder: Path) -> dict[str, Any]:
    path = folder / PLANNED
    if not path.exists():
        return {}
    try:
        planned = json.loads(path.read_text(encoding="utf-8"))
        return {name: Cell(**cell).as_json() for name, cell in planned.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ModelFormatError(
            f"{path}: this is not a list of planned cells ({fault(error)}). Delete it and run again."
        ) from error


def read_cell(path: Path) -> Result:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        Cell(**result["cell"])
        if result["status"] not in ("done", "failed"):
            raise ValueError(f"its status is {shown(result['status'])}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelFormatError(
            f"{path}: this is not a cell of a benchmark ({fault(error)}). Delete it to run it again."
        ) from error
    found: Result = result
    return found


class _Processes:
    """The cells that are running, of several at a time each with its share of the processor."""

    def __init__(self, jobs: int) -> None:
        self.own = dict(os.environ)
        if jobs > 1:
            self.own.setdefault("OMP_NUM_THREADS", str(max(1, _usable_cores() // jobs)))
        self.running: set[subprocess.Popen[bytes]] = set()
        self.lock = threading.Lock()
        self.stopped = False

    def run(self, cell: Cell, path: Path) -> None:
        path.unlink(missing_ok=True)  # of a failure or another file: not to be taken for what this process found
        with tempfile.TemporaryFile() as errors:
            process = self._started(path, errors)
            code = _finished(process, cell)
            with self.lock:
                self.running.discard(process)
            if not self.stopped and (not path.exists() or (code != 0 and read_cell(path)["status"] != "done")):
                # The process had no chance to write down its own failure. One that ends badly after its result has one.
                failure = {"cell": cell.as_json(), "status": "failed", "error": last_words(code, errors)}
                write_json_atomic(path, failure)

    def stop(self) -> None:
        """What is running now has no result, and will be run again."""
        with self.lock:
            self.stopped = True
            for process in self.running:
                process.kill()

    def _started(self, path: Path, errors: IO[bytes]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "coterie.bench.cell", str(path)]
        with self.lock:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, env=self.own
            )
            self.running.add(process)
            if self.stopped:
                process.kill()
        return process


def _finished(process: subprocess.Popen[bytes], cell: Cell) -> int:
    """Its exit code. Its input stays open until it ends: that is how it knows that we live."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it may have ended already
        process.stdin.write(json.dumps(cell.as_json()).encode() + b"\n")
        process.stdin.flush()
    code = process.wait()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    return code


def _usable_cores() -> int:
    """Not all of the machine's may be ours, in a container for one."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def last_words(code: int, errors: IO[bytes]) -> str:
    """Why a process ended that wrote its errors there."""
    if code == OUT_OF_MEMORY:
        return "the process was killed from outside, as the system does when memory runs out"
    errors.seek(0)
    said = errors.read().decode("utf-8", "replace").strip()[-LAST_WORDS:]
    return f"the process ended with code {code}: {said}"
