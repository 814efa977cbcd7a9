"""What stands in the way of reading texts: HTML, letters that an encoder does not know, texts longer than it reads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from coterie.features.tokens import without_gaps
from coterie.features.transformer import TransformerEncoder, encoder_of

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

TEXTS_READ = 500
CHARACTERS_READ = 1_000
ILLEGIBLE = 0.25
"""Of the letters of English texts 0.3 to 2% are spelled out by the bundled encoder, of other languages in Latin
letters 2 to 17%, of other scripts 50 to 100%."""

SHORTEST_WORD = 3
"""A word of one or two letters may well be spelled out."""

MANY = 0.1
"""Of the texts: so many that it matters to the groups."""
CHARACTERS_A_TOKEN = 20
"""More than any text has on average, so that of a long one the beginning tells that it is too long."""

ANOTHER_ENCODER = (
    "name an encoder of their language, such as sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
)
_TAG = re.compile(r"</?(?:a|b|body|br|div|em|font|h[1-6]|html|i|li|ol|p|pre|span|strong|table|td|tr|ul)\b[^<>]*>", re.I)


def notes_on_reading(features: object, texts: Sequence[str]) -> list[str]:
    """What to say where much of the texts is no language, or means nothing to the encoder of these features, if they
    have one."""
    sample, notes = _sample(texts), []
    tagged = sum(_TAG.search(text) is not None for text in sample) / len(sample)
    if tagged >= MANY:
        notes.append(
            f"{tagged:.0%} of the texts hold HTML tags, which are taken for words: for better groups take them out"
        )
    encoder = encoder_of(features)
    return notes if encoder is None else [*notes, *_notes_on_encoding(encoder, sample)]


def note_on_script(features: object, texts: Sequence[str]) -> str | None:
    """What to say where the encoder of these features, if they have one, does not know the script of these texts."""
    encoder = encoder_of(features)
    return None if encoder is None else _note_on_script(encoder, _sample(texts))


def why_alike(encoder: TransformerEncoder, texts: Sequence[str]) -> str | None:
    """Why the encoder sees no difference between texts that differ; None where it is not for their script."""
    if unread_share(encoder.tokenizer, _sample(texts)) < ILLEGIBLE:
        return None
    return f"the encoder {encoder.name!r} does not know their script: {ANOTHER_ENCODER}"


def _sample(texts: Sequence[str]) -> list[str]:
    chosen = np.random.default_rng(0).permutation(len(texts))[:TEXTS_READ].tolist()
    return [texts[row] for row in chosen]


def _notes_on_encoding(encoder: TransformerEncoder, sample: Sequence[str]) -> list[str]:
    script = _note_on_script(encoder, sample)
    notes = [] if script is None else [script]
    if (cut := cut_share(encoder, sample)) >= MANY:
        notes.append(
            f"{cut:.0%} of the texts are longer than the {encoder.longest:,} tokens that the encoder reads of each: "
            "what comes after counts by its words at most. Where texts open alike, leave the opening out"
        )
    return notes


def _note_on_script(encoder: TransformerEncoder, sample: Sequence[str]) -> str | None:
    unread = unread_share(encoder.tokenizer, sample)
    if unread < ILLEGIBLE:
        return None
    return (
        f"the encoder {encoder.name!r} does not know the script of these texts: {unread:.0%} of a text's letters "
        f"it cannot read or only spells out, so the groups hardly go by meaning; {ANOTHER_ENCODER}"
    )


def cut_share(encoder: TransformerEncoder, sample: Sequence[str]) -> float:
    """The share of texts that are longer than the encoder reads."""
    longest, characters = encoder.longest, CHARACTERS_A_TOKEN * encoder.longest
    beginnings = [without_gaps(text, characters)[:characters] for text in sample]
    lengths = [len(encoding.ids) for encoding in encoder.tokenizer.encode_batch_fast(beginnings)]
    return sum(length > longest for length in lengths) / len(sample)


def unread_share(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """Of a text's letters, on average, the share that is in no known token, or in one or several for itself within a
    longer word."""
    unknown_id = _unknown_id(tokenizer)
    sample = [without_gaps(text, CHARACTERS_READ)[:CHARACTERS_READ] for text in texts]
    shares = []
    # Only the slower encoding says where in the text a token is.
    for text, encoding in zip(sample, tokenizer.encode_batch(sample), strict=True):
        lost, tokens_on = _where_unread(encoding, unknown_id)
        letters = unread = 0
        for word in re.finditer(r"\S+", text):
            places = [place for place in range(*word.span()) if text[place].isalpha()]
            letters += len(places)
            spelled = len(places) >= SHORTEST_WORD
            unread += sum(
                place in lost
                or tokens_on[place] > 1
                or (spelled and tokens_on[place] == 1 and not _is_a_word_alone(text[place]))
                for place in places
            )
        if letters:
            shares.append(unread / letters)
    return float(np.mean(shares)) if shares else 0.0


def _unknown_id(tokenizer: Tokenizer) -> int | None:
    # A unigram model does not say which of its tokens it is, and one of bytes has none.
    names = (getattr(tokenizer.model, "unk_token", None), "[UNK]", "<unk>")
    return next((found for name in names if name and (found := tokenizer.token_to_id(name)) is not None), None)


def _where_unread(encoding: Encoding, unknown_id: int | None) -> tuple[set[int], Counter[int]]:
    """The places that unknown tokens cover, and how many tokens are at a place and on no other."""
    lost: set[int] = set()
    tokens_on: Counter[int] = Counter()
    for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
        if token == unknown_id:
            lost.update(range(start, end))
        elif end - start == 1:
            tokens_on[start] += 1
    return lost, tokens_on


def _is_a_word_alone(letter: str) -> bool:
    """Chinese signs and Korean syllables: a token for each is the rule."""
    return "\u3400" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7a3"
