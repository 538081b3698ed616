"""Figure: r_long in one mirror subset against r_long in the other."""

from math import dist

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from .figure_style import (
    DASHES,
    INK,
    MARKER,
    MUTED,
    SMALL,
    class_handles,
    debiased_handle,
    draw,
    inches,
    plain_axis,
    point,
)
from .label_placement import boxes_along, place_labels
from .report_data import ReportData, Row

SIDE, LEFT, LEGEND_LINE = 4.1, 0.66, 0.18
TICKS = (0, 0.25, 0.5, 0.75, 1)
# Names of the diagonals by how far they reach along an axis, half of it.
RISING = {"length preference only: G = 0": 0.16, "G = 0": 0.03}
FALLING = {"no lean": 0.04}
ROOM, STEPS = 0.06, 8  # between a name and a point; half the places tried along a name
PLACES = (0.18, 0.22, 0.26, 0.34, 0.66, 0.74, 0.78, 0.82)  # of the middle of a diagonal's name


def subsets_figure(data: ReportData) -> bytes | None:
    """One point per judge, reference and control, between the two diagonals; SVG bytes.

    None where nothing has results.
    """
    rows = [*data.judges, *data.comparisons]
    if not rows:
        return None
    debiased = [{**row["order_debiased"], "rung": f"{row['rung']}, debiased"} for row in rows
                if row["order_debiased"]]
    handles = class_handles(row["class"] for row in (*rows, *debiased))
    handles += [debiased_handle()] if debiased else []
    lines = -(-len(handles) // 2)
    bottom = 0.55 + LEGEND_LINE * lines
    height = bottom + SIDE + 0.12

    def paint(figure: Figure) -> None:
        axes = figure.add_axes(inches((LEFT, bottom, SIDE, SIDE), height))
        _frame(axes)
        for row in rows:
            _point(axes, row)
        for row in debiased:
            _point(axes, row, SMALL)
        shown = [*rows, *debiased]
        named = _name_diagonals(axes, shown)
        place_labels(axes, [(_share(row, "shorter"), _share(row, "longer"), row["rung"])
                            for row in shown], keep_free=boxes_along(named),
                     colours=[INK] * len(rows) + [MUTED] * len(debiased))
        figure.legend(handles=handles, loc="lower center", ncols=2, bbox_to_anchor=(0.5, 0.0),
                      labelspacing=0.42, handlelength=1.4, columnspacing=1.6, borderaxespad=0.25)

    return draw(height, paint)


def _frame(axes: Axes) -> None:
    axes.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), xticks=TICKS, yticks=TICKS)
    axes.grid(True)
    axes.plot([0, 1], [0, 1], color=INK, linewidth=1.1)
    axes.plot([0, 1], [1, 0], color=MUTED, linewidth=0.9, linestyle=DASHES)
    for axis in (axes.xaxis, axes.yaxis):
        plain_axis(axis)
    axes.set_xlabel("r_long where humans preferred the shorter answer")
    axes.set_ylabel("r_long where humans preferred the longer answer")


def _name_diagonals(axes: Axes, rows: list[Row]) -> list[Text]:
    """Writes below each diagonal what it means, as far from every point as it can be."""
    points = [(_share(row, "shorter"), _share(row, "longer")) for row in rows]
    return [_name_diagonal(axes, points, RISING, 45, INK),
            _name_diagonal(axes, points, FALLING, -45, MUTED)]


def _name_diagonal(axes: Axes, points: list[tuple[float, float]], names: dict[str, float],
                   rotation: int, colour: str) -> Text:
    """The first name that finds enough room, or the last, at its best place."""
    def on_line(x: float) -> tuple[float, float]:
        return x, x if rotation > 0 else 1 - x

    def room(x: float, half: float) -> float:
        return min((dist(on_line(x + half * step / STEPS), point) for point in points
                    for step in range(-STEPS, STEPS + 1)), default=1)

    best = {name: max(PLACES, key=lambda place, half=half: room(place, half))
            for name, half in names.items()}
    name = next((name for name, x in best.items() if room(x, names[name]) > ROOM), [*names][-1])
    x = best[name]
    return axes.text(x, on_line(x)[1] - 0.018, name, fontsize=8, ha="center", va="top",
                     color=colour, rotation_mode="anchor", rotation=rotation)


def _point(axes: Axes, row: Row, size: float = MARKER) -> None:
    x, y = _share(row, "shorter"), _share(row, "longer")
    across, up = (row["r_long"][name]["wilson_cluster"] for name in ("shorter", "longer"))
    for xs, ys in ((across, [y, y]), ([x, x], up)):
        axes.plot(xs, ys, color=MUTED, linewidth=0.8, solid_capstyle="butt", zorder=2)
    point(axes, x, y, row["class"], size, zorder=3)


def _share(row: Row, subset: str) -> float:
    return row["r_long"][subset]["estimate"]
