"""``lengthmirror report``: one self-contained page from ladder.json, and its figures beside it."""

import base64
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from . import report_words as words
from .errors import InvalidReport
from .figure_gap import gap_figure
from .figure_length import length_figure
from .figure_orders import orders_figure
from .figure_scale import scale_figure
from .figure_style import size_text
from .figure_subsets import subsets_figure
from .files import write_bytes
from .report_answer import answers
from .report_data import ReportData, read_report_data

PAGE = "index.html"
FIGURES = {"gap": gap_figure, "subsets": subsets_figure, "scale": scale_figure,
           "length": length_figure, "orders": orders_figure}


@dataclass(frozen=True)
class Picture:
    """A figure for the page: ``source`` is a data URI, sizes are CSS pixels."""
    source: str
    width: int
    height: int


def write_report(ladder: Path, output: Path) -> list[Path]:
    """Writes the page and its figures, and returns their paths, the page first.

    Args:
        ladder: ladder.json; a sensitivity.json beside it is used too.
        output: a folder, made if need be.

    Raises:
        InvalidReport: ladder.json or sensitivity.json is missing or malformed, or the folder
            cannot be written.
    """
    data = read_report_data(ladder)
    drawn = {name: figure(data) for name, figure in FIGURES.items()}
    drawn = {name: svg for name, svg in drawn.items() if svg}
    contents = {PAGE: page_bytes(data, drawn),
                **{f"figure-{name}.svg": svg for name, svg in drawn.items()}}
    try:
        for name, content in contents.items():
            write_bytes(Path(output) / name, content)
    except OSError as error:
        raise InvalidReport(f"the report cannot be written to {output} "
                            f"({error.strerror}).") from None
    return [Path(output) / name for name in contents]


def page_bytes(data: ReportData, figures: dict[str, bytes]) -> bytes:
    """The page as HTML; everything from the two documents is escaped.

    Args:
        data: the documents.
        figures: SVG bytes by name.
    """
    environment = _environment()
    style = environment.loader.get_source(environment, "report.css")[0]
    html = environment.get_template("report.html").render(
        data=data, answers=answers(data), reg=data.registration, dataset=data.ladder["dataset"],
        figures={name: _picture(svg) for name, svg in figures.items()}, style=style,
        alternatives=words.alternative_texts(data), classes=words.classes_shown(data),
        flags_shown=words.flags_shown(data), class_meanings=words.CLASS_MEANINGS,
        flag_meanings=words.FLAG_MEANINGS, controls=data.controls,
        not_run=words.not_run_by_reason(data), outcomes=words.outcomes_shown(data),
        outcome_meanings=words.OUTCOME_MEANINGS, comparisons=words.COMPARISON_MEANINGS,
        status_meaning=words.STATUS_MEANINGS[data.registration["status"]])
    return html.encode("utf-8")


def _environment() -> Environment:
    environment = Environment(loader=PackageLoader("lengthmirror", "templates"), autoescape=True,
                              undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
                              keep_trailing_newline=True)
    filters: dict[str, Any] = {
        "number": words.number, "count": words.count, "p_value": words.p_value, "size": size_text,
        "interval": words.interval, "flags": words.raised_flags,
        "other_classes": words.other_classes}
    environment.filters.update(filters)
    return environment


def _picture(svg: bytes) -> Picture:
    return Picture("data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii"),
                   *_size(svg))


def _size(svg: bytes) -> tuple[int, int]:
    """Width and height of an SVG in CSS pixels, from its points."""
    found = re.search(rb'<svg[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    return tuple(round(float(points) * 4 / 3) for points in found.groups())
