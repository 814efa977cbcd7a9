"""The whole words of an encoder's vocabulary, and their rows in its input embeddings."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from coterie.errors import ConfigError
from coterie.types import Matrix

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from coterie.features.checkpoints import Checkpoint

PIECE, SPACE, BYTE_SPACE = "##", "▁", "Ġ"
"""How vocabularies mark: a piece that goes on (WordPiece), a word that begins (SentencePiece, byte-level BPE)."""

_MATRIX_NAMES = ("word_embeddings.weight", "tok_embeddings.weight", "embed_tokens.weight", "wte.weight")


def special_ids(tokenizer: Tokenizer) -> frozenset[int]:
    return frozenset(index for index, token in tokenizer.get_added_tokens_decoder().items() if token.special)


def whole_words(tokenizer: Tokenizer) -> dict[int, str]:
    """The tokens that are a word by themselves, as they are written in a text: letters only, two or more."""
    special = special_ids(tokenizer)
    tokens = {index: token for token, index in tokenizer.get_vocab().items() if index not in special}
    # By count: a single token of another kind (mBERT has Maltese words with Ġ) must not decide.
    counts = {
        mark: sum(token.startswith(mark) and token[len(mark) :].isalpha() for token in tokens.values())
        for mark in (PIECE, SPACE, BYTE_SPACE)
    }
    mark = max(counts, key=lambda mark: counts[mark])
    if mark == PIECE or not counts[mark]:
        words = {index: token for index, token in tokens.items() if not token.startswith(PIECE)}
    else:
        words = {index: token[len(mark) :] for index, token in tokens.items() if token.startswith(mark)}
    if mark == BYTE_SPACE and counts[mark]:
        from tokenizers.decoders import ByteLevel

        decoder = ByteLevel()
        words = {index: decoder.decode([word]) for index, word in words.items()}
    return {index: word for index, word in words.items() if len(word) > 1 and _is_letters(word)}


def _is_letters(word: str) -> bool:
    return word.isalpha() or all(char.isalpha() or unicodedata.category(char)[0] == "M" for char in word)


def input_matrix(checkpoint: Checkpoint, rows: int) -> Matrix:
    """One row a token, read from the weights alone: the model itself is not loaded."""
    from safetensors import safe_open

    for path in sorted(checkpoint.folder.glob("*.safetensors")):
        # Through torch, because NumPy has no bfloat16.
        with safe_open(path, "pt") as weights:
            names = [name for name in weights.keys() if name.endswith(_MATRIX_NAMES)]  # noqa: SIM118
            for name in sorted(names, key=len):
                tensor = weights.get_tensor(name)
                if tensor.ndim == 2 and len(tensor) >= rows:
                    matrix: Matrix = tensor.float().numpy()
                    return matrix
    raise ConfigError(
        f"encoder {checkpoint.name!r} has no input embeddings that we know the name of: "
        "give augment=wordnet or augment=deletion, or an encoder such as 'minilm'"
    )
