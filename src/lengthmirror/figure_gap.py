"""Figure: G of every judge with its intervals, against the margins around 0 and the human gap."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import blended_transform_factory

from .figure_style import (
    GRID,
    HUMAN_BAND,
    INK,
    MARGIN_BAND,
    MUTED,
    SMALL,
    class_handles,
    debiased_handle,
    draw,
    inches,
    plain_axis,
    point,
    signed,
    size_text,
)
from .report_data import ReportData, Row

ROW_HEIGHT, LEFT, RIGHT, TOP, LEGEND_LINE = 0.36, 1.62, 0.14, 0.42, 0.18
DEBIASED_BELOW = 0.34  # of a row


def gap_figure(data: ReportData) -> bytes | None:
    """The forest plot: judges by size, then references and controls; SVG bytes.

    None where nothing has results.
    """
    rows = [*data.judges, *data.comparisons]
    if not rows:
        return None
    handles = _handles(data, rows)
    bottom = 0.55 + LEGEND_LINE * (-(-len(handles) // 2))
    tall = ROW_HEIGHT * len(rows) + 0.14
    height = TOP + tall + bottom

    def paint(figure: Figure) -> None:
        axes = figure.add_axes(inches((LEFT, bottom, 4.9 - LEFT - RIGHT, tall), height))
        _bands(axes, data)
        for at, row in enumerate(rows):
            _row(axes, at, row)
        _frame(axes, data, rows)
        figure.legend(handles=handles, loc="lower center", ncols=2, bbox_to_anchor=(0.5, 0.0),
                      labelspacing=0.42, handlelength=1.8, columnspacing=1.4, borderaxespad=0.25)

    return draw(height, paint)


def _bands(axes: Axes, data: ReportData) -> None:
    margin, above = data.registration["delta_0"], blended_transform_factory(axes.transData,
                                                                            axes.transAxes)
    axes.axvspan(-margin, margin, color=MARGIN_BAND, linewidth=0)
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.text(0, 1.02, f"no gap\n(within ±{margin:g})", transform=above, ha="center", va="bottom",
              color=INK, fontsize=8)
    if data.human:
        gap = data.human["gap"]
        axes.axvspan(*gap["ci95"], facecolor=HUMAN_BAND, linewidth=0)
        axes.axvline(gap["estimate"], color=MUTED, linewidth=0.8, linestyle=(0, (4, 2)))
        low, high = gap["ci95"]
        axes.text((low + high) / 2, 1.02, f"human gap\n{signed(low)} to {signed(high)}",
                  transform=above, ha="center", va="bottom", color=INK, fontsize=8)


def _row(axes: Axes, at: int, row: Row) -> None:
    debiased = row["order_debiased"]
    y = at - (DEBIASED_BELOW / 2 if debiased else 0)
    _interval(axes, row, y, 1.0)
    point(axes, row["gap"]["estimate"], y, row["class"], zorder=3)
    if debiased:
        below = y + DEBIASED_BELOW
        _interval(axes, debiased, below, 0.6)
        point(axes, debiased["gap"]["estimate"], below, debiased["class"], SMALL, zorder=3)
    place = blended_transform_factory(axes.transAxes, axes.transData)
    size = row["parameters"]
    axes.text(-0.03, at, row["rung"], transform=place, ha="right",
              va="bottom" if size else "center", color=INK)
    if size:
        axes.text(-0.03, at + 0.04, f"{size_text(size)} parameters", transform=place, ha="right",
                  va="top", color=MUTED, fontsize=7.2)


def _interval(axes: Axes, row: Row, y: float, weight: float) -> None:
    """Thin the difference interval, thick the narrower one of the equivalence tests."""
    for name, width in (("ci95", 1.1), ("ci90", 2.8)):
        axes.plot(row["gap"][name], [y, y], color=INK if weight == 1 else MUTED,
                  linewidth=width * weight, solid_capstyle="butt", zorder=2)


def _frame(axes: Axes, data: ReportData, rows: list[Row]) -> None:
    ends = [end for row in rows for end in row["gap"]["ci95"]]
    ends += [end for row in rows if row["order_debiased"]
             for end in row["order_debiased"]["gap"]["ci95"]]
    margin = data.registration["delta_0"]
    axes.set_xlim(min([-1.6 * margin, *ends]) - 0.04, max([0.7, *ends]) + 0.04)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    if data.judges and data.comparisons:
        axes.axhline(len(data.judges) - 0.5, color=GRID, linewidth=0.8)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    plain_axis(axes.xaxis)
    axes.set_xlabel("G, a difference of two shares")


def _handles(data: ReportData, rows: list[Row]) -> list[Line2D]:
    """The legend: classes that occur, then the two thicknesses and the hollow marker."""
    debiased = [row["order_debiased"] for row in rows if row["order_debiased"]]
    lines = [Line2D([], [], color=INK, linewidth=1.1, label=f"{data.level} interval"),
             Line2D([], [], color=INK, linewidth=2.8,
                    label=f"{data.equivalence_level} interval (equivalence)")]
    if debiased:
        lines.append(debiased_handle())
    return [*class_handles(row["class"] for row in (*rows, *debiased)), *lines]
