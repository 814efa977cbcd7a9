"""Word vector files: word2vec text and binary, GloVe, packed, damaged."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from coterie.errors import InputError
from coterie.features.transformer import TransformerEncoder
from coterie.features.word_vectors import distil, read_word_vectors

VECTORS = {"lamp": [1.0, -2.5, 0.25], "the": [0.0, 0.5, 0.0], "café": [3.0, 4.0, 1e-3], "new york": [9.0, 8.0, 7.0]}


def text_rows(vectors: dict[str, list[float]] = VECTORS) -> bytes:
    return "".join(f"{word} {' '.join(map(str, values))}\n" for word, values in vectors.items()).encode()


def word2vec_text() -> bytes:
    return b"4 3\n" + text_rows()


def word2vec_text_with_blanks() -> bytes:
    """The original program ends every line with a blank."""
    return b"4 3\n" + text_rows().replace(b"\n", b" \n")


def binary(after_row: bytes) -> bytes:
    """A word ends at the first blank, so it can hold none."""
    rows = (word.encode() + b" " + np.array(v, "<f4").tobytes() + after_row for word, v in list(VECTORS.items())[:3])
    return b"3 3\n" + b"".join(rows)


def binary_rows_of_line_breaks() -> bytes:
    """Numbers whose bytes are blanks, digits and line breaks."""
    tricky = np.frombuffer(b"\n\n  1 2\n 1 2", "<f4")
    assert np.isfinite(tricky).all()
    return b"2 3\nlamp " + tricky.tobytes() + b"\nsofa " + np.ones(3, "<f4").tobytes() + b"\n"


def write(tmp_path: Path, content: bytes, name: str = "vectors.bin") -> Path:
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.gz"])
@pytest.mark.parametrize(
    "content",
    [
        word2vec_text,
        word2vec_text_with_blanks,
        lambda: binary(b"\n"),
        lambda: binary(b""),
        text_rows,
        lambda: text_rows().replace(b"\n", b"\r\n"),
        lambda: text_rows().rstrip(b"\n"),
    ],
)
def test_every_format(tmp_path: Path, content: Callable[[], bytes], name: str) -> None:
    """Words in the order of the file, in text with blanks inside; unknown and unwanted words are no matter."""
    path = write(tmp_path, content(), name)
    words, vectors = read_word_vectors(path, ["new york", "sofa", "café", "lamp"])
    assert words == [word for word in ("lamp", "café", "new york") if word.encode() in content()]
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, np.array([VECTORS[word] for word in words], np.float32))


def test_binary_numbers_that_look_like_text(tmp_path: Path) -> None:
    words, vectors = read_word_vectors(write(tmp_path, binary_rows_of_line_breaks()), ["sofa", "lamp"])
    assert words == ["lamp", "sofa"]
    assert vectors[1].tolist() == [1, 1, 1]
    assert vectors[0].tobytes() == b"\n\n  1 2\n 1 2"


def test_first_of_two_vectors_of_a_word_counts(tmp_path: Path) -> None:
    _, vectors = read_word_vectors(write(tmp_path, b"lamp 1 2\nlamp 3 4\n"), ["lamp"])
    assert vectors.tolist() == [[1, 2]]


def test_unwanted_lines_are_not_read_as_numbers(tmp_path: Path) -> None:
    words, _ = read_word_vectors(write(tmp_path, b"lamp 1 2\nsofa x y\n"), ["lamp"])
    assert words == ["lamp"]


def error_of(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_word_vectors(path, ["lamp", "café", "new york"])
    return str(caught.value)


@pytest.mark.parametrize("after_row", [b"\n", b""])
@pytest.mark.parametrize("keep", [0.4, 0.7, 0.93])
def test_truncated_binary(tmp_path: Path, after_row: bytes, keep: float) -> None:
    whole = binary(after_row)
    assert "fetch the file again" in error_of(write(tmp_path, whole[: int(keep * len(whole))]))


def test_truncated_text(tmp_path: Path) -> None:
    assert "line 4 has 2 numbers, not 3" in error_of(write(tmp_path, word2vec_text().split(b" 0.001")[0]))
    cut_after_a_line = b"".join(word2vec_text().splitlines(keepends=True)[:-1])
    assert "ends after word 3 of 4: fetch the file again" in error_of(write(tmp_path, cut_after_a_line))


def test_line_that_holds_no_numbers(tmp_path: Path) -> None:
    assert "line 3 holds something other than numbers" in error_of(write(tmp_path, b"a 1 2\nthe 1 2\nlamp 1 x\n"))


@pytest.mark.parametrize("value", [b"nan", b"inf", b"1e99"])
def test_vectors_that_are_not_finite(tmp_path: Path, value: bytes) -> None:
    content = b"the 1 2\ncaf\xc3\xa9 1 2\nlamp 1 " + value + b"\n"
    assert "the vector of 'lamp' is not finite" in error_of(write(tmp_path, content))


@pytest.mark.parametrize("header", [b"4 0\n", b"4 99999999999\n"])
def test_impossible_width(tmp_path: Path, header: bytes) -> None:
    assert "numbers a word: give a word2vec or GloVe file" in error_of(write(tmp_path, header + text_rows()))


def test_damaged_gzip(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"5000 3\n" + b"lamp 1 2 3\n" * 5000, mtime=0))
    cut = tmp_path / "cut.gz"
    cut.write_bytes(packed[: len(packed) // 2])
    assert "could not be read" in error_of(cut)
    for place in range(12, len(packed), 7):
        flipped = bytearray(packed)
        flipped[place] ^= 0xFF
        (tmp_path / "flipped.gz").write_bytes(flipped)
        error_of(tmp_path / "flipped.gz")
    assert "could not be read" in error_of(write(tmp_path, b"").rename(tmp_path / "no.gz").parent / "absent.gz")


@pytest.mark.parametrize("content", [b"", b"sofa 1 2\nchair 2 3\n", b"1 2\nsofa 1 2\n"])
def test_none_of_the_words(tmp_path: Path, content: bytes) -> None:
    assert "none of the 3 words of the texts is in it" in error_of(write(tmp_path, content))


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert "could not be read" in error_of(tmp_path / "no.txt")
    assert "could not be read" in error_of(tmp_path)


def test_distilled_vectors_are_the_encoders(tiny_bert: Path) -> None:
    encoder = TransformerEncoder(str(tiny_bert), cache=False)
    np.testing.assert_array_equal(distil(encoder, ["lamp", "garden"]), encoder.encode(["lamp", "garden"]))
