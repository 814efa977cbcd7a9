"""Downloads from a server of our own: whole and checked, or an error and nothing written."""

from __future__ import annotations

import csv
import errno
import gzip
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from coterie.bench import data, download
from coterie.bench.convert.rows import gzip_bytes
from coterie.bench.records import DataSet, Source, data_sets
from coterie.errors import ConfigError, InputError

REVISION = "0" * 40
CSV = b"label,text0,text1\n1,first text,x\n2,second text,y\n"
CONTENT = b"label\ttext\n1\tfirst text\n2\tsecond text\n"


class Pages(BaseHTTPRequestHandler):
    """Answers by path: (status, body, length that is announced); several answers are given one after the other."""

    answers: ClassVar[dict[str, list[tuple[int, bytes, int | None]]]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        waiting = self.answers.get(self.path, [(404, b"gone", None)])
        status, body, announced = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        self.send_response(status)
        if announced != -1:
            self.send_header("Content-Length", str(len(body) if announced is None else announced))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(autouse=True)
def _usual_cells() -> Iterator[None]:
    """The csv module has one limit for all: readers of user's files may have raised it."""
    before = csv.field_size_limit(131_072)
    yield
    csv.field_size_limit(before)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Pages]]:
    Pages.answers, Pages.asked = {}, []
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        address = f"http://127.0.0.1:{running.server_port}"
        for name, value in {"FILES_AT": address, "ARCHIVES_AT": address, "WAITS": (0.0, 0.0)}.items():
            monkeypatch.setattr(download, name, value)
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield Pages
        running.shutdown()


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> DataSet:
    """A set of two rows; the folder of data sets is empty."""
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path / "data"))
    packed = gzip_bytes(CONTENT)
    source = Source(
        "owner/name", REVISION, ("a folder/two.csv",), "named_columns", options={"columns": ["label", "text0"]}
    )
    made = DataSet(
        "two", "two texts", "none", "nobody", 2, 2,
        hashlib.sha256(packed).hexdigest(), hashlib.sha256(CONTENT).hexdigest(), source,
    )  # fmt: skip
    known = {**data_sets(), "two": made}
    monkeypatch.setattr("coterie.bench.records.data_sets", lambda: known)
    return made


PATH = f"/owner/name/{REVISION}/a%20folder/two.csv"
ARCHIVE = f"/owner/name/tar.gz/{REVISION}"


def nothing_was_written(folder: Path) -> bool:
    return not (folder / "data").exists()


def test_get_and_load(server: type[Pages], record: DataSet, tmp_path: Path) -> None:
    server.answers[PATH] = [(200, CSV, None)]
    path, checked = data.get("two")
    assert path == tmp_path / "data" / "two.tsv.gz"
    assert checked == "file"
    assert [entry.name for entry in path.parent.iterdir()] == ["two.tsv.gz"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == record.sha256
    assert data.state_of(record) == "ready"
    loaded = data.load("two")
    assert sorted(zip(loaded.labels, loaded.texts, strict=True)) == [("1", "first text"), ("2", "second text")]


def test_other_bytes_of_the_same_content_are_known(server: type[Pages], record: DataSet, monkeypatch: Any) -> None:
    server.answers[PATH] = [(200, CSV, None)]
    other = replace(record, sha256="0" * 64)
    monkeypatch.setattr("coterie.bench.records.data_sets", lambda: {"two": other})
    assert data.get("two")[1] == "content"
    assert data.state_of(other) == "ready"
    assert len(data.load("two").texts) == 2


def test_another_try_after_a_passing_failure(server: type[Pages], record: DataSet) -> None:
    server.answers[PATH] = [(503, b"busy", None), (200, CSV[:20], len(CSV)), (200, CSV, None)]
    assert data.get("two")[1] == "file"
    assert server.asked == [PATH] * 3


@pytest.mark.parametrize(
    ("answer", "said", "tries"),
    [
        ((200, CSV[:20], len(CSV)), r"download ended after 20 of 49 bytes|IncompleteRead|download failed", 3),
        ((503, b"busy", None), "the server answered 503", 3),
        ((404, b"gone", None), "the server answered 404", 1),
        ((200, b"", None), "nothing came back", 3),
        ((200, b"\n<!DOCTYPE html><p>Please log in", None), "a web page came back", 1),
        ((200, b"<HTML><p>Error", None), "a web page came back", 1),
        ((200, CSV.replace(b"first", b"other"), None), "makes 2 rows and other bytes than the 2 rows", 1),
        ((200, CSV + b"3,third,z\n", None), "makes 3 rows and other bytes", 1),
        ((200, CSV[:19], None), "row 1 has 1 columns", 1),
        ((200, CSV + b'3,"' + b"x" * 200_000, None), "row 4 cannot be read", 1),
        ((200, b"\x00\xff\xfe" * 9, None), "is not utf-8", 1),
    ],
)
def test_broken_and_hostile_answers(
    answer: tuple[int, bytes, int | None], said: str, tries: int, server: type[Pages], record: DataSet, tmp_path: Path
) -> None:
    server.answers[PATH] = [answer]
    with pytest.raises(InputError, match=said) as error:
        data.get("two")
    assert len(server.asked) == tries
    assert nothing_was_written(tmp_path)
    assert str(tmp_path / "data" / "two.tsv.gz") in str(error.value)  # and what to put where
    assert str(record.sha256) in str(error.value)


@pytest.mark.parametrize("announced", [None, -1])
def test_too_large(
    announced: int | None, server: type[Pages], record: DataSet, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(download, "LARGEST_FILE", 40)
    server.answers[PATH] = [(200, CSV, announced)]
    with pytest.raises(InputError, match="more than 40 bytes"):
        data.get("two")
    assert nothing_was_written(tmp_path)


def test_no_network(record: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download, "FILES_AT", "http://127.0.0.1:9")
    monkeypatch.setattr(download, "WAITS", ())
    with pytest.raises(InputError, match=r"Is there a network\?.*Put the file .*two\.tsv\.gz there yourself"):
        data.get("two")
    assert nothing_was_written(tmp_path)


def packed_archive(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("name-000/bbc/tech/9.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return made.getvalue()


def test_an_archive_is_read_in_the_order_of_its_paths(server: type[Pages], tmp_path: Path) -> None:
    files = {
        "name-000/bbc/tech/2.txt": b"B",
        "name-000/bbc/art/10.txt": b"A",
        "name-000/bbc/README.txt": b"no",
        "name-000/bbc/tech/more/1.txt": b"no",
        "name-000/bbc/tech/3.csv": b"no",
    }
    server.answers[ARCHIVE] = [(200, packed_archive(files), None)]
    source = Source("owner/name", REVISION, ("bbc/*/*.txt",), "bbc", archive=True)
    with download.source_files(source) as found:
        assert [tuple(file) for file in found] == [("bbc/art/10.txt", b"A"), ("bbc/tech/2.txt", b"B")]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (packed_archive({"n/bbc/a/1.txt": b"x" * 9999})[:-40], "the archive is damaged"),
        (b"not an archive at all", "the archive is damaged"),
        (gzip.compress(b"neither is this", mtime=0), "the archive is damaged"),
        (packed_archive({"n/other.txt": b"x"}), "there is no file bbc/"),
    ],
)
def test_broken_archives(body: bytes, said: str, server: type[Pages]) -> None:
    server.answers[ARCHIVE] = [(200, body, None)]
    source = Source("owner/name", REVISION, ("bbc/*/*.txt",), "bbc", archive=True)
    with pytest.raises(InputError, match=said), download.source_files(source) as found:
        list(found)


def test_the_addresses_are_those_of_the_public_source() -> None:
    known = data_sets()["tweet"].source
    assert known is not None
    address = download.address_of(known, known.paths[0])
    assert address == (
        "https://raw.githubusercontent.com/YZH0905/AECL-STC/45f938637bb974b615fc46949fb26dada094d0ca/"
        "prepare_data/augmented%20data/tweet.csv"
    )


def test_a_set_that_is_not_here(record: DataSet, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        data.load("two")
    for part in (
        str(tmp_path / "data" / "two.tsv.gz"),
        "run `coterie datasets get two` on a machine with a network and copy the file",
        "`label<TAB>text`",
        str(record.sha256),
    ):
        assert part in str(error.value)


def test_the_header_is_that_of_the_set(record: DataSet) -> None:
    with pytest.raises(InputError, match="`label<TAB>text<TAB>context1<TAB>context2`, then 4 columns"):
        data.load("agnews_context10")


def test_sets_may_be_sorted_into_folders(record: DataSet, tmp_path: Path) -> None:
    sorted_into = tmp_path / "data" / "some paper"
    sorted_into.mkdir(parents=True)
    (sorted_into / "two.tsv.gz").write_bytes(gzip_bytes(CONTENT))
    assert data.state_of(record) == "ready"
    assert sorted(data.load("two").labels) == ["1", "2"]
    # What lies in the folder itself comes first.
    (tmp_path / "data" / "two.tsv.gz").write_bytes(b"something else")
    assert data.state_of(record) == "other bytes"


def test_a_licensed_set(record: DataSet, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"licensed.*Ask NIST.*reuters10k\.tsv\.gz there yourself"):
        data.get("reuters10k")
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "reuters10k.tsv.gz").write_bytes(gzip.compress(b"label\ttext\nCCAT\ta\nGCAT\tb\n", mtime=0))
    assert sorted(data.load("reuters10k").labels) == ["CCAT", "GCAT"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"not gzip", "these are not the bytes of 'two'"),
        (gzip.compress(CONTENT + b"3\tx\n", mtime=0), "these are not the bytes of 'two'"),
    ],
)
def test_a_file_with_other_bytes(content: bytes, said: str, record: DataSet, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "two.tsv.gz").write_bytes(content)
    assert data.state_of(record) == "other bytes"
    with pytest.raises(InputError, match=said):
        data.load("two")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"not gzip", "not a gzip file"),
        (gzip.compress(b"label\ttext\n1\ta\tb\n", mtime=0), "line 2 is not a label"),
        (gzip.compress(b"label\n", mtime=0), "line 1 is not a label"),
        (gzip.compress(b"label\ttext\n", mtime=0), "no row below the header"),
        (gzip.compress(b"label\ttext\n1\t\xff\n", mtime=0), "not a gzip file of UTF-8"),
    ],
)
def test_a_local_copy_that_cannot_be_read(content: bytes, said: str, record: DataSet, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "fisher.tsv.gz").write_bytes(content)
    with pytest.raises(InputError, match=said):
        data.load("fisher")


def test_a_full_disk_is_no_fault_of_the_network(
    server: type[Pages], record: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers[PATH] = [(200, CSV, None)]

    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "_copy", full)
    with pytest.raises(InputError, match=r"No space left on device\. Make room there"):
        data.get("two")
    assert server.asked == [PATH], "another attempt would be in vain"
    assert nothing_was_written(tmp_path)


def test_a_file_that_may_not_be_read(record: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    path = data.path_of(record)
    path.parent.mkdir()
    path.write_bytes(gzip_bytes(CONTENT))

    def refused(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refused)
    assert data.state_of(record) == "not readable"
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)"):
        data.load("two")
