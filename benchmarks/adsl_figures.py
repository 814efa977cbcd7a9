"""ADSL's Figure 4 and Table 3 as pictures and tables, from what `deep_methods.py` has measured and one more training.

    COTERIE_DATA=FOLDER python benchmarks/adsl_figures.py labels SET     # Figure 4b: trains, watching the labels
    python benchmarks/adsl_figures.py draw                               # Figure 4a, 4b and Table 3 from the results

Pictures are SVG files in `results/`, tables are printed as Markdown.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from common import RESULTS, bench_set, record

Points = Sequence[tuple[float, float]]
COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#57606a", "#bf3989")
WIDTH, HEIGHT, MARGIN = 560, 340, 48


def labels_over_epochs(name: str) -> None:
    """ACC and NMI of argmax(y) at every epoch, against the true groups, which the training never sees."""
    from coterie.methods.adsl import ADSL, ADSLSettings
    from coterie.methods.self_taught import SelfTaught
    from coterie.metrics.external import external_scores
    from coterie.registry import Settings, feature_builder

    truth, texts = bench_set(name)
    seen: list[dict[str, float]] = []

    class Watched(ADSL):
        def refresh(self, vectors: Any, phase: Any) -> None:
            super().refresh(vectors, phase)
            scores = external_scores(truth, self.labels.argmax(dim=1).tolist())
            seen.append(
                {"epoch": int(self.done), "acc": round(100 * scores["acc"], 2), "nmi": round(100 * scores["nmi"], 2)}
            )

    k = len(set(truth))
    make = feature_builder(Settings(k, "full", "minilm", "fp32", None, 0))
    options: dict[str, Any] = {"word_vectors": None, "effort": "full", "random_state": 0}
    SelfTaught("adsl-watched", Watched, ADSLSettings(undo=False), make, **options).fit(texts, k)
    record(f"adsl_labels_{name}", {"set": name, "epochs": seen})


def draw() -> None:
    cells = json.loads((RESULTS / "deep_methods.json").read_text(encoding="utf-8"))["cells"]
    cells = [cell for cell in cells if "failed" not in cell]
    swept = [cell for cell in cells if "alpha" in cell["settings"]]
    for name in sorted({cell["set"] for cell in swept}):
        points = sorted((cell["settings"]["alpha"], cell["acc"], cell["nmi"]) for cell in swept if cell["set"] == name)
        lines = {"ACC": [(x, acc) for x, acc, _ in points], "NMI": [(x, nmi) for x, _, nmi in points]}
        _write(f"adsl_figure_4a_{name}", chart(f"alpha, {name}", "alpha", lines))
    for path in sorted(RESULTS.glob("adsl_labels_*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        lines = {what.upper(): [(entry["epoch"], entry[what]) for entry in found["epochs"]] for what in ("acc", "nmi")}
        _write(f"adsl_figure_4b_{found['set']}", chart(f"soft labels, {found['set']}", "epoch", lines))
    numbers = [cell for cell in cells if "k" in cell]
    for name in sorted({cell["set"] for cell in numbers}):
        rows = {_system(cell): {} for cell in numbers if cell["set"] == name}  # type: ignore[var-annotated]
        for cell in numbers:
            if cell["set"] == name:
                rows[_system(cell)][cell["k"]] = (cell["acc"], cell["nmi"])
        print(table(name, rows))
        lines = {system: sorted((k, acc) for k, (acc, _) in found.items()) for system, found in rows.items()}
        _write(f"adsl_table_3_{name}", chart(f"ACC by number of groups, {name}", "groups", lines))


def table(name: str, rows: Mapping[str, Mapping[int, tuple[float, float]]]) -> str:
    """One line a system, ACC / NMI for every number of groups."""
    numbers = sorted({k for found in rows.values() for k in found})
    lines = [f"| {name} | " + " | ".join(str(k) for k in numbers) + " |", "|---|" + "--:|" * len(numbers)]
    for system, found in rows.items():
        shown = ["{:.1f} / {:.1f}".format(*found[k]) if k in found else "" for k in numbers]
        lines.append(f"| {system} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def chart(title: str, below: str, lines: Mapping[str, Points]) -> str:
    """A line for every name; x in order rather than to scale, since some of the numbers grow by factors."""
    places = sorted({x for points in lines.values() for x, _ in points})
    values = [y for points in lines.values() for _, y in points]
    low, high = min(values) - 1, max(values) + 1
    step = (WIDTH - 2 * MARGIN) / max(1, len(places) - 1)

    def across(x: float) -> float:
        return MARGIN + places.index(x) * step

    def up(y: float) -> float:
        return HEIGHT - MARGIN - (y - low) / (high - low) * (HEIGHT - 2 * MARGIN)

    marks = [_text(across(x), HEIGHT - MARGIN + 18, f"{x:g}") for x in places[:: max(1, len(places) // 12)]]
    marks += [_text(MARGIN - 22, up(y), f"{y:.1f}") for y in (low, (low + high) / 2, high)]
    drawn = [
        _line(name, points, colour, row, across, up)
        for row, ((name, points), colour) in enumerate(zip(lines.items(), COLOURS, strict=False))
    ]
    body = "\n".join([_text(WIDTH / 2, 20, title), _text(WIDTH / 2, HEIGHT - 8, below), *marks, *drawn])
    style = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {style}>\n{body}\n</svg>\n'


def _line(
    name: str, points: Points, colour: str, row: int, across: Callable[[float], float], up: Callable[[float], float]
) -> str:
    path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
    label = f'<text x="{WIDTH - MARGIN}" y="{40 + 15 * row}" text-anchor="end" fill="{colour}">{name}</text>'
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>{label}'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{text}</text>'


def _system(cell: dict[str, Any]) -> str:
    variant = cell["settings"].get("variant")
    return f"{cell['method']} ({variant})" if variant else str(cell["method"])


def _write(name: str, picture: str) -> None:
    (RESULTS / f"{name}.svg").write_text(picture, encoding="utf-8")
    print(f"results/{name}.svg")


if __name__ == "__main__":
    if sys.argv[1:2] == ["draw"]:
        draw()
    else:
        labels_over_epochs(sys.argv[2])
