"""Topics of groups: what a person sees of them, and how they are learnt once it is settled which groups are kept."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from coterie.engine.batch import Batch
from coterie.engine.loop import Outcome, Training
from coterie.engine.phase import Model, Phase
from coterie.engine.workers import Workers
from coterie.features.words import count_words
from coterie.methods.confidence import probabilities_of
from coterie.nn.texts import StillTexts
from coterie.nn.topics import Bags, ClusterTopics, Inference
from coterie.types import Labels, Matrix, Progress, State, silent

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from coterie.features.counted import CountedWords

WORDS_PER_TOPIC = 10


@dataclass(frozen=True)
class Topic:
    """One topic of a group: its share in the group's texts, and its likeliest words with their probabilities."""

    id: int
    weight: float
    words: list[tuple[str, float]]

    def to_dict(self) -> dict[str, Any]:
        words = [{"word": word, "probability": probability} for word, probability in self.words]
        return {"id": self.id, "weight": self.weight, "words": words}


class GroupTopics:
    """T topics for every group: `words` (places in the vocabulary) and `probabilities` of each, `weights` in its group.

    Topic t of one group has nothing to do with topic t of another. A text's mixture is over the topics of its own
    group, and depends on that text alone.
    """

    def __init__(
        self,
        vocabulary: list[str],
        infer: Inference,
        words: NDArray[np.int64],
        probabilities: NDArray[np.float32],
        weights: NDArray[np.float32],
    ) -> None:
        self.vocabulary, self.infer = vocabulary, infer.eval()
        self.words, self.probabilities, self.weights = words, probabilities, weights

    def mixtures(self, texts: Sequence[str]) -> Matrix:
        """The shares of the T topics in each text; rows sum to 1."""
        return mixtures_of(self.infer, count_words(texts, self.vocabulary))

    def of_group(self, group: int) -> list[Topic]:
        return self._of_groups([group], self.weights[[group]])

    def of_texts(self, texts: Sequence[str], groups: Labels) -> list[Topic]:
        """The topics of the groups that these texts are from, numbered anew, with their shares in these texts."""
        mixtures, found = self.mixtures(texts), np.unique(groups)
        sums = np.stack([mixtures[groups == group].sum(axis=0) for group in found])
        return self._of_groups(found.tolist(), np.asarray(sums / len(texts), dtype=np.float32))

    def weigh(self, texts: Sequence[str], groups: Labels) -> None:
        """The topics' shares in the groups are from now on those in these texts."""
        mixtures = self.mixtures(texts)
        for group in np.unique(groups):
            self.weights[group] = mixtures[groups == group].mean(axis=0)

    def _of_groups(self, groups: Sequence[int], weights: Matrix) -> list[Topic]:
        pairs = [(place, topic) for place in range(len(groups)) for topic in range(weights.shape[1])]
        return [
            Topic(number, round(float(weights[place, topic]), 4), self._words_of(groups[place], topic))
            for number, (place, topic) in enumerate(pairs)
        ]

    def _words_of(self, group: int, topic: int) -> list[tuple[str, float]]:
        """Those that are likelier in it than if all words were alike, and the likeliest in any case."""
        probabilities = self.probabilities[group, topic]
        shown = max(1, int((probabilities > 1 / len(self.vocabulary)).sum()))
        likeliest = zip(self.words[group, topic, :shown], probabilities[:shown], strict=True)
        return [(self.vocabulary[word], round(float(probability), 5)) for word, probability in likeliest]

    def renumber(self, order: Labels) -> None:
        """Group `order[i]` becomes group i."""
        self.words, self.probabilities = self.words[order], self.probabilities[order]
        self.weights = self.weights[order]

    def state(self) -> State:
        arrays: dict[str, NDArray[Any]] = {
            f"infer.{name}": tensor.numpy() for name, tensor in self.infer.state_dict().items()
        }
        arrays |= {"words": self.words, "probabilities": self.probabilities, "weights": self.weights}
        return State({"vocabulary": self.vocabulary}, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        vocabulary = list(state.config["vocabulary"])
        words, probabilities, weights = (state.arrays[name] for name in ("words", "probabilities", "weights"))
        with torch.random.fork_rng(devices=[]):  # weights are drawn before they are read
            infer = Inference(len(vocabulary), weights.shape[1])
        infer.load_state_dict(
            {
                name.removeprefix("infer."): torch.from_numpy(np.array(array))
                for name, array in state.arrays.items()
                if name.startswith("infer.")
            }
        )
        return cls(vocabulary, infer, words, probabilities, weights)


def mixtures_of(infer: Inference, counts: csr_matrix) -> Matrix:
    """The likeliest mixture of each bag of words."""

    mean = deepcopy(infer.mean).double()

    def means(hidden: NDArray[np.float64]) -> NDArray[np.float64]:
        with torch.inference_mode():
            found: NDArray[np.float64] = mean(torch.from_numpy(hidden)).numpy()
        return found

    with torch.inference_mode():
        hidden = infer.hidden(Bags.of(counts, torch.device("cpu"))).numpy()
    return probabilities_of(hidden, means, temperature=1.0)


class TopicLearner(Model):
    """Learns the topics of given groups: DECCRL's cluster-level module alone, each text through its own group."""

    groups: Tensor

    def __init__(
        self, topics: ClusterTopics, centres: Tensor, groups: Labels, words: CountedWords, phase: Phase
    ) -> None:
        super().__init__()
        self.topics, self.words, self.phase = topics, words, phase
        self.centres = nn.Parameter(centres)
        self.register_buffer("groups", torch.from_numpy(groups))

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"topics": list(self.parameters())}

    def phases(self) -> list[Phase]:
        return [self.phase]

    def losses(self, batch: Batch, phase: Phase) -> dict[str, Tensor]:
        bags = Bags.of(self.words.counts[batch.rows.cpu().numpy()], batch.rows.device)
        reconstruction, kl = self.topics.losses(bags, self.groups[batch.rows], self.centres)
        return {"reconstruction": reconstruction, "kl": kl}

    @torch.no_grad()
    def learnt(self) -> GroupTopics:
        infer, shown = self.topics.infer, min(WORDS_PER_TOPIC, len(self.words.vocabulary))
        best = [self.topics.log_beta(centre[None])[0].topk(shown, dim=1) for centre in self.centres]
        words = np.stack([found.indices.numpy() for found in best])
        probabilities = np.stack([found.values.exp().numpy() for found in best])
        mixtures = torch.from_numpy(mixtures_of(infer, self.words.counts))
        sums = torch.zeros(len(best), mixtures.shape[1]).index_add_(0, self.groups, mixtures)
        weights = sums / self.groups.bincount(minlength=len(best)).clamp_min(1)[:, None]
        return GroupTopics(self.words.vocabulary, infer, words, probabilities, weights.numpy())


def learn_topics(
    learner: TopicLearner, vectors: Matrix, seed: int, progress: Progress = silent
) -> tuple[GroupTopics, Outcome]:
    """The topics that it has learnt, and what there is to say of that."""
    workers = Workers()
    texts = StillTexts([vectors], workers.device)
    training = Training(learner.to(workers.device), nn.Module(), texts, seed=seed, workers=workers, progress=progress)
    outcome = training.run()
    return learner.cpu().learnt(), outcome
