"""How every figure looks, and how one becomes SVG bytes that depend on its numbers alone.

Figures are narrow, so that their text stays readable on a phone, and are drawn with the font that
comes with matplotlib as outlines. Colours are those of Okabe and Ito; shape says the same again.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

WIDTH = 4.9  # inches of every figure
MARKER, SMALL = 6.4, 4.2  # sizes of markers, and of those of order-debiased verdicts, points
DASHES = (0, (4, 2.4))
INK, MUTED, GRID = "#222222", "#595959", "#DDDDDD"
MARGIN_BAND, HUMAN_BAND = "#E4E4E4", "#D3EBF8"
BLUE, VERMILLION = "#0072B2", "#D55E00"
RC = {"svg.hashsalt": "lengthmirror", "svg.fonttype": "path", "text.parse_math": False,
      "font.family": ["DejaVu Sans"], "font.size": 8.5, "axes.labelsize": 9,
      "xtick.labelsize": 8.5, "ytick.labelsize": 8.5, "legend.fontsize": 8.5,
      "axes.titlesize": 9, "axes.edgecolor": MUTED, "axes.labelcolor": INK, "text.color": INK,
      "xtick.color": MUTED, "ytick.color": MUTED, "xtick.labelcolor": INK,
      "ytick.labelcolor": INK, "axes.linewidth": 0.7, "grid.color": GRID, "grid.linewidth": 0.6,
      "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
      "legend.frameon": False, "hatch.linewidth": 0.6, "hatch.color": "#FFFFFF",
      "axes.unicode_minus": True, "figure.facecolor": "white", "savefig.facecolor": "white"}
NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


@dataclass(frozen=True)
class Style:
    """Fill colour and marker shape."""
    colour: str
    marker: str


CLASS_STYLES = {
    "NO_PREFERENCE": Style("#000000", "o"),
    "LENGTH_PREFERENCE": Style(VERMILLION, "^"),
    "BREVITY_PREFERENCE": Style("#56B4E9", "v"),
    "ZERO_GAP_LEAN_UNRESOLVED": Style("#F0E442", "H"),
    "QUALITY_TRACKING": Style("#009E73", "s"),
    "PARTIAL_TRACKING": Style(BLUE, "D"),
    "EXCEEDS_HUMAN": Style("#CC79A7", "*"),
    "INVERSE": Style("#E69F00", "X"),
    "INCONCLUSIVE": Style("#999999", "p"),
    "UNRESOLVABLE_MARGINS": Style("#FFFFFF", "8"),
    None: Style("#FFFFFF", "P"),
}
UNCLASSED = "humans, who get no class"


def draw(height: float, paint: Callable[[Figure], None]) -> bytes:
    """An SVG of a figure that ``paint`` draws on, ``WIDTH`` by ``height`` inches.

    The bytes are the same on every run: no date, no random identifiers, no settings of the user.
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        figure = Figure(figsize=(WIDTH, height), layout=None)
        paint(figure)
        sink = BytesIO()
        figure.savefig(sink, format="svg", metadata=NO_METADATA)
    content = sink.getvalue()
    return content[content.index(b"<svg"):]  # without a document type, which names an address


def point(axes: Axes, x: float, y: float, outcome: str | None, size: float = MARKER,
          **keywords: Any) -> None:
    """One marker in the colour and shape of its class."""
    axes.plot([x], [y], **marker(outcome, size), **keywords)


def marker(outcome: str | None, size: float = MARKER) -> dict[str, Any]:
    """The marker of a class as keywords of a line; every marker has a dark edge."""
    style = CLASS_STYLES[outcome]
    larger = {"*": 1.5, "X": 1.15, "P": 1.2, "D": 0.9, "H": 1.15}.get(style.marker, 1.0)
    return {"marker": style.marker, "color": "none", "markersize": size * larger,
            "markerfacecolor": style.colour, "markeredgecolor": INK, "markeredgewidth": 0.7,
            "linestyle": "none"}


def class_handles(outcomes: Iterable[str | None]) -> list[Line2D]:
    """Legend entries of the classes that occur, in the order of CLASS_STYLES."""
    present = set(outcomes)
    return [Line2D([], [], label=outcome or UNCLASSED, **marker(outcome))
            for outcome in CLASS_STYLES if outcome in present]


def debiased_handle() -> Line2D:
    """The legend entry of the smaller markers."""
    return Line2D([], [], label="small: order-debiased verdict",
                  **{**marker(None, SMALL), "marker": "o"})


def size_text(parameters: int) -> str:
    """A number of parameters in millions (M) or billions (B), written short."""
    millions = round(parameters / 1e6)
    if millions >= 1000:
        return f"{parameters / 1e9:.1f}B"
    return f"{millions}M" if millions else str(parameters)


def signed(value: float) -> str:
    """Two decimals with a true minus sign and no zero that is negative."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


def plain_axis(axis) -> None:
    """Tick labels as short decimals with a true minus sign."""
    axis.set_major_formatter(lambda value, _: f"{value + 0.0:g}".replace("-", "\N{MINUS SIGN}"))


def inches(axes_box: tuple[float, float, float, float], height: float) -> list[float]:
    """A box (left, bottom, width, height) in inches as fractions of a figure of that height."""
    left, bottom, width, tall = axes_box
    return [left / WIDTH, bottom / height, width / WIDTH, tall / height]
