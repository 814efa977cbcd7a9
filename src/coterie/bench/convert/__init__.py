"""From the files of a public source to the rows of a data set.

A converter takes the source's files in the order of the record (those of an archive in the order of their paths) and
the record's options, and gives rows: a label, a text, and any other wordings of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from coterie.bench.convert import archives, reuters, tables
from coterie.bench.convert.rows import Row, SourceFile

Converter = Callable[[Iterable[SourceFile], Mapping[str, Any]], Iterator[Row]]

CONVERTERS: dict[str, Converter] = {
    "named_columns": tables.named_columns,
    "texts_and_labels": tables.texts_and_labels,
    "tab_separated": tables.tab_separated,
    "json_lines": tables.json_lines,
    "numbered_classes": tables.numbered_classes,
    "second_level": tables.second_level,
    "yelp": tables.yelp,
    "trec": tables.trec,
    "askubuntu": tables.askubuntu,
    "reuters": reuters.reuters,
    "bbc": archives.bbc,
    "bbc_sentences": archives.bbc_sentences,
    "newsgroups": archives.newsgroups,
    "reddit": archives.reddit,
}
