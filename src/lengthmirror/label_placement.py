"""Names beside points that do not cover each other: the nearest free place, with a leader line."""

from collections.abc import Iterable, Sequence
from math import cos, hypot, pi, sin

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from .figure_style import INK, MUTED

RADII = (7, 11, 16, 22, 29, 37, 46, 56, 68, 82, 98)  # points
DIRECTIONS = 16
MARKER = 5.6  # half the side of the square kept free around a marker, points
BACKGROUND = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
PIECES = 8  # boxes along a slanted text
LEADER = 13  # a label further away than this gets a line to its marker, points


def place_labels(axes: Axes, points: Sequence[tuple[float, float, str]], size: float = 8.2,
                 keep_free: Iterable[Bbox] = (), background: bool = True,
                 colours: Sequence[str] | None = None) -> None:
    """Writes a name beside each point, inside the axes; call it when the limits are final.

    Args:
        axes: linear or logarithmic.
        points: x, y and name, in data units.
        size: of the font.
        keep_free: boxes in pixels where no label may lie.
        background: white behind each label, so that lines do not cross it.
        colours: one per point; the usual one of text where there are none.
    """
    renderer = FigureCanvasAgg(axes.figure).get_renderer()
    scale = axes.figure.dpi / 72
    centres = [axes.transData.transform(each[:2]) for each in points]
    taken = [_box(*centre, MARKER * scale, MARKER * scale) for centre in centres] + [*keep_free]
    colours = colours or [INK] * len(points)
    for centre, (x, y, name), colour in zip(centres, points, colours, strict=True):
        text = axes.annotate(name, (x, y), xytext=(0, 0), textcoords="offset points", ha="center",
                             va="center", fontsize=size, color=colour, zorder=6,
                             bbox=BACKGROUND if background else None)
        extent = text.get_window_extent(renderer)
        half = extent.width / 2 + 2 * scale, extent.height / 2 + scale
        offset = _free_offset(centre, half, taken, axes.bbox, scale)
        text.set_position(tuple(each / scale for each in offset))
        taken.append(_box(centre[0] + offset[0], centre[1] + offset[1], *half))
        _leader(axes, (x, y), offset, half, scale)


def boxes_along(texts: Iterable[Text]) -> list[Bbox]:
    """Small boxes in pixels that together cover slanted texts more closely than one box each."""
    boxes = []
    for text in texts:
        whole = text.get_window_extent(FigureCanvasAgg(text.figure).get_renderer())
        falling = text.get_rotation() > 180
        for step in range(PIECES):
            left = whole.x0 + whole.width * step / PIECES
            up = PIECES - 1 - step if falling else step
            low = whole.y0 + whole.height * up / PIECES
            boxes.append(Bbox([[left, low], [left + whole.width / PIECES,
                                             low + whole.height / PIECES]]))
    return boxes


def boxes_on(axes: Axes, places: Iterable[tuple[float, float]], half: float) -> list[Bbox]:
    """Squares in pixels around places in data units, ``half`` points to each side."""
    side = half * axes.figure.dpi / 72
    return [_box(*axes.transData.transform(place), side, side) for place in places]


def _free_offset(centre, half, taken, inside, scale) -> tuple[float, float]:
    """The first offset in pixels, near ones first, whose box is free and inside the axes."""
    best, least = (0.0, half[1] + RADII[0] * scale), float("inf")
    for radius in RADII:
        for step in range(DIRECTIONS):
            angle = 2 * pi * step / DIRECTIONS
            offset = (cos(angle) * (radius * scale + half[0]),
                      sin(angle) * (radius * scale + half[1]))
            box = _box(centre[0] + offset[0], centre[1] + offset[1], *half)
            if not (box.x0 >= inside.x0 and box.x1 <= inside.x1
                    and box.y0 >= inside.y0 and box.y1 <= inside.y1):
                continue
            covered = sum(_shared(box, other) for other in taken)
            if not covered:
                return offset
            if covered < least:
                best, least = offset, covered
    return best


def _leader(axes: Axes, point, offset, half, scale) -> None:
    gap = hypot(max(abs(offset[0]) - half[0], 0), max(abs(offset[1]) - half[1], 0))
    if gap > LEADER * scale:
        end = [max(-edge, min(edge, 0.0 - side)) + side for side, edge in zip(offset, half)]
        axes.annotate("", point, xytext=tuple(each / scale for each in end),
                      textcoords="offset points", zorder=1.5,
                      arrowprops={"arrowstyle": "-", "color": MUTED, "linewidth": 0.6,
                                  "shrinkA": 0, "shrinkB": 0})


def _box(x: float, y: float, half_width: float, half_height: float) -> Bbox:
    return Bbox([[x - half_width, y - half_height], [x + half_width, y + half_height]])


def _shared(one: Bbox, other: Bbox) -> float:
    """The area two boxes have in common."""
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    tall = min(one.y1, other.y1) - max(one.y0, other.y0)
    return width * tall if width > 0 and tall > 0 else 0.0
