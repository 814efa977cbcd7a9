"""`auto`: the method that does best on texts such as these, told by how many, how long and for how many groups.

What it goes by was measured (`docs/methods/auto.md`): training from Duet's groups pays where every group has texts
enough to learn from, and costs the more the longer the texts are. Labels have no part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coterie.methods.base import Fit, Method
from coterie.registry import Effort
from coterie.types import Progress, silent

UNTRAINED, TRAINED = "duet", "tandem"
LONGEST_TRAINING: Effort = "balanced"
FEWEST_TEXTS_A_GROUP = 100
FEWEST_TEXTS_SEEN = 40_000
"""Training takes so many steps that it sees at least as many texts, one several times where there are fewer."""
READ_CHARACTERS = 600
"""The encoder reads 128 tokens of a text, about this many characters."""
MOST_CHARACTERS = {"balanced": 8_000_000, "full": 200_000_000}
"""About 20 minutes, and a working day, on two cores."""


class Auto:
    """Duet, or where there is time and enough to learn from, a training that begins with its groups.

    `make` builds a method by its name, for an effort; `untrainable` says why the encoder cannot be trained, if so.
    Nothing was found to be gained by training longer than at `balanced`: `full` trains as long, but also on texts that
    take hours.
    """

    def __init__(
        self, effort: Effort, make: Callable[[str, Effort], Method], untrainable: Callable[[], str | None]
    ) -> None:
        self.effort, self.make, self.untrainable = effort, make, untrainable

    def fit(self, texts: Sequence[str], n_clusters: int, progress: Progress = silent) -> Fit:
        if self.effort == "fast":
            return self.make(UNTRAINED, self.effort).fit(texts, n_clusters, progress)
        name, why = choice(texts, n_clusters, MOST_CHARACTERS[self.effort])
        if name == TRAINED and (reason := self.untrainable()) is not None:
            name, why = UNTRAINED, reason
        effort = LONGEST_TRAINING if name == TRAINED else self.effort
        fit = self.make(name, effort).fit(texts, n_clusters, progress)
        fit.evidence = [{"note": f"auto: the method is {name}, since {why}"}, *fit.evidence]
        return fit


def choice(texts: Sequence[str], n_clusters: int, most_characters: int) -> tuple[str, str]:
    """The method for an effort beyond `fast`, and why."""
    a_group = len(texts) // n_clusters
    if a_group < FEWEST_TEXTS_A_GROUP:
        return UNTRAINED, f"{a_group} texts a group are few to train on ({FEWEST_TEXTS_A_GROUP} would do)"
    times_seen = max(1.0, FEWEST_TEXTS_SEEN / len(texts))
    characters = times_seen * sum(min(len(text), READ_CHARACTERS) for text in texts)
    if characters > most_characters:
        return UNTRAINED, f"training would read {characters / 1e6:,.0f} million characters, which takes too long"
    return TRAINED, f"{a_group:,} texts a group are enough to train on"
