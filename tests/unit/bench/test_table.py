"""Tables of hand-made cells: means, spreads, who is ahead, what is missing, and names that would break a page."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from coterie.bench.plan import Cell
from coterie.bench.render import RENDERERS, html, latex, markdown
from coterie.bench.table import build_table
from coterie.errors import ConfigError


def done(label: str, data: str, seed: int, acc: float, **more: Any) -> dict[str, Any]:
    scores = {"kept": {"acc": acc, "nmi": acc / 2}}
    scores |= {name: {"acc": value, "nmi": value} for name, value in more.pop("others", {}).items()}
    cell = Cell("m", data, seed, label=label, **more)
    return {"cell": cell.as_json(), "status": "done", "scores": scores, "versions": {"code": f"{seed % 2}"}}


def lost(label: str, data: str, seed: int, status: str) -> dict[str, Any]:
    return {"cell": Cell("m", data, seed, label=label).as_json(), "status": status, "error": "no"}


def texts(results: list[dict[str, Any]], **options: Any) -> dict[str, list[str]]:
    return {name: [entry.text for entry in row] for name, row in build_table(results, ["acc"], **options).rows}


def ahead(results: list[dict[str, Any]]) -> list[str]:
    return [name for name, row in build_table(results, ["acc"]).rows if row[0].ahead]


def test_mean_and_spread() -> None:
    results = [done("A", "tweet", seed, acc) for seed, acc in enumerate((0.5, 0.6, 0.7))]
    table = build_table(results, ["acc", "nmi"])
    assert table.columns == ["tweet acc", "tweet nmi"]
    assert [entry.text for entry in table.rows[0][1]] == ["60.0 ± 10.0", "30.0 ± 5.0"]
    assert "over 3 seeds" in table.notes[0]


def test_seeds_of_different_versions_are_told() -> None:
    results = [done("A", "tweet", 0, 0.5), done("A", "tweet", 1, 0.5), done("A", "agnews", 0, 0.5)]
    assert build_table(results, ["acc"]).notes[1].startswith("In 1 of 2 entries")
    assert len(build_table([done("A", "tweet", 0, 0.5), done("A", "tweet", 2, 0.5)], ["acc"]).notes) == 1


def test_a_seed_counts_once_with_its_stages_kept_or_not() -> None:
    results = [done("A", "tweet", 0, 0.5), done("A", "tweet", 0, 0.5, keep="stages"), done("A", "tweet", 2, 0.7)]
    assert texts(results) == {"A": ["60.0 ± 14.1"]}


@pytest.mark.parametrize("step", [1, -1])
def test_of_the_two_the_one_with_more_read_outs_counts(step: int) -> None:
    plain, further = done("A", "tweet", 0, 0.5), done("A", "tweet", 0, 0.5, keep="second-steps")
    further["scores"]["idec"] = {"acc": 0.25}
    assert texts([plain, further][::step], readout="idec") == {"A": ["25.0"]}


@pytest.mark.parametrize("step", [1, -1])
def test_of_the_two_what_was_run_counts(step: int) -> None:
    waiting = {"cell": Cell("m", "tweet", 0, label="A", keep="stages").as_json(), "status": "missing"}
    assert texts([done("A", "tweet", 0, 0.5), waiting][::step]) == {"A": ["50.0"]}


def test_two_ways_are_not_one_row() -> None:
    with pytest.raises(ConfigError, match=r"'A' on tweet: effort is fast and full\. Give each a label"):
        texts([done("A", "tweet", 0, 0.5), done("A", "tweet", 1, 0.7, effort="full")])


def test_files_of_one_name_are_two_columns() -> None:
    files = [{"file": f"{place}/reviews.csv", "text": "t", "label": "l"} for place in ("en", "de")]
    results = [done("A", file, 0, 0.5) for file in files]  # type: ignore[arg-type]
    assert build_table(results, ["acc"]).columns == ["en/reviews.csv (t, l) acc", "de/reviews.csv (t, l) acc"]


def test_one_seed_has_no_spread() -> None:
    assert texts([done("A", "tweet", 0, 0.5)]) == {"A": ["50.0"]}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((0.60, 0.62), (0.50, 0.52), ["A"]),  # 61.0 ± 1.4 and 51.0 ± 1.4
        ((0.60, 0.62), (0.58, 0.60), []),  # 59.6 is not above 60.4
        ((0.60, 0.80), (0.50, 0.52), ["A"]),  # 70.0 - 14.1 = 55.9 is above 51.0 + 1.4 = 52.4
        ((0.60, 0.80), (0.54, 0.56), []),  # but not above 55.0 + 1.4
        ((0.60,), (0.50,), []),  # no spread is known
        ((0.60, 0.62), (0.50,), ["A"]),  # 61.0 - 1.4 is above 50.0 + 1.4, the only spread that is known
        ((0.60, 0.62), (0.585,), []),  # 59.6 is not above 59.9
        ((0.90,), (0.50, 0.52), []),  # one seed is no mean
    ],
)
def test_ahead_only_beyond_the_spread(first: tuple[float, ...], second: tuple[float, ...], expected: list[str]) -> None:
    results = [
        done(name, "tweet", seed, acc) for name, accs in (("A", first), ("B", second)) for seed, acc in enumerate(accs)
    ]
    assert ahead(results) == expected
    assert ahead(results[::-1]) == expected


@pytest.mark.parametrize("what", ["failed", "missing"])
def test_a_row_that_lost_seeds_is_not_ahead(what: str) -> None:
    """They may have been its worse ones."""
    results = [done(name, "tweet", seed, acc) for name, acc in (("A", 0.6), ("B", 0.5)) for seed in (0, 1)]
    assert ahead(results) == ["A"]
    assert ahead([*results, lost("A", "tweet", 2, what)]) == []
    assert ahead([*results, lost("B", "tweet", 2, what)]) == ["A"]


def test_a_seed_without_the_read_out_is_a_lost_one() -> None:
    """A head that never learnt is left out: what the others have is no mean of all."""
    results = [
        done(name, "tweet", seed, 0.5, others={"head": acc + seed / 100}, readout="head")
        for name, acc in (("A", 0.8), ("B", 0.5))
        for seed in (0, 1)
    ]
    assert texts(results) == {"A": ["80.5 ± 0.7"], "B": ["50.5 ± 0.7"]}
    assert ahead(results) == ["A"]
    headless = done("A", "tweet", 2, 0.2, readout="head", others={"untrained": 0.1})
    assert texts([*results, headless])["A"] == ["80.5 ± 0.7 (1 without)"]
    assert ahead([*results, headless]) == []


def test_nobody_is_ahead_alone() -> None:
    assert ahead([done("A", "tweet", 0, 0.6), done("A", "tweet", 1, 0.7)]) == []


def test_failed_and_missing_cells_are_shown() -> None:
    results = [
        done("A", "tweet", 0, 0.5),
        done("A", "tweet", 1, 0.7),
        lost("A", "tweet", 2, "failed"),
        lost("A", "agnews", 0, "missing"),
        lost("B", "tweet", 0, "failed"),
        done("B", "agnews", 0, 0.4),
        lost("B", "agnews", 1, "missing"),
        done("C", "agnews", 0, 0.3),
    ]
    assert texts(results) == {
        "A": ["60.0 ± 14.1 (1 failed)", "missing"],
        "B": ["failed", "40.0 (1 missing)"],
        "C": ["", "30.0"],  # nobody planned it
    }


def test_read_outs() -> None:
    trained = done("A", "tweet", 0, 0.5, others={"head": 0.6, "kmeans": 0.7, "untrained": 0.4})
    as_planned = done("B", "tweet", 0, 0.5, others={"head": 0.6, "kmeans": 0.7}, readout="kmeans")
    plain = done("C", "tweet", 0, 0.3)
    untaught = done("D", "tweet", 0, 0.2, others={"untrained": 0.1})  # HAC-SD, TSDAE: neither head nor k-means
    results = [trained, as_planned, plain]
    assert texts([untaught], readout="kmeans") == {"D": [""]}
    assert texts(results) == {"A": ["50.0"], "B": ["70.0"], "C": ["30.0"]}
    assert texts(results, readout="head") == {"A": ["60.0"], "B": ["60.0"], "C": [""]}
    assert texts(results, readout="untrained") == {"A": ["40.0"], "B": [""], "C": ["30.0"]}


def test_published_rows_stand_below_and_are_never_marked() -> None:
    results = [done(name, "tweet", seed, 0.1 + seed / 100, paper="aecl:2") for name in ("A",) for seed in (0, 1)]
    table = build_table(results, ["acc"])
    rows = dict(table.paper_rows)
    assert rows["AECL (aecl, Table 2)"][0].text == "80.46"
    assert "STCC (aecl, Table 2)" not in rows, "not reported there"
    assert not any(entry.ahead for entries in rows.values() for entry in entries)
    assert "| AECL (aecl, Table 2) | 80.46 |" in markdown(table)


def test_published_rows_have_gaps() -> None:
    results = [done("A", data, 0, 0.5, paper="aecl:2") for data in ("tweet", "stackoverflow")]
    rows = dict(build_table(results, ["acc"]).paper_rows)
    assert [entry.text for entry in rows["STCC (aecl, Table 2)"]] == ["", "51.14"]


def test_published_numbers_are_printed_as_in_the_paper() -> None:
    table = build_table([done("A", "searchsnippets", 0, 0.5, paper="aecl:2")], ["nmi"])
    assert dict(table.paper_rows)["BOW (aecl, Table 2)"][0].text == "9.00"


def test_samples_and_encoders_are_rows_of_their_own() -> None:
    results = [
        done("A", "tweet", 0, 0.5),
        done("A", "tweet", 0, 0.7, rows=200),
        done("A", "tweet", 0, 0.9, encoder="x"),
    ]
    assert texts(results) == {"A": ["50.0"], "A, rows=200": ["70.0"], "A, encoder=x": ["90.0"]}


def test_every_note_is_a_paragraph() -> None:
    page = markdown(build_table([done("A", "tweet", 0, 0.5, paper="aecl:2")], ["acc"]))
    assert "not marked.\n\naecl, Table 2: " in page


def test_other_samples_are_named() -> None:
    notes = build_table([done("A", "bbc_sentences", 0, 0.5, paper="clusterbert:2")], ["acc"]).notes
    assert "BBC, 22k sentences, split unknown" in notes[1]
    assert "StackOverflow" not in notes[1]


@pytest.mark.parametrize(
    ("metrics", "readout", "said"),
    [
        (["ac"], None, "'ac' is not known: did you mean 'acc'"),
        ([], None, "no score"),
        (["acc"], "hed", "did you mean 'head'"),
    ],
)
def test_unknown_scores_and_read_outs(metrics: list[str], readout: str | None, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build_table([done("A", "tweet", 0, 0.5)], metrics, readout)


HOSTILE = "<script>alert('x')</script> | a_b & 5% \\ $c$ {d}\nnew **line**"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile() -> list[dict[str, Any]]:
    return [
        done(name, "tweet", seed, acc + seed / 100) for name, acc in ((HOSTILE, 0.9), ("B", 0.1)) for seed in (0, 1)
    ]


def test_html_escapes_everything() -> None:
    page = html(build_table(hostile(), ["acc"]))
    parser = Tags()
    parser.feed(page)
    assert "script" not in parser.tags
    assert "<script>alert('x')</script>" in parser.text
    assert parser.tags.count("strong") == 1
    assert parser.tags.count("td") == 2


def test_latex_escapes() -> None:
    table = latex(build_table(hostile(), ["acc"]))
    assert r"a\_b \& 5\% \textbackslash{} \$c\$ \{d\} new" in table
    assert r"\textbf{90.5 $\pm$ 0.7} \\" in table
    assert r"B & 10.5 $\pm$ 0.7 \\" in table


def test_markdown_escapes() -> None:
    table = markdown(build_table(hostile(), ["acc"]))
    assert r"\<script\>alert('x')\</script\> \| a\_b & 5% \\ $c$ {d} new \*\*line\*\* | **90.5 ± 0.7** |" in table
    assert "| B | 10.5 ± 0.7 |" in table


@pytest.mark.parametrize("name", list(RENDERERS))
def test_every_format_has_every_row(name: str) -> None:
    results = [done("A", "tweet", 0, 0.5, paper="aecl:2"), done("B", "agnews", 0, 0.25)]
    page = RENDERERS[name](build_table(results, ["acc", "nmi"]))
    for part in ("50.0", "12.5", "80.46", "AECL (aecl, Table 2)"):
        assert part in page
