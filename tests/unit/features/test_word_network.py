"""Words as numbers, vectors learnt from the texts themselves, and a network that is found again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.errors import InputError
from coterie.features.tokens import Tokens
from coterie.features.word_network import WordNetwork, word_ids
from coterie.features.word_vectors import _mutual_information, _pairs, learnt_word_vectors

TEXTS = [
    "the baker sells bread and rolls",
    "bread and rolls, says the baker",
    "the train leaves the station late",
    "a late train at the station",
]


def network_of(texts: list[str] = TEXTS, longest: int = 256, word_vectors: Path | None = None) -> WordNetwork:
    return WordNetwork.untrained(texts, word_vectors=word_vectors, longest=longest, bf16=False, random_state=3)


def test_words_are_numbered_from_one_and_cut() -> None:
    tokens = word_ids(["Bread, bread and rolls!", "nothing known", "rolls unknown bread rolls"], ["bread", "rolls"], 3)
    assert tokens.ids.tolist() == [1, 1, 2, 0, 2, 1, 2]
    assert tokens.lengths.tolist() == [3, 1, 3]
    assert word_ids(["bread rolls bread rolls"], ["bread", "rolls"], 2).ids.tolist() == [1, 2]


def test_pairs_by_hand() -> None:
    tokens = Tokens.of([np.array(ids, dtype=np.int32) for ids in ([0, 1, 0], [2, 1])])
    assert _pairs(tokens, 3).toarray().tolist() == [[2, 2, 0], [2, 0, 1], [0, 1, 0]]


def test_words_far_apart_or_in_other_texts_are_no_pair() -> None:
    tokens = Tokens.of([np.array(ids, dtype=np.int32) for ids in ([0, 2, 2, 2, 2, 2, 1], [3])])
    pairs = _pairs(tokens, 4).toarray()
    assert pairs[0, 1] == 0
    assert pairs[0, 2] == 5
    assert not pairs[3].any()


def test_mutual_information_by_hand() -> None:
    from scipy.sparse import csr_matrix

    counts = csr_matrix(np.array([[0, 3, 1], [3, 0, 0], [1, 0, 0]], dtype=np.float32))
    often = np.array([4, 3, 1.0])
    damped = often**0.75 / (often**0.75).sum()
    expected = np.zeros((3, 3))
    for a, b, count in ((0, 1, 3), (1, 0, 3), (0, 2, 1), (2, 0, 1)):
        expected[a, b] = max(0, np.log(count / (often[a] * damped[b])))
    np.testing.assert_allclose(_mutual_information(counts).toarray(), expected, rtol=1e-5)


def test_words_with_the_same_neighbours_have_like_vectors() -> None:
    random = np.random.default_rng(0)
    # 0 and 1 stand beside 2 to 5, 6 and 7 beside 8 to 11.
    texts = [[base + random.integers(2), base + 2 + random.integers(4)] for base in (0, 6) for _ in range(200)]
    vectors = learnt_word_vectors(Tokens.of([np.array(text, dtype=np.int32) for text in texts]), 12, 4, 0)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > 0.9
    assert unit[6] @ unit[7] > 0.9
    assert abs(unit[0] @ unit[6]) < 0.1
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 3, rtol=1e-5)


def test_words_that_stand_alone_have_short_vectors_of_their_own() -> None:
    texts = ["lamp", "sofa", "chair", "lamp table"] * 2
    words = network_of(texts).network.words.detach().numpy()
    # In order: texts without a known word, then chair, lamp, sofa, table.
    np.testing.assert_allclose(np.linalg.norm(words, axis=1), [0.3, 0.3, 3, 0.3, 3], rtol=1e-5)
    assert abs(words[1] @ words[3]) < 0.08, "they differ"
    again = network_of(texts[::-1]).network.words.detach().numpy()
    np.testing.assert_array_equal(again[[0, 1, 3]], words[[0, 1, 3]])


def test_words_of_one_text_only_are_left_out_unless_there_are_no_others() -> None:
    assert network_of().vocabulary == ["baker", "bread", "late", "rolls", "station", "train"]
    assert network_of(["lamp sofa", "chair table"]).vocabulary == ["chair", "lamp", "sofa", "table"]
    with pytest.raises(InputError, match="no words were found"):
        network_of(["!!", "the"])


def test_vectors_of_a_file_are_taken_over(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("bread 1 2 3\ntrain 4 5 6\nunused 7 8 9\n", encoding="utf-8")
    network = network_of(word_vectors=file)
    words = network.network.words.detach().numpy()
    assert words.shape == (7, 3)
    number = {word: place for place, word in enumerate(network.vocabulary, start=1)}
    assert words[number["bread"]].tolist() == [1, 2, 3]
    assert words[number["train"]].tolist() == [4, 5, 6]
    assert np.abs(words[number["rolls"]]).max() > 0


def test_found_again_from_its_state() -> None:
    network = network_of(longest=4)
    restored = WordNetwork.from_state(network.state())
    texts = [*TEXTS, "words nobody knows", "bread " * 50]
    np.testing.assert_array_equal(restored.transform(texts), network.transform(texts))
    np.testing.assert_array_equal(network.transform(["bread " * 50]), network.transform(["bread " * 4]))
    assert restored.longest == 4


def test_same_seed_same_network_and_no_trace() -> None:
    before = torch.random.get_rng_state()
    first, again = network_of().state(), network_of().state()
    assert torch.equal(torch.random.get_rng_state(), before)
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])
