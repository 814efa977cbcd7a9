"""The trainable encoder against transformers' own model: vectors and the gradient of every trained weight."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

import coterie.nn.encoder as encoder_module
import coterie.nn.layers as layers_module
from coterie.errors import ConfigError
from coterie.features.checkpoints import Checkpoint, find_checkpoint
from coterie.features.transformer import TransformerEncoder
from coterie.nn.encoder import TrainableEncoder

MakeModel = Callable[..., Path]
FAMILIES = ["bert", "roberta", "distilbert", "camembert"]
LENGTHS = [7, 3, 20, 7, 1, 16, 3, 15, 7]


@pytest.fixture(scope="module")
def folders(make_model: MakeModel) -> dict[str, Path]:
    return {name: make_model(name, max_position_embeddings=52) for name in FAMILIES}


def trainable(folder: Path, **options: Any) -> TrainableEncoder:
    return TrainableEncoder(Checkpoint("tiny", folder, "", "tiny"), **options)


def some_texts(lengths: list[int] = LENGTHS, seed: int = 0) -> tuple[Tensor, NDArray[np.int64]]:
    ids = torch.randint(3, 160, (sum(lengths),), generator=torch.Generator().manual_seed(seed))
    return ids, np.array(lengths)


def targets(vectors: Tensor) -> Tensor:
    """A loss in which every vector counts differently."""
    return (vectors * torch.randn(vectors.shape, generator=torch.Generator().manual_seed(9))).sum()


def gradients(encoder: TrainableEncoder) -> dict[str, Tensor]:
    """By the checkpoint's names: the parts of our parameters as `tuned_weights` would cut them."""
    for parameter in encoder.parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None
            parameter.data.copy_(parameter.grad)
    return {name: torch.from_numpy(array) for name, array in encoder.tuned_weights().items()}


class Reference:
    """transformers' model, a text at a time: no batch, no padding, no mask."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModel

        self.model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()

    def hidden(self, ids: Tensor, lengths: NDArray[np.int64]) -> list[Tensor]:
        return [self.model(text[None]).last_hidden_state[0] for text in ids.split(lengths.tolist())]

    def vectors(self, ids: Tensor, lengths: NDArray[np.int64], pooling: str) -> Tensor:
        hidden = self.hidden(ids, lengths)
        pooled = torch.stack([text.mean(0) if pooling == "mean" else text[0] for text in hidden])
        return torch.nn.functional.normalize(pooled, dim=1)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("layers", [0, 1, 2, "all"])
@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_and_gradients_are_those_of_transformers(
    folders: dict[str, Path], family: str, layers: int | Literal["all"], pooling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_module, "TOKENS_IN_CHUNK", 30)
    encoder = trainable(folders[family], trainable_layers=layers, pooling=pooling).train()
    reference = Reference(folders[family])
    ids, lengths = some_texts()
    vectors, expected = encoder(ids, lengths), reference.vectors(ids, lengths, pooling)
    torch.testing.assert_close(vectors, expected, atol=1e-5, rtol=1e-5)
    if layers == 0:
        assert not vectors.requires_grad
        assert encoder.tuned_weights() == {}
        return
    targets(vectors).backward()
    targets(expected).backward()
    theirs = dict(reference.model.named_parameters())
    assert not any(parameter.grad is not None for parameter in encoder.parameters() if not parameter.requires_grad)
    found = gradients(encoder)
    trained = {
        name for name in theirs if layers == "all" or any(f"layer.{2 - n}." in name for n in range(1, layers + 1))
    }
    assert found.keys() == {name for name in trained if "pooler" not in name}
    for name, gradient in found.items():
        assert gradient.abs().max() > 1e-6 or "key.bias" in name or "k_lin.bias" in name or "embeddings" in name
        torch.testing.assert_close(gradient, theirs[name].grad, atol=1e-4, rtol=1e-4, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize("lengths", [[5], [1], [4, 4, 4], [40, 2], [16], [15]])
def test_batches_of_any_shape(folders: dict[str, Path], lengths: list[int]) -> None:
    ids, found = some_texts(lengths)
    vectors = trainable(folders["bert"])(ids, found)
    torch.testing.assert_close(vectors, Reference(folders["bert"]).vectors(ids, found, "mean"), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("layers", [1, "all"])
def test_hidden_states_of_every_token(folders: dict[str, Path], layers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_module, "TOKENS_IN_CHUNK", 30)
    ids, lengths = some_texts()
    reference = Reference(folders["roberta"])
    encoder = trainable(folders["roberta"], trainable_layers=layers)
    hidden, expected = encoder.hidden(ids, lengths), torch.cat(reference.hidden(ids, lengths))
    torch.testing.assert_close(hidden, expected, atol=1e-5, rtol=1e-5)
    targets(hidden).backward()
    targets(expected).backward()
    name = "encoder.layer.1.output.dense.weight"
    theirs = dict(reference.model.named_parameters())[name].grad
    torch.testing.assert_close(gradients(encoder)[name], theirs, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_states_below_lead_to_the_same_vectors(folders: dict[str, Path], layers: int) -> None:
    encoder = trainable(folders["bert"], trainable_layers=layers)
    ids, lengths = some_texts()
    states = encoder.below(ids, lengths)
    assert states.shape == (len(ids), 64)
    assert not states.requires_grad
    torch.testing.assert_close(encoder.from_states(states, lengths), encoder(ids, lengths), atol=1e-6, rtol=1e-6)


def test_bundled_encoder_as_it_is_encoded(demo_texts: list[str]) -> None:
    texts = demo_texts[:20]
    frozen = TransformerEncoder(cache=False)
    tokens = frozen.tokens(texts)
    vectors = TrainableEncoder(find_checkpoint("minilm"), trainable_layers=2)(
        torch.from_numpy(tokens.ids), tokens.lengths
    )
    np.testing.assert_allclose(vectors.detach().numpy(), frozen.encode(texts), atol=1e-5)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_recomputed_activations_give_the_same_gradients(
    folders: dict[str, Path], dropout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_module, "TOKENS_IN_CHUNK", 30)
    calls = []
    recomputed = encoder_module.recomputed

    def counted(*args: Any, **options: Any) -> Any:
        calls.append(options)
        return recomputed(*args, **options)

    monkeypatch.setattr(encoder_module, "recomputed", counted)
    found = []
    ids, lengths = some_texts()
    for budget in (10**9, 3 * 10**5, 0):
        encoder = trainable(folders["bert"], dropout=dropout).train()
        encoder.saved_bytes = budget
        torch.manual_seed(3)
        targets(encoder(ids, lengths)).backward()
        found.append((len(calls), gradients(encoder)))
    counts = [count for count, _ in found]
    # Nothing, a part, and all of the chunks.
    assert counts[0] == 0
    assert 0 < counts[1] < counts[2] - counts[1]
    for _, other in found[1:]:
        for name, gradient in found[0][1].items():
            torch.testing.assert_close(other[name], gradient, atol=1e-6, rtol=1e-5)


def test_estimate_of_what_is_kept_for_backward(folders: dict[str, Path]) -> None:
    """Against what torch really keeps."""
    for dropout in (0.0, 0.1):
        encoder = trainable(folders["bert"], trainable_layers=2, dropout=dropout).train()
        ids, lengths = some_texts([20] * 30)
        states = encoder.below(ids, lengths)
        kept: dict[int, int] = {}

        def keep(tensor: Tensor, kept: dict[int, int] = kept) -> Tensor:
            if not isinstance(tensor, torch.nn.Parameter):
                kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            vectors = encoder.from_states(states, lengths)
        estimate = 4 * len(ids) * sum(layer.saved_floats(20) for layer in encoder.layers)  # type: ignore[operator]
        assert vectors.requires_grad
        assert 0.8 < estimate / sum(kept.values()) < 1.25


def test_products_see_few_numbers_of_rows(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """For every number that is new oneDNN keeps memory, a gigabyte in a hundred steps."""
    monkeypatch.setattr(layers_module, "ROUND_ROWS", 32)
    encoder, seen = trainable(folders["bert"], trainable_layers=1), set()
    for layer in encoder.layers:
        layer.register_forward_pre_hook(lambda module, given: seen.add(len(given[0])))
    for count in range(1, len(LENGTHS) + 1):
        ids, lengths = some_texts(LENGTHS[:count])
        assert encoder.hidden(ids, lengths).shape[0] == len(ids)
    assert seen == {32, 64, 96}


def test_dropout_falls_differently_in_training_only(folders: dict[str, Path]) -> None:
    ids, lengths = some_texts()
    for layers in (1, "all"):
        encoder = trainable(folders["bert"], trainable_layers=layers, dropout=0.2).train()
        torch.manual_seed(0)
        first, second = encoder(ids, lengths), encoder(ids, lengths)
        torch.manual_seed(0)
        assert torch.equal(encoder(ids, lengths), first)
        assert not torch.allclose(first, second, atol=1e-3)
        encoder.eval()
        state = torch.get_rng_state()
        assert torch.equal(encoder(ids, lengths), encoder(ids, lengths))
        assert torch.equal(torch.get_rng_state(), state)
        torch.testing.assert_close(encoder(ids, lengths), trainable(folders["bert"])(ids, lengths))


def test_without_dropout_no_random_number_is_drawn(folders: dict[str, Path]) -> None:
    state = torch.get_rng_state()
    encoder = trainable(folders["bert"]).train()
    encoder.saved_bytes = 0
    targets(encoder(*some_texts())).backward()
    assert torch.equal(torch.get_rng_state(), state)


def test_dropout_of_a_frozen_layer_is_never_on(folders: dict[str, Path]) -> None:
    encoder = trainable(folders["bert"], trainable_layers=1, dropout=0.5).train()
    ids, lengths = some_texts()
    assert torch.equal(encoder.below(ids, lengths), encoder.below(ids, lengths))


@pytest.mark.parametrize("family", FAMILIES)
def test_tuned_weights_are_copies_under_the_names_of_the_bare_model(folders: dict[str, Path], family: str) -> None:
    from transformers import AutoModel

    ids, lengths = some_texts()
    encoder = trainable(folders[family])
    optimiser = torch.optim.SGD([weight for weight in encoder.parameters() if weight.requires_grad], lr=0.1)
    before = encoder(ids, lengths)
    targets(before).backward()
    optimiser.step()
    tuned = encoder.tuned_weights()
    kept = {name: array.copy() for name, array in tuned.items()}
    assert not torch.allclose(before, encoder(ids, lengths), atol=1e-3)
    model = AutoModel.from_pretrained(folders[family])
    missing, unexpected = model.load_state_dict({k: torch.from_numpy(v) for k, v in tuned.items()}, strict=False)
    assert unexpected == []
    assert all("pooler" in name or "position_ids" in name for name in missing)
    optimiser.step()
    assert all((tuned[name] == array).all() for name, array in kept.items()), "they are copies"


def test_names_of_other_files(folders: dict[str, Path], tmp_path: Path) -> None:
    """Prefixed names, old names of the norms, half precision, and several files."""
    (tmp_path / "config.json").write_bytes((folders["bert"] / "config.json").read_bytes())
    weights = load_file(folders["bert"] / "model.safetensors")
    renamed = {
        "bert."
        + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in weights.items()
    }
    names = sorted(renamed)
    for number, part in enumerate((names[:9], names[9:]), start=1):
        save_file({name: renamed[name] for name in part}, tmp_path / f"model-0000{number}-of-00002.safetensors")
    assert torch.equal(trainable(tmp_path)(*some_texts()), trainable(folders["bert"])(*some_texts()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "mpnet"}, "cannot be trained, for it is of type 'mpnet': use one of type bert, roberta"),
        ({"hidden_act": "gelu_new"}, "it has hidden_act='gelu_new'"),
        ({"position_embedding_type": "relative_key"}, "effort='fast', which leaves the encoder as it is"),
        ({"is_decoder": True}, "it has is_decoder=True"),
        ({"num_hidden_layers": 3}, "lacks the weights 'encoder.layer.2"),
        ({"hidden_size": None}, "lacks a setting or has a wrong one"),
    ],
)
def test_encoders_that_cannot_be_trained(
    folders: dict[str, Path], tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    config = json.loads((folders["bert"] / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | change))
    (tmp_path / "model.safetensors").write_bytes((folders["bert"] / "model.safetensors").read_bytes())
    with pytest.raises(ConfigError, match=message):
        trainable(tmp_path)


def test_damaged_files(folders: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ConfigError, match=r"config.json cannot be read"):
        trainable(tmp_path)
    (tmp_path / "config.json").write_bytes((folders["bert"] / "config.json").read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ConfigError, match="its weights cannot be read"):
        trainable(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trainable_layers": 3}, "this encoder has 2, use 0 to 2 or 'all'"),
        ({"trainable_layers": -1}, "use 0 to 2 or 'all'"),
        ({"trainable_layers": "top"}, "use 'all' or a number"),
        ({"pooling": "max"}, "use 'mean' or 'cls'"),
        ({"dropout": 1.0}, "use 0 or more and less than 1"),
    ],
)
def test_bad_options(folders: dict[str, Path], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        trainable(folders["bert"], **options)


def test_relu(make_model: MakeModel) -> None:
    """In double precision: where rounding turns the sign of a unit, its gradient is another."""
    folder = make_model("bert", hidden_act="relu")
    ids, lengths = some_texts()
    encoder, reference = trainable(folder).double(), Reference(folder)
    reference.model.double()
    vectors, expected = encoder(ids, lengths), reference.vectors(ids, lengths, "mean")
    torch.testing.assert_close(vectors, expected, atol=1e-5, rtol=1e-5)
    targets(vectors).backward()
    targets(expected).backward()
    name = "encoder.layer.0.intermediate.dense.weight"
    theirs = dict(reference.model.named_parameters())[name].grad
    torch.testing.assert_close(gradients(encoder)[name], theirs.float(), atol=1e-4, rtol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(trainable(folder)(ids, lengths), expected.float(), atol=1e-5, rtol=1e-5)


def test_products_of_16_bits_change_little(folders: dict[str, Path]) -> None:
    ids, lengths = some_texts()
    exact, coarse = trainable(folders["bert"]), trainable(folders["bert"], bf16=True)
    vectors, near = exact(ids, lengths), coarse(ids, lengths)
    assert near.dtype == torch.float32
    assert not torch.equal(near, vectors), "16 bits are coarser"
    torch.testing.assert_close(near, vectors, atol=2e-2, rtol=0)
    targets(vectors).backward()
    targets(near).backward()
    ours, theirs = gradients(coarse), gradients(exact)
    assert all(gradient.dtype == torch.float32 for gradient in ours.values())
    for name in ours:
        both = torch.stack([ours[name].flatten(), theirs[name].flatten()])
        if both.norm(dim=1).min() > 1e-4:
            assert torch.corrcoef(both)[0, 1] > 0.99, name


def test_without_gradient_16_bits_are_not_used(folders: dict[str, Path]) -> None:
    ids, lengths = some_texts()
    with torch.no_grad():
        coarse = trainable(folders["bert"], bf16=True)(ids, lengths)
        assert torch.equal(coarse, trainable(folders["bert"])(ids, lengths))
