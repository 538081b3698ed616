"""The figures: every class can be told apart, names do not cover each other, nothing is missing."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

pytest.importorskip("matplotlib", reason="the report needs the extra 'report'")
pytest.importorskip("jinja2", reason="the report needs the extra 'report'")
pytest.importorskip("jsonschema", reason="the report needs the extra 'report'")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lengthmirror.figure_length import length_figure
from lengthmirror.figure_orders import orders_figure
from lengthmirror.figure_style import CLASS_STYLES, size_text
from lengthmirror.label_placement import place_labels
from lengthmirror.report_data import ReportData
from lengthmirror.report_page import FIGURES
from lengthmirror.rule import CLASSES

from .documents import JUDGES, MANY, document, judge, known_numbers, ladder, not_run, texts_of
from .page_reader import numbers

NO_NUMBERS_OF_JUDGES = {"relative length difference (0: equally long, 1: one is empty)",
                        "length preference only: G = 0", "G = 0"}


def labels(svg):
    """The texts of a figure, which are drawn as outlines and repeated as comments."""
    return re.findall(r"<!-- (.*?) -->", svg.decode("utf-8"), flags=re.DOTALL)


@pytest.fixture(scope="module")
def drawn():
    """The figures of four judges, by name."""
    return {name: figure(ReportData(MANY, None)) for name, figure in FIGURES.items()}


@pytest.mark.parametrize("name", ["gap", "subsets", "scale", "length", "orders"])
def test_a_figure_is_xml_that_names_every_judge(name, drawn):
    """The SVG parses, names each judge with results, and none without."""
    assert ElementTree.fromstring(drawn[name]).tag.endswith("svg")
    found = labels(drawn[name])
    assert {"tiny", "small", "middle", "large"} <= set(found) and "huge" not in found


@pytest.mark.parametrize("name", ["gap", "subsets", "scale", "length", "orders"])
def test_a_figure_names_no_address_but_its_formats(name, drawn):
    """Only the names of the SVG formats look like addresses; no date, no program."""
    text = drawn[name].decode("utf-8")
    assert set(re.findall(r"https?://[^\"<>\s]*", text)) == {
        "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "metadata" not in text and "atplotlib v" not in text


@pytest.mark.parametrize("name", ["gap", "subsets"])
def test_references_stand_beside_the_judges(name, drawn):
    """GPT-4 and the humans are in the figures that compare."""
    assert {"gpt4-published", "humans"} <= set(labels(drawn[name]))


@pytest.mark.parametrize("name", ["gap", "subsets", "scale", "orders", "length"])
def test_axes_are_labelled(name, drawn):
    """Each axis says what it shows."""
    wanted = {"gap": ["G, a difference of two shares"],
              "subsets": ["r_long where humans preferred the longer answer",
                          "r_long where humans preferred the shorter answer"],
              "scale": ["parameters (logarithmic)", "G", "494M", "7.6B",
                        "slope 0.27 [0.18, 0.36] per tenfold size"],
              "orders": ["share of pairs", "share of verdicts", "probability"],
              "length": ["r_long", "relative length difference (0: equally long, 1: one is "
                                   "empty)"]}[name]
    assert set(wanted) <= set(labels(drawn[name]))


@pytest.mark.parametrize("name", ["gap", "subsets", "scale"])
def test_order_debiased_verdicts_are_shown_and_explained(name, drawn):
    """Small markers stand beside the primary ones wherever G or the subsets are drawn."""
    assert "small: order-debiased verdict" in labels(drawn[name])
    plain = document(*({**row, "order_debiased": None} for row in JUDGES))
    without = FIGURES[name](ReportData(plain, None))
    assert without is None or "small: order-debiased verdict" not in labels(without)
    assert ("tiny, debiased" in labels(drawn[name])) == (name == "subsets")


def test_a_class_that_only_a_debiased_verdict_has_is_in_the_legend():
    """A small marker's colour is explained even where no primary verdict has that class."""
    row = judge("tiny", 10 ** 8, 0.5, 0.5, "NO_PREFERENCE")
    row["order_debiased"]["class"] = "INVERSE"
    other = {**row, "rung": "other", "parameters": 10 ** 9}
    rows = [row, other]
    two = ladder("two", rows)
    two["order_debiased"]["judges"][0]["class"] = "INVERSE"
    for name in ("gap", "subsets", "scale"):
        found = labels(FIGURES[name](ReportData(document(*rows, ladders=[two]), None)))
        assert "INVERSE" in found


@pytest.mark.parametrize("name", ["gap", "subsets", "scale", "length", "orders"])
def test_numbers_in_the_words_of_a_figure_are_those_of_the_document(name, drawn):
    """Whatever is not a tick of an axis: slopes, bands, levels and sizes."""
    known, alpha = known_numbers(MANY), MANY["registration"]["alpha"]
    known |= {100 * (1 - alpha), 100 * (1 - 2 * alpha)}
    for label in labels(drawn[name]):
        if not re.search("[a-zA-Z]", label) or label in NO_NUMBERS_OF_JUDGES:
            continue
        for found in numbers(re.sub(r"(?<=\d)[MB]\b", "", label)):
            assert found in texts_of(known, len(found.partition(".")[2])), label


def test_every_class_has_a_style_of_its_own():
    """Colours differ and so do shapes, for each class and for rows without a class."""
    assert set(CLASS_STYLES) == {*CLASSES, None}
    assert len({style.marker for style in CLASS_STYLES.values()}) == len(CLASS_STYLES)
    coloured = [style.colour for style in CLASS_STYLES.values() if style.colour != "#FFFFFF"]
    assert len(set(coloured)) == len(coloured)


def test_figures_that_have_nothing_to_show_are_left_out():
    """Without a judge run in both orders, or without curves, there is no figure."""
    assert orders_figure(ReportData(document(not_run("tiny", 10 ** 8)), None)) is None
    row = {**judge("tiny", 10 ** 8, 0.5, 0.5), "length_curve": None}
    assert length_figure(ReportData(document(row, references=[]), None)) is None


def test_the_settings_of_a_user_do_not_change_a_figure(drawn):
    """A matplotlibrc with other fonts and colours leaves the bytes as they are."""
    import matplotlib
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red"}):
        assert FIGURES["gap"](ReportData(MANY, None)) == drawn["gap"]


@pytest.mark.parametrize("points", [
    [(0.5, 0.5, f"judge-number-{at}") for at in range(8)],
    [(0.02 * at, 1 - 0.02 * at, f"judge-number-{at}") for at in range(10)],
    [(0, 0, "corner"), (1, 1, "opposite corner"), (0, 1, "third"), (1, 0, "a longer fourth")],
])
def test_names_neither_cover_each_other_nor_leave_the_axes(points):
    """Even for judges at one place every name stays readable."""
    figure = Figure(figsize=(4.9, 4.9))
    axes = figure.add_axes([0.13, 0.13, 0.84, 0.84], xlim=(-0.04, 1.04), ylim=(-0.04, 1.04))
    place_labels(axes, points)
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in axes.texts if text.get_text()]
    assert len(boxes) == len(points)
    for at, box in enumerate(boxes):
        assert box.x0 >= axes.bbox.x0 - 1 and box.x1 <= axes.bbox.x1 + 1
        assert not any(box.overlaps(other) for other in boxes[at + 1:])


@pytest.mark.parametrize("parameters, text", [
    (134515008, "135M"), (1711376384, "1.7B"), (7615616512, "7.6B"), (999, "999"),
    (999_600_000, "1.0B"),
])
def test_sizes_are_short(parameters, text):
    """Millions without decimals, billions with one, never 1000M and never 0M."""
    assert size_text(parameters) == text
