"""Vectors of single words: from a file (word2vec text or binary, GloVe), the encoder, or the texts themselves."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from coterie.errors import InputError
from coterie.features.tokens import Tokens
from coterie.types import Matrix, Progress, silent
from coterie.vectors import unit_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from coterie.features.transformer import TransformerEncoder

LONGEST_WORD_BYTES = 1000
WIDEST = 100_000
"""Numbers a word: a header that says more is damaged."""

WINDOW = 5
LENGTH = 3.0
SHORT = 0.3
"""Of the vector of a word of which nothing is known: not 0, for then nothing could be learnt of it."""


def distil(encoder: TransformerEncoder, vocabulary: Sequence[str], progress: Progress = silent) -> Matrix:
    """Each word encoded on its own."""
    return encoder.encode(vocabulary, progress)


def vectors_of_words(
    vocabulary: list[str], encoder: TransformerEncoder | None, path: str | Path | None, progress: Progress = silent
) -> tuple[list[str], Matrix]:
    """From the file where one is given, else from the encoder; and the words that have one."""
    if path is not None:
        return read_word_vectors(path, vocabulary)
    assert encoder is not None
    return vocabulary, distil(encoder, vocabulary, progress)


def read_word_vectors(path: str | Path, vocabulary: Sequence[str]) -> tuple[list[str], Matrix]:
    """The vectors of those words that the file has, in its order; other words are skipped unread.

    The format is told by the content: a first line `COUNT WIDTH` is word2vec's, binary when the bytes after the first
    word are no text; without it the file is GloVe's text. A `.gz` file is unpacked while reading.
    """
    path = Path(path)
    wanted = set(vocabulary)
    try:
        with _open(path) as file:
            words, vectors = _read(file, path.name, wanted)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: word vectors could not be read ({error}): give a readable file") from error
    if not words:
        raise InputError(f"{path}: none of the {len(wanted):,} words of the texts is in it: is it the language?")
    found = np.array(vectors, dtype=np.float32)
    finite = np.isfinite(found).all(axis=1)
    if not finite.all():
        raise InputError(f"{path}: the vector of {words[int(finite.argmin())]!r} is not finite: fetch the file again")
    return words, found


def _open(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _read(file: IO[bytes], name: str, wanted: set[str]) -> tuple[list[str], list[NDArray[np.float32]]]:
    header = file.readline().split()
    if len(header) == 2 and all(part.isdigit() for part in header):
        count, width = int(header[0]), int(header[1])
        if not 1 <= width <= WIDEST:
            raise InputError(f"{name}: its first line says {width:,} numbers a word: give a word2vec or GloVe file")
        start = file.tell()
        first = file.readline()
        file.seek(start)
        is_text = _is_text_row(first, width)
        rows = _text_rows(file, name, count, width, 2) if is_text else _binary_rows(file, name, count, width)
    else:
        file.seek(0)
        rows = _text_rows(file, name, None, max(1, len(header) - 1), 1)
    words: list[str] = []
    vectors: list[NDArray[np.float32]] = []
    taken: set[str] = set()
    for word, values in rows:
        if word in wanted and word not in taken:
            taken.add(word)
            words.append(word)
            vectors.append(values())
    return words, vectors


def _is_text_row(line: bytes, width: int) -> bool:
    try:
        return len([float(part) for part in line.split()[-width:]]) == width
    except ValueError:
        return False


class _TextValues:
    """The numbers of a line, read only when its word is wanted."""

    def __init__(self, parts: list[bytes], name: str, line: int) -> None:
        self.parts, self.name, self.line = parts, name, line

    def __call__(self) -> NDArray[np.float32]:
        try:
            with np.errstate(over="ignore"):
                return np.array(self.parts, dtype=np.float32)
        except ValueError as error:
            raise InputError(f"{self.name}: line {self.line:,} holds something other than numbers") from error


class _BinaryValues:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def __call__(self) -> NDArray[np.float32]:
        return np.frombuffer(self.data, dtype="<f4").astype(np.float32)


def _text_rows(
    file: IO[bytes], name: str, count: int | None, width: int, first_line: int
) -> Iterator[tuple[str, _TextValues]]:
    number = first_line - 1
    for number, line in enumerate(file, start=first_line):
        parts = line.rstrip().rsplit(b" ", width)
        if len(parts) != width + 1:
            raise InputError(
                f"{name}: line {number:,} has {len(parts) - 1} numbers, not {width}: give a word2vec or GloVe file"
            )
        yield parts[0].decode("utf-8", errors="replace"), _TextValues(parts[1:], name, number)
    if count is not None and number - first_line + 1 < count:
        raise InputError(f"{name}: ends after word {number - first_line + 1:,} of {count:,}: fetch the file again")


def _binary_rows(file: IO[bytes], name: str, count: int, width: int) -> Iterator[tuple[str, _BinaryValues]]:
    for number in range(1, count + 1):
        word = bytearray()
        while (byte := file.read(1)) != b" ":
            if not byte or len(word) > LONGEST_WORD_BYTES:
                raise InputError(f"{name}: ends or is damaged at word {number:,} of {count:,}: fetch the file again")
            # The original program ends rows with a line break, others do not.
            if byte != b"\n":
                word += byte
        data = file.read(4 * width)
        if len(data) != 4 * width:
            raise InputError(f"{name}: ends within word {number:,} of {count:,}: fetch the file again")
        yield word.decode("utf-8", errors="replace"), _BinaryValues(data)


def learnt_word_vectors(tokens: Tokens, words: int, dimensions: int, random_state: int) -> Matrix:
    """Vectors of words that stand near the same words, from these texts alone.

    The leading part of the positive pointwise mutual information of words at most WINDOW apart, which is what word2vec
    factorises too (Levy and Goldberg 2014). Every vector is about as long as word2vec's; at most `words` dimensions.
    A word without telling neighbours, such as one that always stands alone, has a short random vector.
    """
    from sklearn.utils.extmath import randomized_svd

    information = _mutual_information(_pairs(tokens, words))
    left, values, _ = randomized_svd(information, min(dimensions, words), n_iter=2, random_state=random_state)
    vectors = LENGTH * unit_rows(left * np.sqrt(values))
    drawn = SHORT * unit_rows(np.random.default_rng(random_state).normal(size=vectors.shape))
    unknown = information.getnnz(axis=1) == 0
    vectors[unknown] = drawn[unknown]
    return np.asarray(vectors, dtype=np.float32)


def _pairs(tokens: Tokens, words: int) -> csr_matrix:
    """How often two words stand at most WINDOW apart in a text."""
    from scipy.sparse import csr_matrix

    ids = tokens.ids
    text = np.repeat(np.arange(len(tokens)), tokens.lengths)
    counts = csr_matrix((words, words), dtype=np.float32)
    for apart in range(1, WINDOW + 1):
        together = np.flatnonzero(text[apart:] == text[:-apart])
        ones = np.ones(len(together), dtype=np.float32)
        counts += csr_matrix((ones, (ids[together], ids[together + apart])), shape=(words, words))
    return csr_matrix(counts + counts.T)


def _mutual_information(counts: csr_matrix) -> csr_matrix:
    """log p(a, b) / (p(a) p(b)) where it is positive; rare words count as a little less rare, as in word2vec."""
    found = counts.tocoo()
    often = np.asarray(counts.sum(axis=0)).ravel().astype(np.float64)
    damped = often**0.75
    expected = often[found.row] * damped[found.col] / max(damped.sum(), 1e-300)
    found.data = np.maximum(np.log(found.data / expected), 0).astype(np.float32)
    information = found.tocsr()
    information.eliminate_zeros()
    return information
