"""`coterie evaluate`: scores of a run, or of two columns of any file."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import log, sqrt
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
Refused = Callable[..., str]

SCORES = ["acc", "nmi", "nmi_arithmetic", "ari", "purity", "ami"]


def split_in_three() -> dict[str, float]:
    """Six rows, classes of 4 and 2, groups of 2, 2 and 2, the large class cut in two. By hand:

    ACC: two groups find a class of their own, 4 of 6 rows. Purity: every group is of one class.
    NMI: the groups tell the class, so the mutual information is the entropy of the classes.
    ARI: 3 pairs are together in both, 7 in the classes, 3 in the groups, of 15: 3 - 7 * 3 / 15 over 5 - 7 * 3 / 15.
    AMI: minus the information expected by chance, over all (class, group) and the overlaps n that they can have.
    """
    classes = -(2 / 3) * log(2 / 3) - (1 / 3) * log(1 / 3)
    groups = log(3)
    large = 6 / 15 * 2 / 6 * log(6 * 2 / (4 * 2)) + 8 / 15 * 1 / 6 * log(6 * 1 / (4 * 2))
    small = 1 / 15 * 2 / 6 * log(6 * 2 / (2 * 2)) + 8 / 15 * 1 / 6 * log(6 * 1 / (2 * 2))
    by_chance = 3 * (large + small)
    return {
        "acc": 4 / 6,
        "nmi": classes / sqrt(classes * groups),
        "nmi_arithmetic": classes / ((classes + groups) / 2),
        "ari": (3 - 1.4) / (5 - 1.4),
        "purity": 1.0,
        "ami": (classes - by_chance) / ((classes + groups) / 2 - by_chance),
    }


WORKED = {
    "same groups, other names": ("aabb", "0011", dict.fromkeys(SCORES, 1.0)),
    "numbers do not matter": ("aabb", "9922", dict.fromkeys(SCORES, 1.0)),
    "a class in two groups": ("aaaabb", "001122", split_in_three()),
}


@pytest.mark.parametrize("case", WORKED)
def test_scores_worked_out_by_hand(case: str, run_cli: Cli, tmp_path: Path) -> None:
    truth, labels, expected = WORKED[case]
    rows = "".join(f"{true},{label}\n" for true, label in zip(truth, labels, strict=True))
    (tmp_path / "two.csv").write_text("class,group\n" + rows)
    done = run_cli("evaluate", tmp_path / "two.csv", "--truth", "class", "--labels", "group", "--json")
    assert (done.code, done.err) == (0, "")
    scores = json.loads(done.out)
    assert list(scores) == SCORES
    assert scores == pytest.approx(expected, abs=1e-9)


def test_purity_and_acc_of_groups_that_mix_classes(run_cli: Cli, tmp_path: Path) -> None:
    """Classes aaabbb in groups 001111: 5 of 6 agree; ARI (4 - 6 * 7 / 15) / (6.5 - 6 * 7 / 15). A table for people."""
    (tmp_path / "two.tsv").write_text("truth\tcluster\na\t0\na\t0\na\t1\nb\t1\nb\t1\nb\t1\n")
    done = run_cli("evaluate", tmp_path / "two.tsv", "--truth", "truth")
    assert (done.code, done.err) == (0, "")
    header, *lines = [line.split() for line in done.out.splitlines()]
    assert header == ["score", "value"]
    assert [line[0] for line in lines] == SCORES
    shown = dict(lines)
    assert (shown["acc"], shown["purity"], shown["ari"]) == ("0.8333", "0.8333", f"{1.2 / 3.7:.4f}")


def test_rows_without_a_truth_are_left_out_and_counted(run_cli: Cli, refused: Refused, tmp_path: Path) -> None:
    """People label a sample. The two rows without a class would be wrong in any group."""
    (tmp_path / "some.csv").write_text("truth,none,cluster\na,,0\n,,1\na,,0\n ,,0\nb,,1\n")
    done = run_cli("evaluate", tmp_path / "some.csv", "--truth", "truth")
    shown = dict(line.split() for line in done.out.splitlines())
    assert (shown["rows_with_truth"], shown["acc"], shown["nmi"]) == ("3", "1.0000", "1.0000")
    assert "column 'none' is empty in every row" in refused("evaluate", "some.csv", "--truth", "none")


def test_scores_of_a_run_are_those_of_its_fit(run_cli: Cli, small_fit: Any) -> None:
    done = run_cli("evaluate", small_fit.folder, "--truth", "theme", "--json")
    assert (done.code, done.err) == (0, "")
    scores, fitted = json.loads(done.out), small_fit.json("metrics.json")
    assert list(scores) == [*SCORES, "silhouette", "dunn"]
    assert scores == pytest.approx({name: fitted[name] for name in scores}, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--truth", "clas"), "there is no column 'clas'; did you mean 'class'?"),
        (("--truth", "class"), "there is no column 'cluster'. The columns are "),
        (("--truth", "class", "--labels", "groups"), "there is no column 'groups'; did you mean 'group'?"),
        (("--truth", "class", "--labels", "gaps"), "row 2, column 'gaps' is empty."),
    ],
)
def test_column_that_cannot_be_used(options: tuple[str, ...], says: str, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("class,group,gaps\na,0,0\nb,1,\n")
    message = refused("evaluate", "two.csv", *options)
    assert message.startswith(f"two.csv: {says}")
    assert "`--labels`" in message or "`--truth`" in message or "is empty" in message


def test_columns_of_ids_are_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text("class,group\n" + "".join(f"c{row},g{row}\n" for row in range(8_000)))
    message = refused("evaluate", "ids.csv", "--truth", "class", "--labels", "group")
    assert message.startswith("ids.csv: columns 'class' and 'group': 8,000 different true labels and 8,000 different")
    assert "look like ids" in message


def test_missing_column_of_a_run(refused: Refused, small_run: Path) -> None:
    message = refused("evaluate", "run", "--truth", "teme")
    assert message.startswith("run/assignments.parquet: there is no column 'teme'; did you mean 'theme'?")


def test_folder_that_is_no_run(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert refused("evaluate", "folder", "--truth", "theme").startswith("folder: no finished run is here")


def test_missing_file_suggests_the_nearest(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("class,cluster\na,0\n")
    assert refused("evaluate", "lables.csv", "--truth", "class").endswith("did you mean labels.csv?")
