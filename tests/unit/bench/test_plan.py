"""Plans: what they expand to, and what is wrong with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from coterie.bench.papers import paper_table, paper_tables
from coterie.bench.plan import SECOND_STEPS, WITH_SECOND_STEPS, Cell, read_plan
from coterie.bench.records import data_sets
from coterie.errors import ConfigError, InputError
from coterie.registry import DEEP, SELF_TAUGHT, model_class

PLANS = sorted((Path(__file__).parents[3] / "benchmarks" / "plans").glob("*.toml"))


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_methods_times_data_times_seeds_times_effort(tmp_path: Path) -> None:
    plan = read_plan(
        written(
            tmp_path,
            """
            [[runs]]
            methods = ["aecl", "sccl"]
            data = ["tweet", { file = "my texts.csv", text = "message", label = "theme" }]
            efforts = ["fast", "full"]
            seeds = [0, 1, 2]
            settings = { init = "kmeans" }
            paper = "aecl:2"
            """,
        )
    )
    assert plan.name == "mine"
    assert len(plan.cells) == 2 * 2 * 2 * 3
    assert len({cell.file_name for cell in plan.cells}) == len(plan.cells)
    first = plan.cells[0]
    assert (first.method, first.data, first.effort, first.seed) == ("aecl", "tweet", "fast", 0)
    assert first.row == "aecl (fast), init=kmeans"
    assert {cell.data_name for cell in plan.cells} == {"tweet", "my texts.csv (message, theme)"}
    assert all(set(cell.file_name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.+-") for cell in plan.cells)


def test_a_label_stands_for_one_way(tmp_path: Path) -> None:
    text = '[[runs]]\nmethods = ["aecl", "sccl"]\ndata = ["tweet"]\nlabel = "ours"\n'
    with pytest.raises(ConfigError, match=r"mine.toml: .*'ours' on tweet: method is aecl and sccl"):
        read_plan(written(tmp_path, text))


def test_each_value_of_each_setting_is_varied_by_itself(tmp_path: Path) -> None:
    text = """
    [[runs]]
    methods = ["aecl"]
    data = ["tweet"]
    label = "AECL"
    settings = { lambda1 = 1, ablation = "none" }
    vary = { lambda1 = [0, 5], lambda2 = [7] }
    """
    cells = read_plan(written(tmp_path, text)).cells
    assert [(cell.settings["lambda1"], cell.settings.get("lambda2")) for cell in cells] == [
        (0, None),
        (5, None),
        (1, 7),
    ]
    assert all(cell.settings["ablation"] is None for cell in cells)
    assert [cell.row for cell in cells] == ["AECL, lambda1=0", "AECL, lambda1=5", "AECL, lambda2=7"]


def test_a_name_may_change_and_a_setting_may_not() -> None:
    cell = Cell("aecl", "tweet", settings={"lambda1": 5})
    assert (
        Cell("aecl", "tweet", label="No IC", paper="aecl:3", readout="head", settings={"lambda1": 5}).file_name
        == cell.file_name
    )
    others = [
        Cell("aecl", "tweet", settings={"lambda1": 6}),
        Cell("aecl", "tweet", seed=1, settings={"lambda1": 5}),
        Cell("aecl", "tweet", k=3, settings={"lambda1": 5}),
        Cell("aecl", "tweet", encoder="bert-base-uncased", settings={"lambda1": 5}),
    ]
    assert cell.file_name not in {other.file_name for other in others}
    assert Cell("aecl", "tweet", keep="stages", settings={"lambda1": 5}).file_name != cell.file_name


def test_what_was_measured_before_there_was_keep_is_found_again() -> None:
    assert Cell("aecl", "tweet", settings={"lambda1": 5}).file_name == "tweet-aecl-fast-0-704f1aacf8.json"


@pytest.mark.parametrize(
    ("own", "named"),
    [
        ({"k": 30}, "k=30"),
        ({"rows": 200}, "rows=200"),
        ({"encoder": "bert-base-uncased"}, "encoder=bert-base-uncased"),
        ({"views": "context10"}, "views=context10"),
        ({"word_vectors": "mine.bin"}, "word_vectors=mine.bin"),
    ],
)
def test_another_way_of_running_is_another_row(own: dict[str, Any], named: str) -> None:
    assert Cell("deccrl", "tweet", settings={"alpha": 2}, **own).row == f"deccrl (fast), {named}, alpha=2"
    assert Cell("deccrl", "tweet", label="DECCRL", settings={"alpha": 2}, **own).row == f"DECCRL, {named}"


def test_a_cell_of_two_runs_is_one_cell(tmp_path: Path) -> None:
    run = '[[runs]]\nmethods = ["aecl"]\ndata = ["tweet"]\n'
    assert len(read_plan(written(tmp_path, run + run)).cells) == 1


RUN = '[[runs]]\nmethods = ["aecl"]\ndata = ["tweet"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[runs]", "cannot be read"),
        ("", r"no \[\[runs\]\]"),
        ("runs = 3", r"no \[\[runs\]\]"),
        ("nmae = 'x'\n" + RUN, "not 'nmae'"),
        (RUN + "seed = [1]", "run 1: 'seed' is not known: did you mean 'seeds'"),
        (RUN + "seeds = 1", "seeds = 1 does not fit: give a list of numbers"),
        (RUN + "seeds = [true]", "does not fit: give a list of numbers"),
        (RUN + "seeds = [-1]", "does not fit: give a list of numbers"),
        (RUN + "efforts = []", "does not fit: give a list of names"),
        (RUN + "k = 'two'", "give a whole number"),
        (RUN + "k = 0", "k = 0 does not fit: give a whole number from 1 on"),
        (RUN + "rows = 0", "rows = 0 does not fit: give a whole number from 1 on"),
        (RUN + "settings = 3", "give a table"),
        (RUN + "vary = { lambda1 = 3 }", "give a list of values"),
        (RUN + "readout = 'best'", "readout = 'best' is not known"),
        (RUN + "keep = 'maps'", "keep = 'maps' is not known: use stages or second-steps"),
        (RUN + "readout = 'umap+idec'", r"readout = 'umap\+idec' needs keep = 'second-steps'"),
        (RUN + "readout = 'idec'\nkeep = 'stages'", "readout = 'idec' needs keep = 'second-steps'"),
        (RUN + "keep = true", "give a text"),
        ('[[runs]]\nmethods = ["aecl"]', "'data' is missing"),
        ('[[runs]]\ndata = ["tweet"]', "'methods' is missing"),
        ('[[runs]]\nmethods = ["aecl"]\ndata = [{ file = "x.csv" }]', "does not name a file"),
        (RUN + RUN + "label = 3", "run 2: label = 3 does not fit"),
        (
            RUN + '[[runs]]\nmethods = ["aecll"]\ndata = ["tweet"]',
            "run 2: method 'aecll' is not known: did you mean 'aecl'",
        ),
        ('[[runs]]\nmethods = ["aecl"]\ndata = ["twet"]', "run 1: data set 'twet' is not known: did you mean 'tweet'"),
        (RUN + "efforts = ['fats']", "run 1: effort='fats' is not known"),
        (RUN + "settings = { lambda9 = 1 }", "run 1: setting 'lambda9' is not known to the method 'aecl'"),
        (RUN + "settings = { lambda1 = 'much' }", "run 1: setting lambda1='much' of the method 'aecl' does not fit"),
        (RUN + "vary = { lambda1 = [1, -1] }", "run 1: setting lambda1=-1 of the method 'aecl' does not fit"),
        (RUN + "paper = 'aecl:9'", "run 1: paper = 'aecl:9' is not known"),
        (RUN + "views = 'context11'", "run 1: data set 'tweet_context11' is not known"),
        (RUN.replace("aecl", "duet") + "keep = 'stages'", "run 1: the method 'duet' trains in no phases"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        read_plan(written(tmp_path, text))


def test_columns_of_own_files_are_looked_up(tmp_path: Path) -> None:
    mine = tmp_path / "mine.csv"
    data = f'[{{ file = "{mine}", text = "message", label = "them" }}]'
    plan = written(tmp_path, f'[[runs]]\nmethods = ["tfidf+kmeans"]\ndata = {data}\n')
    assert len(read_plan(plan).cells) == 1, "it is not here now"
    mine.write_text("theme,message\na,b c\n")
    with pytest.raises(InputError, match="no column 'them'; did you mean 'theme'"):
        read_plan(plan)


def test_no_such_plan(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_plan(tmp_path / "none.toml")


@pytest.mark.parametrize("path", PLANS, ids=[path.stem for path in PLANS])
def test_the_plans_that_come_with_the_project(path: Path) -> None:
    """Reading one checks every name in it."""
    plan = read_plan(path)
    assert plan.name == path.stem
    for cell in plan.cells:
        has = ("head", "kmeans", "untrained") if cell.method in DEEP else ("kmeans", "untrained")
        asked_for = cell.readout in SECOND_STEPS and cell.keep == WITH_SECOND_STEPS
        trained = cell.readout in has and cell.method in (*DEEP, *SELF_TAUGHT)
        assert cell.readout == "kept" or asked_for or trained, cell.row


def test_the_plan_that_the_docs_show(tmp_path: Path) -> None:
    page = (PLANS[0].parents[2] / "docs" / "bench.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    cells = read_plan(written(tmp_path, shown)).cells
    assert len(cells) == 16
    assert {cell.method for cell in cells} == {"auto", "minilm+kmeans", "clusterbert"}


def test_there_is_a_plan_for_every_paper() -> None:
    papers = {table.paper for table in paper_tables().values()}
    for kind in ("paper", "cpu"):
        assert {path.stem.removesuffix(f"-{kind}") for path in PLANS if path.stem.endswith(kind)} >= papers


def test_there_is_a_plan_for_every_table() -> None:
    """But for the one in which ClusterBERT's authors list what others have reported."""
    planned = {cell.paper for path in PLANS if path.stem.endswith("-paper") for cell in read_plan(path).cells}
    assert paper_tables().keys() - planned == {"clusterbert:4"}


def test_as_printed_training_goes_on_to_the_end() -> None:
    """A method that ends where its groups would be undone does not in a paper's own settings."""
    printed = [cell for path in PLANS if path.stem.endswith("-paper") for cell in read_plan(path).cells]
    near = [cell for cell in printed if cell.method in DEEP and model_class(cell.method).stays_near_start]
    assert {cell.method for cell in near} == {"uft"}
    assert all(cell.settings.get("undo") is False for cell in near)


def test_published_numbers_are_percentages_of_known_sets() -> None:
    for table in paper_tables().values():
        for row in table.rows.values():
            for name, scores in row.items():
                assert name in data_sets()
                assert set(scores) <= {"acc", "nmi", "purity"}
                assert all(0 < value < 100 for value in scores.values())


@pytest.mark.parametrize(
    ("key", "row", "name", "metric", "value"),
    [
        ("aecl:2", "AECL", "tweet", "acc", 80.46),
        ("aecl:2", "SBERT", "googlenews_t", "nmi", 78.28),
        ("aecl:4", "No Stage 2", "stackoverflow", "acc", 44.65),
        ("deccrl:2", "DECCRL", "biomedical", "nmi", 41.5),
        ("deccrl:3", "DECCRL w/o CRL w LSR", "agnews", "acc", 83.9),
        ("clusterbert:2", "ClusterBERT", "bbc_sentences", "acc", 87.8),
        ("clusterbert:4", "SIF+IDEC", "searchsnippets", "acc", 77.1),
        ("clusterbert:4", "VaSCL", "biomedical", "acc", 42.6),
        ("clusterbert:3", "TSDAE+umap+idec", "agnews_desc", "nmi", 65.7),
        ("uft:1", "UFT", "dbpedia14", "purity", 66.99),
        ("uft:2", "w/o masked LM loss", "yelp5", "purity", 32.08),
        ("adsl:2", "NN+ADSL", "fisher", "nmi", 91.58),
        ("adsl:3 (30 clusters)", "Consensus", "fisher", "acc", 77.5),
    ],
)
def test_numbers_read_from_the_papers(key: str, row: str, name: str, metric: str, value: float) -> None:
    assert paper_table(key).rows[row][name][metric] == value


def test_misprints_are_copies_and_are_not_meant() -> None:
    """Each is a row's own numbers for another set."""
    found = [
        (table, name, row)
        for table in paper_tables().values()
        for name in table.misprints
        for row in table.misprints[name]
    ]
    assert len(found) == 7
    for table, name, row in found:
        own = table.rows[row]
        assert own[name] in [scores for other, scores in own.items() if other != name]
        assert len(table.meant(name)) == sum(name in scores for scores in table.rows.values()) - len(
            table.misprints[name]
        )


def test_published_numbers_have_the_decimals_of_their_table() -> None:
    assert paper_table("aecl:2").decimals == 2
    assert paper_table("clusterbert:2").decimals == 1


MEASURED = sorted((PLANS[0].parents[1] / "results").glob("*/plan.json"))


@pytest.mark.parametrize("listed", MEASURED, ids=[path.parent.name for path in MEASURED])
def test_what_was_measured_is_still_planned(listed: Path) -> None:
    planned = {cell.file_name for cell in read_plan(PLANS[0].parent / f"{listed.parent.name}.toml").cells}
    assert {path.name for path in listed.parent.glob("*.json")} - {"plan.json"} <= planned
