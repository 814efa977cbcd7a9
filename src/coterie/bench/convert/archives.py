"""Sources of many files: BBC articles, the 20 newsgroups, titles of Reddit."""

from __future__ import annotations

import html
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from coterie.bench.convert.rows import Row, SourceFile, collapsed, columns_of, decoded, one_line
from coterie.errors import InputError

Options = Mapping[str, Any]
Item = TypeVar("Item")

LEAST_WORDS_OF_A_SENTENCE = 5
LEAST_WORDS_OF_A_TITLE = 3
LARGEST_REDDIT_FILE = 4 << 20
"""Larger files were not part of the source that the set was first made from."""

_SENTENCE_END = re.compile(r"""(?:(?<=[.!?])|(?<=[.!?]["']))\s+(?=["'(]?[A-Z0-9])""")
_QUOTATION = re.compile(r"(writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>)")


def bbc(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """`bbc/CLASS/NUMBER.txt`, the title in the first line."""
    for file in files:
        yield _folder(file), collapsed(html.unescape(_western(file)))


def bbc_sentences(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """Sentences of the bodies, each once in its class, of which a sample is kept in the source's order."""
    sentences: dict[Row, None] = {}
    for file in files:
        _, _, body = html.unescape(_western(file)).partition("\n")
        for line in body.splitlines():
            for sentence in _SENTENCE_END.split(collapsed(line)):
                if len(sentence.split()) >= LEAST_WORDS_OF_A_SENTENCE:
                    sentences[_folder(file), sentence] = None
    rows = list(sentences)
    kept = sorted(_sample(range(len(rows)), options["sample"], "sentences"))
    yield from (rows[index] for index in kept)


def newsgroups(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """Posts `SPLIT/GROUP/NUMBER` without header, footer and quotations, in the way of scikit-learn."""
    for file in files:
        _, _, body = decoded(file, "latin-1").partition("\n\n")
        text = collapsed(without_quotations(without_footer(body)))
        if text:
            yield _folder(file), text


def reddit(files: Iterable[SourceFile], options: Options) -> Iterator[Row]:
    """`data/SUBREDDIT.csv`: titles of three words or more, each once, none for adults; a sample in random order."""
    titles: dict[str, str] = {}
    for file in files:
        if len(file.data) > LARGEST_REDDIT_FILE:
            continue
        subreddit = file.path.rpartition("/")[2].removesuffix(".csv")
        for written, over_18 in columns_of(file, ["title", "over_18"]):
            title = collapsed(html.unescape(written))
            if over_18 != "True" and len(title.split()) >= LEAST_WORDS_OF_A_TITLE:
                titles.setdefault(title, subreddit)
    yield from ((subreddit, title) for title, subreddit in _sample(list(titles.items()), options["sample"], "titles"))


def without_footer(text: str) -> str:
    """The text up to its last empty line or line of dashes, where a signature is taken to begin."""
    lines = text.strip().split("\n")
    for number in range(len(lines) - 1, 0, -1):
        if lines[number].strip().strip("-") == "":
            return "\n".join(lines[:number])
    return text


def without_quotations(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not _QUOTATION.search(line))


def _sample(population: Sequence[Item], size: int, what: str) -> list[Item]:
    if len(population) < size:
        raise InputError(f"the source has {len(population):,} {what}, fewer than the {size:,} of the set")
    return random.Random(0).sample(population, size)


def _folder(file: SourceFile) -> str:
    return one_line(file.path.split("/")[-2])


def _western(file: SourceFile) -> str:
    try:
        return file.data.decode("utf-8")
    except UnicodeDecodeError:
        return decoded(file, "latin-1")
