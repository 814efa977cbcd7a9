"""The log of edits beside a model: `edits.json`, and `edits.safetensors` with the arrays that it needs.

A folder without them is a model as it was fitted. The log holds the sha256 of its arrays and of the model's, so that
a damaged one, or one from another model, is noticed.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.atomic import atomic_file, write_json_atomic
from coterie.data.messages import fault
from coterie.edits import Edit, Edits, Merge, Rename, Split
from coterie.errors import CoterieError, ModelFormatError
from coterie.features.checkpoints import sha256_of
from coterie.methods.nearest_centre import NearestCentre
from coterie.persist.model_files import damaged, read_document
from coterie.types import Labels

if TYPE_CHECKING:
    from coterie.estimator import TextClusterer

FORMAT_VERSION = 2
LOG, ARRAYS = "edits.json", "edits.safetensors"

Arrays = dict[str, NDArray[Any]]


def write_edits(model: TextClusterer, folder: Path) -> None:
    """Writes the edits of a model into its folder, which nobody else sees yet; without any, there are no files."""
    from safetensors.numpy import save

    log = model.edits_.log
    if not log:
        for name in (LOG, ARRAYS):
            (folder / name).unlink(missing_ok=True)
        return
    arrays: Arrays = {"labels": model.labels_.astype(np.int32)}
    for place, edit in enumerate(log):
        if isinstance(edit, Split):
            arrays[f"centres.{place}"] = np.ascontiguousarray(edit.parts.centres)
    with atomic_file(folder / ARRAYS) as file:
        file.write(save(arrays))
    document = {
        "format": FORMAT_VERSION,
        "model_sha256": _model_sha256(folder),
        "arrays_sha256": sha256_of(folder / ARRAYS),
        "edits": [_entry(edit) for edit in log],
    }
    write_json_atomic(folder / LOG, document)


def read_edits(model: TextClusterer, folder: Path) -> tuple[Edits, Labels]:
    """The edits of a model whose other parts are read, and the labels of its training texts after them."""
    fitted: Labels = model.fitted_labels_
    edits = Edits(int(fitted.max()) + 1)
    if not _is_edited(folder):
        return edits, fitted
    log, arrays = _read(folder)
    try:
        for edit in log:
            edits = _replayed(edits, edit, model.n_features_out_)
        labels = arrays["labels"].astype(np.int64)
        if labels.shape != fitted.shape or not np.isin(labels, edits.live).all():
            raise ValueError("its labels are not those of the model's texts")
    except (KeyError, ValueError) as error:  # our own errors are ValueErrors, too
        raise _log_damaged(folder, error) from error
    return edits, labels


def edits_in_words(folder: Path) -> list[str]:
    """What was done to the groups of the model in this folder, in order; the model itself is not read."""
    return [str(edit) for edit in _log(folder)]


def groups_added(folder: Path) -> int:
    """By how many groups the edits of the model in this folder have changed their number."""
    gained = {Merge: -1, Split: 1, Rename: 0}
    return sum(gained[type(edit)] * (len(edit.ids) - 1) for edit in _log(folder))


def _log(folder: Path) -> list[Edit]:
    return _read(folder)[0] if _is_edited(folder) else []


def _is_edited(folder: Path) -> bool:
    try:
        return any((folder / name).exists() for name in (LOG, ARRAYS))
    except OSError as error:
        raise ModelFormatError(f"{folder}: cannot be read ({fault(error)}): give yourself the right to") from error


def _entry(edit: Edit) -> dict[str, Any]:
    if isinstance(edit, Merge):
        return {"edit": "merge", "ids": list(edit.ids)}
    if isinstance(edit, Split):
        return {"edit": "split", "ids": list(edit.ids), "temperature": edit.parts.temperature}
    return {"edit": "rename", "ids": list(edit.ids), "names": list(edit.names)}


def _read(folder: Path) -> tuple[list[Edit], Arrays]:
    """The log as it stands, its arrays checked by their hash."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    model_sha256 = _model_sha256(folder)
    try:
        document = json.loads((folder / LOG).read_text(encoding="utf-8"))
        if document["format"] != FORMAT_VERSION:
            raise ModelFormatError(
                f"{folder / LOG}: format version {document['format']!r}, this program reads {FORMAT_VERSION}: "
                "use the version of Coterie that wrote it"
            )
        if document["model_sha256"] != model_sha256:
            raise ValueError("it belongs to another model")
        if document["arrays_sha256"] != sha256_of(folder / ARRAYS):
            raise ValueError(f"{ARRAYS} is not the file that it speaks of")
        arrays = load_file(folder / ARRAYS)
        return [_edit(place, entry, arrays) for place, entry in enumerate(document["edits"])], arrays
    except CoterieError:
        raise
    except (OSError, LookupError, TypeError, AttributeError, ValueError, RecursionError, SafetensorError) as error:
        raise _log_damaged(folder, error) from error


def _edit(place: int, entry: dict[str, Any], arrays: Arrays) -> Edit:
    kind = entry["edit"]
    ids = _typed(entry["ids"], int)
    if kind == "rename":
        names = _typed(entry["names"], str)
        if not ids or len(names) != len(ids):
            raise ValueError(f"{entry!r} is no edit")
        return Rename(ids, names)
    if kind not in ("merge", "split") or len(ids) < 2:
        raise ValueError(f"{entry!r} is no edit")
    if kind == "merge":
        return Merge(ids)
    return Split(ids, NearestCentre(arrays[f"centres.{place}"], float(entry["temperature"])))


def _typed(values: list[Any], kind: type) -> tuple[Any, ...]:
    if not isinstance(values, list) or any(type(value) is not kind for value in values):
        raise TypeError(f"{values!r} has other values than it should")
    return tuple(values)


def _replayed(edits: Edits, edit: Edit, width: int) -> Edits:
    """The edit done again on the groups that there were, which it must be possible to do."""
    if isinstance(edit, Merge):
        return edits.merged(edit.ids)
    if isinstance(edit, Split):
        centres, temperature = edit.parts.centres, edit.parts.temperature
        if centres.ndim != 2 or centres.shape[1] != width or len(centres) < 2 or centres.dtype != np.float32:
            raise ValueError(f"the centres of group {edit.ids[0]} do not fit the model")
        if not np.isfinite(centres).all() or not (math.isfinite(temperature) and temperature > 0):
            raise ValueError(f"the centres of group {edit.ids[0]} are no numbers")
        after = edits.divided(edit.ids[0], edit.parts)
    else:
        after = edits.renamed(dict(zip(edit.ids, edit.names, strict=True)))
    if str(after.log[-1]) != str(edit):
        raise ValueError(f"it says {str(edit)!r}, where that cannot be")
    return after


def _model_sha256(folder: Path) -> str:
    """What the model's document says its arrays are; whether they are is checked where they are read."""
    try:
        return str(read_document(folder)["arrays_sha256"])
    except KeyError as error:
        raise damaged(folder, error) from error


def _log_damaged(folder: Path, error: Exception) -> ModelFormatError:
    return ModelFormatError(
        f"{folder / LOG}: the log of edits is damaged ({fault(error)}): use a copy, or remove {LOG} and {ARRAYS} "
        "to have the groups as they were fitted"
    )
