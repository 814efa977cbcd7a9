"""`coterie fit`: what is in a run folder, and what is printed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

Cli = Callable[..., Any]

SCORES = {"acc", "nmi", "nmi_arithmetic", "ari", "purity", "ami"}


# The demo, with the encoder


def test_every_promised_file_is_there(demo_fit: Any) -> None:
    assert sorted(os.listdir(demo_fit.folder)) == [
        "assignments.csv",
        "assignments.parquet",
        "clusters.json",
        "config.json",
        "duplicates.csv",
        "hierarchy.json",
        "history.jsonl",
        "map.parquet",
        "metrics.json",
        "model",
        "report.html",
    ]
    assert sorted(os.listdir(demo_fit.folder / "model")) == ["model.json", "model.safetensors"]
    assert os.listdir(demo_fit.folder.parent) == ["run"]


def test_assignments_hold_every_column_and_row_in_order(demo_fit: Any, demo_rows: list[dict[str, str]]) -> None:
    table = demo_fit.table()
    assert table.columns == [*demo_rows[0], "cluster", "confidence"]
    assert table.drop("cluster", "confidence").to_dicts() == demo_rows
    assert table["confidence"].is_between(0, 1).all()


def test_csv_and_parquet_hold_the_same_answers(demo_fit: Any) -> None:
    header, *rows = demo_fit.csv_rows()
    table = demo_fit.table()
    assert header == table.columns
    assert [int(row[-2]) for row in rows] == table["cluster"].to_list()
    assert [float(row[-1]) for row in rows] == pytest.approx(table["confidence"].to_list(), abs=1e-6)


def test_exactly_k_groups_and_their_sizes(demo_fit: Any) -> None:
    groups = demo_fit.json("clusters.json")
    counts = Counter(demo_fit.table()["cluster"].to_list())
    assert [group["id"] for group in groups] == list(range(12))
    assert {group["id"]: group["size"] for group in groups} == counts
    assert sum(group["size"] for group in groups) == demo_fit.table().height
    assert [group["size"] for group in groups] == sorted(counts.values(), reverse=True)


def test_groups_have_words_and_examples_of_their_own(demo_fit: Any) -> None:
    table = demo_fit.table()
    for group in demo_fit.json("clusters.json"):
        members = table.filter(pl.col("cluster") == group["id"])["message"].to_list()
        assert 1 <= len(group["examples"]) <= 5
        assert set(group["examples"]) <= set(members)
        assert group["words"]
        assert all(word["score"] > 0 for word in group["words"])
        assert all(any(word["word"] in text.lower() for text in members) for word in group["words"])


def test_config_says_how_it_was_made(demo_fit: Any, demo_rows: list[dict[str, str]]) -> None:
    config = demo_fit.json("config.json")
    options = {"n_clusters": 12, "method": "auto", "effort": "fast", "encoder": "minilm", "random_state": 0}
    assert options.items() <= config["options"].items()
    assert config["input"]["rows"] == len(demo_rows)
    assert config["input"]["columns"] == list(demo_rows[0])
    assert config["input"]["text_column"] == "message"
    assert config["input"]["truth_column"] == "theme"
    assert {"coterie", "torch", "scikit-learn", "python"} <= config["versions"].keys()


def test_history_tells_stages_and_evidence(demo_fit: Any) -> None:
    lines = [json.loads(line) for line in (demo_fit.folder / "history.jsonl").read_text("utf-8").splitlines()]
    stages = {line["stage"]: line["seconds"] for line in lines if "stage" in line}
    assert {"encoding", "describing the groups"} <= stages.keys()
    assert all(seconds >= 0 for seconds in stages.values())
    tried = {line["candidate"]: line for line in lines if "candidate" in line}
    assert tried.keys() == {"k-means", "average linkage"}
    best = max(tried.values(), key=lambda line: line["score"])
    assert [line for line in tried.values() if line["kept"]] == [best]


def test_truth_adds_scores(demo_fit: Any, demo_rows: list[dict[str, str]]) -> None:
    metrics = demo_fit.json("metrics.json")
    assert metrics.keys() >= SCORES | {"silhouette", "dunn", "seconds", "peak_memory_mb"}
    assert (metrics["rows"], metrics["n_clusters"]) == (len(demo_rows), 12)
    assert 0.5 < metrics["acc"] <= metrics["purity"] <= 1  # far above chance: the encoder has done its work


def test_summary_for_people(demo_fit: Any) -> None:
    for group in demo_fit.json("clusters.json"):
        assert f"{group['size']:,} texts  {group['words'][0]['word']}" in demo_fit.out
    assert re.search(r"^  kept  (k-means|average linkage) +silhouette 0\.\d{3}$", demo_fit.out, re.MULTILINE)
    assert len(re.findall(r"silhouette 0\.\d{3}$", demo_fit.out, re.MULTILINE)) == 2
    metrics = demo_fit.json("metrics.json")
    assert f"Against the truth: acc {100 * metrics['acc']:.1f}" in demo_fit.out
    assert f"{demo_fit.table().height:,} texts in 12 groups" in demo_fit.out
    assert f"{demo_fit.folder}/assignments.csv" in demo_fit.out


def test_a_column_that_nobody_named_is_told(run_cli: Cli, texts: list[str], tmp_path: Path) -> None:
    names = [f"{place} Smith" for place in range(len(texts))]
    for content, note in (
        (pl.DataFrame({"id": range(len(texts)), "said": texts}).write_csv(), "the texts are those of 'said'; `--text"),
        (pl.DataFrame({"1": range(20), "I want my money back": texts[:20]}).write_csv(), "that reads like a text: the"),
        ("\n".join(names), "standard input is read as plain text, one text a line"),
    ):
        fit = ["fit", "-", "--k", "2", "--method", "tfidf+kmeans", "--out", tmp_path / "run", "--force"]
        done = run_cli(*fit, stdin=content.encode())
        assert done.code == 0, done.err
        assert f"note: {note}" in done.err
        assert "note" not in run_cli(*fit, "--quiet", stdin=content.encode()).err


def test_progress_goes_to_stderr_as_plain_lines(demo_fit: Any) -> None:
    lines = demo_fit.err.splitlines()
    assert any(line.startswith("encoding: done in ") for line in lines)
    assert all(line.endswith((" s", " s left", "%")) for line in lines)
    assert "\x1b" not in demo_fit.err
    assert "\r" not in demo_fit.err
    assert not any(line in demo_fit.out for line in lines)


def test_encoder_gives_the_same_groups_in_another_process_with_other_threads(
    run_cli: Cli, demo_fit: Any, demo_file: Path, tmp_path: Path
) -> None:
    done = run_cli(
        "fit", demo_file, "--text", "message", "--k", 12, "--out", tmp_path / "run", "--quiet",
        env={"PYTHONHASHSEED": "2", "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
    )  # fmt: skip
    assert done.code == 0, done.err
    ours, theirs = (pl.read_csv(folder / "assignments.csv") for folder in (tmp_path / "run", demo_fit.folder))
    assert ours.drop("confidence").equals(theirs.drop("confidence"))
    # Sums of other lengths on another number of threads may round the last digit otherwise.
    assert (ours["confidence"] - theirs["confidence"]).abs().max() < 1e-5


def test_every_option_reaches_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import coterie.api
    from coterie.cli.fit import fit

    seen: dict[str, Any] = {}

    def cluster(texts: list[str], **options: Any) -> None:
        seen.update(options)
        raise KeyboardInterrupt

    monkeypatch.setattr(coterie.api, "cluster", cluster)
    (tmp_path / "in.txt").write_text("a b\nc d\ne f\n")
    with pytest.raises(KeyboardInterrupt):
        fit(
            str(tmp_path / "in.txt"), k="2", out=tmp_path / "run", method="sif+kmeans", effort="balanced", encoder="e",
            precision="int8", word_vectors="w.txt", set_=["a=1"], seed=7, quiet=True,
        )  # fmt: skip
    chosen = {
        "n_clusters": 2, "method": "sif+kmeans", "effort": "balanced", "encoder": "e", "precision": "int8",
        "word_vectors": "w.txt", "settings": {"a": 1}, "random_state": 7,
    }  # fmt: skip
    assert chosen.items() <= seen.items()


# Sixty small texts, without the encoder


def test_json_is_all_there_is_on_stdout(small_fit: Any) -> None:
    printed = json.loads(small_fit.out)
    assert printed["run"] == str(small_fit.folder)
    assert printed["metrics"] == small_fit.json("metrics.json")
    assert printed["clusters"] == small_fit.json("clusters.json")


def test_groups_are_the_obvious_ones(small_fit: Any) -> None:
    metrics = small_fit.json("metrics.json")
    assert {name: metrics[name] for name in SCORES} == pytest.approx(dict.fromkeys(SCORES, 1.0))


def test_other_hashes_same_bytes(run_cli: Cli, small_fit: Any, tmp_path: Path) -> None:
    done = run_cli(
        "fit", small_fit.file, "--k", 4, "--method", "tfidf+kmeans", "--text", "text", "--out", tmp_path / "run",
        "--quiet", env={"PYTHONHASHSEED": "2"},
    )  # fmt: skip
    assert done.code == 0, done.err
    for name in ("assignments.csv", "assignments.parquet", "clusters.json"):
        assert (tmp_path / "run" / name).read_bytes() == (small_fit.folder / name).read_bytes()


def test_force_replaces_the_whole_run(run_cli: Cli, small_fit: Any, small_run: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(small_run)
    done = run_cli(
        "fit", small_fit.file, "--text", "text", "--k", 3, "--method", "tfidf+kmeans", "--out", link, "--force",
        "--json", "--quiet",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    clusters = json.loads((small_run / "clusters.json").read_text("utf-8"))
    assert json.loads(done.out)["clusters"] == clusters
    assert len(clusters) == 3
    assert sorted(os.listdir(tmp_path)) == ["link", "run"]
    assert link.is_symlink()


@pytest.mark.parametrize("name", ["in.tsv", "in.parquet", "-.txt.gz"])
def test_every_format_gives_the_same_groups(
    table_bytes: Callable[[str, pl.DataFrame], bytes],
    name: str,
    run_cli: Cli,
    small_fit: Any,
    texts: list[str],
    tmp_path: Path,
) -> None:
    """Names that start with `-` come on standard input. The other formats are read in the tests of `predict`."""
    table = pl.DataFrame({"id": range(len(texts)), "text": texts})
    content, file, stdin = table_bytes(name, table), tmp_path / name, None
    if name.startswith("-"):
        file, stdin = Path("-"), content
    else:
        file.write_bytes(content)
    done = run_cli(
        "fit", file, "--k", 4, "--method", "tfidf+kmeans", "--out", tmp_path / "run", "--quiet", stdin=stdin
    )  # fmt: skip
    assert (done.code, done.out, done.err) == (0, "", "")
    table = pl.read_parquet(tmp_path / "run" / "assignments.parquet")
    assert table["text"].to_list() == texts
    assert_frame_equal(table.select("cluster", "confidence"), small_fit.table().select("cluster", "confidence"))


# Texts that are hard to write down

AWKWARD = [
    "=SUM(A1:A9) is my formula",
    "+ please add this feature",
    "- cannot log in since Monday",
    "@support please help me",
    "first line\nsecond line, after a break",
    'she said "hello, world" twice',
    "-5",
    "plain words of no note",
    "  spaces around the words  ",
    "snow ☃ and 雪 and émoji 🎉",
]
NOTES = ["=1+1", "+49 170 1234", "-", "@all", "", "a,b", "-12.5", "+3e4", None, "-1"]


@pytest.fixture(scope="module")
def awkward_fit(run_cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("awkward")
    table = pl.DataFrame({"balance": range(-5, 5), "=note": NOTES, "text": AWKWARD})
    table.write_parquet(folder / "in.parquet")
    done = run_cli(
        "fit", folder / "in.parquet", "--text", "text", "--k", 3, "--method", "tfidf+kmeans",
        "--out", folder / "run", "--quiet",
    )  # fmt: skip
    assert (done.code, done.out, done.err) == (0, "", "")
    return folder / "run"


def test_parquet_keeps_every_cell_as_it_was(awkward_fit: Path) -> None:
    before = pl.read_parquet(awkward_fit.parent / "in.parquet")
    after = pl.read_parquet(awkward_fit / "assignments.parquet")
    assert_frame_equal(after.drop("cluster", "confidence"), before)


def test_csv_disarms_formulas_and_nothing_else(awkward_fit: Path) -> None:
    import csv

    with (awkward_fit / "assignments.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    assert header == ["balance", "'=note", "text", "cluster", "confidence"]
    assert [row[0] for row in rows] == [str(number) for number in range(-5, 5)]
    assert [row[1] for row in rows] == ["'=1+1", "'+49 170 1234", "'-", "'@all", "", "a,b", "-12.5", "+3e4", "", "-1"]
    assert [row[2] for row in rows] == ["'" + text for text in AWKWARD[:4]] + AWKWARD[4:]


def test_no_truth_no_scores_against_one(awkward_fit: Path) -> None:
    metrics = json.loads((awkward_fit / "metrics.json").read_text("utf-8"))
    assert not SCORES & metrics.keys()
    assert metrics.keys() >= {"silhouette", "dunn"}


def test_examples_are_not_disarmed(awkward_fit: Path) -> None:
    groups = json.loads((awkward_fit / "clusters.json").read_text("utf-8"))
    shown = {example for group in groups for example in group["examples"]}
    assert shown <= set(AWKWARD)
    assert sum(group["size"] for group in groups) == len(AWKWARD)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_interrupt_ends_with_a_word_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "coterie", "fit", "-", "--k", "2", "--out", "run", "--method", "tfidf+kmeans"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        # More than a pipe holds: when this returns, the program is reading.
        process.stdin.write(b"text\n" + b"some words in a row\n" * 20_000)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert err.startswith(b"coterie: stopped.")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_interrupt_while_the_program_is_loaded(tmp_path: Path) -> None:
    stopped_early = (
        "import sys\n"
        "class Stopping:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'coterie.cli.app':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stopping())\n"
        "from coterie.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", stopped_early], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"coterie: stopped.\n")


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams(closed: str, tmp_path: Path) -> None:
    """The run is written all the same, and what is meant for one stream never goes to another."""
    (tmp_path / "in.csv").write_text("message\nlate parcel\nlost parcel\nwrong bill\nhigh bill\n", encoding="utf-8")
    command = f"{sys.executable} -m coterie fit in.csv --k 2 --method tfidf+kmeans --out run --json {closed}"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 0
    assert (tmp_path / "run" / "config.json").exists()
    if closed == "2>&-":
        assert len(json.loads(done.stdout)["clusters"]) == 2
    else:
        assert done.stdout == b""
    assert b"this should not happen" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only there file names are any bytes")
def test_a_file_whose_name_is_not_utf8(tmp_path: Path) -> None:
    file = os.fsencode(tmp_path) + b"/caf\xe9.csv"
    Path(os.fsdecode(file)).write_text("message\nlate parcel\nlost parcel\nwrong bill\nhigh bill\n", encoding="utf-8")
    out = os.fsencode(tmp_path / "run")
    command = [os.fsencode(sys.executable), b"-m", b"coterie", b"fit", file, b"--k", b"2", b"--method", b"tfidf+kmeans"]
    done = subprocess.run([*command, b"--out", out], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "run" / "config.json").read_text("utf-8"))["input"]["name"].endswith("caf\ufffd.csv")


KILLED_WHILE_WRITING = """
import os, signal, sys
import coterie.persist.new_run as run
whole = run.write_json_atomic
def kill(path, value):
    whole(path, value)
    if path.name == LAST_FILE:
        os.kill(os.getpid(), signal.SIGKILL)
run.write_json_atomic = kill
sys.argv[0] = "coterie"
from coterie.cli.app import main
main()
"""


@pytest.mark.parametrize("last_file", ["clusters.json", "metrics.json"])
def test_killed_while_writing_the_same_command_ends_as_if_nothing_had_been(
    texts: list[str], tmp_path: Path, last_file: str
) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n")
    command = ["fit", "texts.txt", "--k", "4", "--method", "tfidf+kmeans", "--out", "run"]
    script = KILLED_WHILE_WRITING.replace("LAST_FILE", repr(last_file))
    killed = subprocess.run([sys.executable, "-c", script, *command], cwd=tmp_path, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (tmp_path / "run").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")], "a draft was left behind"
    unbroken = tmp_path / "unbroken"
    unbroken.mkdir()
    for folder in (tmp_path, unbroken):
        finished = subprocess.run(
            [sys.executable, "-m", "coterie", "fit", str(tmp_path / "texts.txt"), *command[2:]],
            cwd=folder, capture_output=True, check=False,
        )  # fmt: skip
        assert finished.returncode == 0, finished.stderr
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    name = "assignments.csv"
    assert (tmp_path / "run" / name).read_bytes() == (unbroken / "run" / name).read_bytes()


def test_a_terminal_with_fewer_characters_shows_question_marks(run_cli: Cli, tmp_path: Path) -> None:
    texts = [f"{word} “quoted” …{number}" for word in ("invoice", "garden") for number in range(4)]
    (tmp_path / "in.csv").write_text("text\n" + "\n".join(texts) + "\n", "utf-8")
    options = ("--k", 2, "--method", "bow+kmeans", "--out", "run")
    done = run_cli("fit", "in.csv", *options, cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert done.code == 0, done.err
    assert "?quoted?" in done.out
    assert "“quoted”" in (tmp_path / "run" / "assignments.csv").read_text("utf-8")


def test_json_keeps_every_character_there(run_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text\ninvoice 日本\ngarden 日本\n", "utf-8")
    options = ("--k", 2, "--method", "bow+kmeans", "--out", "run", "--json")
    for encoding in ("cp1252", "utf-8"):
        done = run_cli("fit", "in.csv", *options, "--force", cwd=tmp_path, env={"PYTHONIOENCODING": encoding})
        assert "日本" in str(json.loads(done.out))


def test_one_group_is_one(run_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text\nthe first\nthe second\n", "utf-8")
    done = run_cli("fit", "in.csv", "--k", 1, "--method", "bow+kmeans", "--out", "run", cwd=tmp_path)
    assert "2 texts in 1 group, " in done.out


def test_rows_without_a_text_can_be_left_out(run_cli: Cli, tmp_path: Path) -> None:
    answers = ["red apple pie", "", "green apple tart", "late train ticket", " ", "fast train delay"]
    pl.DataFrame({"": range(6), "answer": answers}).write_csv(tmp_path / "form.csv")
    fit = ("fit", "form.csv", "--k", 2, "--out", "run", "--method", "tfidf+kmeans", "--skip-empty")
    done = run_cli(*fit, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "note: 2 rows have no text, and are left out" in done.err
    table = pl.read_csv(tmp_path / "run" / "assignments.csv")
    assert table.columns == ["column 1", "answer", "cluster", "confidence"]
    assert table["column 1"].to_list() == [0, 2, 3, 5]
    (tmp_path / "none.csv").write_text("id,answer\n1,\n2,\n")
    done = run_cli("fit", "none.csv", "--text", "answer", *fit[2:], "--force", cwd=tmp_path)
    assert (done.code, done.err[:50]) == (2, "coterie: none.csv: column 'answer' is empty in eve")


def test_a_single_column_on_standard_input_is_known_by_its_name(run_cli: Cli, tmp_path: Path) -> None:
    content = b"answer\nred apple pie\ngreen apple tart\nlate train ticket\nfast train delay\n"
    options = ("--k", 2, "--out", "run", "--method", "tfidf+kmeans")
    done = run_cli("fit", "-", "--text", "answer", *options, cwd=tmp_path, stdin=content)
    assert done.code == 0, done.err
    assert pl.read_csv(tmp_path / "run" / "assignments.csv").columns == ["answer", "cluster", "confidence"]


def test_public_names_are_listed() -> None:
    import coterie

    assert {"cluster", "TextClusterer", "AECL"} <= set(dir(coterie))


def test_a_row_that_is_named_says_how_rows_are_counted(run_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "form.csv").write_text("answer,theme\n,a\nred apple,a\nlate train,\n")
    fit = ("fit", "form.csv", "--text", "answer", "--k", 2, "--truth", "theme", "--out", "run")
    done = run_cli(*fit, "--skip-empty", cwd=tmp_path)
    assert done.code == 2
    assert "row 2" in done.err
    assert "(Rows are counted without the 1 that --skip-empty leaves out.)" in done.err


def test_a_column_that_is_called_like_a_pattern(run_cli: Cli, tmp_path: Path) -> None:
    """polars takes a name from "^" to "$" for one."""
    texts = [f"{first} {second}" for first in ("blue", "red", "green") for second in ("door", "wall", "roof", "floor")]
    pl.DataFrame({"^a.*$": texts, "also": range(12)}).write_csv(tmp_path / "in.csv")
    done = run_cli("fit", "in.csv", "--k", 3, "--method", "tfidf+kmeans", "--out", "run", cwd=tmp_path)
    assert done.code == 0, done.err
    done = run_cli("predict", "run", "in.csv", "--out", "out.csv", "--quiet", cwd=tmp_path)
    assert done.code == 0, done.err
    labels = [pl.read_csv(tmp_path / name)["cluster"].to_list() for name in ("run/assignments.csv", "out.csv")]
    assert labels[0] == labels[1]
