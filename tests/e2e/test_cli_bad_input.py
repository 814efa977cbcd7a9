"""What cannot be used is turned down: exit code 2, one message that says where, nothing written."""

from __future__ import annotations

import gzip
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Cli = Callable[..., Any]
Refused = Callable[..., str]

GOOD = "id,text\n1,red apple pie\n2,green apple tart\n3,late train ticket\n4,fast train delay\n"
FIT = ("--k", 2, "--out", "run", "--method", "tfidf+kmeans")


def parquet(**columns: list[Any]) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def latin(text: str) -> bytes:
    return text.encode("latin-1")


def spoilt_gzip() -> bytes:
    content = bytearray(gzip.compress(GOOD.encode() * 50))
    content[len(content) // 2] ^= 0xFF
    return bytes(content)


# name of the file, its bytes, what the message must hold
FILES: dict[str, tuple[str, bytes, list[str]]] = {
    "empty file": ("in.csv", b"", ["the file is empty"]),
    "no rows": ("in.csv", b"id,text\n", ["column names but no rows"]),
    "no rows in parquet": ("in.parquet", parquet(text=[]), ["column names but no rows"]),
    "one row": ("in.csv", b"id,text\n1,alone here\n", ["only 1 row", "at least 2 texts"]),
    "all the same": (
        "in.csv",
        b"id,text\n1,same words\n2,same words\n3,same words\n",
        ["all 3 rows have the same text", "at least 2 different ones"],
    ),
    "empty cell": ("in.csv", b"id,text\n1,one text\n2,\n3,two texts\n", ["row 2", "column 'text'", "empty text"]),
    "white space": (
        "in.tsv",
        "id\ttext\n1\tone text\n2\t\u3000 \n".encode(),
        ["row 2", "column 'text'", "white space"],
    ),
    "null in jsonl": (
        "in.jsonl",
        b'{"text": "one text"}\n{"text": null}\n{"text": "two"}\n',
        ["row 2", "column 'text'", "missing value"],
    ),
    "no key in jsonl": (
        "in.jsonl",
        b'{"text": "one text", "id": 1}\n{"text": "two texts", "id": 2}\n{"id": 3}\n',
        ["row 3", "column 'text'", "missing value"],
    ),
    "null in parquet": (
        "in.parquet",
        parquet(text=["one text", "two texts", "three", None]),
        ["row 4", "column 'text'", "missing value"],
    ),
    "numbers in parquet": ("in.parquet", parquet(text=[1, 2, 3]), ["row 1", "column 'text'", "numbers (Int64)"]),
    "numbers in jsonl": ("in.jsonl", b'{"text": 1}\n{"text": 2}\n', ["row 1", "column 'text'", "numbers"]),
    "bytes": ("in.parquet", parquet(text=[b"one", b"two"]), ["row 1", "column 'text'", "bytes (Binary)"]),
    "latin-1": (
        "in.csv",
        latin("id,text\n1,one text\n2,un caf\xe9 noir\n"),
        ["row 2 (line 3)", "column 'text'", "0xE9", "not UTF-8"],
    ),
    "utf-16": ("in.csv", GOOD.encode("utf-16"), ["the file is UTF-16", "Save it as UTF-8"]),
    "ragged": ("in.csv", b"id,text\n1,one text\n2,two texts,and more\n", ["row 2 (line 3)", "3 cells", "header has 2"]),
    "open quote": ("in.csv", b'id,text\n1,one text\n2,"two texts\n3,three\n', ["row 2 (line 3)", "never closed"]),
    "broken jsonl": ("in.jsonl", b'{"text": "one"}\n{"text": \n', ["row 2 (line 2)", "not valid JSON"]),
    "same column twice": ("in.csv", b"text,text\none,two\n", ["columns 1 and 2", "same name 'text'"]),
    "workbook": ("in.csv", b"PK\x03\x04\x14\x00\xff\x00", ["an Excel workbook or a zip file", "export"]),
    "damaged parquet": ("in.parquet", parquet(text=["one text", "two texts"])[:-20], ["Parquet data are damaged"]),
    "gzip cut off": ("in.csv.gz", gzip.compress(GOOD.encode())[:-12], ["gzip data end in the middle"]),
    "damaged gzip": ("in.csv.gz", spoilt_gzip(), ["gzip data are damaged"]),
    "gzip in name only": ("in.csv.gz", GOOD.encode(), ["the bytes are not gzip"]),
}


@pytest.mark.parametrize("case", FILES)
def test_file_that_cannot_be_used(case: str, refused: Refused, tmp_path: Path) -> None:
    name, content, fragments = FILES[case]
    (tmp_path / name).write_bytes(content)
    message = refused("fit", name, "--text", "text", *FIT)
    assert message.startswith(f"{name}: ")
    assert [fragment for fragment in fragments if fragment not in message] == []


def test_gzip_bomb(refused: Refused, tmp_path: Path) -> None:
    member = gzip.compress(10 * (b"a" * 1_000_000 + b"\n"), 9)
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(b"text\n") + 21 * member)
    message = refused("fit", "in.csv.gz", *FIT)
    assert message.startswith("in.csv.gz: ")
    assert "more than 200 times as many" in message
    assert "gunzip" in message


def test_nothing_on_standard_input(refused: Refused) -> None:
    assert refused("fit", "-", *FIT, stdin=b"").startswith("standard input: the file is empty")


def test_bad_row_on_standard_input(refused: Refused) -> None:
    message = refused("fit", "-", "--text", "text", *FIT, stdin=b"id,text\n1,one text\n2,\n")
    assert message.startswith("standard input: row 2, column 'text' holds an empty text")


def test_unknown_column_suggests_the_nearest(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,message\n1,one text\n2,two texts\n")
    message = refused("fit", "in.csv", "--text", "mesage", *FIT)
    assert message.startswith("in.csv: there is no column 'mesage'; did you mean 'message'?")
    assert "The columns are 'id', 'message'." in message
    assert "`--text`" in message


def test_unclear_text_column_lists_all_and_the_likeliest(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(
        "id,title,body\n1,first title,the whole story\n2,second title,another whole story\n3,second title,third story\n"
    )
    message = refused("fit", "in.csv", *FIT)
    assert message.startswith("in.csv: 2 columns look like text.")
    for column, example in (("id", "1"), ("title", "first title"), ("body", "the whole story")):
        assert f"'{column}', for example '{example}'" in message
    assert "'body' looks most like text: type `--text body`" in message


def test_no_column_of_text(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,price\n1,10\n2,20\n")
    assert "no column clearly looks like text" in refused("fit", "in.csv", *FIT)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
def test_file_that_opens_and_cannot_be_read(refused: Refused) -> None:
    assert refused("fit", "/proc/self/mem", *FIT).startswith("/proc/self/mem: reading stopped after 0 bytes")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_no_permission(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    (tmp_path / "in.csv").chmod(0)
    assert refused("fit", "in.csv", *FIT).startswith("in.csv: no permission to read it")


def test_folder_instead_of_a_file(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text(GOOD)
    message = refused("fit", "data", *FIT)
    assert message == "data: this is a folder, not a file. Name one of the files in it: 'a.csv'."


def test_mistyped_file_suggests_the_nearest(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text(GOOD)
    assert refused("fit", "reveiws.csv", *FIT) == "reveiws.csv: no such file; did you mean reviews.csv?"


def test_missing_file_with_nothing_like_it(refused: Refused) -> None:
    assert refused("fit", "in.csv", *FIT) == "in.csv: no such file; check the name in this folder."


@pytest.mark.parametrize("k", [0, -3])
def test_k_below_one(k: int, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    message = refused("fit", "in.csv", "--k", k, "--out", "run", "--method", "tfidf+kmeans")
    assert message == f"--k must be at least 1, not {k}."


@pytest.mark.parametrize("k", ["many", "2.5"])
def test_k_that_is_no_whole_number(k: str, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    message = refused("fit", "in.csv", "--k", k, "--out", "run")
    assert message == f"--k must be a whole number such as 20, auto, or a range such as 5-40, not '{k}'."


@pytest.mark.parametrize(
    ("k", "says"),
    [
        ("5-4", "--k: the range from 5 to 4 does not go up"),
        ("1-3", "--k: a range of groups begins at 2 or more, not at 1"),
        ("2-40", "in.csv: a range up to 40 groups needs 4 texts a group to compare, but there are only "),
        ("auto", "too few to choose a number of groups by. Give 20 or more, or the number."),
    ],
)
def test_numbers_that_cannot_be_chosen_from(k: str, says: str, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    assert says in refused("fit", "in.csv", "--k", k, "--out", "run", "--method", "tfidf+kmeans")


def test_unknown_method_suggests_the_nearest(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    message = refused("fit", "in.csv", "--k", 2, "--out", "run", "--method", "tfidf+kmean")
    assert "method 'tfidf+kmean' is not known: did you mean 'tfidf+kmeans'?" in message


@pytest.mark.parametrize(
    ("encoder", "says"),
    [
        ("minilmm", "did you mean 'minilm'?"),
        ("./encoders/minilm", "encoder folder './encoders/minilm' does not exist"),
        ("empty", "has no config.json"),
    ],
)
def test_mistyped_encoder_never_asks_the_network(
    encoder: str, says: str, refused: Refused, tmp_path: Path, no_sockets: dict[str, str]
) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    (tmp_path / "empty").mkdir()
    message = refused("fit", "in.csv", "--k", 2, "--out", "run", "--encoder", encoder, env=no_sockets)
    assert repr(encoder) in message
    assert says in message


def test_unknown_encoder_without_a_network(refused: Refused, tmp_path: Path, no_sockets: dict[str, str]) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    offline = {**no_sockets, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub")}
    message = refused("fit", "in.csv", "--k", 2, "--out", "run", "--encoder", "acme/no-such-encoder", env=offline)
    assert message.startswith("encoder 'acme/no-such-encoder' is no folder here")
    assert "'minilm', which needs none" in message


def test_empty_cell_in_the_truth(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text,theme\none text,a\ntwo texts,b\nthree texts,\n")
    message = refused("fit", "in.csv", "--text", "text", "--truth", "theme", *FIT)
    assert message.startswith("in.csv: row 3, column 'theme' is empty.")
    assert "`coterie evaluate RUN --truth COLUMN` then scores the rows that have one" in message


def test_unknown_truth_suggests_the_nearest(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text,theme\none text,a\ntwo texts,b\n")
    message = refused("fit", "in.csv", "--text", "text", "--truth", "themes", *FIT)
    assert message.startswith("in.csv: there is no column 'themes'; did you mean 'theme'?")
    assert "`--truth`" in message


@pytest.mark.parametrize("column", ["cluster", "confidence"])
def test_column_that_the_result_needs(column: str, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f"text,{column}\none text,1\ntwo texts,2\n")
    message = refused("fit", "in.csv", "--text", "text", *FIT)
    assert message.startswith(f"in.csv: the column '{column}' is there already")


def test_seed_out_of_range(run_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    done = run_cli("fit", "in.csv", "--text", "text", "--seed", -1, *FIT, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "--seed" in done.err
    assert "greater than or equal to 0" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]


# Where to write


def test_folder_with_other_files_is_never_replaced(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("years of work")
    message = refused("fit", "in.csv", "--force", *FIT)
    assert message.startswith("run: this folder holds other files ('thesis.txt')")


def test_run_with_other_files_in_it_is_never_replaced(refused: Refused, small_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    (small_run / "notes.txt").write_text("what the groups mean")
    message = refused("fit", "in.csv", "--force", *FIT)
    assert message.startswith("run: this folder holds other files ('notes.txt')")


def test_finished_run_is_kept_without_force(refused: Refused, small_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    message = refused("fit", "in.csv", *FIT)
    assert message.startswith("run: a finished run is here.")
    assert "--force" in message


def test_out_is_a_file(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    (tmp_path / "run").write_text("a file")
    assert refused("fit", "in.csv", "--force", *FIT).startswith("run: this is a file.")


def test_out_below_a_file(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    message = refused("fit", "in.csv", "--k", 2, "--out", "in.csv/run", "--method", "tfidf+kmeans")
    assert message.startswith("in.csv/run: ")
    assert "is a file" in message


@pytest.mark.parametrize(("out", "says"), [("/", "you are in this folder"), ("a" * 300, "nothing could be written")])
def test_out_that_cannot_be_made(refused: Refused, tmp_path: Path, out: str, says: str) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    message = refused("fit", "in.csv", "--k", 2, "--out", out, "--method", "tfidf+kmeans")
    assert message.startswith(f"{out}: ")
    assert says in message


def test_out_is_where_we_are(run_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(GOOD)
    here = tmp_path / "here"
    here.mkdir()
    done = run_cli("fit", "../in.csv", "--k", 2, "--out", ".", "--method", "tfidf+kmeans", cwd=here)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("coterie: .: you are in this folder")
    assert sorted(os.listdir(tmp_path)) == ["here", "in.csv"]


def allow_small_files_only() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


@pytest.mark.skipif(os.name != "posix", reason="needs RLIMIT_FSIZE")
def test_full_disk(refused: Refused, small_run: Path, small_fit: Any, tmp_path: Path) -> None:
    """The new run leaves nothing behind, and the one that it should have replaced stays as it was."""
    shutil.copy(small_fit.file, tmp_path / "in.csv")
    options = ("--text", "text", "--k", 3, "--method", "tfidf+kmeans", "--out", "run", "--force", "--quiet")
    message = refused("fit", "in.csv", *options, preexec_fn=allow_small_files_only)
    assert message.startswith("run/assignments.parquet: nothing could be written")
    assert "choose another folder" in message


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_behind_standard_output(run_cli: Cli) -> None:
    with open("/dev/full", "wb") as full:  # buffered, so that the error comes when everything seems done
        done = run_cli("methods", "--json", stdout=full, env={"PYTHONUNBUFFERED": ""})
    assert done.code == 2
    assert done.err.startswith("coterie: standard output: nothing could be written: the disk is full")
    assert "Exception ignored" not in done.err
