"""Letters that an encoder does not know or spells out, HTML, overlong texts: counted by hand, and said after a fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

import coterie
from coterie import InputError, TextClusterer
from coterie.features.legible import TEXTS_READ, cut_share, notes_on_reading, unread_share
from coterie.features.tokens import load_tokenizer
from coterie.features.transformer import TransformerEncoder

ENGLISH = ["my parcel has not arrived", "the printer is broken again", "where is my refund", "I cannot log in"]
RUSSIAN = ["мой заказ ещё не пришёл", "принтер снова не работает", "где мои деньги", "не могу войти в аккаунт"]
CHINESE = ["我的订单还没有到", "打印机又坏了", "我的退款在哪里", "我无法登录"]


@pytest.fixture(scope="module")
def pieces(tokenizer_file: Path) -> Any:
    """Every Latin letter is a piece, some words are whole."""
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("garden printer", 0),
        ("garden zebra", 5 / 11),  # z ##e ##b ##r ##a
        ("garden ab", 0),  # two letters may be spelled out
        ("garden сад", 3 / 9),  # [UNK]
        ("garden, 12345!", 0),  # nothing but letters counts
        ("12345", 0),
    ],
)
def test_letters_unknown_or_spelled_out(pieces: Any, text: str, share: float) -> None:
    assert unread_share(pieces, [text]) == pytest.approx(share)


def test_a_sign_that_is_a_word_may_be_a_token_alone() -> None:
    def share(text: str, *known: str) -> float:
        model = models.WordLevel({sign: i for i, sign in enumerate(["[UNK]", *known])}, unk_token="[UNK]")
        tokenizer = Tokenizer(model)
        tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
        return unread_share(tokenizer, [text])

    assert share("我的订单", *"我的订单") == 0
    assert share("我的订单", *"我的订") == pytest.approx(1 / 4)
    assert share("주문한", *"주문한") == 0
    assert share("сад", *"сад") == 1


def test_letters_of_several_bytes_are_spelled_out_too(make_masked_lm: Callable[..., Path]) -> None:
    tokenizer = load_tokenizer(TransformerEncoder(str(make_masked_lm("roberta"))).checkpoint)
    assert unread_share(tokenizer, [" garden"]) == 0
    assert unread_share(tokenizer, [" garden 我"]) == pytest.approx(1 / 7)


def test_every_text_counts_the_same(pieces: Any) -> None:
    """A few long keys are no script."""
    assert unread_share(pieces, ["garden printer"] * 3 + ["zebra" * 50, "12345"]) == pytest.approx(0.25, abs=0.01)


def test_a_sample_stands_for_many_texts() -> None:
    (note,) = notes_on_reading(None, ["<b>plain</b>", "plain"] * 10 * TEXTS_READ)
    assert abs(int(note.split("%")[0]) - 50) < 10


@pytest.mark.parametrize("text", ["<p>Hello", "see <a href='x'>this</a>", "one<br/>two", '<DIV class="x">', "</td>"])
def test_html_is_told_of(text: str) -> None:
    plain = ["List<String> to Map<K, V>", "if a < b and c > d", "mail <ann@example.org>", "<3 it", "a <br", "<pen>"]
    assert notes_on_reading(None, plain) == []
    (note,) = notes_on_reading(None, [text, *plain])
    assert note.startswith("14% of the texts hold HTML tags")
    assert notes_on_reading(None, [text, *plain, *plain]) == [], "one in thirteen"


def test_texts_longer_than_are_read(make_masked_lm: Callable[..., Path]) -> None:
    encoder = TransformerEncoder(str(make_masked_lm("roberta")), max_length=6)  # four words between two marks
    exact, longer = " garden garden garden garden", " garden garden garden garden garden"
    assert cut_share(encoder, [exact, longer, "garden " * 10_000, " garden"]) == 0.5


def test_a_fit_says_how_many_are_cut_and_result_shows_it() -> None:
    long = [f"{text}. " + "All the rest is a long story about the weather. " * 20 for text in ENGLISH]
    result = coterie.cluster(long, 2)
    (note,) = result.notes
    assert note.startswith("100% of the texts are longer than the 128 tokens")
    assert f"note: {note}" in repr(result)
    assert f"Note: {note}" in result._repr_html_()
    assert coterie.cluster(ENGLISH, 2).notes == []


@pytest.mark.parametrize(("texts", "warned"), [(ENGLISH, False), (RUSSIAN, True), (CHINESE, True)])
@pytest.mark.parametrize("method", ["minilm+kmeans", "auto", "tfidf+kmeans"])
def test_a_fit_says_so(texts: list[str], warned: bool, method: str) -> None:
    evidence = TextClusterer(2, method=method).fit(texts).evidence_
    notes = [entry["note"] for entry in evidence if "does not know the script" in entry.get("note", "")]
    assert len(notes) == (warned and method != "tfidf+kmeans")


@pytest.mark.parametrize("method", ["minilm+kmeans", "auto"])
def test_texts_that_an_encoder_cannot_tell_apart_for_their_script(method: str) -> None:
    thai = [f"{first}{last}" for first in ("ฉันชอบ", "เราซื้อ", "เขาขาย") for last in ("กาแฟ", "หนังสือ", "ดอกไม้", "รถยนต์")]
    with pytest.raises(
        InputError, match=r"sees only 1 different text \(the encoder 'minilm' does not know their script"
    ):
        TextClusterer(3, method=method).fit(thai)
    with pytest.raises(InputError, match="the others have the same words"):
        TextClusterer(3, method=method).fit(["A word", "a word", "a WORD", "word a"] * 3)
