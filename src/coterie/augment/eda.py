"""Easy data augmentation (Wei & Zou 2019): synonym replacement, insertion, swap and deletion of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coterie.augment.chance import Chance, check_random_state, check_rate, share_of
from coterie.augment.deletion import survivors
from coterie.augment.pieces import Pieces, telling_form, written_like
from coterie.augment.synonyms import Synonyms
from coterie.data.check import check_texts
from coterie.types import Progress, silent

VERSION = 1
"""To be raised when the same settings give other views."""

TEXTS_AT_ONCE = 5000
LONGEST_SEARCH = 100
"""Words looked at for one that differs, so that a long text of one word over and over takes no longer than others."""


class EDA:
    """One of the paper's four operations on each text, chosen at random among those that are on and can change it.

    Rates are shares of the words of a text, 0 switches an operation off. Replacement, insertion and swap are done
    max(1, int(rate * words)) times; deletion takes each word with probability `delete`, at least one goes and one
    stays. Stop words are neither replaced nor used for insertion. Equal texts get equal views.
    """

    def __init__(
        self,
        synonyms: Synonyms,
        *,
        replace: float = 0.1,
        insert: float = 0.1,
        swap: float = 0.1,
        delete: float = 0.1,
        random_state: int = 0,
    ) -> None:
        self.synonyms = synonyms
        self.replace, self.insert = check_rate("replace", replace), check_rate("insert", insert)
        self.swap, self.delete = check_rate("swap", swap), check_rate("delete", delete)
        self.random_state = check_random_state(random_state)

    def describe(self) -> str:
        rates = f"replace={self.replace!r} insert={self.insert!r} swap={self.swap!r} delete={self.delete!r}"
        return f"eda {VERSION} {rates} random_state={self.random_state} synonyms=({self.synonyms.describe()})"

    def augment(self, texts: Sequence[str], progress: Progress = silent) -> list[str]:
        texts = check_texts(texts)
        distinct = list(dict.fromkeys(texts))
        view_of: dict[str, str] = {}
        for start in range(0, len(distinct), TEXTS_AT_ONCE):
            portion = {text: Pieces.of(text) for text in distinct[start : start + TEXTS_AT_ONCE]}
            if self.replace or self.insert:
                forms = {telling_form(word) for pieces in portion.values() for word in pieces.words}
                self.synonyms.prepare(form for form in forms if form is not None)
            view_of.update((text, self._view(text, pieces)) for text, pieces in portion.items())
            progress("augmenting", len(view_of), len(distinct))
        return [view_of[text] for text in texts]

    def _view(self, text: str, pieces: Pieces) -> str:
        chance = Chance("eda", self.random_state, text)
        candidates = self._candidates(pieces) if self.replace or self.insert else []
        has_several = len(pieces.words) > 1
        possible: list[Callable[[], Pieces]] = []
        if self.replace and candidates:
            possible.append(lambda: self._replaced(pieces, candidates, chance))
        if self.insert and candidates:
            possible.append(lambda: self._inserted(pieces, candidates, chance))
        if self.swap and has_several and len(set(pieces.words)) > 1:
            possible.append(lambda: self._swapped(pieces, chance))
        if self.delete and has_several:
            possible.append(lambda: self._thinned(pieces, chance))
        return possible[chance.index(len(possible))]().text() if possible else text

    def _candidates(self, pieces: Pieces) -> list[tuple[int, Sequence[str]]]:
        """The places of the words that have synonyms, and those."""
        forms = ((place, telling_form(word)) for place, word in enumerate(pieces.words))
        found = ((place, self.synonyms.of(form)) for place, form in forms if form is not None)
        return [(place, synonyms) for place, synonyms in found if synonyms]

    def _replaced(self, pieces: Pieces, candidates: list[tuple[int, Sequence[str]]], chance: Chance) -> Pieces:
        words = list(pieces.words)
        for chosen in chance.sample(len(candidates), share_of(len(words), self.replace)):
            place, synonyms = candidates[chosen]
            words[place] = written_like(synonyms[chance.index(len(synonyms))], words[place])
        return pieces.with_words(words)

    def _inserted(self, pieces: Pieces, candidates: list[tuple[int, Sequence[str]]], chance: Chance) -> Pieces:
        words = len(pieces.words)
        inserted = []
        for _ in range(share_of(words, self.insert)):
            _, synonyms = candidates[chance.index(len(candidates))]
            inserted.append((chance.index(words + 1), synonyms[chance.index(len(synonyms))]))
        return pieces.with_inserted(inserted)

    def _swapped(self, pieces: Pieces, chance: Chance) -> Pieces:
        words = list(pieces.words)
        for _ in range(share_of(len(words), self.swap)):
            one, start = chance.index(len(words)), chance.index(len(words))
            # The next one that differs: swapping a word with its like would change nothing.
            others = ((start + step) % len(words) for step in range(min(len(words), LONGEST_SEARCH)))
            other = next((place for place in others if words[place] != words[one]), one)
            words[one], words[other] = words[other], words[one]
        return pieces.with_words(words)

    def _thinned(self, pieces: Pieces, chance: Chance) -> Pieces:
        words = len(pieces.words)
        kept = set(survivors(words, self.delete, chance))
        if len(kept) == words:
            kept.remove(chance.index(words))
        return pieces.only(kept)
