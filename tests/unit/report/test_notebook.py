"""A clustering in a notebook: a table with a map, and nothing that runs."""

from __future__ import annotations

from html.parser import HTMLParser

import coterie
from coterie.report import notebook

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'{{7*7}}"


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


def test_a_row_for_each_group_and_a_point_for_each_text(clustering: coterie.Clustering) -> None:
    html = clustering._repr_html_()
    assert Tags(html).tags.count("tr") == 1 + 3
    assert html.count("h0") == 36
    for group in clustering.groups:
        assert ", ".join(word for word, _ in group.words[:6]) in html


def test_texts_cannot_run(small_texts: list[str]) -> None:
    hostile = coterie.cluster([ATTACK + text for text in small_texts], n_clusters=3, method="tfidf+kmeans")
    shown = Tags(hostile._repr_html_())
    assert not {"script", "img"} & set(shown.tags)
    assert not any(name.startswith("on") for name in shown.names)
    assert ATTACK in shown.words


def test_many_points_and_groups_stay_small(clustering: coterie.Clustering, monkeypatch: object) -> None:
    monkeypatch.setattr(notebook, "MOST_POINTS", 10)  # type: ignore[attr-defined]
    monkeypatch.setattr(notebook, "MOST_GROUPS", 2)  # type: ignore[attr-defined]
    html = clustering._repr_html_()
    assert html.count("h0") == 10
    assert "and 1 smaller groups" in html
