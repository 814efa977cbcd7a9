"""A masked-LM head trained on the texts: what is masked, what it learns, what it proposes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from coterie.augment import Contextual, fixed_view, make_augmenters
from coterie.augment.corpus_lm import EPOCHS, CorpusMaskedLM, _Alone, _held_out, _MaskedPlaces, masked_texts
from coterie.augment.masked_lm import CheckpointMaskedLM, has_head
from coterie.augment.vocabulary import input_matrix
from coterie.engine.batch import Batch
from coterie.errors import ConfigError
from coterie.features.checkpoints import find_checkpoint
from coterie.features.tokens import Tokens
from coterie.features.transformer import TransformerEncoder
from coterie.nn.texts import StillTexts

MASK, SPECIAL = 1, [0, 1]
TOPICS = ("film movie cinema actor", "printer screen battery lamp", "coffee tea cup water", "refund invoice bank money")
TEXTS = [
    " ".join(words[(start + step) % 4] for step in range(length)) + ending
    for words in map(str.split, TOPICS)
    for start in range(4)
    for length in (3, 4, 6)
    for ending in (".", "!", " works", " broke")
]


def tokens_of(*lengths: int) -> Tokens:
    """Texts whose ids are all different, between two special ones each."""
    ids = np.arange(2, 2 + sum(lengths))
    pieces = [[0, *part, 0] for part in np.split(ids, np.cumsum(lengths)[:-1])]
    return Tokens(
        np.concatenate(pieces).astype(np.int32), np.cumsum([0, *(len(piece) for piece in pieces)], dtype=np.int64)
    )


@pytest.fixture(scope="module")
def headless(make_model: Any) -> TransformerEncoder:
    return TransformerEncoder(str(make_model("bert", head=False, num_hidden_layers=1)))


@pytest.fixture(scope="module")
def trained(headless: TransformerEncoder) -> CorpusMaskedLM:
    model = CorpusMaskedLM(headless, TEXTS)
    with pytest.warns(UserWarning, match=r"no masked-language-model head, so one was trained on the 192 different"):
        assert model.head is not None
    return model


def test_every_token_is_masked_once_a_share_at_a_time() -> None:
    tokens = tokens_of(1, 3, 13, 40)
    made = masked_texts(tokens, MASK, SPECIAL, seed=0)
    assert sorted(made.originals.tolist()) == list(range(2, 59))
    assert np.flatnonzero(made.tokens.ids == MASK).tolist() == sorted(made.places.tolist())
    back = made.tokens.ids.copy()
    back[made.places] = made.originals
    for row in range(len(made.tokens)):
        span = slice(*made.tokens.offsets[row : row + 2])
        text = next(text for text in range(4) if tokens.ids[tokens.offsets[text] + 1] == back[span][1])
        assert back[span].tolist() == tokens.ids[slice(*tokens.offsets[text : text + 2])].tolist()
        masks = int((made.tokens.ids[span] == MASK).sum())
        assert masks in {0: (1,), 1: (1,), 2: (1, 2), 3: (4, 6)}[text]
    assert np.bincount(made.texts).tolist() == [1, 3, 13, 40]
    assert (masked_texts(tokens, MASK, SPECIAL, seed=1).originals != made.originals).any()


def test_all_texts_have_their_turn_before_any_has_its_second() -> None:
    tokens = tokens_of(*[13] * 50)
    made = masked_texts(tokens, MASK, SPECIAL, seed=0, most=100)
    assert len(made.places) == 100
    assert np.bincount(made.texts).tolist() == [2] * 50
    assert len(made.tokens) == 50
    few = masked_texts(tokens, MASK, SPECIAL, seed=0, most=20)
    assert len(few.tokens) == len(np.unique(few.texts)) == 10
    assert np.unique(few.texts).max() > 20


def test_hidden_states_are_those_of_the_masked_places(trained: CorpusMaskedLM) -> None:
    made = masked_texts(trained._tokens, trained.mask_id, trained._special, seed=0, most=50)
    hidden = trained._hidden(made)
    for place, state in zip(made.places, hidden, strict=True):
        row = int(np.searchsorted(made.tokens.offsets, place, side="right")) - 1
        start, stop = made.tokens.offsets[row : row + 2]
        alone = trained.encoder.hidden_states(made.tokens.ids[start:stop].astype(np.int64)[None])
        assert state == pytest.approx(alone[0, place - start].numpy(), abs=1e-5)


def test_the_vocabulary_is_that_of_the_texts(trained: CorpusMaskedLM) -> None:
    vocabulary = {trained.tokenizer.id_to_token(int(index)) for index in trained.vocabulary}
    assert vocabulary == {*" ".join(TOPICS).split(), "works", "broke", ".", "!"}
    assert trained.head is not None
    matrix = input_matrix(trained.encoder.checkpoint, trained.tokenizer.get_vocab_size())
    assert torch.equal(trained.head.words, torch.from_numpy(matrix[trained.vocabulary]))
    ids = np.array([[2, trained.mask_id, 8, 3]])
    best = trained.proposals(ids, np.array([0]), np.array([1]), 1000)
    assert sorted(best[0].tolist()) == trained.vocabulary.tolist()
    assert trained.proposals(ids, np.array([0, 0]), np.array([1, 2]), 3).shape == (2, 3)


def test_beginnings_of_words_are_not_proposed(headless: TransformerEncoder) -> None:
    """unknown is un and ##known: un is a token of the texts and looks like a word, but is none of theirs."""
    model = CorpusMaskedLM(headless, ["unknown film", "tea"])
    with pytest.warns(UserWarning, match="head"):
        best = model.proposals(np.array([[2, model.mask_id, 3]]), np.array([0]), np.array([1]), 9)
    told = {model.tokenizer.id_to_token(index) for index in best[0].tolist()}
    assert told == {"##known", "film", "tea"}
    assert model.tokenizer.token_to_id("un") in model.vocabulary


def test_it_learns_which_words_go_together(trained: CorpusMaskedLM) -> None:
    assert trained.accuracy is not None
    assert trained.baseline is not None
    assert trained.accuracy > 2 * trained.baseline
    assert [entry["epoch"] for entry in trained.history] == list(range(1, EPOCHS + 1))
    assert trained.history[-1]["held_out"] == trained.accuracy
    losses = [entry["losses"]["masked"] for entry in trained.history]
    assert losses[-1] < losses[0]


def test_the_loss_of_a_place_is_that_of_its_own_token(trained: CorpusMaskedLM) -> None:
    assert trained.head is not None
    random = np.random.default_rng(0)
    hidden, targets = random.normal(size=(9, 32)).astype(np.float32), random.permutation(9)
    model = _MaskedPlaces(trained.head, targets, hidden[:0], targets[:0])
    rows = np.array([7, 2, 5])
    batch = Batch(StillTexts([hidden], torch.device("cpu")), rows, _Alone(), [0])
    with torch.no_grad():
        losses = model.losses(batch, model.phases()[0])
        shares = trained.head(torch.from_numpy(hidden[rows])).softmax(dim=1).numpy()
    assert losses.keys() == model.phases()[0].weights.keys()
    assert float(losses["masked"]) == pytest.approx(-np.log(shares[[0, 1, 2], targets[rows]]).mean(), rel=1e-4)


def test_held_out_texts_are_a_tenth_and_whole() -> None:
    texts = np.repeat(np.arange(40), 3)
    chosen = _held_out(texts)
    assert chosen.sum() == 12
    assert len(np.unique(texts[chosen])) == 4
    assert not _held_out(np.zeros(9, dtype=np.int64)).any()


def test_proposals_are_the_likeliest_first(trained: CorpusMaskedLM) -> None:
    ids = np.array([[2, trained.mask_id, 8, 3], [2, 9, trained.mask_id, 3]])
    found = trained.proposals(ids, np.array([1, 0]), np.array([2, 1]), 4)
    hidden = trained.encoder.hidden_states(ids)
    assert trained.head is not None
    with torch.inference_mode():
        for row, state in zip(found, (hidden[1, 2], hidden[0, 1]), strict=True):
            assert row.tolist() == trained.vocabulary[trained.head(state[None])[0].topk(4).indices.numpy()].tolist()


@pytest.mark.filterwarnings("ignore:encoder")
def test_the_same_texts_give_the_same_head_and_leave_chance_alone(
    headless: TransformerEncoder, trained: CorpusMaskedLM
) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    again = CorpusMaskedLM(headless, TEXTS + TEXTS[:7])
    assert trained.head is not None
    assert again.head is not None
    assert torch.equal(torch.get_rng_state(), before)
    for name, value in again.head.state_dict().items():
        assert torch.equal(value, trained.head.state_dict()[name])
    assert again.describe() == trained.describe()


def test_views_do_not_depend_on_company(trained: CorpusMaskedLM) -> None:
    augmenter = Contextual(trained, rate=0.3)
    views = augmenter.augment(TEXTS)
    assert [augmenter.augment([text])[0] for text in TEXTS] == views
    assert augmenter.augment(TEXTS[::-1]) == views[::-1]


def test_descriptions_differ_by_all_that_matters(headless: TransformerEncoder, make_model: Any) -> None:
    other = TransformerEncoder(str(make_model("bert", head=False)))
    described = {
        CorpusMaskedLM(encoder, texts).describe()
        for encoder, texts in (
            (headless, TEXTS),
            (other, TEXTS),
            (TransformerEncoder(headless.name, max_length=9), TEXTS),
            (TransformerEncoder(headless.name, precision="int8"), TEXTS),
            (headless, TEXTS[1:]),
            (headless, ["film tea", "cup"]),
            (headless, ["film ", "teacup"]),
        )
    }
    assert len(described) == 7


def test_nothing_is_trained_before_it_is_needed(headless: TransformerEncoder) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = CorpusMaskedLM(headless, TEXTS)
        model.describe()
        assert (model.longest, model.mask_id) == (40, 4)


def test_tuned_weights_are_left_aside(headless: TransformerEncoder) -> None:
    tuned = headless.with_weights({"embeddings.LayerNorm.bias": np.zeros(32, dtype=np.float32)})
    model = CorpusMaskedLM(tuned, TEXTS)
    assert model.describe() == CorpusMaskedLM(headless, TEXTS).describe()
    ids = np.array([[2, 8, 9, 3]])
    assert torch.equal(model.encoder.hidden_states(ids), headless.hidden_states(ids))


@pytest.mark.parametrize("texts", [["film"], ["film tea"] * 9, ["film", "tea cup", "the movie"]])
def test_few_texts(headless: TransformerEncoder, texts: list[str]) -> None:
    model = CorpusMaskedLM(headless, texts)
    with pytest.warns(UserWarning, match="too few texts to tell"):
        views = Contextual(model).augment(texts)
    assert model.accuracy is None
    assert all(view.strip() for view in views)


def test_texts_without_a_known_word(headless: TransformerEncoder) -> None:
    model = CorpusMaskedLM(headless, ["日本", "😀"])
    assert Contextual(model).augment(["a film"]) == ["a film"]


def test_embeddings_of_another_width(make_model: Any) -> None:
    model = CorpusMaskedLM(TransformerEncoder(str(make_model("electra", head=False, embedding_size=16))), TEXTS[:20])
    with pytest.raises(ConfigError, match="width 32 and input embeddings of width 16"):
        Contextual(model).augment(TEXTS[:20])


def test_it_tells_how_far_it_is(headless: TransformerEncoder) -> None:
    told: list[tuple[str, int, int]] = []
    with pytest.warns(UserWarning, match="head"):
        assert CorpusMaskedLM(headless, TEXTS, lambda *step: told.append(step)).head is not None
    for stage in ("tokenising", "reading masked texts", "training (masked words)"):
        done = [step[1:] for step in told if step[0] == stage]
        assert done
        assert done == sorted(done)
        assert done[-1][0] == done[-1][1]


def test_heads_are_found_by_the_names_of_their_weights(make_model: Any, tiny_bert: Path, tiny_roberta: Path) -> None:
    assert has_head(find_checkpoint(str(tiny_bert)))
    assert has_head(find_checkpoint(str(tiny_roberta)))
    assert has_head(find_checkpoint(str(make_model("distilbert", dim=32, n_layers=1, n_heads=2, hidden_dim=64))))
    for headless in ("minilm", str(make_model("bert", head=False)), str(make_model("roberta", head=False))):
        assert not has_head(find_checkpoint(headless))


def test_a_head_of_its_own_is_used_and_one_is_shared_by_all_seeds(
    tiny_bert: Path, headless: TransformerEncoder
) -> None:
    (own,) = make_augmenters("contextual", TransformerEncoder(str(tiny_bert)), TEXTS, None, [0])
    assert isinstance(own, Contextual)
    assert isinstance(own.masked_lm, CheckpointMaskedLM)
    first, second = make_augmenters("contextual", headless, TEXTS, 0.3, [1, 2])
    assert isinstance(first, Contextual)
    assert isinstance(second, Contextual)
    assert isinstance(first.masked_lm, CorpusMaskedLM)
    assert first.masked_lm is second.masked_lm
    assert (first.rate, first.random_state, second.random_state) == (0.3, 1, 2)


def test_the_bundled_encoder_from_end_to_end(demo_texts: list[str], cache: Path) -> None:
    texts = sorted(dict.fromkeys(demo_texts), key=len)[:250]
    (augmenter,) = make_augmenters("contextual", TransformerEncoder(), texts, None, [0])
    with pytest.warns(UserWarning, match=r"'minilm' has no masked-language-model head.*\d+% of the masked tokens"):
        views = fixed_view(augmenter, texts)
    assert len(views) == len(texts)
    assert all(view.strip() for view in views)
    assert np.mean([view != text for view, text in zip(views, texts, strict=True)]) > 0.8
    assert isinstance(augmenter, Contextual)
    model = augmenter.masked_lm
    assert isinstance(model, CorpusMaskedLM)
    assert model.accuracy is not None
    assert model.baseline is not None
    assert model.accuracy > 1.2 * model.baseline
    (again,) = make_augmenters("contextual", TransformerEncoder(), texts, None, [0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fixed_view(again, texts) == views
