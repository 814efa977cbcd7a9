"""The log of edits beside a model: whole, checked when read, and an error that says so when it is not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from coterie import ModelFormatError, TextClusterer, cluster
from coterie.persist.edits import edits_in_words

Document = dict[str, Any]


@pytest.fixture
def saved(tmp_path: Path, demo_texts: list[str]) -> Path:
    found = cluster(demo_texts[:40], 4, method="tfidf+kmeans")
    found.merge([1, 0]).split(1, into=3).rename(2, "billing").save(tmp_path / "model")
    return tmp_path / "model"


def test_what_is_in_it(saved: Path) -> None:
    document = json.loads((saved / "edits.json").read_text("utf-8"))
    temperature = document["edits"][1].pop("temperature")
    assert temperature > 0
    assert document["edits"] == [
        {"edit": "merge", "ids": [1, 0]},
        {"edit": "split", "ids": [1, 4, 5]},
        {"edit": "rename", "ids": [2], "names": ["billing"]},
    ]
    assert document["format"] == 2
    assert document["arrays_sha256"] == hashlib.sha256((saved / "edits.safetensors").read_bytes()).hexdigest()
    assert document["model_sha256"] == hashlib.sha256((saved / "model.safetensors").read_bytes()).hexdigest()
    assert sorted(load_file(saved / "edits.safetensors")) == ["centres.1", "labels"]
    assert edits_in_words(saved) == [
        "groups 1 and 0 merged into 1",
        "group 1 split into 1, 4 and 5",
        "group 2 named “billing”",
    ]


def test_without_edits_there_is_no_log(tmp_path: Path, demo_texts: list[str]) -> None:
    found = cluster(demo_texts[:40], 4, method="tfidf+kmeans")
    found.merge([1, 0]).undo().save(tmp_path / "model")
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]
    assert edits_in_words(tmp_path / "model") == []


def change(folder: Path, act: Callable[[Document], Any]) -> None:
    document = json.loads((folder / "edits.json").read_text("utf-8"))
    act(document)
    (folder / "edits.json").write_text(json.dumps(document), "utf-8")


def change_arrays(folder: Path, **arrays: Any) -> None:
    """Other arrays, with the hash that the log wants."""
    save_file({**load_file(folder / "edits.safetensors"), **arrays}, folder / "edits.safetensors")
    digest = hashlib.sha256((folder / "edits.safetensors").read_bytes()).hexdigest()
    change(folder, lambda document: document.update(arrays_sha256=digest))


@pytest.mark.parametrize(
    "act",
    [
        lambda document: document["edits"][0].update(ids=[1]),
        lambda document: document["edits"][0].update(ids=[1, 9]),
        lambda document: document["edits"][0].update(ids=[1, True]),
        lambda document: document["edits"][0].update(ids="10"),
        lambda document: document["edits"][0].update(edit="explode"),
        lambda document: document["edits"][1].update(ids=[1, 4, 6]),
        lambda document: document["edits"][1].update(ids=[0, 4, 5]),
        lambda document: document["edits"][1].update(temperature=0),
        lambda document: document["edits"][1].update(temperature="cold"),
        lambda document: document["edits"][1].update(temperature=float("nan")),
        lambda document: document["edits"][2].update(ids=[0]),
        lambda document: document["edits"][2].update(ids=[], names=[]),
        lambda document: document["edits"][2].update(names=[]),
        lambda document: document["edits"][2].update(names=[""]),
        lambda document: document["edits"][2].update(names=["\u202egnillib"]),
        lambda document: document["edits"][2].update(names=[7]),
        lambda document: document["edits"].pop(1),
        lambda document: document["edits"].pop(0),
        lambda document: document["edits"].append("merge"),
        lambda document: document.update(edits=None),
        lambda document: document.pop("edits"),
        lambda document: document.update(arrays_sha256="0"),
        lambda document: document.update(model_sha256="0"),
        lambda document: document.update(format=1),
    ],
)
def test_a_damaged_log_is_an_error(saved: Path, act: Callable[[Document], Any]) -> None:
    TextClusterer.load(saved)
    change(saved, act)
    with pytest.raises(ModelFormatError, match=r"edits\.json"):
        TextClusterer.load(saved)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"format": 2}', "[" * 100_000])
def test_a_log_that_is_none(saved: Path, text: str) -> None:
    (saved / "edits.json").write_text(text)
    for read in (TextClusterer.load, edits_in_words):
        with pytest.raises(ModelFormatError, match=r"edits\.json"):
            read(saved)


def test_damaged_or_missing_files(saved: Path) -> None:
    arrays = bytearray((saved / "edits.safetensors").read_bytes())
    arrays[-1] ^= 1
    (saved / "edits.safetensors").write_bytes(arrays)
    with pytest.raises(ModelFormatError, match=r"edits\.safetensors is not the file that it speaks of.*remove"):
        TextClusterer.load(saved)
    (saved / "edits.safetensors").unlink()
    with pytest.raises(ModelFormatError, match="log of edits is damaged"):
        TextClusterer.load(saved)


@pytest.mark.parametrize("content", ["garbage", "{}", "[1]"])
def test_a_damaged_model_is_not_blamed_on_the_log(saved: Path, content: str) -> None:
    (saved / "model.json").write_text(content)
    for read in (TextClusterer.load, edits_in_words):
        with pytest.raises(ModelFormatError, match=r"model\.json") as caught:
            read(saved)
        assert "edits" not in str(caught.value)


def test_arrays_without_a_log_are_not_passed_over(saved: Path) -> None:
    (saved / "edits.json").unlink()
    with pytest.raises(ModelFormatError, match="log of edits is damaged"):
        TextClusterer.load(saved)


@pytest.mark.parametrize(
    "arrays",
    [
        {"centres.1": np.zeros((3, 2), dtype=np.float32)},
        {"centres.1": np.full((3, 1), np.nan, dtype=np.float32)},
        {"centres.1": np.zeros(3, dtype=np.float32)},
        {"labels": np.zeros(3, dtype=np.int32)},
        {"labels": np.zeros(40, dtype=np.int32)},  # a group that was merged into another
        {"labels": np.full(40, 99, dtype=np.int32)},
    ],
)
def test_arrays_that_do_not_fit(saved: Path, arrays: dict[str, Any]) -> None:
    change_arrays(saved, **arrays)
    with pytest.raises(ModelFormatError, match="log of edits is damaged"):
        TextClusterer.load(saved)


def test_centres_that_are_no_numbers(saved: Path) -> None:
    centres = load_file(saved / "edits.safetensors")["centres.1"]
    change_arrays(saved, **{"centres.1": centres.astype(np.float64)})
    with pytest.raises(ModelFormatError, match="do not fit the model"):
        TextClusterer.load(saved)
    change_arrays(saved, **{"centres.1": np.where(centres > 0, np.inf, centres).astype(np.float32)})
    with pytest.raises(ModelFormatError, match="are no numbers"):
        TextClusterer.load(saved)


def test_the_log_of_another_model_is_refused(saved: Path, tmp_path: Path, demo_texts: list[str]) -> None:
    other = cluster(demo_texts[40:80], 4, method="tfidf+kmeans")
    other.save(tmp_path / "other")
    for name in ("edits.json", "edits.safetensors"):
        (tmp_path / "other" / name).write_bytes((saved / name).read_bytes())
    with pytest.raises(ModelFormatError, match="belongs to another model"):
        TextClusterer.load(tmp_path / "other")
