"""Sources of one text a line or a record: CSV, tab-separated, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from coterie.bench.convert.rows import EMPTY_TEXT, Row, SourceFile, collapsed, columns_of, decoded, one_line, records_of
from coterie.errors import InputError

Options = Mapping[str, Any]


def named_columns(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """CSV with a header; the columns of the record in its order (AECL-STC, RSTC)."""
    for file in files:
        for label, *texts in columns_of(file, options["columns"]):
            yield (one_line(label), *(one_line(text) or EMPTY_TEXT for text in texts))


def texts_and_labels(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """Two files, line by line: the texts and the numbers of their classes (STC2)."""
    texts, labels = (_lines(file) for file in files)
    if len(texts) != len(labels):
        raise InputError(f"{len(texts):,} texts, but {len(labels):,} labels: the files are not of one set")
    for label, text in zip(labels, texts, strict=True):
        yield one_line(label), one_line(text)


def tab_separated(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """A label, a tab and a text on every line (short-text-clustering-enhancement)."""
    for file in files:
        for number, line in enumerate(_lines(file), start=1):
            label, tab, text = line.partition("\t")
            if not tab:
                raise InputError(f"{file.path}: line {number:,} has no tab between label and text")
            yield one_line(label), one_line(text)


def json_lines(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """One object a line with `text` and `cluster` (GSDMM)."""
    for file in files:
        for number, line in enumerate(_lines(file), start=1):
            try:
                entry = json.loads(line)
                label, text = str(entry["cluster"]), str(entry["text"])
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(f'{file.path}: line {number:,} is not {{"text": ..., "cluster": ...}}') from error
            yield one_line(label), one_line(text) or EMPTY_TEXT


def numbered_classes(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """CSV without a header: the number of the class from 1 on, then the parts of the text (AG News, DBpedia).

    In that corpus a backslash stands for a line break.
    """
    classes = options["classes"]
    for file in files:
        for number, (label, *parts) in enumerate(records_of(file, least=2), start=1):
            if not label.isdecimal() or not 1 <= int(label) <= len(classes):
                raise InputError(f"{file.path}: row {number:,} has class {label!r}, not 1 to {len(classes)}")
            yield classes[int(label) - 1], collapsed(" ".join(parts).replace("\\", " "))


def second_level(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """CSV without a header: first and second level of the ontology, text with escaped quotes and breaks (HierHash)."""
    for file in files:
        for _, label, text, *_ in records_of(file, least=3):
            yield one_line(label), collapsed(text.replace('\\"', '"').replace("\\n", " "))


def yelp(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """CSV with `text`, `label1` (Business Category: Bars) and `label2` (Review Stars: 4.0) (aug-pe)."""
    for file in files:
        for label, text in columns_of(file, [options["column"], "text"]):
            value = label.partition(": ")[2]
            yield collapsed(value.removesuffix(".0")), collapsed(text)


def trec(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """Latin-1 lines `COARSE:fine question`; the coarse class is kept (sent-conv-torch)."""
    for file in files:
        for line in _lines(file, "latin-1"):
            label, _, text = line.partition(" ")
            yield label.partition(":")[0], collapsed(text)


def askubuntu(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """One JSON document with `sentences`; the intent None would read as a missing value (NLU-Evaluation-Corpora)."""
    for file in files:
        try:
            sentences = [(str(entry["intent"]), str(entry["text"])) for entry in json.loads(decoded(file))["sentences"]]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{file.path}: this is no corpus with sentences, each with text and intent") from error
        for intent, text in sentences:
            yield ("Other" if intent == "None" else one_line(intent)), collapsed(text)


def _lines(file: SourceFile, encoding: str = "utf-8-sig") -> list[str]:
    """Only LF and CR LF end a line: other characters that could do so are part of a text."""
    return [line.removesuffix("\r") for line in decoded(file, encoding).removesuffix("\n").split("\n")]
