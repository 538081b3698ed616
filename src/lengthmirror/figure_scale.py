"""Figure: G against the number of parameters, one panel per ladder, with its fitted slope."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .figure_style import (
    DASHES,
    HUMAN_BAND,
    INK,
    MARGIN_BAND,
    MUTED,
    SMALL,
    WIDTH,
    class_handles,
    debiased_handle,
    draw,
    inches,
    plain_axis,
    point,
    signed,
    size_text,
)
from .label_placement import boxes_on, place_labels
from .report_data import ReportData, Row

LEFT, RIGHT, TOP, TALL, BETWEEN, BOTTOM, LEGEND_LINE = 0.62, 0.12, 0.31, 1.9, 0.74, 0.5, 0.18
SLOPE_BAND = "#C9C9C9"
LINE_ROOM, AXIS_ROOM = 6, 3  # points around the fitted line, and around G = 0, without names
ASIDE = 0.024  # how far right order-debiased verdicts stand, part of the width
STEPS = 40  # places along G = 0 that no name covers
BESIDE = 0.18  # free space beside the outermost judges, in powers of ten of the size


def scale_figure(data: ReportData) -> bytes | None:
    """The ladders that have a slope, as SVG bytes; None where none has."""
    ladders = data.fitted_ladders
    if not ladders:
        return None
    handles = _handles(data, ladders)
    bottom = BOTTOM + LEGEND_LINE * (-(-len(handles) // 2))
    height = TOP + len(ladders) * (TALL + BETWEEN) - BETWEEN + bottom
    ends = _ends(data, ladders)

    def paint(figure: Figure) -> None:
        for at, ladder in enumerate(ladders):
            low = height - TOP - TALL - at * (TALL + BETWEEN)
            axes = figure.add_axes(inches((LEFT, low, WIDTH - LEFT - RIGHT, TALL), height))
            axes.set_title(ladder["ladder"], loc="left", pad=6)
            axes.set_title(_slope_text(ladder["slope"]), loc="right", pad=6, fontsize=8,
                           color=MUTED)
            _panel(axes, data, ladder, ends)
        figure.legend(handles=handles, loc="lower center", ncols=2, bbox_to_anchor=(0.5, 0.0),
                      labelspacing=0.42, handlelength=1.8, columnspacing=1.4, borderaxespad=0.25)

    return draw(height, paint)


def _panel(axes: Axes, data: ReportData, ladder: Row, ends: tuple[float, float]) -> None:
    rows, margin = ladder["judges"], data.registration["delta_0"]
    sizes = [row["parameters"] for row in rows]
    axes.axhspan(-margin, margin, color=MARGIN_BAND, linewidth=0)
    if data.human:
        axes.axhspan(*data.human["gap"]["ci95"], color=HUMAN_BAND, linewidth=0)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.set(xscale="log", ylim=ends, xlim=(min(sizes) / 10 ** BESIDE, max(sizes) * 10 ** BESIDE))
    axes.set_xticks(sizes, [size_text(size) for size in sizes])
    axes.set_xticks([], minor=True)
    plain_axis(axes.yaxis)
    axes.set(xlabel="parameters (logarithmic)", ylabel="G")
    _line(axes, ladder["fit"])
    _judges(axes, rows)
    _debiased(axes, ladder["order_debiased"], _aside(axes))
    _name(axes, ladder)


def _judges(axes: Axes, rows: Sequence[Row]) -> None:
    for row in rows:
        axes.plot([row["parameters"]] * 2, row["gap"]["ci95"], color=INK, linewidth=1.1,
                  solid_capstyle="butt", zorder=2)
        point(axes, row["parameters"], row["gap"]["estimate"], row["class"], zorder=3)


def _aside(axes: Axes) -> float:
    """The factor that moves a size a little to the right on the logarithmic axis."""
    low, high = axes.get_xlim()
    return (high / low) ** ASIDE


def _debiased(axes: Axes, section: Row | None, aside: float) -> None:
    """Small markers a little to the right, and their fitted line, dashed."""
    if not section:
        return
    for row in section["judges"]:
        x = row["parameters"] * aside
        axes.plot([x, x], row["gap"]["ci95"], color=MUTED, linewidth=0.8, solid_capstyle="butt",
                  zorder=2)
        point(axes, x, row["gap"]["estimate"], row["class"], SMALL, zorder=3)
    if section["fit"]:
        axes.plot([10 ** each["log10_parameters"] for each in section["fit"]],
                  [each["estimate"] for each in section["fit"]], color=MUTED, linewidth=0.9,
                  linestyle=DASHES, zorder=1.4)


def _name(axes: Axes, ladder: Row) -> None:
    """Names beside the judges, clear of lines and intervals."""
    low, high = axes.get_xlim()
    zero = [(low * (high / low) ** (at / STEPS), 0) for at in range(STEPS + 1)]
    line = [(10 ** each["log10_parameters"], each["estimate"]) for each in ladder["fit"]]
    bars = [(row["parameters"], end) for row in ladder["judges"] for end in row["gap"]["ci95"]]
    for row in (ladder["order_debiased"] or {"judges": ()})["judges"]:
        bars += [(row["parameters"] * _aside(axes), at)
                 for at in (*row["gap"]["ci95"], row["gap"]["estimate"])]
    place_labels(axes, [(row["parameters"], row["gap"]["estimate"], row["rung"])
                        for row in ladder["judges"]],
                 keep_free=[*boxes_on(axes, line, LINE_ROOM), *boxes_on(axes, zero, AXIS_ROOM),
                            *boxes_on(axes, bars, AXIS_ROOM)], background=False)


def _line(axes: Axes, fit: Sequence[Row]) -> None:
    """The fitted line and its pointwise intervals."""
    xs = [10 ** each["log10_parameters"] for each in fit]
    low, high = zip(*(each["ci95"] for each in fit))
    axes.fill_between(xs, low, high, color=SLOPE_BAND, linewidth=0, zorder=1.2)
    axes.plot(xs, [each["estimate"] for each in fit], color=INK, linewidth=1.2, zorder=1.4)


def _slope_text(slope: Row) -> str:
    low, high = slope["ci95"]
    return (f"slope {signed(slope['estimate'])} [{signed(low)}, {signed(high)}] "
            "per tenfold size")


def _debiased_handles() -> list[Line2D]:
    return [debiased_handle(), Line2D([], [], color=MUTED, linewidth=0.9, linestyle=DASHES,
                                      label="fitted line, order-debiased")]


def _ends(data: ReportData, ladders: Sequence[Row]) -> tuple[float, float]:
    shown = [*ladders, *(each["order_debiased"] for each in ladders if each["order_debiased"])]
    ends = [end for each in ladders for row in each["fit"] for end in row["ci95"]]
    ends += [end for each in shown for judge in each["judges"] for end in judge["gap"]["ci95"]]
    margin = data.registration["delta_0"]
    ends += [-1.4 * margin, 1.4 * margin, *(data.human["gap"]["ci95"] if data.human else ())]
    return min(ends) - 0.04, max(ends) + 0.08


def _handles(data: ReportData, ladders: Sequence[Row]) -> list:
    debiased = [each["order_debiased"] for each in ladders if each["order_debiased"]]
    handles = [*class_handles(row["class"] for each in (*ladders, *debiased)
                              for row in each["judges"]),
               *(_debiased_handles() if debiased else ()),
               Line2D([], [], color=INK, linewidth=1.2, label="fitted line"),
               Patch(color=SLOPE_BAND, label=f"its {data.level} interval"),
               Patch(color=MARGIN_BAND, label="no gap (margin)")]
    return [*handles, Patch(color=HUMAN_BAND, label="human gap")] if data.human else handles
