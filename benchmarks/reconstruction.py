"""Whether TSDAE's decoder learns to read a text's vector: how many tokens it tells with it, and with another text's.

    COTERIE_DATA=FOLDER python benchmarks/reconstruction.py [SET [ROWS [EFFORT [EPOCHS]]]]

A tenth of the texts is held out from training. Words are deleted from a text with a seed that training has not seen,
what is left is encoded, and the decoder tells every token of the whole text from the vector and the true tokens before
it. Then the same with the vectors shuffled among the texts: what it tells then, it tells from the tokens before alone.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np
import torch

from common import bench_set, record
from coterie.augment.deletion import Deletion
from coterie.engine.loop import Training
from coterie.engine.workers import Workers
from coterie.features.transformer import TransformerEncoder
from coterie.methods.deep import Deep
from coterie.methods.deep_model import Task
from coterie.methods.tsdae import TSDAE, TSDAESettings
from coterie.nn.marks import Marks
from coterie.nn.texts import TrainingTexts
from coterie.types import silent

HELD_OUT_SHARE = 0.1
UNSEEN_SEED = 1_000_003
ROWS_AT_ONCE = 200


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "stackoverflow"
    _, texts = bench_set(name)
    texts = texts[: int(sys.argv[2]) if len(sys.argv) > 2 else len(texts)]
    effort = sys.argv[3] if len(sys.argv) > 3 else "balanced"
    own = {"adaptation_epochs": int(sys.argv[4])} if len(sys.argv) > 4 else {}
    held_out = round(HELD_OUT_SHARE * len(texts))
    learnt, unseen = texts[held_out:], texts[:held_out]
    started = time.process_time()
    model, trained, history = train(learnt, TSDAESettings(**own), effort)
    seconds = time.process_time() - started
    most_frequent = int(np.bincount(Marks.following(TransformerEncoder().tokens(learnt)).ids).argmax())
    splits = {"learnt": learnt[:held_out], "held out": unseen}
    record(
        "reconstruction",
        {
            "set": name,
            "texts": len(learnt),
            "effort": effort,
            "epochs": model.settings.adaptation_epochs,
            "cpu_seconds": round(seconds, 1),
            "vocabulary": len(model.decoder.head.vocabulary),
            "accuracy": {split: told(model, trained, texts, most_frequent) for split, texts in splits.items()},
            "history": history,
        },
    )


def train(texts: list[str], settings: TSDAESettings, effort: str) -> tuple[Any, Any, list[dict[str, Any]]]:
    """As `tsdae+kmeans` does, but the decoder is kept."""
    method = Deep("tsdae", TSDAE, settings, TransformerEncoder(), effort=effort, random_state=0)
    views, workers = [texts, *method._augmented(texts, silent)], Workers()
    encoder, training_texts = method._encodable(views, workers, silent)
    torch.manual_seed(0)
    model = TSDAE(settings, Task(training_texts.width, 1, len(texts), effort, 0))
    model.join(encoder, training_texts, silent)  # type: ignore[arg-type]
    outcome = Training(model, encoder, training_texts, judge=lambda labels: 0.0, keep_best=False).run()
    return model, encoder, outcome.history


@torch.no_grad()
def told(model: Any, encoder: Any, texts: list[str], most_frequent: int) -> dict[str, float]:
    """Share of tokens told with the text's own vector, with another's, and by always saying the most frequent one."""
    tokens = TransformerEncoder().tokens
    views = [tokens(texts), tokens(Deletion(random_state=UNSEEN_SEED).augment(texts))]
    rows, decoder = np.arange(len(texts)), model.decoder
    read = TrainingTexts(encoder.eval(), views)
    read.read_causally()
    marks = Marks.following(views[0])
    vectors = model.scale * read.encode_all(1)
    others = torch.from_numpy(np.roll(rows, 1))
    found: dict[str, list[torch.Tensor]] = {"own vector": [], "another's vector": [], "most frequent": []}
    for part in np.array_split(rows, max(1, len(rows) // ROWS_AT_ONCE)):
        ids = torch.from_numpy(marks.taken(part).ids)
        for name, given in {"own vector": vectors, "another's vector": vectors[others]}.items():
            states = read.decode(decoder, given[torch.from_numpy(part)], part, marks)
            found[name].append(decoder.head.told(states, ids))
        found["most frequent"].append(ids == most_frequent)
    return {name: round(float(torch.cat(parts).double().mean()), 4) for name, parts in found.items()}


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    main()
