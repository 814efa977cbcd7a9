"""The two files of a model's folder as they lie there: the document and the arrays that it holds the sha256 of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from coterie.data.messages import fault
from coterie.errors import ModelFormatError
from coterie.features.checkpoints import sha256_of

FORMAT_VERSION = 2
DOCUMENT, ARRAYS = "model.json", "model.safetensors"


def read_document(folder: Path) -> dict[str, Any]:
    path = folder / DOCUMENT
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        inside = folder / "model"
        hint = f"Give {inside}." if (inside / DOCUMENT).exists() else "Give a model folder."
        raise ModelFormatError(f"{folder}: no model is here ({DOCUMENT} is missing). {hint}") from error
    except NotADirectoryError as error:
        raise ModelFormatError(f"{folder}: this is a file, not a model. Give a model folder.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path}: cannot be read ({error}): fit again, or use a copy") from error
    version = document.get("format") if isinstance(document, dict) else None
    if version != FORMAT_VERSION:
        raise ModelFormatError(
            f"{path}: format version {version!r}, this program reads {FORMAT_VERSION}: "
            "use the version of Coterie that wrote it, or fit again"
        )
    return dict(document)


def read_arrays(folder: Path, sha256: str) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = folder / ARRAYS
    try:
        if sha256_of(path) != sha256:
            raise ModelFormatError(f"{path}: damaged or from another model: fit again, or use a copy")
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelFormatError(f"{path}: cannot be read ({error}): fit again, or use a copy") from error


def damaged(folder: Path, error: Exception) -> ModelFormatError:
    return ModelFormatError(f"{folder}: {DOCUMENT} is damaged ({fault(error)}): fit again, or use a copy")
