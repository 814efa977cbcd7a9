"""Saved models: complete or absent, checked when read, never executed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from coterie import ConfigError, ModelFormatError, TextClusterer
from coterie.features.checkpoints import Checkpoint, find_checkpoint


@pytest.fixture
def saved(tmp_path: Path, demo_texts: list[str]) -> Path:
    TextClusterer(3, method="tfidf+kmeans").fit(demo_texts[:40]).save(tmp_path / "model")
    return tmp_path / "model"


def test_an_existing_folder_is_never_replaced(saved: Path, demo_texts: list[str]) -> None:
    with pytest.raises(ConfigError, match="there is something of this name already"):
        TextClusterer(3, method="tfidf+kmeans").fit(demo_texts[:40]).save(saved)


def test_a_failed_save_leaves_nothing(tmp_path: Path, demo_texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = TextClusterer(3, method="tfidf+kmeans").fit(demo_texts[:40])

    def full_disk(path: Path, value: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("coterie.persist.model.write_json_atomic", full_disk)
    with pytest.raises(OSError, match="No space"):
        fitted.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["adsl", "ae+ward", "aecl"])
def test_loading_leaves_the_users_random_numbers_alone(method: str, tmp_path: Path, demo_texts: list[str]) -> None:
    settings = {"epochs": 1} if method == "adsl" else {"undo": False} if method == "aecl" else {}
    TextClusterer(3, method=method, settings=settings).fit(demo_texts[:40]).save(tmp_path / "model")
    before = torch.random.get_rng_state()
    TextClusterer.load(tmp_path / "model")
    assert torch.equal(torch.random.get_rng_state(), before)


def test_missing_model(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match=r"model\.json is missing"):
        TextClusterer.load(tmp_path)


def test_a_run_names_the_model_in_it(saved: Path) -> None:
    with pytest.raises(ModelFormatError, match=f"Give {saved}"):
        TextClusterer.load(saved.parent)


def test_a_file_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("text\n", encoding="utf-8")
    with pytest.raises(ModelFormatError, match="this is a file, not a model"):
        TextClusterer.load(tmp_path / "texts.csv")


def test_what_cannot_be_read_is_named(saved: Path) -> None:
    (saved / "model.json").unlink()
    (saved / "model.json").mkdir()
    with pytest.raises(ModelFormatError, match=r"model\.json: cannot be read"):
        TextClusterer.load(saved)


def test_another_format_version(saved: Path) -> None:
    document = json.loads((saved / "model.json").read_text())
    (saved / "model.json").write_text(json.dumps(document | {"format": 99}))
    with pytest.raises(ModelFormatError, match="format version 99"):
        TextClusterer.load(saved)


@pytest.mark.parametrize(
    "text",
    ["", "[1, 2", "[]", "[" * 100_000, '{"format": 2}', '{"format": 2, "parameters": {"nonsense": 1}}'],
    ids=["empty", "cut off", "list", "nested too deeply", "nothing but a format", "unknown parameter"],
)
def test_damaged_json(saved: Path, text: str) -> None:
    (saved / "model.json").write_text(text)
    with pytest.raises(ModelFormatError):
        TextClusterer.load(saved)


def test_damaged_or_missing_arrays(saved: Path) -> None:
    arrays = saved / "model.safetensors"
    content = bytearray(arrays.read_bytes())
    content[-1] ^= 1
    arrays.write_bytes(content)
    with pytest.raises(ModelFormatError, match="damaged or from another model"):
        TextClusterer.load(saved)
    arrays.unlink()
    with pytest.raises(ModelFormatError, match="cannot be read"):
        TextClusterer.load(saved)


def test_without_memory_a_model_is_not_called_damaged(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("coterie.persist.model.read_arrays", refused)
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        TextClusterer.load(saved)


def test_another_encoder_under_the_same_name_is_refused(
    tmp_path: Path, demo_texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    TextClusterer(3, method="minilm+kmeans").fit(demo_texts[:40]).save(tmp_path / "model")
    genuine = find_checkpoint("minilm")

    def other(name: str) -> Checkpoint:
        return Checkpoint(name, genuine.folder, "0" * 64, name)

    monkeypatch.setattr("coterie.features.transformer.find_checkpoint", other)
    with pytest.raises(ModelFormatError, match="another version of the encoder"):
        TextClusterer.load(tmp_path / "model")


def test_an_encoder_in_a_folder(
    tmp_path: Path, tiny_bert: Path, demo_texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found from any folder; where it is gone, that is said, and not that the model is damaged."""
    encoder = tmp_path / "here" / "encoder"
    shutil.copytree(tiny_bert, encoder)
    monkeypatch.chdir(encoder.parent)
    model = TextClusterer(3, method="minilm+kmeans", encoder="encoder").fit(demo_texts[:40])
    model.save(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    assert (TextClusterer.load(tmp_path / "model").predict(demo_texts[:40]) == model.labels_).all()
    shutil.rmtree(encoder)
    with pytest.raises(ModelFormatError) as caught:
        TextClusterer.load(tmp_path / "model")
    assert str(caught.value) == (
        f"this model was fitted with the encoder in {str(encoder)!r}, which is not there any more: put the same folder "
        "back, or a link to it"
    )
    encoder.symlink_to(tiny_bert)
    assert (TextClusterer.load(tmp_path / "model").predict(demo_texts[:40]) == model.labels_).all()
