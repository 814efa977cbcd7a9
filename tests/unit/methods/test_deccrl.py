"""DECCRL: its space, its losses by the equations, the switches of Table 3."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from torch.testing import assert_close

from coterie.building import Settings, build
from coterie.engine.phase import ENCODER
from coterie.errors import ConfigError, InputError
from coterie.features.counted import CountedWords, counted_words
from coterie.losses.contrastive import cross_view_contrast
from coterie.losses.student_t import kl_to_target, student_t, target_distribution
from coterie.methods.deccrl import DECCRL, DECCRLSettings
from coterie.methods.deep_model import Task
from coterie.nn.topics import Bags

Make = Callable[..., Any]
WIDTH, SCALE = 12, 12**0.5
GROUPS = np.repeat([0, 1, 2], [14, 7, 3])
ROWS = [0, 3, 15, 22, 8]


def words(width: int = 10) -> CountedWords:
    random = np.random.default_rng(0)
    counts = csr_matrix(random.integers(0, 3, size=(24, 7)).astype(np.float32))
    return CountedWords([f"w{word}" for word in range(7)], counts, random.normal(size=(7, width)).astype(np.float32))


@pytest.fixture
def make(points: Make) -> Make:
    """make(crl=...) -> a model that has read its words, begun, and seen all texts once; and their vectors."""

    def made(**own: Any) -> tuple[DECCRL, torch.Tensor]:
        torch.manual_seed(0)
        settings = DECCRLSettings(**{"dimensions": 8, "topics": 2, **own})
        reads = DECCRL.words_wanted(settings) is not None
        model = DECCRL(settings, Task(WIDTH, 3, 24, "fast", 0, 10 if reads else None))
        if reads:
            model.read(words())
        model.begin(GROUPS)
        vectors = points(24, GROUPS, noise=0.6)
        model.refresh(vectors, model.phases()[0])
        return model, vectors

    return made


def test_the_space_is_half_as_wide_as_the_words(make: Make) -> None:
    assert make()[0].centres.shape == (3, 5)
    assert make(crl=None)[0].centres.shape == (3, 6), "without words, half as wide as the encoder"


def test_the_space_starts_with_the_distances_of_the_encoder(make: Make) -> None:
    model, _ = make()
    flat = torch.randn(24, 5) @ torch.randn(5, WIDTH) + torch.randn(WIDTH)  # as many directions as the space has
    model.placed.fill_(False)
    model.refresh(flat, model.phases()[0])
    h = model.places(flat).detach()
    assert_close(torch.cdist(h, h), SCALE * torch.cdist(flat, flat), rtol=1e-3, atol=1e-3)
    means = torch.stack([h[torch.from_numpy(group == GROUPS)].mean(dim=0) for group in range(3)])
    assert_close(model.centres.detach(), means)
    before = model.project.weight.clone()
    model.refresh(torch.randn(24, WIDTH), model.phases()[0])
    assert torch.equal(model.project.weight, before), "once"


def test_contrast_and_clustering_are_the_papers(make: Make, batch_of: Make, points: Make) -> None:
    model, vectors = make(alpha=2.0, temperature=0.7)
    views = [vectors, *(points(24, GROUPS, seed=seed) for seed in (1, 2))]
    losses = model.losses(batch_of(views, ROWS), model.phases()[1])
    assigned = student_t(model.places(vectors), model.centres, 2.0)
    target = target_distribution(assigned)
    assert_close(losses["cluster"], kl_to_target(assigned[ROWS], target[ROWS]))
    assert abs(losses["cluster"] - kl_to_target(assigned[ROWS], target_distribution(assigned[ROWS]))) > 1e-4
    first, second = (model.contrast(model.places(view[ROWS])) for view in views[1:])
    assert_close(losses["contrast"], cross_view_contrast(first, second, 0.7))


def test_topics_first_learn_from_the_texts_of_their_own_cluster(make: Make, batch_of: Make) -> None:
    model, vectors = make(topics=1)  # of one topic every mixture is all
    with torch.no_grad():
        model.centres.copy_(model.centres.flip(0))  # so that it is not the first groups that decide
    losses = model.losses(batch_of([vectors] * 3, ROWS), model.phases()[0])
    own = student_t(model.places(vectors), model.centres).argmax(dim=1)[ROWS]
    bags = Bags.of(words().counts[ROWS], torch.device("cpu"))
    assert_close(losses["reconstruction"], model.topics.losses(bags, own, model.centres)[0])
    first = torch.from_numpy(GROUPS)[ROWS]
    assert abs(losses["reconstruction"] - model.topics.losses(bags, first, model.centres)[0]) > 1e-3


def test_then_the_words_of_a_text_draw_it_to_the_clusters_that_expect_them(make: Make, batch_of: Make) -> None:
    model, vectors = make(topics=1, alpha=2.0)
    loss = model.losses(batch_of([vectors] * 3, ROWS), model.phases()[1])["reconstruction"]
    assigned = student_t(model.places(vectors), model.centres, 2.0)[ROWS]
    bags = Bags.of(words().counts[ROWS], torch.device("cpu"))
    assert_close(loss, model.topics.losses_of_all(bags, assigned.log(), model.centres)[0])
    for gradient in torch.autograd.grad(loss, [model.centres, model.project.weight]):
        assert gradient.abs().min() > 0


def test_latent_reconstruction_is_of_the_space_itself(make: Make, batch_of: Make) -> None:
    model, vectors = make(crl="latent")
    assert model.autoencoder[0].weight.shape == (3, 6), "L to L / 2"
    loss = model.losses(batch_of([vectors] * 3, ROWS), model.phases()[1])["reconstruction"]
    h = model.places(vectors[ROWS])
    lengths = np.linalg.norm((model.autoencoder(h) - h).detach().numpy(), axis=1)
    assert float(loss.detach()) == pytest.approx((lengths**2 / 2).mean())


@pytest.mark.parametrize("crl", ["etm", "latent", None])
def test_every_phase_has_the_losses_that_it_weighs(crl: Any, make: Make, batch_of: Make) -> None:
    model, vectors = make(crl=crl, lambda_c=3.0, lambda_r=0.2)
    first, joint = model.phases()
    rebuilt = {"etm": {"reconstruction": 0.2, "kl": 0.2}, "latent": {"reconstruction": 0.2}, None: {}}[crl]
    assert joint.weights == {"contrast": 1.0, "cluster": 3.0, **rebuilt}
    assert first.weights == rebuilt
    assert (first.epochs > 0) == (crl is not None)
    assert not first.judged
    assert ENCODER not in first.rates
    assert "heads" not in first.rates
    for phase in (first, joint) if crl else (joint,):
        losses = model.losses(batch_of([vectors] * 3, ROWS), phase)
        assert losses.keys() == phase.weights.keys()
    groups = model.parameter_groups()
    assert joint.rates.keys() == {*groups, ENCODER}
    assert bool(groups["reconstruction"]) == (crl is not None)
    grouped = {id(parameter) for group in groups.values() for parameter in group}
    assert grouped == {id(parameter) for parameter in model.parameters()}, "nothing is left untrained"


def test_phases_that_go_on_with_learnt_topics_begin_softly(make: Make) -> None:
    """A new Adam's first step would undo in every weight as much as a whole rate."""
    model, vectors = make()
    first, joint = model.phases()
    final = model.topics_of(GROUPS, vectors).phases()[0]
    assert first.rate_factor(0, 300) == 1, "nothing is learnt yet"
    for phase in (joint, final):
        assert phase.rate_factor(0, 300) < 0.07
        assert phase.rate_factor(15, 300) == 1


def test_the_nearest_centre_has_the_highest_score(make: Make) -> None:
    model, vectors = make()
    distances = torch.cdist(model.places(vectors), model.centres)
    assert torch.equal(model.scores(vectors).argmax(dim=1), distances.argmin(dim=1))


# Words


class OwnWords:
    def encode(self, texts: list[str], progress: object = None) -> np.ndarray:
        return np.array([[len(text), ord(text[0])] for text in texts], dtype=np.float32)


def test_words_of_one_text_only_are_left_out() -> None:
    texts = ["red red apple", "green apple", "green pear", "a plum"]
    found = counted_words(texts, 100, OwnWords())  # type: ignore[arg-type]
    assert found.vocabulary == ["apple", "green"]
    np.testing.assert_array_equal(found.counts.toarray(), [[1, 0], [1, 1], [0, 1], [0, 0]])
    np.testing.assert_array_equal(found.vectors, [[5, ord("a")], [5, ord("g")]])
    assert counted_words(["red apple", "pear"], 100, OwnWords()).vocabulary == ["apple", "pear", "red"]  # type: ignore[arg-type]
    assert counted_words(texts, 1, OwnWords()).vocabulary == ["apple"]  # type: ignore[arg-type]


def test_words_of_a_file_keep_their_counts(tmp_path: Any) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("green 1 2 3\nunheard 9 9 9\napple 4 5 6\n")
    found = counted_words(["apple green green", "apple pear", "green pear"], 100, OwnWords(), path)  # type: ignore[arg-type]
    assert found.vocabulary == ["green", "apple"]
    np.testing.assert_array_equal(found.counts.toarray(), [[2, 1], [0, 1], [1, 0]])
    np.testing.assert_array_equal(found.vectors, [[1, 2, 3], [4, 5, 6]])


def test_texts_without_words_are_refused() -> None:
    with pytest.raises(InputError, match="no words were found in them, and this method learns from words"):
        counted_words(["!!", "?"], 100, OwnWords())  # type: ignore[arg-type]


def test_word_vectors_are_refused_where_nothing_is_made_of_them(tmp_path: Any) -> None:
    def method(name: str, **own: Any) -> Any:
        return build(name, Settings(3, "fast", "minilm", "fp32", str(tmp_path / "v.txt"), 0, own=own))

    assert method("deccrl").word_vectors == str(tmp_path / "v.txt")
    for name in ("sccl", "tfidf+kmeans"):
        with pytest.raises(ConfigError, match=f"word vectors are of no use to the method {re.escape(repr(name))}: "):
            method(name)
    for crl in ("latent", None):
        with pytest.raises(ConfigError, match=r"'deccrl' without topics: leave them out, or use crl=etm$"):
            method("deccrl", crl=crl)
    with pytest.raises(ConfigError, match=r"topics=0 .*a whole number from 1 on"):
        method("deccrl", topics=0)
