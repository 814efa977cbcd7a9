"""`coterie fit --time --by`, repeated rows and rows with hardly any content: what is written and what is said."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Cli = Callable[..., Any]

OPTIONS = ("--k", 4, "--method", "tfidf+kmeans", "--text", "text")


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


@pytest.fixture(scope="module")
def counted(run_cli: Cli, texts: list[str], themes: list[str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Three copies of row 1, a near copy of row 2, two n/a, a dash; days over a year's end, the later the more bread.

    Every theme has 60 rows, so that what changes is more than chance; the dash has neither a day nor a channel.
    """
    folder = tmp_path_factory.mktemp("counted")
    many = [f"{text} {word}" for text in texts for word in ("today", "again", "please", "now")]
    about = [theme for theme in themes for _ in range(4)]
    start = date(2025, 11, 3)
    days = [start + timedelta(days=(row % 30) + (50 if theme == "bread" else 0)) for row, theme in enumerate(about)]
    table = pl.DataFrame(
        {
            "text": [*many, *many[:1] * 3, many[1].upper() + "!", "n/a", "N/A", "-"],
            "day": [*(day.isoformat() for day in days), *[days[0].isoformat()] * 6, None],
            "channel": [*("app" if theme == "bank" else "=mail" for theme in about), *["=mail"] * 6, ""],
        }
    )
    table.write_csv(folder / "in.csv")
    done = run_cli("fit", folder / "in.csv", *OPTIONS, "--time", "day", "--by", "channel", "--out", folder / "run")
    assert done.code == 0, done.err
    return folder / "run", done, pl.read_parquet(folder / "run" / "assignments.parquet")


def test_repeated_rows_are_listed_and_counted(counted: Any) -> None:
    folder, done, table = counted
    listed = {row["row"]: row for row in rows_of(folder / "duplicates.csv")}
    assert list(rows_of(folder / "duplicates.csv")[0]) == ["row", "repeats", "how", "text"]
    for row in ("241", "242", "243"):
        assert (listed[row]["repeats"], listed[row]["how"]) == ("1", "exact")
    assert listed["244"]["how"] == "near"
    assert (listed["246"]["repeats"], listed["246"]["how"], listed["246"]["text"]) == ("245", "near", "N/A")
    assert "247" not in listed
    texts = table["text"].to_list()
    for row, line in listed.items():
        same = texts[int(row) - 1] == texts[int(line["repeats"]) - 1]
        assert (line["how"] == "exact") == same
    how = Counter(line["how"] for line in listed.values())
    metrics = json.loads((folder / "metrics.json").read_text())
    assert (metrics["exact_duplicates"], metrics["near_duplicates"], metrics["junk"]) == (3, how["near"], 3)
    assert f"3 rows repeat another word for word, {how['near']} nearly: each text counts once\n" in done.out
    assert '3 rows hold hardly anything to group by, such as "n/a"\n' in done.out
    clusters = [table["cluster"][row] for row in (0, 240, 241, 242)]
    assert len(set(clusters)) == 1


def test_over_time_is_a_table_of_all_periods(counted: Any) -> None:
    """Counted once more from the rows themselves: days from November 3 on, so weeks 45 of 2025 to 4 of 2026."""
    folder, done, table = counted
    lines = rows_of(folder / "over_time.csv")
    weeks = [f"2025-W{week}" for week in range(45, 53)] + [f"2026-W0{week}" for week in range(1, 5)]
    assert list(dict.fromkeys(line["period"] for line in lines)) == [*weeks, ""]
    assert len(lines) == 4 * 13
    week_of = table["day"].str.to_date(strict=False).dt
    names = [None if y is None else f"{y}-W{w:02}" for y, w in zip(week_of.iso_year(), week_of.week(), strict=True)]
    found = Counter(zip(table["cluster"].to_list(), names, strict=True))
    assert {
        (int(line["cluster"]), line["period"] or None): int(line["count"]) for line in lines if line["count"] != "0"
    } == found
    assert "Over time (day): 12 weeks, 2025-W45 to 2026-W04; 1 row has no date\n" in done.out
    bread = Counter(table["cluster"][:240].to_list()[::16]).most_common(1)[0][0]
    assert f'rising most: group {bread}, "' in done.out
    assert "falling most: " in done.out
    assert " -> 100%)" in done.out


def test_by_column_is_a_table_of_what_occurs(counted: Any) -> None:
    folder, done, table = counted
    lines = rows_of(folder / "by.csv")
    assert {line["value"] for line in lines} == {"'=mail", "app", ""}, "formulas are disarmed as everywhere"
    found = Counter(zip(table["cluster"].to_list(), table["channel"].to_list(), strict=True))
    written = {(int(line["cluster"]), line["value"].removeprefix("'")): int(line["count"]) for line in lines}
    assert written == {(cluster, value or ""): count for (cluster, value), count in found.items()}
    total = table.filter(pl.col("channel") == "app").height
    for line in lines:
        if line["value"] == "app":
            assert float(line["share_of_value"]) == pytest.approx(int(line["count"]) / total, abs=1e-6)
    assert 'By channel: 2 values; 1 row has none; of "app" ' in done.out


def test_the_report_shows_them_again(counted: Any, run_cli: Cli, tmp_path: Path) -> None:
    folder, _, _ = counted
    config = json.loads((folder / "config.json").read_text())["input"]
    assert (config["time_column"], config["by_column"]) == ("day", "channel")
    done = run_cli("report", folder, "--out", tmp_path / "again.html")
    assert done.code == 0, done.err
    assert (tmp_path / "again.html").read_bytes() == (folder / "report.html").read_bytes()


def test_such_a_run_can_be_replaced_and_then_has_only_its_own_files(counted: Any, run_cli: Cli) -> None:
    folder, _, _ = counted
    copy = folder.parent / "copy"
    done = run_cli("fit", folder.parent / "in.csv", *OPTIONS, "--by", "channel", "--out", copy)
    assert done.code == 0, done.err
    assert run_cli("fit", folder.parent / "in.csv", *OPTIONS, "--out", copy, "--force").code == 0
    names = {path.name for path in copy.iterdir()}
    assert "duplicates.csv" in names
    assert not names & {"by.csv", "over_time.csv"}


def test_nothing_is_said_where_there_is_nothing(run_cli: Cli, small_fit: Any, tmp_path: Path) -> None:
    lines = ["bread rises slowly", "trains leave at noon", "roses need pruning", "the bank lends money"]
    (tmp_path / "in.txt").write_text("\n".join(lines) + "\n")
    done = run_cli("fit", tmp_path / "in.txt", "--k", 2, "--method", "tfidf+kmeans", "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert "repeat" not in done.out
    assert "hardly" not in done.out
    assert "Over time" not in done.out
    assert not (tmp_path / "run" / "duplicates.csv").exists()
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (metrics["exact_duplicates"], metrics["near_duplicates"], metrics["junk"]) == (0, 0, 0)


def test_one_row_is_said_as_one(run_cli: Cli, tmp_path: Path) -> None:
    lines = ["bread rises slowly", "trains leave at noon", "roses need pruning", "bread rises slowly", "-"]
    lines.append("Trains leave at noon!")
    (tmp_path / "in.txt").write_text("\n".join(lines) + "\n")
    done = run_cli("fit", tmp_path / "in.txt", "--k", 2, "--method", "tfidf+kmeans", "--out", tmp_path / "run")
    repeated = "1 row repeats another word for word, 1 nearly: equal texts count once, near ones one by one"
    assert f"\n{repeated} (too few texts)\n" in done.out
    assert '\n1 row holds hardly anything to group by, such as "-"\n' in done.out


def test_a_column_of_row_numbers_tells_nothing(refused: Cli, tmp_path: Path) -> None:
    lines = [f"words about thing number {row},{row}" for row in range(10_001)]
    (tmp_path / "in.csv").write_text("\n".join(["text,id", *lines]))
    message = refused("fit", "in.csv", *OPTIONS[2:], "--k", 2, "--out", "run", "--by", "id")
    assert message.startswith("in.csv: --by 'id': there are 10,001 different values. Give a column with at most 10,000")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--time", "dya"), "in.csv: there is no column 'dya'; did you mean 'day'?"),
        (("--by", "chanel"), "Name one of them with `--by`"),
        (("--time", "text"), "in.csv: --time 'text' is the column with the texts. Name another one."),
        (("--by", "text"), "in.csv: --by 'text' is the column with the texts"),
        (
            ("--time", "channel"),
            "in.csv: row 1, column 'channel' holds 'app', which is no date that is understood (3 more",
        ),
        (
            ("--time", "gaps"),
            "in.csv: row 3, column 'gaps' holds '31.12.2025', which is no date that is understood. Dates",
        ),
        (("--time", "empty"), "in.csv: column 'empty' has no date in any row"),
    ],
)
def test_columns_that_cannot_be_used(refused: Cli, tmp_path: Path, options: tuple[str, str], message: str) -> None:
    lines = [
        f"words about thing number {row},2026-01-0{row},app,{gap},"
        for row, gap in enumerate(["2025", "", "31.12.2025", "2026-01-01"], start=1)
    ]
    (tmp_path / "in.csv").write_text("\n".join(["text,day,channel,gaps,empty", *lines]))
    assert message in refused("fit", "in.csv", *OPTIONS[2:], "--k", 2, "--out", "run", *options)


def test_tables_follow_edits(counted: Any, run_cli: Cli, tmp_path: Path) -> None:
    fitted, _, _ = counted
    folder = Path(shutil.copytree(fitted, tmp_path / "run"))
    done = run_cli("edit", folder, "merge", 3, 1, "--quiet")
    assert done.code == 0, done.err
    for name, line in (("over_time.csv", "period"), ("by.csv", "value")):
        before, after = rows_of(fitted / name), rows_of(folder / name)
        assert {row["cluster"] for row in after} == {"0", "2", "3"}
        joined: Counter[str] = Counter()
        for row in before:
            joined[row[line]] += int(row["count"]) if row["cluster"] in ("1", "3") else 0
        # What occurs nowhere need not be in the table.
        assert +Counter({row[line]: int(row["count"]) for row in after if row["cluster"] == "3"}) == +joined
    kept = [json.loads((run / "metrics.json").read_text())["exact_duplicates"] for run in (fitted, folder)]
    assert kept[0] == kept[1] > 0
    assert run_cli("edit", folder, "rename", 3, "joined", "--quiet").code == 0
    assert "joined" in {row["name"] for row in rows_of(folder / "by.csv")}
    for _ in range(2):
        assert run_cli("edit", folder, "undo", "--quiet").code == 0
    for name in ("over_time.csv", "by.csv", "duplicates.csv", "report.html"):
        assert (folder / name).read_bytes() == (fitted / name).read_bytes()
