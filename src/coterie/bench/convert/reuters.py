"""Reuters-21578: SGML files of a thousand news each, of which the single-topic ones of the ModApte split are kept."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from coterie.bench.convert.rows import Row, SourceFile, collapsed, decoded
from coterie.errors import InputError

_DOCUMENT = re.compile(r"<REUTERS\b(?P<attributes>[^>]*)>(?P<inside>.*?)</REUTERS>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TOPIC = re.compile(r"<D>(.*?)</D>")
_SIGNATURE = re.compile(r"\s*\breuter\s*$", re.IGNORECASE)
_FILLER = "Blah blah blah."


class _News(NamedTuple):
    topic: str
    split: str
    text: str


def reuters(files: Iterable[SourceFile], options: Mapping[str, Any]) -> Iterator[Row]:
    """News with exactly one topic: of the classes of the record, or of those with training and test documents."""
    news = [entry for file in files for entry in _single_topic_news(file)]
    splits: dict[str, set[str]] = defaultdict(set)
    for entry in news:
        splits[entry.topic].add(entry.split)
    classes = options.get("classes") or [topic for topic, found in splits.items() if len(found) == 2]
    for entry in news:
        if entry.topic in classes:
            yield entry.topic, entry.text


def _single_topic_news(file: SourceFile) -> Iterator[_News]:
    documents = list(_DOCUMENT.finditer(decoded(file, "latin-1")))
    if not documents:
        raise InputError(f"{file.path}: there is no <REUTERS> document in it")
    for document in documents:
        attributes = dict(_ATTRIBUTE.findall(document["attributes"]))
        topics = _TOPIC.findall(_element("TOPICS", document["inside"]))
        split = attributes.get("LEWISSPLIT", "")
        if attributes.get("TOPICS") == "YES" and split in ("TRAIN", "TEST") and len(topics) == 1:
            yield _News(topics[0], split, _text(document["inside"]))


def _text(inside: str) -> str:
    """Title and body; where no body is marked, all of the text."""
    body = _element("BODY", inside)
    marked = f"{_element('TITLE', inside)} {body}" if body else re.sub(r"<[^>]*>", " ", _element("TEXT", inside))
    return collapsed(_SIGNATURE.sub("", _plain(marked)).removesuffix(_FILLER))


def _element(name: str, inside: str) -> str:
    found = re.search(rf"<{name}\b[^>]*>(.*?)</{name}>", inside, re.DOTALL)
    return found[1] if found else ""


def _plain(marked: str) -> str:
    # html.unescape drops references to control characters, of which the corpus is full, without leaving a space.
    return collapsed(html.unescape(re.sub(r"&#([0-9]|[12][0-9]|3[01]);", " ", marked)))
