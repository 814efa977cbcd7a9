"""Texts that hold hardly anything to group by: "n/a", "-", "12345", "asdfgh".

The rule is small, so that it can be said in a sentence: a text is junk if, links put aside, it has no letter at all, or
only one letter over and over, or is a word of `NO_ANSWER` (also several times), or keys beside each other. One sign of
a script that writes words or syllables with single signs is a word, not a letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from coterie.data.duplicates import words_only

NO_ANSWER = frozenset(
    words_only(word)
    for line in (
        # what people type when they have nothing to say
        "n/a|n.a.|na|nan|none|nothing|nil|null|nope|no|yes|yeah|ok|okay|idk|don't know|dont know|dunno|not sure",
        "no comment|no comments|no answer|not applicable|nothing to add|test|testing|blank|empty|tbd|unknown",
        "qwer|qwert|qwerty|qwertz|azerty",
        # the same in other languages
        "keine|keiner|keines|nichts|nein|ja|k.a.|keine angabe|weiß nicht|rien|aucun|aucune|non|oui|nada|ninguno",
        "ninguna|sí|si|niente|nessuno|nessuna|nenhum|nenhuma|não|sim|geen|niets|nee|inget|nej|ingen|brak|nic|nie|tak",
        "нет|да|ничего|не знаю|无|無|没有|沒有|なし|特になし|없음|없다|لا|لا شيء|नहीं",
    )
    for word in line.split("|")
)
_KEYS = ("asdfghjkl", "qsdfghjklm", "zxcvbnm", "yxcvbnm", "wxcvbn")
"""The middle and lower rows of common keyboards; along the upper ones there are words, such as "wert"."""
_BESIDE = {keys[start : start + 3] for row in _KEYS for keys in (row, row[::-1]) for start in range(len(row) - 2)}
_FEWEST_KEYS = 4


def find_junk(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which texts hold hardly anything to group by."""
    known = {text: is_junk(text) for text in set(texts)}
    return np.array([known[text] for text in texts], dtype=bool)


def is_junk(text: str) -> bool:
    """Whether a text holds hardly anything to group by."""
    words = words_only(text)
    letters = {char for char in set(words) if char.isalpha()}
    if len(letters) < 2:
        return all(east_asian_width(letter) in ("N", "Na", "A") for letter in letters) or words in NO_ANSWER
    different = set(words.split(" "))
    return words in NO_ANSWER or (len(different) == 1 and _is_empty(different.pop()))


def _is_empty(word: str) -> bool:
    return word in NO_ANSWER or _is_mashed(word)


def _is_mashed(word: str) -> bool:
    """Whether every letter belongs to three keys in a row, as in asdfgh and asdasd."""
    begins = [place for place in range(len(word) - 2) if word[place : place + 3] in _BESIDE]
    reached = {place + step for place in begins for step in range(3)}
    return len(word) >= _FEWEST_KEYS and len(reached) == len(word)
