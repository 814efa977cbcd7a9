"""Tokens: cut to length, flat, and in batches of one length."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from coterie.errors import ConfigError
from coterie.features import tokens as module
from coterie.features.checkpoints import Checkpoint
from coterie.features.tokens import Tokens, equal_length_batches, load_tokenizer, tokenize

CLOSING = 2


def tokens_of(lengths: list[int]) -> Tokens:
    """Text i consists of the id i."""
    ids = np.repeat(np.arange(len(lengths)), lengths).astype(np.int32)
    return Tokens(ids, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def test_padding_and_truncation_of_the_file_are_switched_off(tiny_bert: Path, corpus: list[str]) -> None:
    from tokenizers import Tokenizer

    as_saved = Tokenizer.from_file(str(tiny_bert / "tokenizer.json"))
    assert {len(encoding.ids) for encoding in as_saved.encode_batch(corpus)} == {8}
    tokens = tokenize(load_tokenizer(Checkpoint("tiny", tiny_bert, "", "tiny")), corpus, 1000)
    assert tokens.lengths.min() < 8 < tokens.lengths.max()
    assert 1 not in tokens.ids  # [PAD]


def test_a_text_is_its_slice(tiny_bert: Path, corpus: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = load_tokenizer(Checkpoint("tiny", tiny_bert, "", "tiny"))
    monkeypatch.setattr(module, "TEXTS_AT_ONCE", 7)
    told: list[tuple[str, int, int]] = []
    tokens = tokenize(tokenizer, corpus, 1000, lambda *call: told.append(call))
    assert len(tokens) == len(corpus) == 60
    for row, text in enumerate(corpus):
        ids = tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]]
        assert ids.tolist() == tokenizer.encode(text).ids
    assert told[0] == ("tokenising", 7, 60)
    assert told[-1] == ("tokenising", 60, 60)


def test_a_cut_text_keeps_its_closing_token(tiny_bert: Path, corpus: list[str]) -> None:
    tokenizer = load_tokenizer(Checkpoint("tiny", tiny_bert, "", "tiny"))
    whole, cut = tokenize(tokenizer, corpus, 1000), tokenize(tokenizer, corpus, 6)
    assert (whole.lengths > 6).any()
    assert (whole.lengths < 6).any()
    for row in range(len(corpus)):
        full = whole.ids[whole.offsets[row] : whole.offsets[row + 1]].tolist()
        short = cut.ids[cut.offsets[row] : cut.offsets[row + 1]].tolist()
        assert short == (full if len(full) <= 6 else [*full[:5], CLOSING])


def test_white_space_is_no_part_of_how_far_a_text_is_read(tiny_bert: Path) -> None:
    tokenizer = load_tokenizer(Checkpoint("tiny", tiny_bert, "", "tiny"))
    texts = [" " * 9000 + "film lamp", "film" + "\n" * 9000 + "lamp", "film lamp"]
    tokens = tokenize(tokenizer, texts, 10)
    assert len({tuple(tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]].tolist()) for row in range(3)}) == 1
    assert tokens.lengths[0] > 2  # more than what opens and closes a text


def test_no_texts_no_tokens(tiny_bert: Path) -> None:
    tokens = tokenize(load_tokenizer(Checkpoint("tiny", tiny_bert, "", "tiny")), [], 10)
    assert len(tokens) == 0
    assert list(equal_length_batches(tokens, 10)) == []


def test_batches_hold_every_text_once_longest_first() -> None:
    lengths = [3, 5, 3, 9, 5, 3, 3, 12, 3, 3]
    tokens = tokens_of(lengths)
    batches = list(equal_length_batches(tokens, 10))
    assert [length for length, _ in batches] == [12, 9, 5, 3, 3]
    assert sorted(np.concatenate([rows for _, rows in batches]).tolist()) == list(range(10))
    for length, rows in batches:
        assert all(lengths[row] == length for row in rows)
        assert len(rows) == 1 or length * len(rows) <= 10
        assert tokens.rows(rows, length).tolist() == [[row] * length for row in rows]
    # Texts of one length stay in their order, so that a resumed run meets the same rows.
    assert [row for length, rows in batches if length == 3 for row in rows] == [0, 2, 5, 6, 8, 9]


def test_order_does_not_depend_on_the_budget() -> None:
    tokens = tokens_of([3, 5, 3, 9, 5, 3])
    small, large = (np.concatenate([rows for _, rows in equal_length_batches(tokens, b)]).tolist() for b in (1, 999))
    assert small == large


def test_fingerprint_sees_where_texts_end() -> None:
    ids = np.array([0, 7, 8, 2], dtype=np.int32)
    one = Tokens(ids, np.array([0, 4]))
    same = Tokens(ids.copy(), np.array([0, 4]))
    two = Tokens(ids, np.array([0, 2, 4]))
    other = Tokens(np.array([0, 8, 7, 2], dtype=np.int32), np.array([0, 4]))
    assert one.fingerprint() == same.fingerprint()
    assert len({one.fingerprint(), two.fingerprint(), other.fingerprint()}) == 3


def test_vocabulary_file_without_tokenizer_json(tiny_bert: Path, tmp_path: Path) -> None:
    shutil.copy(tiny_bert / "config.json", tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "lamp", "##s"]))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": true}')
    tokens = tokenize(load_tokenizer(Checkpoint("tiny", tmp_path, "", "tiny")), ["Lamps", "lamp"], 10)
    assert tokens.ids.tolist() == [2, 5, 6, 3, 2, 5, 3]


@pytest.mark.parametrize("content", [None, "{", '{"model": {}}'])
def test_no_tokenizer_that_can_be_read(tiny_bert: Path, tmp_path: Path, content: str | None) -> None:
    shutil.copy(tiny_bert / "config.json", tmp_path)
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ConfigError, match=r"'tiny' has no tokenizer that can be read: add its tokenizer\.json"):
        load_tokenizer(Checkpoint("tiny", tmp_path, "", "tiny"))
