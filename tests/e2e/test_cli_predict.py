"""`coterie predict`: new texts into the groups of a run."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

Cli = Callable[..., Any]
TableBytes = Callable[[str, pl.DataFrame], bytes]
Refused = Callable[..., str]

ANSWERS = ("cluster", "confidence")


def read_csv(source: Any, separator: str = ",") -> pl.DataFrame:
    table = pl.read_csv(source, separator=separator, infer_schema=False)
    return table.cast({"cluster": pl.Int64, "confidence": pl.Float32})


def write_texts(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")


# With the encoder


def test_training_texts_get_the_answers_of_the_fit(run_cli: Cli, demo_fit: Any, demo_file: Path) -> None:
    done = run_cli("predict", demo_fit.folder, demo_file, "--quiet")
    assert (done.code, done.err) == (0, "")
    answers, fitted = read_csv(io.StringIO(done.out)), demo_fit.table()
    assert answers.columns == fitted.columns
    assert answers["cluster"].to_list() == fitted["cluster"].to_list()
    assert answers["confidence"].to_list() == pytest.approx(fitted["confidence"].to_list(), abs=1e-6)


def test_company_and_order_change_nothing(run_cli: Cli, demo_fit: Any, tmp_path: Path) -> None:
    fitted = demo_fit.table()[[600, 3, 77, 3]]
    write_texts(tmp_path / "few.jsonl", fitted["message"].to_list())
    done = run_cli("predict", demo_fit.folder, tmp_path / "few.jsonl")
    assert done.code == 0, done.err
    answers = read_csv(io.StringIO(done.out))
    assert answers["cluster"].to_list() == fitted["cluster"].to_list()
    assert answers["confidence"].to_list() == pytest.approx(fitted["confidence"].to_list(), abs=1e-6)


def test_texts_in_a_script_that_the_encoder_does_not_know_are_told_of(
    run_cli: Cli, demo_fit: Any, tmp_path: Path
) -> None:
    pl.DataFrame({"message": ["我的包裹还没有到", "请退款", "无法登录账户"]}).write_csv(tmp_path / "new.csv")
    command = ["predict", demo_fit.folder, tmp_path / "new.csv", "--out", tmp_path / "sorted.csv"]
    done = run_cli(*command)
    assert done.code == 0, done.err
    assert "note: the encoder 'minilm' does not know the script of these texts" in done.err
    assert "note" not in run_cli(*command, "--quiet").err


def test_rows_without_a_text_can_be_left_out(run_cli: Cli, refused: Refused, demo_fit: Any, tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("id,message\n1,I was charged twice\n2,\n3,\u200b\n4,dark mode please\n")
    assert "row 2" in refused("predict", demo_fit.folder, "gaps.csv")
    done = run_cli("predict", demo_fit.folder, path, "--skip-empty")
    assert done.code == 0, done.err
    assert read_csv(io.StringIO(done.out))["id"].to_list() == ["1", "4"]
    assert "note: 2 rows have no text, and are left out" in done.err
    path.write_text("id,message\n1,\n")
    message = refused("predict", demo_fit.folder, "gaps.csv", "--skip-empty")
    assert message.startswith("gaps.csv: column 'message' is empty in every row")


# Without the encoder: formats


def decoded(path: Path) -> pl.DataFrame:
    content = path.read_bytes()
    if path.name.endswith(".gz"):
        content = gzip.decompress(content)
    plain, file = path.name.removesuffix(".gz"), io.BytesIO(content)
    if plain.endswith(".jsonl"):
        return pl.read_ndjson(file).cast({"confidence": pl.Float32})
    if plain.endswith(".parquet"):
        return pl.read_parquet(file)
    return read_csv(file, separator="\t" if plain.endswith(".tsv") else ",")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("in.csv.gz", "out.tsv"),
        ("in.tsv.gz", "out.jsonl.gz"),
        ("in.jsonl.gz", "out.parquet"),
        ("in.parquet.gz", "out.csv.gz"),
        ("in.txt", "out.jsonl"),
    ],
)
def test_every_format_in_and_out(
    table_bytes: TableBytes, source: str, target: str, run_cli: Cli, small_fit: Any, tmp_path: Path
) -> None:
    """Cells of text formats are texts: so are the numbers of `id`, wherever they go."""
    fitted = small_fit.table().with_columns(pl.col("id").cast(pl.String))
    (tmp_path / source).write_bytes(table_bytes(source, fitted.drop(ANSWERS)))
    done = run_cli("predict", small_fit.folder, tmp_path / source, "--out", tmp_path / target, "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    expected = fitted.select("text", *ANSWERS) if ".txt" in source else fitted
    assert_frame_equal(decoded(tmp_path / target), expected, abs_tol=1e-6)
    assert sorted(os.listdir(tmp_path)) == sorted([source, target])


def test_standard_input_to_standard_output(run_cli: Cli, small_fit: Any) -> None:
    done = run_cli("predict", small_fit.folder, "-", stdin=small_fit.file.read_bytes())
    assert done.code == 0, done.err
    fitted = read_csv(small_fit.folder / "assignments.csv")
    assert_frame_equal(read_csv(io.StringIO(done.out)), fitted, abs_tol=1e-6)
    assert done.err.count("\n") == 1
    assert done.err.startswith("predicting: done in ")


def test_standard_input_without_columns_is_told_to_be_plain_text(run_cli: Cli, small_fit: Any) -> None:
    done = run_cli("predict", small_fit.folder, "-", stdin=b"I was billed twice\nThe app crashes\n")
    assert done.code == 0, done.err
    assert "note: standard input is read as plain text, one text a line" in done.err


@pytest.mark.parametrize("quoted", [False, True])
def test_standard_input_of_one_column_has_a_header(run_cli: Cli, small_fit: Any, quoted: bool) -> None:
    texts = ["I was billed twice, again", "The app\ncrashes"] if quoted else ["I was billed twice", "The app crashes"]
    column = small_fit.json("config.json")["input"]["text_column"]
    lines = [column, *(f'"{text}"' if quoted else text for text in texts)]
    done = run_cli("predict", small_fit.folder, "-", "--quiet", stdin="\n".join(lines).encode())
    assert (done.code, done.err) == (0, "")
    assert read_csv(io.StringIO(done.out))[column].to_list() == texts


def test_lines_with_tabs_in_plain_text_are_told_of(run_cli: Cli, small_fit: Any, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("id\tmessage\n1\tI was billed twice\n", encoding="utf-8")
    done = run_cli("predict", small_fit.folder, tmp_path / "in.txt")
    assert done.code == 0
    assert "every line has a tab, and is read as one text" in done.err
    assert ".tsv" in done.err


def test_the_column_of_the_fit_in_other_letters(
    table_bytes: TableBytes, run_cli: Cli, small_fit: Any, texts: list[str], tmp_path: Path
) -> None:
    column = small_fit.json("config.json")["input"]["text_column"]
    table = pl.DataFrame({column.upper(): texts, "note": texts[::-1]})
    done = run_cli("predict", small_fit.folder, "-", "--quiet", stdin=table_bytes("in.csv", table))
    assert done.code == 0
    assert done.err == (f"note: standard input has no column {column!r}: the texts are those of {column.upper()!r}\n")
    assert read_csv(io.StringIO(done.out))["cluster"].to_list() == small_fit.table()["cluster"].to_list()
    other = table_bytes("in.csv", table.rename({column.upper(): "words"}))
    (tmp_path / "other.csv").write_bytes(other)
    done = run_cli("predict", small_fit.folder, tmp_path / "other.csv", "--quiet")
    assert done.code == 2
    assert f"other.csv: there is no column {column!r}, that of the fit; 2 columns look like text. " in done.err


def test_only_column_or_a_named_one_is_used(
    table_bytes: TableBytes, run_cli: Cli, small_fit: Any, texts: list[str]
) -> None:
    content = table_bytes("in.csv", pl.DataFrame({"id": ["x"] * 60, "words": texts, "other words": texts[::-1]}))
    done = run_cli("predict", small_fit.folder, "-", "--text", "words", "--quiet", stdin=content)
    assert (done.code, done.err) == (0, "")
    answers = read_csv(io.StringIO(done.out))
    assert answers.columns == ["id", "words", "other words", *ANSWERS]
    assert answers["cluster"].to_list() == small_fit.table()["cluster"].to_list()


# Files longer than a batch


@pytest.fixture
def long_texts(texts: list[str]) -> list[str]:
    return [f"{texts[row % 60]} and {texts[row * 7 % 60]} again" for row in range(9001)]


def test_batches_equal_row_by_row(
    table_bytes: TableBytes, run_cli: Cli, small_fit: Any, long_texts: list[str], tmp_path: Path
) -> None:
    """Batches have 8,192 rows: the last of the first, and the first of the second."""
    write_texts(tmp_path / "all.jsonl", long_texts)
    done = run_cli(
        "predict", small_fit.folder, tmp_path / "all.jsonl", "--out", tmp_path / "all.parquet", "--quiet"
    )  # fmt: skip
    assert done.code == 0, done.err
    answers = pl.read_parquet(tmp_path / "all.parquet")
    assert answers["text"].to_list() == long_texts
    for row in (8191, 8192):
        alone = run_cli(
            "predict", small_fit.folder, "-", "--quiet", stdin=table_bytes("in.jsonl", answers[[row]][["text"]])
        )
        assert alone.code == 0, alone.err
        assert_frame_equal(read_csv(io.StringIO(alone.out)), answers[[row]], abs_tol=1e-6)


def test_error_in_a_later_batch_leaves_no_output(
    refused: Refused, small_fit: Any, long_texts: list[str], tmp_path: Path
) -> None:
    long_texts[8999] = ""
    write_texts(tmp_path / "in.jsonl", long_texts)
    message = refused("predict", small_fit.folder, "in.jsonl", "--out", "out.csv", "--quiet")
    assert message.startswith("in.jsonl: row 9,000, column 'text' holds an empty text")


def test_error_leaves_the_old_output(refused: Refused, small_fit: Any, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("what was here before")
    (tmp_path / "in.csv").write_text("text\nsome words\n\nmore words\n,too many\n")
    message = refused("predict", small_fit.folder, "in.csv", "--out", "out.csv", "--quiet")
    assert message.startswith("in.csv: row 4 (line 5) has 2 cells")


@pytest.mark.parametrize("out", ["in.jsonl", "./in.jsonl", "link.jsonl"])
def test_the_texts_are_never_replaced(out: str, refused: Refused, small_fit: Any, tmp_path: Path) -> None:
    write_texts(tmp_path / "in.jsonl", ["some words", "more words"])
    (tmp_path / "link.jsonl").symlink_to("in.jsonl")
    message = refused("predict", small_fit.folder, "in.jsonl", "--out", out, "--quiet")
    assert message == f"{out}: these are the texts to be sorted. Give `--out` another name, so that they stay."


@pytest.mark.parametrize("out", ["run/assignments.parquet", "run/../run/config.json", "run/model/model.json"])
def test_the_runs_own_files_are_never_written_over(refused: Refused, small_run: Path, tmp_path: Path, out: str) -> None:
    write_texts(tmp_path / "in.jsonl", ["some words", "more words"])
    message = refused("predict", "run", "in.jsonl", "--out", out, "--quiet")
    assert message == f"{out}: this file belongs to the run. Give `--out` another name."


def test_a_column_that_nobody_named_is_said(run_cli: Cli, small_fit: Any, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("body,number\nthe invoice of this month is wrong,1\nno password works,2\n")
    done = run_cli("predict", small_fit.folder, "other.csv", "--quiet", cwd=tmp_path)
    assert done.code == 0
    assert done.err == "note: other.csv has no column 'text': the texts are those of 'body'\n"
    (tmp_path / "lone.csv").write_text("body\nthe invoice of this month is wrong\n")
    assert run_cli("predict", small_fit.folder, "lone.csv", "--quiet", cwd=tmp_path).err == ""


# What cannot be used


def parquet(**columns: list[Any]) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


FILES: dict[str, tuple[str, bytes, str]] = {
    "no rows": ("in.csv", b"id,text\n", "there are column names but no rows"),
    "null": ("in.parquet", parquet(text=["one text", None]), "row 2, column 'text' holds no text"),
    "numbers": ("in.parquet", parquet(text=[1, 2]), "column 'text' holds numbers (Int64) from row 1 on"),
    "bytes": ("in.parquet", parquet(text=[b"one"]), "column 'text' holds bytes (Binary) from row 1 on"),
    "latin-1": ("in.csv", "text\nun caf\xe9\n".encode("latin-1"), "row 1 (line 2), column 'text' holds the byte 0xE9"),
    "gzip cut off": ("in.csv.gz", gzip.compress(b"text\n" + b"some words\n" * 9)[:-9], "the gzip data end in the mid"),
    "taken column": ("in.csv", b"text,cluster\nsome words,1\n", "the column 'cluster' is there already"),
    "unclear column": (
        "in.csv",
        b"a,b\none text,more text\ntwo texts,even more\n",
        "there is no column 'text', that of the fit; 2 columns",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_file_that_cannot_be_used(case: str, refused: Refused, small_fit: Any, tmp_path: Path) -> None:
    name, content, says = FILES[case]
    (tmp_path / name).write_bytes(content)
    message = refused("predict", small_fit.folder, name, "--out", "out.csv", "--quiet")
    assert message.startswith(f"{name}: {says}")


def test_unknown_column_suggests_the_nearest(refused: Refused, small_fit: Any, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,message\n1,one text\n")
    message = refused("predict", small_fit.folder, "in.csv", "--text", "mesage", "--out", "out.csv", "--quiet")
    assert message.startswith("in.csv: there is no column 'mesage'; did you mean 'message'?")


def test_mistyped_file_suggests_the_nearest(refused: Refused, small_fit: Any, tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text("text\none text\n")
    message = refused("predict", small_fit.folder, "reviws.csv", "--out", "out.csv")
    assert message == "reviws.csv: no such file; did you mean reviews.csv?"


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("out.xlsx", "out.xlsx: the name does not tell the format"),
        ("out.txt", "out.txt: a .txt file holds one column"),
        ("folder.csv", "folder.csv: this is a folder"),
        ("nowhere/out.csv", "nowhere/out.csv: there is no folder"),
    ],
)
def test_output_that_cannot_be_written(out: str, says: str, refused: Refused, small_fit: Any, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text\none text\n")
    (tmp_path / "folder.csv").mkdir()
    assert says in refused("predict", small_fit.folder, "in.csv", "--out", out, "--quiet")


def allow_small_files_only() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


@pytest.mark.skipif(os.name != "posix", reason="needs RLIMIT_FSIZE")
def test_full_disk(refused: Refused, small_fit: Any, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("what was here before")
    arguments = ("predict", small_fit.folder, small_fit.file, "--out", "out.csv", "--quiet")
    message = refused(*arguments, preexec_fn=allow_small_files_only)
    assert message.startswith("out.csv: nothing could be written: the file is too large for this disk")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_behind_standard_output(run_cli: Cli, small_fit: Any) -> None:
    with open("/dev/full", "wb") as full:
        done = run_cli("predict", small_fit.folder, small_fit.file, "--quiet", stdout=full)
    assert done.code == 2
    assert done.err.startswith("coterie: standard output: nothing could be written: the disk is full")
    assert done.err.count("\n") == 1


# Runs and models that are not sound


def test_missing_run_suggests_the_nearest(refused: Refused, small_run: Path, tmp_path: Path) -> None:
    message = refused("predict", "rnu", "in.csv", "--out", "out.csv")
    assert message.startswith("rnu: there is no such run.")
    assert message.endswith("Did you mean run?")


def test_a_run_that_cannot_be_opened_is_named(refused: Refused) -> None:
    """As root nothing is forbidden, but no file has so long a name."""
    long = "x" * 300
    for command in (("report", long), ("predict", long, "in.csv", "--out", "out.csv"), ("compare", long)):
        assert refused(*command) == f"{long}: this cannot be opened: File name too long."


def flip_a_byte(run: Path) -> None:
    path = run / "model" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def set_version(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**document, "format": 99}))


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def drop_a_key(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    del document["kinds"]
    path.write_text(json.dumps(document))


DAMAGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "flipped byte": (flip_a_byte, ["run/model/model.safetensors: damaged or from another model", "fit again"]),
    "no arrays": (
        lambda run: (run / "model" / "model.safetensors").unlink(),
        ["run/model/model.safetensors: cannot be"],
    ),
    "other version": (
        lambda run: set_version(run / "model" / "model.json"),
        ["run/model/model.json: format version 99, this program reads 2", "fit again"],
    ),
    "cut document": (lambda run: cut_in_half(run / "model" / "model.json"), ["run/model/model.json: cannot be read"]),
    "key missing": (lambda run: drop_a_key(run / "model" / "model.json"), ["run/model: model.json is damaged"]),
    "run of other version": (lambda run: set_version(run / "config.json"), ["run: a run of format 99"]),
    "unfinished run": (lambda run: (run / "config.json").unlink(), ["run: no finished run is here"]),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_damaged_run(case: str, refused: Refused, small_run: Path, tmp_path: Path) -> None:
    damage, says = DAMAGES[case]
    damage(small_run)
    (tmp_path / "in.csv").write_text("text\none text\n")
    message = refused("predict", "run", "in.csv", "--out", "out.csv", "--quiet")
    assert [fragment for fragment in says if fragment not in message] == []
