"""`coterie edit`: what it prints, what it writes, what follows, and everything it turns down."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Cli = Callable[..., Any]


def clusters(run: Path) -> dict[int, dict[str, Any]]:
    return {group["id"]: group for group in json.loads((run / "clusters.json").read_text("utf-8"))}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_run_comes_first(refused: Callable[..., str], small_fit: Any) -> None:
    assert refused("edit", "merge", small_fit.folder, 0, 1) == "the run comes first: `coterie edit RUN merge ...`"


def test_a_run_may_be_called_like_a_command(run_cli: Cli, small_run: Path) -> None:
    small_run.rename(small_run.with_name("merge"))
    done = run_cli("edit", "merge", "rename", 0, "Bills", cwd=small_run.parent)
    assert done.code == 0, done.err


def test_edits_one_after_the_other_and_all_taken_back(
    run_cli: Cli, small_fit: Any, small_run: Path, no_sockets: dict[str, str], tmp_path: Path
) -> None:
    """Nothing of this asks the network: it would end at once."""
    fitted = contents(small_run)
    old = pl.read_parquet(small_run / "assignments.parquet")
    done = run_cli("edit", small_run, "merge", 3, 1, env=no_sockets)
    assert done.code == 0, done.err
    assert "describing the groups: done" in done.err
    lines = done.out.splitlines()
    assert lines[0] == "Done: groups 3 and 1 merged into 3"
    assert lines[2].startswith("  3  30 texts  ")
    assert [line[:7] for line in lines[3:5]] == [" " * 7] * 2
    assert lines[-1] == f"60 texts in 3 groups. Report: {small_run}/report.html (open it in a browser)"
    table = pl.read_parquet(small_run / "assignments.parquet")
    assert table["cluster"].to_list() == [3 if group == 1 else group for group in old["cluster"]]
    merged = contents(small_run)

    done = run_cli("edit", small_run, "split", 3, "--into", 2, "--quiet", env=no_sockets)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Done: group 3 split into 3 and 4\n")
    assert sorted(clusters(small_run)) == [0, 2, 3, 4]
    # The two themes are found again, under other numbers.
    split = pl.read_parquet(small_run / "assignments.parquet")
    assert split.group_by("cluster").agg(pl.col("theme").n_unique())["theme"].to_list() == [1] * 4

    done = run_cli("edit", small_run, "rename", 4, "trains & co", env=no_sockets)
    assert done.code == 0, done.err
    assert "  4  15 texts  trains & co: " in done.out
    assert clusters(small_run)[4]["name"] == clusters(small_run)[4]["given_name"] == "trains & co"

    # What else reads the run follows.
    new = run_cli("predict", small_run, small_fit.file, "--out", tmp_path / "new.csv", "--quiet")
    assert new.code == 0, new.err
    assert pl.read_csv(tmp_path / "new.csv")["cluster"].to_list() == split["cluster"].to_list()
    assert json.loads((small_run / "metrics.json").read_text())["acc"] == 1

    done = run_cli("edit", small_run, "undo")
    assert done.out.startswith("Undone: group 4 named “trains & co”\n\n  4  15 texts  ")
    assert run_cli("edit", small_run, "undo").out.startswith("Undone: group 3 split into 3 and 4\n\n  3  30 texts  ")
    assert contents(small_run) == merged
    done = run_cli("edit", small_run, "undo")
    assert done.out.startswith("Undone: groups 3 and 1 merged into 3\n\n  1  15 texts  ")
    assert contents(small_run) == fitted


def test_what_is_turned_down(refused: Cli, run_cli: Cli, small_fit: Any, small_run: Path) -> None:
    """One of each kind; all that cannot be done is in the unit tests."""
    assert refused("edit", "run", "merge", 0, 9) == "there is no group 9. The groups are 0 to 3."
    assert run_cli("edit", small_run, "merge", 0, 2, "--quiet").code == 0
    assert refused("edit", "run", "rename", 2, "x") == (
        "group 2 was merged into 0. The groups are 0 to 1, 3; merged: 2 into 0."
    )
    (small_run / "model" / "edits.json").write_text("{")
    for command in (("report", "run"), ("predict", "run", small_fit.file)):
        assert "run/model/edits.json: the log of edits is damaged" in refused(*command)


def test_usage_is_told(run_cli: Cli, small_run: Path) -> None:
    done = run_cli("edit", small_run, "merge", "one")
    assert (done.code, done.out) == (2, "")
    assert "Invalid value for" in done.err


# Names from an endpoint


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[str | None], dict[str, Any]]]:
    """Its address, the keys it was asked with, and what it answers: a status and a name for every call."""
    keys: list[str | None] = []
    answers: dict[str, Any] = {"status": 200, "names": []}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            keys.append(self.headers["Authorization"])
            name = answers["names"][len(keys) - 1] if len(keys) <= len(answers["names"]) else ""
            body = json.dumps({"choices": [{"message": {"content": name}}]}).encode()
            self.send_response(answers["status"])
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}/v1", keys, answers
        http.shutdown()
        thread.join()


def test_names_from_an_endpoint(run_cli: Cli, small_run: Path, endpoint: Any) -> None:
    url, keys, answers = endpoint
    assert run_cli("edit", small_run, "rename", 1, "mine", "--quiet").code == 0
    before = contents(small_run)
    env = {"no_proxy": "*", "MY_KEY": "sk-secret\n"}
    ask = ("edit", small_run, "name", "--endpoint", url, "--model", "tiny", "--key-env", "MY_KEY")

    refused = run_cli(*ask, "--max-calls", 2, env=env)
    assert (refused.code, keys) == (2, [])
    assert "3 groups are to be named" in refused.err

    answers["names"] = ["Bread", "", "Banks"]  # the second call fails, so nothing is named
    refused = run_cli(*ask, env=env)
    assert (refused.code, len(keys)) == (2, 2)
    assert "no name came back for group 2" in refused.err
    assert contents(small_run) == before

    keys.clear()
    answers.update(status=200, names=["<script>alert(1)</script>", "\u202eBanks", '"Gardens."'])
    done = run_cli(*ask, env=env)
    assert done.code == 0, done.err
    assert keys == ["Bearer sk-secret"] * 3
    named = {group: entry["name"] for group, entry in clusters(small_run).items()}
    assert named == {0: "<script>alert(1)</script>", 1: "mine", 2: "Banks", 3: "Gardens"}
    assert "3 named “Gardens”" in done.out
    assert "sk-secret" not in done.out + done.err
    assert not any(b"sk-secret" in data for data in contents(small_run).values())
    assert run_cli("edit", small_run, "undo", "--quiet").code == 0
    assert contents(small_run) == before


def test_an_endpoint_that_cannot_be_asked(refused: Cli, small_run: Path) -> None:
    ask = ("edit", "run", "name", "--model", "tiny", "--endpoint")
    assert "is no address" in refused(*ask, "file:///etc/passwd")
    assert "--key-env 'NO_SUCH_KEY': there is no such variable" in refused(
        *ask, "http://127.0.0.1:1/v1", "--key-env", "NO_SUCH_KEY"
    )


def test_with_the_encoder_undo_gives_every_byte_back(run_cli: Cli, demo_fit: Any, tmp_path: Path) -> None:
    """Vectors made anew are those of the fit."""
    run = Path(shutil.copytree(demo_fit.folder, tmp_path / "run"))
    done = run_cli("edit", run, "split", 0, "--into", 3)
    assert done.code == 0, done.err
    assert sorted(clusters(run)) == list(range(14))
    done = run_cli("edit", run, "undo")
    assert "encoding" not in done.err  # the vectors were kept
    assert contents(run) == contents(demo_fit.folder)
