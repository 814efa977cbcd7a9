"""Figures from made-up cells: every number worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coterie.bench import figures
from coterie.bench.figure import Cloud, Curves, Figure, Line, Point
from coterie.bench.measured import LONGEST_STEM, measured
from coterie.bench.measured import figure as made_figure
from coterie.bench.plan import Cell
from coterie.bench.plot import KINDS, draw
from coterie.errors import ConfigError, ModelFormatError

Make = Callable[..., Any]
PLANS = Path(__file__).parents[3] / "benchmarks" / "plans"


def curves(figure: Figure) -> list[Curves]:
    assert all(isinstance(panel, Curves) for panel in figure.panels)
    return [panel for panel in figure.panels if isinstance(panel, Curves)]


def named(panel: Curves) -> dict[str, Line]:
    return {line.name: line for line in panel.lines}


def test_a_sweep_has_the_mean_and_the_spread_over_the_seeds(result: Make) -> None:
    def cell(value: float, seed: int, **other: Any) -> Cell:
        settings = {"init": "kmeans", "topics": value}
        return Cell("deccrl", other.pop("data", "agnews"), seed, label="DECCRL", readout="head", settings=settings,
                    varied="topics", **other)  # fmt: skip

    results = [
        # Not in the order of the values.
        result(cell(10, 0), acc=0.7, nmi=0.5),
        result(cell(5, 0), acc=0.6, nmi=0.4),
        result(cell(5, 1), acc=0.8, nmi=0.4),
        result(cell(5, 0, data="tweet"), acc=0.3, nmi=0.2),
        # Neither with other rows nor with another effort is it the same sweep.
        result(cell(5, 0, rows=10), acc=0.1, nmi=0.1),
        # And these are in none.
        result(Cell("deccrl", "agnews", settings={"topics": 7}), acc=0.9),
        {"cell": cell(20, 0).as_json(), "status": "failed", "error": "broke"},
    ]
    both, alone = figures.sweeps(measured(results))
    assert both.title == "ACC and NMI over T (topics of a group) (after DECCRL, Figure 4)"
    assert "1 to 2 seeds" in both.notes[0]
    acc, nmi = curves(both)
    assert (acc.title, acc.y_title, acc.x_title) == ("ACC", "percent", "T (topics of a group)")
    assert acc.x_names == ["5", "10"]
    assert named(acc).keys() == {"agnews", "tweet"}
    first, second = named(acc)["agnews"].points
    # Of 60 and 80: mean 70, standard deviation sqrt((100 + 100) / 1).
    assert first == pytest.approx((0, 70, 200**0.5))
    assert second[:2] == pytest.approx((1, 70))
    assert second.spread is None
    assert [point.y for point in named(nmi)["tweet"].points] == [pytest.approx(20)]
    assert [line.name for line in curves(alone)[0].lines] == ["agnews"]
    assert "one seed; 10 texts of a set at most" in alone.notes[0]


def test_values_that_are_no_numbers_stay_in_their_order(result: Make) -> None:
    results = [
        result(Cell("adsl", "tweet", settings={"variant": value}, varied="variant")) for value in ("sl", "one", None)
    ]
    for one in results:
        del one["scores"]["head"]  # a method without read-outs: what it kept counts
    (figure,) = figures.sweeps(measured(results))
    assert curves(figure)[0].x_names == ["sl", "one", "none"]
    assert [point.y for point in curves(figure)[0].lines[0].points] == [pytest.approx(1)] * 3


def test_a_sweep_without_its_read_out_is_not_drawn(result: Make) -> None:
    one = result(Cell("aecl", "tweet", settings={"lambda1": 1}, varied="lambda1", readout="head"))
    del one["scores"]["head"]
    assert figures.sweeps(measured([one])) == []


def test_similarity_by_epoch_through_all_phases(result: Make, history: Make) -> None:
    def entries(*values: float) -> list[dict[str, Any]]:
        return [{"negative_similarity": value, "positive_similarity": 1 - value} for value in values]

    cells = [
        # The start is no epoch.
        result(
            Cell("aecl", "tweet", 0, label="AECL"),
            history=[
                {"phase": "start", "epoch": 0, "losses": {}},
                *history("contrast", *entries(0.8, 0.6)),
                *history("joint", *entries(0.5)),
            ],
        ),
        # Another seed that ended sooner: a mean of all only as far as both go.
        result(Cell("aecl", "tweet", 1, label="AECL"), history=history("contrast", *entries(0.6, 0.2))),
        result(Cell("aecl", "agnews", 0, label="AECL"), history=history("contrast", *entries(0.1, 0.1, 0.1))),
        # A sweep is another figure.
        result(
            Cell("aecl", "tweet", 0, label="AECL", settings={"lambda1": 0}, varied="lambda1"),
            history=history("contrast", *entries(0.9)),
        ),
    ]
    (figure,) = figures.similarity(measured(cells))
    assert "AECL, Figure 6" in figure.title
    negative, positive = curves(figure)
    tweet = named(negative)["tweet"].points
    assert [point.x for point in tweet] == [1, 2]
    assert [point.y for point in tweet] == pytest.approx([0.7, 0.4])
    assert tweet[1].spread == pytest.approx(0.08**0.5)  # of 0.6 and 0.2
    assert [point.y for point in named(positive)["tweet"].points] == [pytest.approx(0.3), pytest.approx(0.6)]
    assert len(named(negative)["agnews"].points) == 3


def test_soft_labels_by_epoch(result: Make, history: Make) -> None:
    taught = [{"taught": {"acc": 0.5, "nmi": 0.25}}, {}, {"taught": {"acc": 0.75, "nmi": 0.5}}]
    (figure,) = figures.labels(measured([result(Cell("adsl", "tweet"), history=history("soft labels", *taught))]))
    assert "ADSL, Figure 4b" in figure.title
    acc, nmi = curves(figure)
    assert [(point.x, point.y) for point in acc.lines[0].points] == [(1, 50), (3, 75)]
    assert [point.y for point in nmi.lines[0].points] == [25, 50]


def test_stages_take_the_last_epoch_of_each_phase(result: Make, history: Make) -> None:
    told = [
        {"phase": "start", "epoch": 0, "losses": {}, "silhouette": 0.1, "dunn": None},
        *history("clustering", {"silhouette": 0.2, "dunn": 0.3}, {"silhouette": 0.4, "dunn": 0.5}),
        *history("hardening", {"silhouette": 0.6, "dunn": 0.7}),
    ]
    scores = {"acc": 0.5, "nmi": 0.25, "map": 0.125, "mrr": 0.75}
    kept = {"labels": ["a"], "stages": [{"phase": "start", "epoch": 0, "points": [[0, 0]], **scores}]}
    cells = [
        result(
            Cell("clusterbert", "bbc", label="no reconstruction", rows=50, settings={"ablation": "no-reconstruction"}),
            history=history("hardening", {"silhouette": 0.0, "dunn": 0.1}),
        ),
        result(Cell("clusterbert", "bbc", label="ClusterBERT", rows=50), history=told, stages=kept),
        # The values of a sweep are no seeds.
        result(Cell("clusterbert", "bbc", label="ClusterBERT", settings={"rounds": 1}, varied="rounds"), history=told),
    ]
    (figure,) = figures.stages(measured(cells))
    assert "ClusterBERT, Figures 3 and 4" in figure.title
    by_title = {panel.title: panel for panel in curves(figure)}
    assert list(by_title) == ["ACC", "NMI", "Silhouette", "Dunn index", "MAP", "MRR"]
    # The number of texts is said once, as both ways have it.
    assert "50 texts of a set at most" in figure.notes[0]
    assert "every text asks for those of its class" in figure.notes[1]
    assert by_title["Silhouette"].x_names == ["start", "clustering", "hardening"]
    lines = named(by_title["Silhouette"])
    assert [(point.x, point.y) for point in lines["bbc, ClusterBERT"].points] == [(0, 0.1), (1, 0.4), (2, 0.6)]
    assert [(point.x, point.y) for point in lines["bbc, no reconstruction"].points] == [(2, 0.0)]
    assert [point.x for point in named(by_title["Dunn index"])["bbc, ClusterBERT"].points] == [1, 2]
    shown = {title: by_title[title].lines[0].points[0].y for title in ("ACC", "NMI", "MAP", "MRR")}
    assert shown == {"ACC": 50, "NMI": 25, "MAP": 12.5, "MRR": 75}


def test_ways_that_differ_in_the_number_of_texts_say_so(result: Make, history: Make) -> None:
    told = [
        result(Cell("aecl", "tweet", label="AECL", rows=rows), history=history("contrast", {"silhouette": 0.5}))
        for rows in (50, 60)
    ]
    (figure,) = figures.stages(measured(told))
    assert [line.name for line in curves(figure)[0].lines] == ["tweet, AECL, rows=50", "tweet, AECL, rows=60"]


def stages(*phases: str, points: int = 3) -> dict[str, Any]:
    places = [[round(0.1 * number, 1), -0.5] for number in range(points)]
    return {
        "labels": [str(number % 11 + 1) for number in range(points)],
        "stages": [{"phase": phase, "epoch": 1, "points": places} for phase in phases],
    }


def test_maps_by_stage_and_by_method(result: Make) -> None:
    cells = [
        result(Cell("sccl", "tweet", 0, label="SCCL"), stages=stages("start", "joint")),
        result(Cell("aecl", "tweet", 1, label="AECL"), stages=stages("start", "contrast", "joint", points=2)),
        result(Cell("aecl", "tweet", 0, label="AECL"), stages=stages("start", "contrast", "joint", points=12)),
        result(Cell("aecl", "agnews", 0, label="AECL", rows=5), stages=stages("start", "joint")),
        result(Cell("tfidf+kmeans", "tweet")),
    ]
    made = {figure.stem: figure for figure in figures.maps(measured(cells))}
    assert set(made) == {
        "maps-sccl-tweet-SCCL", "maps-aecl-tweet-AECL", "maps-aecl-agnews-AECL-rows-5", "maps-sccl+aecl-tweet",
    }  # fmt: skip
    by_stage = made["maps-aecl-tweet-AECL"]
    assert by_stage.title == "t-SNE by stage"
    assert [panel.title for panel in by_stage.panels] == ["before training", "after contrast", "after joint"]
    # The first seed, numbers by size, and 12 of the 1,000 texts.
    first = by_stage.panels[0]
    assert isinstance(first, Cloud)
    assert by_stage.groups == [str(number) for number in range(1, 12)]
    assert first.groups == [*range(11), 0]
    assert first.places[3] == (0.3, -0.5)
    assert "12 of 1,000 texts" in by_stage.notes[0]
    assert "AECL on agnews" in made["maps-aecl-agnews-AECL-rows-5"].notes[0], "the note tells how many texts there are"
    assert [panel.title for panel in made["maps-sccl+aecl-tweet"].panels] == ["before training", "SCCL", "AECL"]


def test_only_the_comparison_of_a_paper_is_called_after_it(result: Make) -> None:
    def compared(*cells: Cell) -> dict[str, list[str]]:
        results = [result(cell, stages=stages("start", "joint")) for cell in cells]
        made = [figure for figure in figures.maps(measured(results)) if "by method" in figure.title]
        return {figure.title: [panel.title for panel in figure.panels[1:]] for figure in made}

    sccl, rstc, aecl, deccrl = (Cell(name, "tweet", label=name.upper()) for name in ("sccl", "rstc", "aecl", "deccrl"))
    without = Cell("deccrl", "tweet", label="w/o CRL", settings={"crl": None})
    both = {
        "t-SNE by method (after AECL, Figure 4)": ["SCCL", "RSTC", "AECL"],
        "t-SNE by method (after DECCRL, Figure 2)": ["SCCL", "DECCRL"],
    }
    assert compared(deccrl, aecl, rstc, sccl) == both
    assert compared(without, deccrl) == {"t-SNE by method": ["w/o CRL", "DECCRL"]}
    assert compared(sccl, without, deccrl) == {
        "t-SNE by method (after DECCRL, Figure 2)": ["SCCL", "DECCRL"],
        "t-SNE by method": ["w/o CRL", "DECCRL"],
    }
    # What has no part in a paper's comparison is compared by itself.
    uft, dec = Cell("uft", "tweet", label="UFT"), Cell("dec", "tweet", label="DEC")
    assert compared(sccl, uft, deccrl, dec) == {
        "t-SNE by method (after DECCRL, Figure 2)": ["SCCL", "DECCRL"],
        "t-SNE by method": ["UFT", "DEC"],
    }


def test_a_sweep_may_have_other_settings_for_each_set(result: Make) -> None:
    cells = [
        Cell("aecl", data, label="AECL", readout="head", settings={"lambda4": own, "lambda1": value}, varied="lambda1")
        for data, own in (("tweet", 0.09), ("agnews", 10))
        for value in (0, 5)
    ]
    (figure,) = figures.sweeps(measured(map(result, cells)))
    assert [line.name for line in curves(figure)[0].lines] == ["tweet", "agnews"]


def test_a_long_name_of_a_file_ends_with_a_word() -> None:
    panel = Curves("ACC", "x", "percent", [Line("a", [Point(0, 1)])])
    stem = made_figure(("sweeps", "word" * 5, "another " * 12), "t", [], [panel]).stem
    assert len(stem) <= LONGEST_STEM
    assert stem.endswith("-another")
    assert made_figure(("x" * 200,), "t", [], [panel]).stem == "x" * LONGEST_STEM


def test_the_start_is_called_as_the_loop_calls_it() -> None:
    from coterie.engine.loop import START

    assert figures.START == START


def test_every_kind_names_plans_that_are_there() -> None:
    for kind in KINDS.values():
        assert kind.plans
        for plan in kind.plans:
            assert (PLANS / f"{plan}.toml").exists()


def test_nothing_to_draw_says_what_gives_it(result: Make, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing to draw.*maps: not drawn.*aecl-figures-cpu.toml.*labels: not"):
        draw([result(Cell("tfidf+kmeans", "tweet"))], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_unknown_figure(result: Make, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'sweeps'"):
        draw([result(Cell("aecl", "tweet"))], tmp_path, "sweps")


def test_a_cell_that_is_not_whole(result: Make, tmp_path: Path) -> None:
    broken = result(Cell("aecl", "tweet"), stages={"labels": ["a"], "stages": [{"phase": "start"}]})
    with pytest.raises(ModelFormatError, match="Delete its file"):
        draw([broken], tmp_path)


def test_one_fit_with_its_stages_kept_and_without_is_one(result: Make) -> None:
    kept = result(Cell("aecl", "tweet", keep="stages"), stages=stages("start", "joint"))
    plain = result(Cell("aecl", "tweet"))
    for cells in ([kept, plain], [plain, kept]):
        (one,) = measured(cells)
        assert len(one.stages) == 2
    assert len(measured([plain, result(Cell("aecl", "tweet", seed=1))])) == 2
