"""Benchmark texts on this machine: where they are, whether they are the right ones, how to get and how to read them."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from coterie.bench.records import DataSet, data_set
from coterie.errors import ConfigError, InputError
from coterie.types import Progress, silent

if TYPE_CHECKING:
    from coterie.bench.plan import Cell

State = Literal["ready", "other bytes", "not checked", "not readable", "not here"]
Checked = Literal["file", "content"]
SHUFFLED_WITH = 12345


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with their true classes, and other wordings of them where the set has any."""

    labels: list[str]
    texts: list[str]
    views: tuple[list[str], ...] = ()


def data_folder() -> Path:
    """`COTERIE_DATA` if set, else a folder of the user's."""
    given = os.environ.get("COTERIE_DATA")
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_DATA_HOME", "~/.local/share")).expanduser() / "coterie"


def path_of(record: DataSet) -> Path:
    """Where the set is, in the folder or in one of its subfolders; where it would be if it were here."""
    folder = data_folder()
    sorted_in = [] if (folder / record.file_name).is_file() else sorted(folder.glob(f"*/{record.file_name}"))
    return sorted_in[0] if sorted_in else folder / record.file_name


def state_of(record: DataSet) -> State:
    """Whether the set is here, with the bytes of the record."""
    path = path_of(record)
    if not path.is_file():
        return "not here"
    if record.sha256 is None:
        return "not checked"
    try:
        packed = path.read_bytes()
    except OSError:
        return "not readable"
    return "ready" if check_bytes(record, packed) else "other bytes"


def check_bytes(record: DataSet, packed: bytes) -> Checked | None:
    """What of a gzip file is as recorded: its own bytes, or at least its content; None where neither is.

    Another build of zlib may compress the same content to other bytes.
    """
    if hashlib.sha256(packed).hexdigest() == record.sha256:
        return "file"
    try:
        content = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):
        return None
    return "content" if hashlib.sha256(content).hexdigest() == record.content_sha256 else None


def load(name: str) -> LabelledTexts:
    """A known set, in an order that does not follow the labels: the one way in which measurements read it."""
    record = data_set(name)
    path = path_of(record)
    if not path.is_file():
        raise InputError(_missing(record, path))
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: this file cannot be read ({error.strerror}).") from error
    if record.sha256 is not None and check_bytes(record, packed) is None:
        raise InputError(
            f"{path}: these are not the bytes of {name!r} (sha256 {hashlib.sha256(packed).hexdigest()[:12]}..., not "
            f"{record.sha256[:12]}...). Move the file away, then `coterie datasets get {name}`."
        )
    labels, texts, *views = (list(column) for column in zip(*_rows(packed, path), strict=True))
    return _shuffled(LabelledTexts(labels, texts, tuple(views)))


def check_columns(named: Mapping[str, str]) -> None:
    """Whether a file of the user's own has the columns that are named."""
    from coterie.data.columns import check_column
    from coterie.data.readers import open_table

    with open_table(named["file"]) as table:
        first = next(table.batches(1))
        for option in ("text", "label"):
            check_column(first, named[option], table.name, option)


def load_file(named: Mapping[str, str]) -> LabelledTexts:
    """A file of the user's own, its columns named, in such an order too: files are often sorted by label."""
    from coterie.data.check import texts_of, values_of
    from coterie.data.columns import check_column
    from coterie.data.readers import open_table

    with open_table(named["file"]) as table:
        frame, name = table.read(), table.name
    labels = values_of(frame, check_column(frame, named["label"], name, "label"), name)
    return _shuffled(LabelledTexts([str(label) for label in labels], texts_of(frame, named["text"], name)))


def files_read(cell: Cell) -> dict[str, str]:
    """The user's own files that a cell reads, by what its result calls their sha256. A known set has it on record."""
    texts = {} if isinstance(cell.data, str) else {"file_sha256": cell.data["file"]}
    return texts if cell.word_vectors is None else {**texts, "word_vectors_sha256": cell.word_vectors}


def digests(cell: Cell) -> dict[str, str | None]:
    """The sha256 of each of them as it is now."""
    return {name: _sha256_of(path) for name, path in files_read(cell).items()}


def _sha256_of(path: str) -> str | None:
    from coterie.features.checkpoints import sha256_of

    try:
        return sha256_of(Path(path))
    except OSError:  # which is said in full when the file is read
        return None


def _shuffled(data: LabelledTexts) -> LabelledTexts:
    import numpy as np

    order = np.random.default_rng(SHUFFLED_WITH).permutation(len(data.texts))
    labels, texts, *views = ([column[row] for row in order] for column in (data.labels, data.texts, *data.views))
    return LabelledTexts(labels, texts, tuple(views))


def get(name: str, progress: Progress = silent) -> tuple[Path, Checked]:
    """Downloads a set from its public source, converts it, checks it and puts it in the folder, or leaves nothing."""
    from coterie.bench.convert import CONVERTERS
    from coterie.bench.convert.rows import gzip_bytes, tsv_bytes
    from coterie.bench.download import source_files
    from coterie.data.atomic import atomic_file

    record = data_set(name)
    path = path_of(record)
    if record.source is None:
        raise ConfigError(_missing(record, path))
    try:
        with source_files(record.source, progress) as files:
            rows = list(CONVERTERS[record.source.converter](files, record.source.options))
    except InputError as error:
        raise InputError(f"{error} Or {_copied(record, path)}") from error
    progress("converting", 0, 1)
    packed = gzip_bytes(tsv_bytes(record.headings, rows))
    checked = check_bytes(record, packed)
    if checked is None:
        raise InputError(
            f"{name}: what {record.source.repository} gave makes {len(rows):,} rows and other bytes than the "
            f"{record.rows:,} rows that were measured. Nothing was written. The source has changed, or our converter "
            f"does not read it rightly: please report it. {_put_there(record, path)}"
        )
    make_folder(path.parent)
    with atomic_file(path) as file:
        file.write(packed)
    progress("converting", 1, 1)
    return path, checked


def make_folder(folder: Path) -> None:
    from coterie.data.atomic import writing_errors_named

    with writing_errors_named(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)


def _rows(packed: bytes, path: Path) -> Sequence[Sequence[str]]:
    try:
        lines = gzip.decompress(packed).decode("utf-8").removesuffix("\n").split("\n")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: this is not a gzip file of UTF-8 text ({error}).") from error
    columns = lines[0].count("\t")
    for number, line in enumerate(lines, start=1):
        if columns < 1 or line.count("\t") != columns:
            raise InputError(f"{path}: line {number:,} is not a label, a tab and a text like the others.")
    if len(lines) < 2:
        raise InputError(f"{path}: there is no row below the header.")
    return [line.split("\t") for line in lines[1:]]


def _missing(record: DataSet, path: Path) -> str:
    if record.source is None:
        return f"{record.name}: this set is licensed ({record.licence}). {record.how_to_get} {_put_there(record, path)}"
    return (
        f"{path}: the data set {record.name!r} is not here. With a network: `coterie datasets get {record.name}`. "
        f"Without: {_copied(record, path)}"
    )


def _copied(record: DataSet, path: Path) -> str:
    get = f"coterie datasets get {record.name}"
    return f"run `{get}` on a machine with a network and copy the file. {_put_there(record, path)}"


def _put_there(record: DataSet, path: Path) -> str:
    header = "<TAB>".join(record.headings)
    form = f"gzip of UTF-8 lines: a header `{header}`, then {len(record.headings)} columns on each line, no quoting"
    check = f", sha256 {record.sha256}" if record.sha256 else ""
    return f"Put the file {path} there yourself ({form}{check}), or point COTERIE_DATA at the folder that has it."
