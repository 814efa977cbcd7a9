"""Tandem: what words tell of a text's group, groups that keep their sizes, and what is taught."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.special import log_softmax
from sklearn.naive_bayes import MultinomialNB
from torch import Tensor

from coterie.engine.phase import Phase
from coterie.features.counted import CountedWords
from coterie.features.graph import neighbour_graph
from coterie.features.two_views import side_by_side
from coterie.losses.transport import transport_to_sizes
from coterie.methods import tandem as tandem_module
from coterie.methods.deep import Deep
from coterie.methods.deep_model import Task
from coterie.methods.tandem import FIRST, TOGETHER, Tandem, TandemSettings
from coterie.methods.told_by_words import ALPHA, JudgedByWords, left_out_scores, told_by_words
from coterie.metrics.external import accuracy
from coterie.vectors import unit_rows


def words_at_random(seed: int, rows: int = 30, words: int = 12) -> csr_matrix:
    random = np.random.default_rng(seed)
    table = (random.random((rows, words)) < 0.3).astype(np.float64)
    return csr_matrix(table)


@pytest.mark.parametrize("seed", range(3))
def test_the_words_of_all_other_texts_by_scikit_learn(seed: int) -> None:
    texts, groups = words_at_random(seed), np.arange(30) % 3
    scores = left_out_scores(texts, groups, 3)
    for row in range(30):
        others = np.arange(30) != row
        bayes = MultinomialNB(alpha=ALPHA, fit_prior=False).fit(texts[others], groups[others])
        expected = (texts[[row]] @ bayes.feature_log_prob_.T)[0]
        np.testing.assert_allclose(scores[row], expected, atol=1e-10)


def test_the_temperature_foretells_the_groups_best() -> None:
    texts, groups = words_at_random(5), np.arange(30) % 3
    found = told_by_words(texts, groups, 3)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1)

    def surprise(shares: np.ndarray) -> float:
        return -float(shares[np.arange(30), groups].mean())

    scores = left_out_scores(texts, groups, 3)
    tried = [surprise(log_softmax(scores / temperature, axis=1)) for temperature in np.geomspace(0.2, 100, 60)]
    assert surprise(found) <= min(tried) + 1e-6


def test_a_group_without_texts_and_a_text_without_words() -> None:
    texts = csr_matrix([[1.0, 0], [1, 0], [0, 1], [0, 0]])
    found = told_by_words(texts, np.array([0, 0, 1, 1]), 3)
    assert np.isfinite(found).all()
    assert found[0].argmax() == 0
    np.testing.assert_allclose(found[3], np.log(1 / 3))


@given(st.integers(0, 10_000), st.integers(2, 6))
@settings(max_examples=40, deadline=None)
def test_groups_are_filled_to_their_sizes_as_sinkhorn_fills_them(seed: int, columns: int) -> None:
    random = np.random.default_rng(seed)
    log_p = torch.from_numpy(random.normal(size=(40, columns)) * 3).log_softmax(dim=1)
    sizes = torch.from_numpy(random.dirichlet(np.full(columns, 2.0)))
    found = transport_to_sizes(log_p, sizes)
    expected = log_p.exp()
    for _ in range(5_000):
        expected = expected * (sizes / expected.mean(dim=0))
        expected = expected / expected.sum(dim=1, keepdim=True)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    torch.testing.assert_close(found.mean(dim=0), sizes, atol=1e-6, rtol=0)


def test_a_grouping_that_no_words_foretell_is_judged_by_them() -> None:
    texts = csr_matrix(np.repeat(np.eye(2), 10, axis=0))
    judge = JudgedByWords(texts)
    by_word, in_turns = np.repeat([0, 1], 10), np.arange(20) % 2
    expected = told_by_words(texts, by_word, 2)[np.arange(20), by_word]
    np.testing.assert_allclose(judge.of_each(by_word), expected)
    assert judge.of_all(judge.of_each(by_word)) > 0.9
    assert judge.of_all(judge.of_each(in_turns)) < 0.6
    assert judge.of_all(np.log([0.9, 0.4])) == pytest.approx(0.6)  # the geometric mean
    assert judge.rows.tolist() == list(range(20))


def test_the_words_have_a_say_in_what_is_kept(fake_encoder: Any, themed: Any, own_folder: Path) -> None:
    texts, truth = themed
    for ablation, criterion in ((None, "silhouette and words"), ("no-words", "silhouette")):
        settings = TandemSettings(epochs=1, augment="dropout", ablation=ablation)
        fit = Deep("tandem", Tandem, settings, fake_encoder, effort="fast", random_state=0).fit(texts, 4)
        entries = [entry for entry in fit.evidence if "candidate" in entry]
        assert {entry["criterion"] for entry in entries} == {criterion}
        assert all(len(entry["by_space"]) == 1 and ("words" in entry) == (ablation is None) for entry in entries)
        assert all(entry["score"] != entry["by_space"][0] or ablation for entry in entries)
        assert accuracy(truth.tolist(), fit.labels.tolist()) == 1


# What is taught

WORDS = csr_matrix(np.repeat(np.eye(2), 4, axis=0))
"""Two words, four texts with each."""


def tandem(**own: Any) -> Tandem:
    model = Tandem(TandemSettings(**own), Task(2, 2, 8, "fast", 0))
    model.read(CountedWords(["a", "b"], WORDS, np.empty((2, 0), dtype=np.float32)))
    with torch.no_grad():
        model.head.weight.copy_(torch.eye(2) * 2)
        model.head.bias.zero_()
    return model


def phase(name: str) -> Phase:
    return Phase(name, 1, {}, {}, 8)


def vectors(firsts: list[float]) -> Tensor:
    """Of length 1; the head is for the first group where the first coordinate is the larger one."""
    first = torch.tensor(firsts)
    return torch.stack([first, (1 - first**2).sqrt()], dim=1)


def test_the_first_groups_are_taught_first() -> None:
    model, first = tandem(), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    model.begin(first)
    model.refresh(vectors([0.0] * 8), phase(FIRST))
    assert model.target.tolist() == np.eye(2)[first].tolist()
    assert model.taught().tolist() == first.tolist()


def test_words_outvote_an_encoder_in_doubt_and_a_sure_encoder_them() -> None:
    model = tandem(ablation="no-sizes")
    model.begin(np.array([0, 0, 0, 1, 1, 1, 1, 1]))  # the fourth has the words of the first group
    in_doubt = vectors([0.9, 0.9, 0.9, 0.7, 0.1, 0.1, 0.1, 0.1])
    model.refresh(in_doubt, phase(FIRST))
    assert model._told_by_both(in_doubt).argmax(dim=1).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    with torch.no_grad():
        model.head.weight.mul_(20)
    sure = vectors([0.9, 0.9, 0.9, 0.0, 0.1, 0.1, 0.1, 0.1])
    assert model._told_by_both(sure).argmax(dim=1).tolist() == [0, 0, 0, 1, 1, 1, 1, 1]


@torch.no_grad()
def test_what_both_tell_by_hand() -> None:
    groups, places = np.array([0, 0, 0, 1, 1, 1, 1, 1]), vectors([0.9, 0.8, 0.3, 0.7, 0.1, 0.2, 0.6, 0.4])
    by_encoder = torch.softmax(2 * 2**0.5 * places, dim=1).numpy()
    product = by_encoder * np.exp(told_by_words(WORDS, groups, 2))
    for ablation, expected in ((None, product / product.sum(axis=1, keepdims=True)), ("no-words", by_encoder)):
        model = tandem(ablation=ablation)
        model.begin(groups)
        model.refresh(places, phase(FIRST))
        np.testing.assert_allclose(model._told_by_both(places).numpy(), expected, rtol=1e-5)


@torch.no_grad()
def test_a_text_has_a_share_in_what_its_neighbours_are() -> None:
    groups, places = np.array([0, 0, 0, 1, 1, 1, 1, 1]), vectors([0.9, 0.8, 0.3, 0.7, 0.1, 0.2, 0.6, 0.4])
    model, alone = tandem(ablation="no-sizes"), tandem(ablation="no-neighbours")
    for one in (model, alone):
        one.begin(groups)
        one.refresh(places, phase(FIRST))
    told = model._told_by_both(places).numpy()
    views = side_by_side(places.numpy(), model.word_view)
    similar = unit_rows(views - views.mean(axis=0))
    weights = neighbour_graph(similar).toarray()
    of_neighbours = weights @ told / weights.sum(axis=1, keepdims=True)
    model.refresh(places, phase(TOGETHER))
    np.testing.assert_allclose(model.target.numpy(), 0.2 * told + 0.8 * of_neighbours, rtol=1e-4)
    assert model.taught().tolist() == model.target.argmax(dim=1).tolist()
    alone.refresh(places, phase(TOGETHER))
    sized = transport_to_sizes(torch.from_numpy(told).log(), torch.tensor([3, 5]))
    np.testing.assert_allclose(alone.target.numpy(), sized.numpy(), rtol=1e-5)


def test_neighbours_are_looked_for_once_while_the_encoder_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    model, places, found = tandem(), vectors([0.9, 0.8, 0.3, 0.7, 0.1, 0.2, 0.6, 0.4]), []
    monkeypatch.setattr(
        tandem_module, "neighbour_graph", lambda views: (found.append(len(views)), neighbour_graph(views))[1]
    )
    model.begin(np.array([0, 0, 0, 1, 1, 1, 1, 1]))
    for name, now in ((FIRST, places), (TOGETHER, places), (TOGETHER, places), (TOGETHER, places.clone())):
        model.refresh(now, phase(name))
    assert found == [8, 8]


def test_groups_keep_the_sizes_they_began_with() -> None:
    model, first = tandem(), np.array([0, 0, 1, 1, 1, 1, 1, 1])
    model.begin(first)
    all_for_the_first = vectors([0.95, 0.9, 0.85, 0.8, 0.9, 0.8, 0.85, 0.95])
    assert tandem()._told_by_both(all_for_the_first).mean(dim=0)[0] > 0.5
    for name in (FIRST, TOGETHER, TOGETHER):
        model.refresh(all_for_the_first, phase(name))
        np.testing.assert_allclose(model.target.mean(dim=0).numpy(), [2 / 8, 6 / 8], atol=1e-6)


def test_the_loss_by_hand() -> None:
    class Given:
        rows = torch.tensor([0, 5])

        def vectors(self, view: int) -> Tensor:
            return vectors([0.6, 0.8]) if view == 1 else vectors([0.8, 1.0])

    model = tandem()
    model.target.copy_(torch.tensor([[0.75, 0.25]] * 8))
    (loss,) = model.losses(Given(), phase(TOGETHER)).values()  # type: ignore[arg-type]
    logits = 2 * 2**0.5 * np.array([[[0.6, 0.8], [0.8, 0.6]], [[0.8, 0.6], [1.0, 0.0]]])
    surprise = -(np.array([0.75, 0.25]) * log_softmax(logits, axis=2)).sum(axis=2)
    assert float(loss.detach()) == pytest.approx(surprise.mean(axis=1).sum(), rel=1e-5)


def test_q_is_made_anew_several_times_however_many_texts_there_are() -> None:
    few, many = (Tandem(TandemSettings(), Task(4, 2, rows, "balanced", 0)).phases()[1] for rows in (400, 50_000))
    assert (few.epochs, many.epochs) == (60, 4)
