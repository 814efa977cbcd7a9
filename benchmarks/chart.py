"""A line chart as SVG text, for figures that are measured here."""

from __future__ import annotations

from html import escape

WIDTH, HEIGHT = 860, 460
LEFT, RIGHT, TOP, BOTTOM = 60, 250, 20, 50
COLOURS = ("#1b6ca8", "#c8553d", "#2f855a", "#8e5ea2", "#b7791f", "#4a5568", "#d53f8c", "#319795")

Lines = dict[str, list[tuple[float, float]]]


def line_chart(lines: Lines, x_title: str, y_title: str) -> str:
    """Points joined by lines, named beside the chart; more lines than colours are dashed."""
    xs = sorted({x for points in lines.values() for x, _ in points})
    ys = [y for points in lines.values() for _, y in points]
    low, high = 5 * (min(ys) // 5), 5 * (max(ys) // 5 + 1)

    def at(x: float, y: float) -> tuple[float, float]:
        across = (x - xs[0]) / max(xs[-1] - xs[0], 1e-9)
        up = (y - low) / (high - low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [_text(*at(x, low), f"{x:g}", dy=18, anchor="middle") for x in xs]
    for step in range(5):
        y = low + (high - low) * step / 4
        (x0, height), (x1, _) = at(xs[0], y), at(xs[-1], y)
        parts.append(f'<path d="M{x0:.1f} {height:.1f}H{x1:.1f}" stroke="#ddd"/>')
        parts.append(_text(x0 - 8, height, f"{y:g}", dy=4, anchor="end"))
    for number, (name, points) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        dashes = ' stroke-dasharray="6 4"' if number >= len(COLOURS) else ""
        path = "L".join("{:.1f} {:.1f}".format(*at(x, y)) for x, y in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        height = TOP + 18 * (number + 1)
        parts.append(f'<path d="M{WIDTH - RIGHT + 20} {height}h24" stroke="{colour}" stroke-width="2"{dashes}/>')
        parts.append(_text(WIDTH - RIGHT + 52, height, name, dy=4))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_title, anchor="middle"))
    parts.append(_text(LEFT, TOP - 6, y_title))
    style = 'font-family="sans-serif" font-size="12"'
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join(parts) + "\n</svg>\n"


def _text(x: float, y: float, text: str, dy: int = 0, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y + dy:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
