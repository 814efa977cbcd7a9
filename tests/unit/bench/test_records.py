"""The records of the data sets, and the bytes that they promise."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from pathlib import Path

import pytest

from coterie.bench.convert import CONVERTERS
from coterie.bench.convert.rows import gzip_bytes
from coterie.bench.data import check_bytes
from coterie.bench.records import DataSet, data_set, data_sets
from coterie.errors import ConfigError

NAMES = list(data_sets())


@pytest.mark.parametrize("name", NAMES)
def test_every_record_is_complete(name: str) -> None:
    record = data_set(name)
    assert record.about
    assert record.licence
    assert record.citation
    assert record.classes > 1
    if record.source is None:
        assert record.how_to_get
        assert record.sha256 is None
        return
    assert record.rows
    assert record.sha256
    assert record.content_sha256
    assert re.fullmatch(r"[0-9a-f]{64}", record.sha256)
    assert re.fullmatch(r"[0-9a-f]{64}", record.content_sha256)
    assert re.fullmatch(r"[0-9a-f]{40}", record.source.revision)
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", record.source.repository)
    assert record.source.converter in CONVERTERS
    assert record.source.paths
    assert record.source.archive == any("*" in path for path in record.source.paths)


def test_the_sets_that_the_papers_use_are_known() -> None:
    eight = {"agnews", "searchsnippets", "stackoverflow", "biomedical", "googlenews_ts", "googlenews_t", "googlenews_s"}
    others = {"tweet", "trec6", "dbpedia14", "yelp5", "bbc_sentences", "reuters_r8", "reuters10k", "fisher"}
    assert eight | others <= set(NAMES)


def test_an_unknown_name_brings_up_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'stackoverflow'"):
        data_set("stackoverflw")


def here(record: DataSet) -> Path:
    """The file of a set, in COTERIE_DATA or a folder beside it; these texts are no part of the repository."""
    folder = os.environ.get("COTERIE_DATA")
    found = list(Path(folder).parent.glob(f"*/{record.file_name}")) if folder else []
    if not found:
        pytest.skip(f"{record.file_name} is not here")
    return found[0]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "reddit_titles_1m" and data_set(name).sha256])
def test_the_writer_gives_the_bytes_of_the_record(name: str) -> None:
    record = data_set(name)
    packed = here(record).read_bytes()
    content = gzip.decompress(packed)
    assert hashlib.sha256(packed).hexdigest() == record.sha256
    assert hashlib.sha256(content).hexdigest() == record.content_sha256
    lines = content.decode("utf-8").split("\n")[1:-1]
    assert len(lines) == record.rows
    assert len({line.split("\t")[0] for line in lines}) == record.classes
    # Another zlib may pack the same content differently: it must then still be recognised.
    assert check_bytes(record, gzip_bytes(content)) in ("file", "content")
    assert check_bytes(record, gzip.compress(content + b"1\tone more\n", 1)) is None


def test_same_content_same_bytes() -> None:
    packed = gzip_bytes(b"label\ttext\n1\ta\n")
    assert packed[:10] == bytes.fromhex("1f8b08000000000002ff")  # no name, no time, level 9, system unknown
    assert gzip.decompress(packed) == b"label\ttext\n1\ta\n"
