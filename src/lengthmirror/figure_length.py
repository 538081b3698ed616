"""Figure: r_long by relative length difference, in both mirror subsets, one panel per judge."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .figure_style import (
    BLUE,
    GRID,
    INK,
    MUTED,
    VERMILLION,
    WIDTH,
    draw,
    inches,
    plain_axis,
)
from .report_data import SUBSETS, ReportData, Row

COLUMNS = 2
LEFT, GAP, RIGHT, TOP, TALL, TITLE, BOTTOM = 0.52, 0.22, 0.08, 0.46, 1.16, 0.31, 0.48
LOOKS = {"longer": (BLUE, "o", BLUE), "shorter": (VERMILLION, "s", "#FFFFFF")}
DODGE = 0.007  # of the relative length difference, so that intervals do not hide each other


def length_figure(data: ReportData) -> bytes | None:
    """The panels as SVG bytes, or None where no row has a curve."""
    rows = [row for row in (*data.judges, *data.comparisons) if row["length_curve"]]
    if not rows:
        return None
    lines = -(-len(rows) // COLUMNS)
    height = TOP + lines * (TALL + TITLE) + BOTTOM

    def paint(figure: Figure) -> None:
        for at, row in enumerate(rows):
            last = at + COLUMNS >= len(rows)
            axes = figure.add_axes(inches(_place(at, height), height))
            _panel(axes, row, _ends(rows), at % COLUMNS == 0, last)
        figure.text((LEFT + WIDTH - RIGHT) / 2 / WIDTH, 0.06 / height,
                    "relative length difference (0: equally long, 1: one is empty)",
                    ha="center", va="bottom", fontsize=9)
        figure.legend(handles=_handles(rows), loc="upper left", ncols=2,
                      bbox_to_anchor=(0.0, 1.0), labelspacing=0.35, handlelength=1.9,
                      columnspacing=1.4, borderaxespad=0.0)

    return draw(height, paint)


def _place(at: int, height: float) -> tuple[float, float, float, float]:
    wide = (WIDTH - LEFT - RIGHT - GAP * (COLUMNS - 1)) / COLUMNS
    line, column = divmod(at, COLUMNS)
    return (LEFT + column * (wide + GAP), height - TOP - (line + 1) * (TALL + TITLE), wide, TALL)


def _panel(axes: Axes, row: Row, ends: tuple[float, float], first: bool, last: bool) -> None:
    axes.axhline(0.5, color=MUTED, linewidth=0.7, linestyle=(0, (1, 2)))
    debiased = (row["order_debiased"] or {}).get("length_curve")
    for subset, side in zip(SUBSETS, (-DODGE, DODGE)):
        if debiased:
            _line(axes, debiased, subset)
        _points(axes, row["length_curve"], subset, side)
    axes.set(xlim=ends, ylim=(-0.06, 1.06), yticks=(0, 0.5, 1))
    axes.grid(True, axis="x", color=GRID)
    axes.set_title(row["rung"], loc="left", pad=3, color=INK)
    for axis in (axes.xaxis, axes.yaxis):
        plain_axis(axis)
    axes.tick_params(labelleft=first, labelbottom=last)
    if first:
        axes.set_ylabel("r_long", labelpad=2)


def _points(axes: Axes, curve: Sequence[Row], subset: str, side: float) -> None:
    colour, shape, fill = LOOKS[subset]
    shown = _known(curve, subset)
    xs = [each["relative_difference"]["median"] + side for each in shown]
    ys = [each["r_long"][subset]["estimate"] for each in shown]
    for x, each in zip(xs, shown):
        axes.plot([x, x], each["r_long"][subset]["wilson_cluster"], color=colour, linewidth=1.1,
                  solid_capstyle="butt")
    axes.plot(xs, ys, color=colour, linewidth=1.2, marker=shape, markersize=4.2,
              markerfacecolor=fill, markeredgecolor=colour, zorder=3)


def _line(axes: Axes, curve: Sequence[Row], subset: str) -> None:
    shown = _known(curve, subset)
    axes.plot([each["relative_difference"]["median"] for each in shown],
              [each["r_long"][subset]["estimate"] for each in shown],
              color=LOOKS[subset][0], linewidth=0.9, linestyle=(0, (3, 1.6)))


def _known(curve: Sequence[Row], subset: str) -> list[Row]:
    """The bins that have a share in the subset."""
    return [each for each in curve if each["r_long"][subset]]


def _ends(rows: Sequence[Row]) -> tuple[float, float]:
    medians = [each["relative_difference"]["median"] for row in rows
               for each in row["length_curve"]]
    return min(medians) - 0.06, max(medians) + 0.06


def _handles(rows: Sequence[Row]) -> list[Line2D]:
    handles = [Line2D([], [], color=colour, marker=shape, markerfacecolor=fill, markersize=4.2,
                      linewidth=1.2, label=f"humans preferred the {subset} answer")
               for subset, (colour, shape, fill) in LOOKS.items()]
    if any(row["order_debiased"] for row in rows):
        handles.append(Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (3, 1.6)),
                              label="dashed: order-debiased"))
    return handles
