"""Figure: G against the number of parameters, one panel per ladder, with its fitted slope."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .figure_style import (
    HUMAN_BAND,
    INK,
    MARGIN_BAND,
    MUTED,
    WIDTH,
    class_handles,
    draw,
    inches,
    plain_axis,
    point,
    size_text,
)
from .label_placement import place_labels
from .report_data import ReportData, Row

LEFT, RIGHT, TOP, TALL, BETWEEN, BOTTOM, LEGEND_LINE = 0.62, 0.12, 0.31, 1.9, 0.74, 0.5, 0.18
SLOPE_BAND = "#C9C9C9"
BESIDE = 0.18  # free space beside the outermost judges, in powers of ten of the size
STEPS = 60  # points along the band


def scale_figure(data: ReportData) -> bytes | None:
    """The ladders that have a slope, as SVG bytes; None where none has."""
    ladders = [each for each in data.ladders if each["trend"]]
    if not ladders:
        return None
    members = [data.members(each) for each in ladders]
    handles = _handles(data, [row for rows in members for row in rows])
    bottom = BOTTOM + LEGEND_LINE * (-(-len(handles) // 2))
    height = TOP + len(ladders) * (TALL + BETWEEN) - BETWEEN + bottom
    ends = _ends(data, members)

    def paint(figure: Figure) -> None:
        for at, (ladder, rows) in enumerate(zip(ladders, members)):
            low = height - TOP - TALL - at * (TALL + BETWEEN)
            axes = figure.add_axes(inches((LEFT, low, WIDTH - LEFT - RIGHT, TALL), height))
            axes.set_title(ladder["ladder"], loc="left", pad=6)
            _panel(axes, data, ladder, rows, ends)
        figure.legend(handles=handles, loc="lower center", ncols=2, bbox_to_anchor=(0.5, 0.0),
                      labelspacing=0.42, handlelength=1.8, columnspacing=1.4, borderaxespad=0.25)

    return draw(height, paint)


def _panel(axes: Axes, data: ReportData, ladder: Row, rows: Sequence[Row],
           ends: tuple[float, float]) -> None:
    sizes = [row["parameters"] for row in rows]
    margin = data.registration["delta_0"]
    axes.axhspan(-margin, margin, color=MARGIN_BAND, linewidth=0)
    if data.human:
        axes.axhspan(*data.human["gap"]["ci95"], color=HUMAN_BAND, linewidth=0)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.set(xscale="log", ylim=ends, xlim=(min(sizes) / 10 ** BESIDE, max(sizes) * 10 ** BESIDE))
    axes.set_xticks(sizes, [size_text(size) for size in sizes])
    axes.set_xticks([], minor=True)
    plain_axis(axes.yaxis)
    axes.set(xlabel="parameters (logarithmic)", ylabel="G")
    _slope(axes, ladder["trend"]["slope"], rows)
    for row in rows:
        axes.plot([row["parameters"]] * 2, row["gap"]["ci95"], color=INK, linewidth=1.1,
                  solid_capstyle="butt", zorder=2)
        point(axes, row["parameters"], row["gap"]["estimate"], row["class"], zorder=3)
    place_labels(axes, [(row["parameters"], row["gap"]["estimate"], row["rung"]) for row in rows])


def _slope(axes: Axes, slope: Row, rows: Sequence[Row]) -> None:
    """The least-squares line through the middle of the points, and the lines of its interval."""
    logs = np.log10([row["parameters"] for row in rows])
    middle = logs.mean(), np.mean([row["gap"]["estimate"] for row in rows])
    xs = np.linspace(logs.min(), logs.max(), STEPS)
    low, high = (middle[1] + end * (xs - middle[0]) for end in slope["ci95"])
    axes.fill_between(10 ** xs, low, high, color=SLOPE_BAND, linewidth=0, zorder=1.2)
    axes.plot(10 ** xs, middle[1] + slope["estimate"] * (xs - middle[0]), color=INK, linewidth=1.2,
              zorder=1.4)


def _ends(data: ReportData, members: Sequence[Sequence[Row]]) -> tuple[float, float]:
    ends = [end for rows in members for row in rows for end in row["gap"]["ci95"]]
    margin = data.registration["delta_0"]
    ends += [-1.4 * margin, 1.4 * margin, *(data.human["gap"]["ci95"] if data.human else ())]
    return min(ends) - 0.04, max(ends) + 0.08


def _handles(data: ReportData, rows: Sequence[Row]) -> list:
    handles = [*class_handles(row["class"] for row in rows),
               Line2D([], [], color=INK, linewidth=1.2, label="fitted slope"),
               Patch(color=SLOPE_BAND, label=f"its {data.level} interval"),
               Patch(color=MARGIN_BAND, label="no gap (margin)")]
    return [*handles, Patch(color=HUMAN_BAND, label="human gap")] if data.human else handles
