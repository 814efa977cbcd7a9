"""BERT's masked-LM head, against transformers' own and from its first state on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from coterie.nn.masked_head import RIDGE, START_GAIN, TiedHead

COUNTS = torch.tensor([6.0, 1.0, 3.0])


def head_of(width: int = 8) -> TiedHead:
    return TiedHead(torch.randn(3, width, generator=torch.Generator().manual_seed(0)), COUNTS)


def test_it_is_the_head_of_bert() -> None:
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertOnlyMLMHead

    config = BertConfig(vocab_size=3, hidden_size=8, num_attention_heads=1, hidden_act="gelu")
    theirs = BertOnlyMLMHead(config).eval()
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=random))
    predictions = theirs.predictions
    ours = TiedHead(predictions.decoder.weight.detach(), COUNTS)
    with torch.no_grad():
        ours.dense.load_state_dict(predictions.transform.dense.state_dict())
        ours.norm.load_state_dict(predictions.transform.LayerNorm.state_dict())
        ours.bias.copy_(predictions.decoder.bias)
        hidden = torch.randn(5, 8, generator=random)
        torch.testing.assert_close(ours(hidden), theirs(hidden), atol=1e-5, rtol=1e-5)


def test_it_starts_with_the_frequencies_and_an_identity() -> None:
    head = head_of()
    assert head.bias.softmax(0).tolist() == pytest.approx([0.6, 0.1, 0.3])
    hidden = torch.randn(4, 8, generator=torch.Generator().manual_seed(2))
    active = functional.gelu(hidden)
    normed = (active - active.mean(1, keepdim=True)) / active.std(1, unbiased=False, keepdim=True)
    torch.testing.assert_close(head(hidden), START_GAIN * normed @ head.words.T + head.bias)


def test_it_begins_with_a_regression_onto_the_words() -> None:
    """scikit-learn's, scaled to an output of size 1; the hidden states are nearly all the same, as an encoder's are."""
    from sklearn.linear_model import Ridge

    random = torch.Generator().manual_seed(3)
    head = TiedHead(torch.randn(20, 8, generator=random), torch.ones(20))
    targets = torch.arange(20).repeat(10)
    hidden = 0.02 * (head.words[targets].flip(1) + 0.1 * torch.randn(200, 8, generator=random)) + 5
    before = (head(hidden).argmax(dim=1) == targets).double().mean()
    head.begin(hidden, targets)
    assert (head(hidden).argmax(dim=1) == targets).double().mean() > 0.5 > 2 * before
    states, words = hidden.double().numpy(), head.words[targets].double().numpy()
    alpha = RIDGE * ((states - states.mean(axis=0)) ** 2).sum(axis=0).mean()
    told = Ridge(alpha=alpha).fit(states, words).predict(states) - words.mean(axis=0)
    dense = functional.linear(hidden, head.dense.weight, head.dense.bias).detach().numpy()
    assert dense == pytest.approx(told / np.sqrt((told**2).mean()), abs=1e-3)


@pytest.mark.parametrize("rows", [1, 3])
def test_nothing_to_tell_apart_leaves_it_as_it_was(rows: int) -> None:
    head = head_of()
    head.begin(torch.ones(rows, 8), torch.zeros(rows, dtype=torch.long))
    assert torch.equal(head.dense.weight, torch.eye(8))
    assert head(torch.ones(1, 8)).isfinite().all()


def test_words_are_tied_and_frozen() -> None:
    words = torch.randn(3, 8, generator=torch.Generator().manual_seed(0))
    before = words.clone()
    head = TiedHead(words, COUNTS)
    assert head.words.data_ptr() == words.data_ptr()
    assert {name for name, _ in head.named_parameters()} == {
        "dense.weight", "dense.bias", "norm.weight", "norm.bias", "bias",
    }  # fmt: skip
    optimizer = torch.optim.Adam(head.parameters(), 0.1)
    first = {name: value.clone() for name, value in head.state_dict().items()}
    head(torch.randn(4, 8)).logsumexp(dim=1).sum().backward()
    optimizer.step()
    assert torch.equal(head.words, before)
    assert not any(torch.equal(value, first[name]) for name, value in head.state_dict().items())


def test_building_one_draws_no_random_numbers() -> None:
    state = torch.get_rng_state()
    TiedHead(torch.zeros(3, 8), COUNTS)
    assert torch.equal(torch.get_rng_state(), state)
