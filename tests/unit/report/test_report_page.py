"""`report.html`: what is in it, that nothing in it can run, and that it is the same every time."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coterie
from coterie.report import build
from coterie.report.build import report_data, write_report
from coterie.report.page import page_script

ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'`{{7*7}}<!--<style>]]>\u2028&lt;"


class Elements(HTMLParser):
    """Every element with its attributes, and what stands in scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.last = tag
        if tag in self.inside:
            self.inside[tag].append("")

    def handle_data(self, data: str) -> None:
        if getattr(self, "last", "") in self.inside:
            self.inside[self.last][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.last = ""


def data_of(page: str) -> Any:
    packed = re.search(r'<script type="text/plain" id="data">([A-Za-z0-9+/=]+)</script>', page)
    assert packed
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


def numbers(packed: str, kind: str) -> list[Any]:
    return np.frombuffer(base64.b64decode(packed), dtype=kind).tolist()


def test_every_row_and_group_is_there(make_run: Any, clustering: coterie.Clustering) -> None:
    truth = [str(i % 3) for i in range(36)]
    run = make_run(clustering, columns={"theme": truth}, truth_column="theme", outliers_below=0.5)
    data = data_of(run.report_path.read_text("utf-8"))
    assert data["texts"] == clustering.texts
    assert numbers(data["points"]["group"], "<u4") == clustering.labels.tolist()
    assert numbers(data["points"]["row"], "<u4") == list(range(36))
    assert numbers(data["points"]["confidence"], "<f4") == pytest.approx(clustering.confidence.tolist())
    x = np.array(numbers(data["points"]["x"], "<u2")) / 65535 * 2 - 1
    y = np.array(numbers(data["points"]["y"], "<u2")) / 65535 * 2 - 1
    np.testing.assert_allclose(np.column_stack([x, y]), clustering.map, atol=2e-5)
    assert [group["name"] for group in data["groups"]] == [group.name for group in clustering.groups]
    for group in clustering.groups:
        own = clustering.confidence[clustering.labels == group.id]
        assert data["groups"][group.id]["histogram"] == np.histogram(own, 20, (0, 1))[0].tolist()
    assert data["hierarchy"] == [list(merge) for merge in clustering.hierarchy.merges]
    assert data["config"]["outliers_below"] == 0.5
    assert numbers(data["truth"]["codes"], "<u4") == [i % 3 for i in range(36)]
    assert np.sum(data["truth"]["table"]) == 36


def test_the_classes_stand_beside_their_groups() -> None:
    assert build._beside_their_groups(np.array([[0, 9, 1], [1, 0, 8], [7, 2, 0], [1, 1, 1]])) == [2, 0, 1, 3]


def test_the_policy_lets_through_this_script_and_style_and_nothing_else(make_run: Any, clustering: Any) -> None:
    page = Elements(make_run(clustering).report_path.read_text("utf-8"))
    (policy,) = [at["content"] for _, at in page.found if at.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    hashes = {
        name: "'sha256-" + base64.b64encode(hashlib.sha256(page.inside[name][-1].encode()).digest()).decode() + "'"
        for name in ("script", "style")
    }
    assert rules == {
        "default-src": "'none'",
        "script-src": hashes["script"],
        "style-src": hashes["style"],
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert not any(name.startswith("on") or name in ("style", "src") for _, at in page.found for name in at)
    assert [at["href"] for _, at in page.found if "href" in at and not at["href"].startswith("#")] == ["data:,"]


def test_no_field_can_leave_its_place(make_run: Any, small_texts: list[str]) -> None:
    texts = [ATTACK + text for text in small_texts]
    hostile = coterie.cluster(texts, n_clusters=3, method="tfidf+kmeans")
    calm = Elements(make_run(coterie.cluster(small_texts, n_clusters=3, method="tfidf+kmeans")).report_path.read_text())
    run = make_run(hostile, ATTACK, {ATTACK + "2": [ATTACK] * 36}, ATTACK + "2", "<b>" + ATTACK.replace("/", "\\"))
    page = Elements(run.report_path.read_text("utf-8"))
    assert [tag for tag, _ in page.found] == [tag for tag, _ in calm.found]
    assert page.inside["script"][1:] == calm.inside["script"][1:] == [page_script()]
    assert "<b>" + ATTACK.replace("/", "\\") in page.inside["title"][0]
    data = data_of(run.report_path.read_text("utf-8"))
    assert data["texts"] == texts
    assert data["config"]["input"]["text_column"] == ATTACK


def test_our_script_cannot_end_its_own_element() -> None:
    assert "</" not in page_script().replace("</script", "</") or not re.search(r"</script|<!--", page_script(), re.I)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function", page_script())


def test_the_same_run_gives_the_same_page(make_run: Any, clustering: Any, tmp_path: Path) -> None:
    run = make_run(clustering)
    write_report(run, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == run.report_path.read_bytes()


def test_very_many_rows_are_shown_by_an_even_sample(
    make_run: Any, clustering: coterie.Clustering, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(clustering)
    monkeypatch.setattr(build, "MOST_ROWS", 10)
    data = report_data(run)
    rows = numbers(data["points"]["row"], "<u4")
    assert (len(rows), rows[0], rows[-1], data["rows"]) == (10, 0, 35, 36)
    assert data["texts"] == [clustering.texts[row] for row in rows]
    assert sum(sum(group["histogram"]) for group in data["groups"]) == 36


def test_long_texts_are_shortened_and_many_classes_joined(
    make_run: Any, clustering: coterie.Clustering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "LONGEST_TEXT", 12)
    monkeypatch.setattr(build, "MOST_CLASSES", 5)
    data = report_data(make_run(clustering, columns={"id": list(range(36))}, truth_column="id"))
    assert max(map(len, data["texts"])) == 12
    assert data["texts"][0].endswith("…")
    assert data["truth"]["names"][-1] == "all others"
    assert [sum(row) for row in data["truth"]["table"]] == [1, 1, 1, 1, 32]


def test_a_history_with_numbers_that_are_none(make_run: Any, clustering: Any) -> None:
    run = make_run(clustering)
    (run.folder / "history.jsonl").write_text('{"phase": "joint", "epoch": 1, "losses": {"total": NaN}}\n')
    assert report_data(run)["history"][0]["losses"] == {"total": None}
    write_report(run, run.report_path)
