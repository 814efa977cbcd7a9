"""The papers' figures, made of what the cells of a benchmark hold."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from coterie.bench.figure import Cloud, Curves, Figure, Line, Point
from coterie.bench.measured import Cells, Measured, figure, grouped
from coterie.bench.plan import Result
from coterie.bench.table import score_of

Curve = list[tuple[float, float]]
START = "start"
SCORES = {
    "acc": ("ACC", "percent"),
    "nmi": ("NMI", "percent"),
    "silhouette": ("Silhouette", ""),
    "dunn": ("Dunn index", ""),
    "map": ("MAP", "percent"),
    "mrr": ("MRR", "percent"),
}
OF_GROUPS = ("acc", "nmi")
PERCENT = tuple(name for name, (_, unit) in SCORES.items() if unit == "percent")
SETTINGS = {
    "lambda1": "λ1",
    "lambda2": "λ2",
    "lambda3": "λ3",
    "lambda4": "λ4",
    "contrast_epochs": "E1 (epochs of the first stage)",
    "guided_epochs": "E2 (epochs of the second stage)",
    "topics": "T (topics of a group)",
    "alpha": "α",
}
"""What the papers call them."""
COMPARED = (("sccl", "rstc", "aecl"), ("sccl", "deccrl"))
"""Methods whose maps a paper sets side by side."""


# t-SNE


def maps(cells: Cells) -> list[Figure]:
    """The texts before training and after each phase, by true group; and what several ways ended with, side by side."""
    first: dict[tuple[str, str], Measured] = {}
    for one in sorted(_not_varied(cells), key=lambda one: one.cell.seed):
        if one.stages:
            first.setdefault((one.way, one.cell.data_name), one)
    by_data = grouped(first.values(), lambda one: (one.cell.data_name, one.cell.rows, one.cell.effort))
    together = [_by_way(compared) for own in by_data.values() for compared in _comparisons(own)]
    return [*map(_by_stage, first.values()), *together]


def _comparisons(cells: Cells) -> list[list[Measured]]:
    """Those of the papers that these cells have all methods of, each at its plainest; then the ways of each of these
    methods, and all others together.
    """
    ways = grouped(cells, lambda one: one.cell.method)
    published = [names for names in COMPARED if all(name in ways for name in names)]
    shown = dict.fromkeys(name for names in published for name in names)
    others = [one for one in cells if one.cell.method not in shown]
    plainest = {name: min(ways[name], key=lambda one: len(one.cell.settings)) for name in shown}
    found = [[plainest[name] for name in names] for names in published]
    return [own for own in (*found, *(ways[name] for name in shown), others) if len(own) > 1]


def _by_stage(one: Measured) -> Figure:
    groups = sorted(set(one.result["stages"]["labels"]), key=_natural)
    panels = [_cloud(_stage_name(stage["phase"]), one, stage, groups) for stage in one.stages]
    note = f"{one.title} on {one.cell.data_name}, seed {one.cell.seed}; {_how_many(one, groups)}"
    about = ("maps", one.cell.method, one.cell.data_name, one.name)
    return figure(about, "t-SNE by stage", [note], panels, groups)


def _by_way(cells: Cells) -> Figure:
    """The encoder as it was, and what each way ended with."""
    groups = sorted({label for one in cells for label in one.result["stages"]["labels"]}, key=_natural)
    start = cells[0].stages[0]
    panels = [_cloud(_stage_name(START), cells[0], start, groups)] if start["phase"] == START else []
    panels += [_cloud(one.title, one, one.stages[-1], groups) for one in cells]
    data = cells[0].cell.data_name
    note = f"{data}, at the end of training; {_how_many(cells[0], groups)}"
    # One entry for each way: several ways of one method are no figure of a paper.
    methods = "+".join(one.cell.method for one in cells)
    return figure(("maps", methods, data), "t-SNE by method", [note], panels, groups)


def _cloud(title: str, one: Measured, stage: Result, groups: Sequence[str]) -> Cloud:
    number = {name: place for place, name in enumerate(groups)}
    labels = [number[label] for label in one.result["stages"]["labels"]]
    return Cloud(title, [(x, y) for x, y in stage["points"]], labels)


def _natural(name: str) -> tuple[bool, int, str]:
    """Numbers by size, and before all other names."""
    is_number = name.isascii() and name.isdigit()
    return not is_number, int(name) if is_number else 0, name


def _how_many(one: Measured, groups: Sequence[str]) -> str:
    shown = len(one.result["stages"]["labels"])
    return f"{shown:,} of {one.result['rows']:,} texts, coloured by the {len(groups)} true groups"


# By stage


def stages(cells: Cells) -> list[Figure]:
    """Silhouette and Dunn index of k-means on the vectors, and where they were kept ACC, NMI, MAP and MRR, by stage."""
    figures = []
    for method, own in grouped(_not_varied(cells), lambda one: one.cell.method).items():
        found = [(one, scores) for one in own if (scores := _stage_scores(one))]
        # An ablation may lack a stage: the order is that of those that have all.
        whole_first = sorted((list(scores) for _, scores in found), key=len, reverse=True)
        names = list(dict.fromkeys(name for listed in whole_first for name in listed))
        panels = [panel for metric in SCORES if (panel := _by_stages(metric, names, found)) is not None]
        if panels:
            notes = [f"k-means on the vectors of all texts; {_extent([one for one, _ in found])}"]
            if any(panel.title == SCORES["map"][0] for panel in panels):
                notes.append("MAP and MRR: every text asks for those of its class")
            figures.append(figure(("stages", method), "Separation by stage", notes, panels))
    return figures


def _stage_scores(one: Measured) -> dict[str, Result]:
    """Of each phase the last scores: what was kept, or what the method itself notes in its history."""
    scores: dict[str, Result] = {}
    for entry in [*one.result.get("history", []), *one.stages]:
        own = {name: entry[name] for name in SCORES if isinstance(entry.get(name), float | int)}
        if own:
            scores[entry["phase"]] = {**scores.get(entry["phase"], {}), **own}
    return scores


def _by_stages(metric: str, names: Sequence[str], found: list[tuple[Measured, dict[str, Result]]]) -> Curves | None:
    curves = [
        (
            one,
            [(float(names.index(name)), _shown(metric, own[metric])) for name, own in scores.items() if metric in own],
        )
        for one, scores in found
    ]
    lines = _lines(curves)
    title, unit = SCORES[metric]
    return Curves(title, "at the start, and after each stage", unit, lines, names) if lines else None


def _stage_name(phase: str) -> str:
    return "before training" if phase == START else f"after {phase}"


# By epoch


def similarity(cells: Cells) -> list[Figure]:
    """Similarity between texts of different (18) and of the same true groups (19), by epoch."""
    figures = []
    for own in _ways(cells):
        panels = [
            *_by_epochs(own, ("negative_similarity",), "NS, different groups", "mean NS of a text"),
            *_by_epochs(own, ("positive_similarity",), "PS, same group", "mean PS of a text"),
        ]
        if panels:
            about = ("similarity", own[0].cell.method, own[0].name)
            notes = [f"{own[0].title}; of one random batch; {_extent(own)}"]
            figures.append(figure(about, "Similarity in the attention network", notes, panels))
    return figures


def labels(cells: Cells) -> list[Figure]:
    """How the labels that are taught stand by the true groups, by epoch."""
    figures = []
    for own in _ways(cells):
        panels = [panel for metric in OF_GROUPS for panel in _by_epochs(own, ("taught", metric), *SCORES[metric])]
        if panels:
            about = ("labels", own[0].cell.method, own[0].name)
            notes = [f"{own[0].title}; argmax of the soft labels by the true groups; {_extent(own)}"]
            figures.append(figure(about, "Accuracy of the soft labels", notes, panels))
    return figures


def _by_epochs(cells: Cells, path: tuple[str, ...], title: str, unit: str) -> list[Curves]:
    """The panel of a value that the histories have at this path; none where they have it not."""
    lines = _lines([(one, _curve(one, path)) for one in cells], to_the_shortest=True)
    return [Curves(title, "epoch", unit, lines)] if lines else []


def _curve(one: Measured, path: tuple[str, ...]) -> Curve:
    """Epochs are counted through all phases."""
    epochs = [entry for entry in one.result.get("history", []) if entry.get("losses")]
    curve = []
    for number, entry in enumerate(epochs, start=1):
        value: Any = entry
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, float | int):
            curve.append((float(number), _shown(path[-1], value)))
    return curve


# By setting


def sweeps(cells: Cells) -> list[Figure]:
    """ACC and NMI over the values of one setting, everything else as it is."""
    varied = [one for one in cells if one.cell.varied is not None]
    figures = []
    # By name rather than by all settings: a paper may have others for each data set, under one label.
    for own in grouped(varied, lambda one: (one.cell.method, one.cell.effort, one.cell.varied, one.name)).values():
        setting = str(own[0].cell.varied)
        values = _in_order({json.dumps(one.cell.settings[setting]): one.cell.settings[setting] for one in own})
        shown = SETTINGS.get(setting, setting)
        panels = [
            Curves(SCORES[metric][0], shown, SCORES[metric][1], lines, [_plain(value) for value in values])
            for metric in OF_GROUPS
            if (lines := _lines([(one, _at_value(one, setting, values, metric)) for one in own]))
        ]
        if panels:
            about = ("sweeps", own[0].cell.method, setting, own[0].name)
            notes = [f"{own[0].title}; {_extent(own)}; values in order, not to scale"]
            figures.append(figure(about, f"ACC and NMI over {shown}", notes, panels))
    return figures


def _at_value(one: Measured, setting: str, values: Sequence[Any], metric: str) -> Curve:
    score = score_of(one.result, one.cell.readout)
    return [] if score is None else [(values.index(one.cell.settings[setting]), _shown(metric, score[metric]))]


def _in_order(values: Mapping[str, Any]) -> list[Any]:
    """Numbers by size, anything else as the plan has it."""
    given = list(values.values())
    return sorted(given) if all(isinstance(value, float | int) for value in given) else given


def _plain(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float | int) and not isinstance(value, bool) else str(value)


# What all have


def _not_varied(cells: Cells) -> list[Measured]:
    """Those of no sweep, whose values would be taken for seeds."""
    return [one for one in cells if one.cell.varied is None]


def _ways(cells: Cells) -> list[list[Measured]]:
    return list(grouped(_not_varied(cells), lambda one: one.way).values())


def _lines(curves: Iterable[tuple[Measured, Curve]], to_the_shortest: bool = False) -> list[Line]:
    """A line for each data set, and each way where there are several: means over the seeds.

    `to_the_shortest`: only as far as all of them go; a mean over fewer would jump where one ends.
    """
    curves = [(one, curve) for one, curve in curves if curve]
    names = _told_apart({one.name for one, _ in curves})
    lines = []
    for own in grouped(curves, lambda entry: (entry[0].way, entry[0].cell.data_name)).values():
        one = own[0][0]
        values: dict[float, list[float]] = defaultdict(list)
        for _, curve in own:
            for x, y in curve:
                values[x].append(y)
        least = len(own) if to_the_shortest else 1
        points = [_point(x, found) for x, found in sorted(values.items()) if len(found) >= least]
        lines.append(Line(one.cell.data_name, points, names[one.name] if len(names) > 1 else ""))
    return [line for line in lines if line.points]


def _told_apart(names: Collection[str]) -> dict[str, str]:
    """What names begin with, and of the rest only what not all of them say."""
    parts = {name: name.split(", ") for name in names}
    of_all = set.intersection(*(set(own[1:]) for own in parts.values())) if parts else set()
    return {name: ", ".join([own[0], *(part for part in own[1:] if part not in of_all)]) for name, own in parts.items()}


def _point(x: float, values: list[float]) -> Point:
    return Point(x, statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None)


def _extent(cells: Cells) -> str:
    """Of how many seeds the points are, and of how many texts where not of all."""
    alike = grouped(cells, lambda one: (one.way, one.cell.data_name, json.dumps(dict(one.cell.settings))))
    counts = sorted({len(own) for own in alike.values()})
    number = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    seeds = "one seed" if counts == [1] else f"mean and standard deviation of {number} seeds"
    rows = sorted({one.cell.rows for one in cells if one.cell.rows is not None})
    return f"{seeds}; {' or '.join(f'{count:,}' for count in rows)} texts of a set at most" if rows else seeds


def _shown(metric: str, value: float) -> float:
    return 100 * value if metric in PERCENT else value
