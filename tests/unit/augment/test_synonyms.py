"""Neighbours in the encoder's vocabulary against plain cosines, and WordNet through a stand-in for nltk."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from coterie.augment import EDA, NeighbourSynonyms, WordNetSynonyms, make_augmenters, synonyms
from coterie.augment.vocabulary import whole_words
from coterie.errors import ConfigError
from coterie.features.transformer import TransformerEncoder


@pytest.fixture(scope="module")
def minilm() -> NeighbourSynonyms:
    return NeighbourSynonyms(TransformerEncoder())


def save_encoder(folder: Path, tokens: list[str], matrix: Any, name: str = "embeddings.word_embeddings.weight") -> Path:
    """A folder with a vocabulary of one token a row, and an input matrix."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models

    folder.mkdir()
    tokenizer = Tokenizer(models.WordLevel({token: index for index, token in enumerate(tokens)}, unk_token=tokens[0]))
    tokenizer.add_special_tokens([tokens[0]])
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file({name: np.array(matrix, dtype=np.float32)}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    return folder


def test_synonyms_of_film(minilm: NeighbourSynonyms, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(minilm.of("film"))[:3] == ["films", "movie", "movies"]
    assert list(minilm.of("zzzunknown")) == list(minilm.of("")) == []
    assert len(minilm.of("music")) == 5
    monkeypatch.setattr(synonyms, "MOST_SYNONYMS", 8)
    assert "cinema" in NeighbourSynonyms(minilm.encoder).of("film")


def test_neighbours_are_whole_words(minilm: NeighbourSynonyms) -> None:
    words = ["film", "error", "download", "music", "linux", "paris", "running"]
    found = [synonym for word in words for synonym in minilm.of(word)]
    assert found
    assert all(word.isalpha() and word.islower() and len(word) > 1 for word in found)
    assert all(word not in minilm.of(word) for word in words)


def test_neighbours_are_those_of_the_plain_cosine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synonyms, "WORDS_AT_ONCE", 7)
    monkeypatch.setattr(synonyms, "MOST_SYNONYMS", 3)
    random = np.random.default_rng(0)
    words = [f"{a}{b}" for a in "abcdefgh" for b in "klmnopqr"]
    matrix = random.normal(size=(65, 4))
    folder = save_encoder(tmp_path / "encoder", ["[UNK]", *words], matrix)
    plain = np.float32(matrix[1:]).astype(float)
    plain -= plain.mean(axis=0)
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    # A hair above the cosine of the first word and its second neighbour.
    threshold = float(np.sort(plain @ plain[0])[-3]) + 0.0005
    monkeypatch.setattr(synonyms, "LEAST_COSINE", threshold)
    encoder = TransformerEncoder(str(folder))
    neighbours = NeighbourSynonyms(encoder)
    neighbours.prepare(words)
    for row, word in enumerate(words):
        cosines = plain @ plain[row]
        ranked = [words[i] for i in np.argsort(-cosines) if i != row and cosines[i] >= threshold]
        assert list(neighbours.of(word)) == ranked[:3]
        assert list(NeighbourSynonyms(encoder).of(word)) == ranked[:3]
    assert len(neighbours.of(words[0])) == 1


def test_common_direction_of_all_words_does_not_make_them_synonyms(tmp_path: Path) -> None:
    matrix = np.eye(6) + 10
    folder = save_encoder(tmp_path / "encoder", ["[UNK]", "aa", "bb", "cc", "dd", "ee"], matrix)
    assert list(NeighbourSynonyms(TransformerEncoder(str(folder))).of("aa")) == []


def test_upper_case_vocabularies_are_asked_in_lower_case(tmp_path: Path) -> None:
    tokens = ["[UNK]", "Film", "film", "Movie", "xx", "yy"]
    matrix = [[9, 9, 9], [0, 0, 1], [1, 0, 0], [1, 0.1, 0], [-1, 1, 0], [-1, -1, 0]]
    folder = save_encoder(tmp_path / "encoder", tokens, matrix)
    neighbours = NeighbourSynonyms(TransformerEncoder(str(folder)))
    assert list(neighbours.of("film")) == ["movie"]
    assert list(neighbours.of("movie")) == ["film"]


def test_encoder_without_a_known_matrix(tmp_path: Path) -> None:
    folder = save_encoder(tmp_path / "encoder", ["[UNK]", "aa"], np.eye(2), name="strange.weight")
    with pytest.raises(ConfigError, match="augment=wordnet"):
        NeighbourSynonyms(TransformerEncoder(str(folder))).of("aa")


def test_description_tells_the_encoder_and_what_is_near(
    minilm: NeighbourSynonyms, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept views are found by it."""
    described = [minilm.describe(), NeighbourSynonyms(TransformerEncoder(str(tiny_bert))).describe()]
    for constant in ("LEAST_COSINE", "MOST_SYNONYMS"):
        with monkeypatch.context() as patch:
            patch.setattr(synonyms, constant, 1)
            described.append(minilm.describe())
    assert len(set(described)) == 4


def words_in(model: Any, special: list[str]) -> set[str]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer(model)
    tokenizer.add_special_tokens(special)
    return set(whole_words(tokenizer).values())


def test_whole_words_of_every_kind_of_vocabulary() -> None:
    from tokenizers import models

    def numbered(*tokens: str) -> dict[str, int]:
        return {token: index for index, token in enumerate(tokens)}

    pieces = numbered("[CLS]", "mask", "film", "##film", "##s", "a", "42", "x1", "Ġorġ", "कैसे", "!")
    assert words_in(models.WordPiece(pieces, unk_token="[CLS]"), ["[CLS]", "mask"]) == {"film", "Ġorġ", "कैसे"}
    bpe = numbered("<s>", "film", "Ġfilm", "Ġmovie", "Ġ##", "##", "Ġa", "ĠcafÃ©", "Ġ9")
    assert words_in(models.BPE(bpe, []), ["<s>"]) == {"film", "movie", "café"}
    unigram = [("<unk>", 0.0), ("▁film", -1.0), ("film", -1.0), ("▁café", -1.0), ("▁", -1.0), ("▁a", -1.0)]
    assert words_in(models.Unigram(unigram, 0), ["<unk>"]) == {"film", "café"}
    assert words_in(models.WordLevel(numbered("<unk>", "film", "9"), "<unk>"), ["<unk>"]) == {"film"}


def test_pieces_within_words_are_no_words() -> None:
    from tokenizers import Tokenizer, models

    tokens = ["<s>", "film", "Ġfilm", "Ġmovie", "ing"]
    tokenizer = Tokenizer(models.BPE({token: index for index, token in enumerate(tokens)}, []))
    assert whole_words(tokenizer) == {2: "film", 3: "movie"}


def test_words_of_a_trained_byte_level_vocabulary(tiny_roberta: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tiny_roberta / "tokenizer.json"))
    words = whole_words(tokenizer)
    assert {"film", "café", "printer"} <= set(words.values())
    ids = tokenizer.encode(" café", add_special_tokens=False).ids
    assert [words[index] for index in ids] == ["café"]


def fake_nltk(monkeypatch: pytest.MonkeyPatch, found: dict[str, list[list[str]]], lacks_data: bool = False) -> None:
    def ensure_loaded() -> None:
        if lacks_data:
            raise LookupError("Resource wordnet not found.")

    wordnet = SimpleNamespace(
        ensure_loaded=ensure_loaded,
        get_version=lambda: "3.0",
        synsets=lambda word: [SimpleNamespace(lemma_names=lambda names=names: names) for names in found.get(word, [])],
    )
    nltk, corpus = ModuleType("nltk"), ModuleType("nltk.corpus")
    nltk.__version__, corpus.wordnet = "3.9", wordnet  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nltk", nltk)
    monkeypatch.setitem(sys.modules, "nltk.corpus", corpus)


def test_wordnet_gives_single_words_once(monkeypatch: pytest.MonkeyPatch) -> None:
    senses = [["film", "movie", "motion_picture", "moving-picture"], ["Film", "movie", "Plastic"]]
    fake_nltk(monkeypatch, {"film": senses})
    wordnet = WordNetSynonyms()
    assert wordnet.of("film") == ["movie", "plastic"]
    assert wordnet.of("unknown") == []
    assert "3.9" in wordnet.describe()
    (by_name,) = make_augmenters("wordnet", TransformerEncoder(), ["a film"], 0.9, [0])
    assert isinstance(by_name, EDA)
    assert set(by_name.synonyms.of("film")) == {"movie", "plastic"}


def test_wordnet_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_nltk(monkeypatch, {}, lacks_data=True)
    with pytest.raises(ConfigError, match=r"nltk\.downloader wordnet"):
        WordNetSynonyms()
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(ConfigError, match="pip install nltk"):
        WordNetSynonyms()
