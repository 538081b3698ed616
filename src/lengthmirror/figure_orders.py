"""Figure: what a judge does when the answers change places, and how much it says beside A and B."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
    size_text,
)
from .report_data import ReportData, Row

LEFT, GAP, RIGHT, TOP, ROW_HEIGHT, BOTTOM = 1.5, 0.21, 0.14, 0.46, 0.34, 0.5
GREEN = "#009E73"
PANELS = (("same verdict in\nboth orders", "share of pairs"),
          ("verdict is\nslot A", "share of verdicts"),
          ("mass on the letters\nA and B", "probability"))


def orders_figure(data: ReportData) -> bytes | None:
    """Three shares per judge that was run in both orders; SVG bytes, or None without a judge."""
    rows = [row for row in data.judges if row["position_consistency"]]
    if not rows:
        return None
    tall = ROW_HEIGHT * len(rows) + 0.12
    height = TOP + tall + BOTTOM
    wide = (WIDTH - LEFT - RIGHT - GAP * (len(PANELS) - 1)) / len(PANELS)

    def paint(figure: Figure) -> None:
        for at, (names, fill) in enumerate(zip(PANELS, (_consistency, _slot, _mass))):
            axes = figure.add_axes(inches((LEFT + at * (wide + GAP), BOTTOM, wide, tall), height))
            axes.set_title(names[0], fontsize=8.5, pad=6)
            axes.set_xlabel(names[1], labelpad=2)
            fill(axes, rows, data)
            _frame(axes, rows, at == 0)

    return draw(height, paint)


def _consistency(axes: Axes, rows: list[Row], data: ReportData) -> None:
    axes.axvline(data.registration["pc_min"], color=MUTED, linewidth=0.9, linestyle=(0, (4, 2)))
    for at, row in enumerate(rows):
        share = row["position_consistency"]
        axes.plot(share["wilson_cluster"], [at, at], color=BLUE, linewidth=1.4,
                  solid_capstyle="butt")
        axes.plot([share["estimate"]], [at], marker="o", color=BLUE, markersize=5.4)


def _slot(axes: Axes, rows: list[Row], data: ReportData) -> None:
    axes.axvline(0.5, color=MUTED, linewidth=0.9, linestyle=(0, (4, 2)))
    for at, row in enumerate(rows):
        axes.plot([row["slot_a_share"]], [at], marker="D", color=VERMILLION, markersize=4.9)


def _mass(axes: Axes, rows: list[Row], data: ReportData) -> None:
    for at, row in enumerate(rows):
        mass = row["option_mass"]
        axes.plot([mass["p05"], mass["mean"]], [at, at], color=GREEN, linewidth=1.4)
        axes.plot([mass["p05"]], [at], marker="|", color=GREEN, markersize=7,
                  markeredgewidth=1.4)
        axes.plot([mass["mean"]], [at], marker="s", color=GREEN, markersize=5.1)


def _frame(axes: Axes, rows: list[Row], first: bool) -> None:
    axes.set(xlim=(-0.04, 1.04), ylim=(len(rows) - 0.4, -0.6), xticks=(0, 0.5, 1), yticks=[])
    plain_axis(axes.xaxis)
    axes.spines["left"].set_visible(False)
    for at, row in enumerate(rows):
        axes.axhline(at, color=GRID, linewidth=0.6, zorder=0)
        if first:
            axes.annotate(row["rung"], (0, at), xycoords=("axes fraction", "data"),
                          xytext=(-6, 0), textcoords="offset points", ha="right", va="bottom",
                          color=INK)
            axes.annotate(f"{size_text(row['parameters'])} parameters", (0, at),
                          xycoords=("axes fraction", "data"), xytext=(-6, -1),
                          textcoords="offset points", ha="right", va="top", color=MUTED,
                          fontsize=7.2)
