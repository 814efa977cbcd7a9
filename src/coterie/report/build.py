"""`report.html`: a run folder as one page that needs nothing else."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.atomic import write_text_atomic
from coterie.data.numbered import numbered
from coterie.errors import ModelFormatError
from coterie.report.colours import DARK, LIGHT, SHAPES, group_styles
from coterie.report.page import content_policy, page_file, page_script, page_template
from coterie.report.sections import LONGEST_LABEL, LONGEST_TEXT, by_data, over_time_data, repeats_data, shortened

if TYPE_CHECKING:
    import polars as pl

    from coterie.persist.run import Run

MOST_ROWS = 200_000
"""More rows than this are shown by an even sample; what is said of the groups is always about all rows."""

MOST_CLASSES = 200
CONFIDENCE_BINS = 20
STEPS_ON_MAP = 65_535


def write_report(run: Run, path: Path) -> None:
    """Writes the page of a run, whole or not at all."""
    script, style = page_script(), page_file("report.css")
    page = page_template("template.html").render(
        policy=content_policy(script, style),
        title=_title(str(run.config["input"]["name"])),
        script=script,
        style=style,
        data=_packed(report_data(run)),
    )
    write_text_atomic(path, page)


def report_data(run: Run) -> dict[str, Any]:
    """All that the page shows, from the files of the run alone.

    Groups come from the largest on, and are told by their places in this order: their numbers may have gaps.
    """
    frame, points = run.assignments(), run.map()
    if len(frame) != len(points):
        raise ModelFormatError(
            f"{run.assignments_path}: it has {len(frame):,} rows, and map.parquet {len(points):,}: "
            "put the files of the fit back, or fit again"
        )
    groups = sorted(run.groups(), key=lambda group: -int(group["size"]))
    place = {group["id"]: at for at, group in enumerate(groups)}
    with _known_groups(run):
        labels = _places(frame.get_column("cluster").to_numpy(), place)
        merges = [[height, place[int(a)], place[int(b)]] for height, a, b in run.merges()]
        for group in groups:
            _tell_by_place(group, place)
    confidence = frame.get_column("confidence").to_numpy()
    rows = _rows_shown(len(frame))
    for at, style in enumerate(group_styles(_centres(points, labels, len(groups)))):
        group = groups[at]
        own = confidence[labels == at]
        group["histogram"] = np.histogram(own, bins=CONFIDENCE_BINS, range=(0, 1))[0].tolist()
        group["colour"], group["shape"] = style
        group["examples"] = [shortened(text, LONGEST_TEXT) for text in group["examples"]]
        for text in group["borderline"]:
            text["text"] = shortened(text["text"], LONGEST_TEXT)
    # Under a name of ours: polars takes one such as "^a.*$" for a pattern.
    all_texts = frame.get_column(run.text_column).alias("text").cast(str)
    texts = all_texts.gather(rows)
    return {
        "rows": len(frame),
        "groups": groups,
        "palettes": {"light": LIGHT, "dark": DARK, "shapes": SHAPES},
        "hierarchy": merges,
        "edits": run.edits(),
        "points": {
            "row": _as_base64(rows, "<u4"),
            "x": _as_base64((points[rows, 0] + 1) / 2 * STEPS_ON_MAP, "<u2"),
            "y": _as_base64((points[rows, 1] + 1) / 2 * STEPS_ON_MAP, "<u2"),
            "group": _as_base64(labels[rows], "<u4"),
            "confidence": _as_base64(confidence[rows], "<f4"),
        },
        "texts": [shortened(text, LONGEST_TEXT) for text in texts],
        "cut": any(len(text) > LONGEST_TEXT for text in texts),
        "truth": _truth(run, frame, labels, rows),
        "over_time": over_time_data(run, frame, place),
        "by": by_data(run, frame, place),
        "repeats": repeats_data(all_texts.to_list(), labels, len(groups) - run.groups_added()),
        "metrics": run.metrics(),
        "history": run.history(),
        "config": run.config,
    }


def _title(input_name: str) -> str:
    return "standard input" if input_name == "-" else shortened(PurePath(input_name).name, LONGEST_LABEL)


def _rows_shown(count: int) -> NDArray[np.int64]:
    if count <= MOST_ROWS:
        return np.arange(count)
    return np.linspace(0, count - 1, MOST_ROWS).astype(np.int64)


@contextmanager
def _known_groups(run: Run) -> Iterator[None]:
    """Files that do not agree on which groups there are are named."""
    try:
        yield
    except KeyError as error:
        raise ModelFormatError(
            f"{run.folder}: the files of this run speak of group {error}, which clusters.json does not know: fit again"
        ) from error


def _places(labels: NDArray[np.int64], place: dict[int, int]) -> NDArray[np.int64]:
    """For every row the place of its group."""
    ids, which = np.unique(labels, return_inverse=True)
    return np.array([place[int(group)] for group in ids], dtype=np.int64)[which]


def _tell_by_place(group: dict[str, Any], place: dict[int, int]) -> None:
    """What a group says of others."""
    for near in group["nearest"]:
        near["place"] = place[near["id"]]
    for text in group["borderline"]:
        text["other"] = place[text["other"]]


def _centres(points: NDArray[np.float32], labels: NDArray[np.int64], n_clusters: int) -> NDArray[np.float32]:
    return np.array([np.median(points[labels == group], axis=0) for group in range(n_clusters)])


def _truth(run: Run, frame: pl.DataFrame, labels: NDArray[np.int64], rows: NDArray[np.int64]) -> dict[str, Any] | None:
    """The true groups: names, commonest first (rare ones together), the table of both, and each row's."""
    column = run.truth_column
    if column is None:
        return None
    names, codes = numbered(frame.get_column(column))
    order = np.argsort(-np.bincount(codes), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    codes = rank[codes]
    shown = [shortened(names[at], LONGEST_LABEL) for at in order]
    if joined := len(shown) > MOST_CLASSES:
        codes, shown = np.minimum(codes, MOST_CLASSES - 1), [*shown[: MOST_CLASSES - 1], "all others"]
    table = np.zeros((len(shown), int(labels.max()) + 1), dtype=np.int64)
    np.add.at(table, (codes, labels), 1)
    return {
        "column": shortened(column, LONGEST_LABEL),
        "names": shown,
        "joined": joined,
        "table": table.tolist(),
        "order": _beside_their_groups(table),
        "codes": _as_base64(codes[rows], "<u4"),
    }


def _beside_their_groups(table: NDArray[np.int64]) -> list[int]:
    """The classes in the order of the groups they match best, so that agreement lies on the diagonal."""
    from scipy.optimize import linear_sum_assignment

    classes, groups = linear_sum_assignment(table, maximize=True)
    matched = [int(one) for one in classes[np.argsort(groups)]]
    return [*matched, *(one for one in range(len(table)) if one not in set(matched))]


def _as_base64(values: NDArray[Any], kind: str) -> str:
    if kind.startswith("<u"):
        values = np.rint(values)
    return base64.b64encode(values.astype(kind).tobytes()).decode("ascii")


def _packed(data: dict[str, Any]) -> str:
    """Compressed JSON in letters and digits: there is no text that could end the element it stands in."""
    document = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(document.encode("ascii"), compresslevel=6, mtime=0)).decode("ascii")
