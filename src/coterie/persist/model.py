"""A model as a folder: `model.json` (format version, settings, words) and `model.safetensors` (arrays).

Nothing is ever unpickled. `model.json` holds the sha256 of the arrays, so a damaged or mixed-up folder is noticed.
Where people have changed the groups since, the log of that is beside them (`persist/edits.py`).
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.data.atomic import atomic_file, write_json_atomic
from coterie.errors import ConfigError, CoterieError
from coterie.features.checkpoints import sha256_of
from coterie.memory import is_out_of_memory
from coterie.persist.edits import read_edits, write_edits
from coterie.persist.folders import new_folder
from coterie.persist.model_files import ARRAYS, DOCUMENT, FORMAT_VERSION, damaged, read_arrays, read_document
from coterie.types import State

if TYPE_CHECKING:
    from coterie.estimator import TextClusterer
    from coterie.methods.topics import GroupTopics

_FEATURE_CLASSES = {
    "bow": "coterie.features.bag:BagOfWords",
    "tfidf": "coterie.features.bag:Tfidf",
    "stems": "coterie.features.bag:StemTfidf",
    "ae": "coterie.features.compressed:Autoencoded",
    "kate": "coterie.features.compressed:KateCodes",
    "lda": "coterie.features.bag:TopicMixture",
    "sif": "coterie.features.sif:Sif",
    "transformer": "coterie.features.transformer:TransformerEncoder",
    "two-views": "coterie.features.two_views:TwoViews",
    "word-network": "coterie.features.word_network:WordNetwork",
}
_ASSIGNER_CLASSES = {
    "head": "coterie.methods.head:Head",
    "linear": "coterie.methods.linear:LinearClassifier",
    "nearest-centre": "coterie.methods.nearest_centre:NearestCentre",
}


def save_model(model: TextClusterer, folder: str | os.PathLike[str]) -> None:
    """Writes a new folder; one that is already there is an error."""
    from safetensors.numpy import save

    import coterie

    target = Path(folder)
    if os.path.exists(target):  # a Path raises where a name is too long
        raise ConfigError(f"{target}: there is something of this name already. Save to a new folder.")
    state = State({}, {"labels": model.fitted_labels_.astype(np.int32)})
    state.nest("features", model.features_.state())
    state.nest("assigner", model.assigner_.state())
    if model.topics_ is not None:
        state.nest("topics", model.topics_.state())
    # safetensors writes the memory of an array as it lies: views must be made whole first.
    arrays = {name: np.ascontiguousarray(array) for name, array in state.arrays.items()}
    with new_folder(target) as draft:
        with atomic_file(draft / ARRAYS) as file:
            file.write(save(arrays))
        document = {
            "format": FORMAT_VERSION,
            "coterie": coterie.__version__,
            "parameters": plain_parameters(model),
            "kinds": {"features": model.features_.kind, "assigner": model.assigner_.kind},
            "arrays_sha256": sha256_of(draft / ARRAYS),
            "evidence": model.evidence_,
            "n_features_out": model.n_features_out_,
            "state": state.config,
        }
        write_json_atomic(draft / DOCUMENT, document)
        write_edits(model, draft)


def plain_parameters(model: TextClusterer) -> dict[str, Any]:
    """The parameters as JSON has them: numbers may have come as NumPy's, names as paths."""
    return {name: _plain(value) for name, value in model.get_params().items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def load_model(folder: str | os.PathLike[str]) -> TextClusterer:
    from coterie.estimator import TextClusterer

    folder = Path(folder)
    document = read_document(folder)
    try:
        model = TextClusterer(**document["parameters"])
        state = State(document["state"], read_arrays(folder, document["arrays_sha256"]))
        kinds = document["kinds"]
        model.features_ = _class_of(_FEATURE_CLASSES, kinds["features"]).from_state(state.child("features"))
        model.assigner_ = _class_of(_ASSIGNER_CLASSES, kinds["assigner"]).from_state(state.child("assigner"))
        model.fitted_labels_ = state.arrays["labels"].astype(np.int64)
        model.n_clusters_ = int(model.fitted_labels_.max()) + 1  # no group of a fit is ever empty
        model.topics_ = _read_topics(state)
        model.evidence_ = document["evidence"]
        model.n_features_out_ = int(document["n_features_out"])
        model.edits_, model.labels_ = read_edits(model, folder)
    except CoterieError:  # such as an encoder that is not there any more: the model itself is sound
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise
        raise damaged(folder, error) from error
    return model


def _read_topics(state: State) -> GroupTopics | None:
    if "topics" not in state.config:
        return None
    from coterie.methods.topics import GroupTopics  # needs torch, which other models do without

    return GroupTopics.from_state(state.child("topics"))


def _class_of(classes: dict[str, str], kind: str) -> Any:
    module, name = classes[kind].split(":")
    return getattr(import_module(module), name)
