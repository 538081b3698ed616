"""The page: complete, self-contained, the same on every run, and with no number of its own."""

import base64
import json
from dataclasses import dataclass

import pytest

pytest.importorskip("matplotlib", reason="the report needs the extra 'report'")
pytest.importorskip("jinja2", reason="the report needs the extra 'report'")
pytest.importorskip("jsonschema", reason="the report needs the extra 'report'")

from lengthmirror.report_answer import WHAT_JUDGES_DO, WHAT_LADDERS_DO, answers
from lengthmirror.report_data import ReportData
from lengthmirror.report_page import PAGE, write_report
from lengthmirror.report_words import (
    CLASS_MEANINGS,
    FLAG_MEANINGS,
    OUTCOME_MEANINGS,
    STATUS_MEANINGS,
)
from lengthmirror.rule import CLASSES
from lengthmirror.study import SCALE_OUTCOMES as OUTCOMES

from .documents import (
    JUDGES,
    MANY,
    ONE,
    document,
    judge,
    known_numbers,
    not_run,
    reference,
    sensitivity,
    texts_of,
    written,
)
from .page_reader import Page, numbers

# What the page says without asking the documents: G = 0, the licence, the year of the paper.
STATIC = {"0", "1", "4.0", "2023"}
TABLES = sensitivity(*JUDGES)


@dataclass(frozen=True)
class Written:
    """What one run wrote: bytes by file name."""
    files: dict[str, bytes]

    @property
    def page(self):
        return Page(self.files[PAGE].decode("utf-8"))


def report(folder, content, tables=None):
    """Writes the report of a ladder document and, where given, its sensitivity tables."""
    ladder = written(folder / "in", content)
    if tables is not None:
        written(folder / "in", tables, "sensitivity.json")
    paths = write_report(ladder, folder / "out")
    assert sorted(path.name for path in paths) == sorted(
        path.name for path in (folder / "out").iterdir())
    return Written({path.name: path.read_bytes() for path in paths})


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """The report of four judges with their ladders and sensitivity tables."""
    return report(tmp_path_factory.mktemp("many"), MANY, TABLES)


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """The report of one judge."""
    return report(tmp_path_factory.mktemp("one"), ONE)


@pytest.fixture(params=["one", "many"])
def either(request):
    """The report of one judge, and that of many."""
    return request.getfixturevalue(request.param)


def test_two_runs_give_the_same_bytes(many, tmp_path):
    """Page and figures depend on the documents alone: no time, path or random identifier."""
    again = report(tmp_path / "elsewhere", MANY, TABLES)
    assert again.files == many.files
    assert str(tmp_path).encode() not in again.files[PAGE]


def test_the_order_of_keys_does_not_matter(many, tmp_path):
    """The same documents with their keys in another order give the same bytes."""
    turned = [json.loads(json.dumps(each), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
              for each in (MANY, TABLES)]
    assert report(tmp_path, *turned).files == many.files


def test_the_html_is_well_formed(either):
    """Every element is closed, in order; language, width and character set are declared."""
    page = either.page
    assert page.faults == [] and page.open_tags == []
    assert ("html", "lang", "en") in page.attributes
    assert ("meta", "charset", "utf-8") in page.attributes
    assert ("meta", "name", "viewport") in page.attributes


def test_the_page_fetches_nothing(either):
    """No address of the network or of another file: pictures and style are in the page."""
    html = either.files[PAGE].decode("utf-8")
    assert either.page.fetched == []
    assert "http:" not in html and "https:" not in html and "@import" not in html
    assert "url(" not in html and "<script" not in html and "<link" not in html


def test_the_figures_beside_the_page_are_those_in_it(either):
    """Each SVG file is inlined once, with a text that tells what it shows."""
    inlined = [base64.b64decode(source.partition("base64,")[2])
               for source, _ in either.page.images]
    beside = [content for name, content in either.files.items() if name.endswith(".svg")]
    assert sorted(inlined) == sorted(beside)
    assert all(len(alt) > 40 for _, alt in either.page.images)


def unknown_numbers(page, content):
    """Numbers of a page that no number of the documents rounds to."""
    known, text = known_numbers(content) | known_numbers(TABLES), page.text
    for words in ("tau 0.3", "turn 1 only", *(row["coverage"] for row in content["ladders"])):
        text = text.replace(words, "")
    alpha = content["registration"]["alpha"]
    known |= {100 * (1 - alpha), 100 * (1 - 2 * alpha)}
    for row in content["rows"]:
        text = text.replace(row["rung"], "")
    for word in ("digest", "revision"):
        text = text.replace(content["registration"].get(word) or content["dataset"][word], "")
    text = text.replace("M parameters", " parameters").replace("B parameters", " parameters")
    return {found for found in numbers(text) if found not in STATIC
            and found not in texts_of(known, len(found.partition(".")[2]))}


def test_every_number_on_the_page_is_in_the_document(either, request):
    """Each number of the text, the tables and the alternative texts is one of ladder.json's."""
    content = ONE if request.node.callspec.params["either"] == "one" else MANY
    assert unknown_numbers(either.page, content) == set()
    assert len(numbers(either.page.text)) > 40


def test_a_number_of_nowhere_is_seen(many):
    """The check above finds a number that the document lacks."""
    page = many.page
    page.text += " and 0.777 of them"
    assert unknown_numbers(page, MANY) == {"0.777"}


def test_the_verdict_table_has_primary_and_order_debiased(many):
    """Each judge has its class and G twice, with intervals."""
    row = MANY["rows"][0]
    for shown in (row, row["order_debiased"]):
        low, high = shown["gap"]["ci95"]
        cell = f"{shown['gap']['estimate']:.3f} [{low:.3f}, {high:.3f}]"
        assert cell.replace("-", "\N{MINUS SIGN}") in many.page.text


def test_the_answer_comes_first_in_words(many):
    """Before any table each judge, the reference and each ladder has its sentence."""
    top = many.page.text.partition("The answer")[2].partition("What each judge does")[0]
    row = MANY["rows"][0]
    other = {**row["order_debiased"], "class": "BREVITY_PREFERENCE"}
    for words in ("small prefers the longer answer, whatever humans thought of it: G 0.019 "
                  "[\N{MINUS SIGN}0.043, 0.080], lean 0.022 [\N{MINUS SIGN}0.012, 0.055].",
                  "tiny decides by neither length nor quality: G \N{MINUS SIGN}0.003 [",
                  "Most of its verdicts change when the answers change places. With the answer "
                  "order averaged out of its scores it decides by neither length nor quality: G",
                  "gpt4-published follows the human labels as one annotator follows another: G ",
                  "one family over its scored sizes: the class changes gradually. G changes by "
                  "0.272 [0.181, 0.363] per tenfold size.",
                  "the class changes at one place, between tiny and large. G changes"):
        assert words in top
    assert "two sizes over its scored sizes" in top and "Scale is confounded with family." in top
    assert top.index("tiny decides") < top.index("small prefers") < top.index("one family")
    assert "always-longer" not in top and "huge" not in top
    changed = answers(ReportData(document({**row, "order_debiased": other}), None))[0].text
    assert changed.endswith(
        " With the answer order averaged out of its scores it prefers the shorter answer, whatever "
        "humans thought of it: G \N{MINUS SIGN}0.013 [\N{MINUS SIGN}0.074, 0.049], lean 0.022 "
        "[\N{MINUS SIGN}0.012, 0.055].")


def test_judges_come_by_size_then_the_comparisons(many):
    """The table begins with the smallest judge and ends with the humans."""
    table = many.page.text.partition("Order-debiased verdict")[2]
    places = [table.index(name) for name in ("tiny", "small", "middle", "large",
                                             "gpt4-published", "humans")]
    assert places == sorted(places)


def test_rungs_without_results_are_named_with_their_reason(one, many):
    """What was not run is said, with the registered reason where there is one."""
    assert "Registered and not run (its weights come from the model hub): large." in one.page.text
    assert "Registered and not run: huge." in many.page.text


def test_the_registration_and_the_source_are_on_the_page(either):
    """Status, digest and margins; the data set's authors, licence and revision."""
    for words in ("verified", "0f" * 32, "±0.125", "Lianmin Zheng", "CC BY 4.0",
                  "someone/judgments", "abc123", "tamper-evident, not tamper-proof"):
        assert words in either.page.text


@pytest.mark.parametrize("status", ["unverifiable", "broken", "unregistered"])
def test_a_registration_that_is_not_verified_is_said_at_the_top(status, tmp_path):
    """Before any result, the page warns in words."""
    content = document(judge("tiny", 10 ** 8, 0.5, 0.5))
    content["registration"] = {**content["registration"], "status": status}
    page = report(tmp_path, content).page
    assert f"Registration: {status}." in page.text.partition("What each judge does")[0]


def test_missing_rows_are_said_at_the_top(tmp_path):
    """A rung whose test failed is named, so that its absence is no silence."""
    page = report(tmp_path, document(judge("tiny", 10 ** 8, 0.5, 0.5), missing=["large"],
                                     missing_ladders=["a ladder"])).page
    top = page.text.partition("What each judge does")[0]
    assert "no result arrived for large, a ladder." in top


def test_text_of_the_document_is_escaped(tmp_path):
    """A name with markup, quotes or a formula is text and nothing else."""
    name = '<script>alert("x")</script> $x^2$ &amp;'
    page = report(tmp_path, document(judge(name, 10 ** 8, 0.61, 0.5, "INVERSE"),
                                     not_run("<b>bold</b>", 10 ** 9, '"reason" <i>'))).page
    assert name in page.text and "<b>bold</b>" in page.text and '"reason" <i>' in page.text
    assert not {"script", "b", "i"} & {tag for tag, _, _ in page.attributes}
    assert page.faults == [] and page.open_tags == []


def test_a_reference_that_leans_more_than_humans_says_so():
    """Tracking quality and leaning to length are two findings, and both are said."""
    row = reference("gpt4-published", 0.9, 0.3, "QUALITY_TRACKING")
    row["flags"] = {**row["flags"], "excess_length_lean": True}
    said = answers(ReportData(document(references=[row]), None))[0].text
    assert said.endswith("], and leans to the longer answer more than humans do.")


def test_a_document_without_any_result_is_a_page_that_says_so(tmp_path):
    """A run of unscored rungs alone is no error: there is nothing to draw."""
    for rows in ((), (not_run("tiny", 10 ** 8),)):
        page = report(tmp_path / str(len(rows)), document(*rows, references=[]))
        assert "No judge has results yet" in page.page.text and page.page.images == []
        assert page.page.faults == [] and page.page.open_tags == []


def test_the_debiased_column_has_no_flag_of_the_raw_verdicts(many):
    """Whether verdicts change with the order is a property of the raw ones alone."""
    table = many.page.text.partition("Order-debiased verdict")[2].partition("The order-debiased")[0]
    assert table.count("position_dominated") == 1


def test_a_flag_of_the_debiased_verdict_alone_is_explained(tmp_path):
    """Whatever flag the table shows has its meaning below."""
    row = judge("tiny", 10 ** 8, 0.61, 0.5, "INVERSE")
    row["order_debiased"]["flags"] = {**row["flags"], "composition_driven": True}
    page = report(tmp_path, document(row)).page
    assert FLAG_MEANINGS["composition_driven"] in page.text


def test_a_ladder_without_scored_judges_has_its_references(tmp_path):
    """Before any judge is run the page shows GPT-4 and the humans."""
    page = report(tmp_path, document(not_run("tiny", 10 ** 8))).page
    assert "gpt4-published" in page.text and len(page.images) >= 2


def test_a_ladder_without_references_has_its_judges(tmp_path):
    """When the reference tests were not selected there is no human band, and no error."""
    content = document(judge("tiny", 10 ** 8, 0.5, 0.45), references=[])
    assert "human gap" not in report(tmp_path, content).files["figure-gap.svg"].decode()


def test_controls_are_named(one, many):
    """Rows of judges with a known answer are introduced as such."""
    assert "Controls ( always-longer ) are no models" in many.page.text
    assert "control: the longer one, always" in many.page.text
    assert "Controls" not in one.page.text


def test_a_ladder_with_a_slope_is_in_the_table(many):
    """Slope with interval, p, outcome, where the class changes, what is missing, the caveat."""
    section = many.page.text.partition("Across sizes")[2].partition("Does the size of")[0]
    for words in ("0.272 [0.181, 0.363]", "0.0037", "GRADED", "huge", "LOCALISED",
                  "between tiny and large", "two sizes: Scale is confounded with family.",
                  "0.0213", "0.000030", "0.0457"):
        assert words in section


def test_a_ladder_of_too_few_rungs_shows_its_sentence(one):
    """No slope and no figure, but the sentence of ladder.json."""
    assert "a ladder has 1 of 3 rungs scored and needs at least 2" in one.page.text
    assert "figure-scale.svg" not in one.files


def test_the_sensitivity_tables_say_what_changes(many):
    """Another class, or none, is named in the summary and marked in the table."""
    section = many.page.text.partition("Would other choices")[2].partition("What was fixed")[0]
    assert "tau 0.3: INVERSE; turn 1 only: no class" in section
    assert section.count("INVERSE (another class)") == len(JUDGES)
    assert "no unit is left <here>." in section and "811 297 5" in section


def test_without_sensitivity_tables_the_page_names_the_command(one):
    """What is missing can be made."""
    assert "lengthmirror sensitivity writes it" in one.page.text


def test_every_class_flag_and_status_has_its_words():
    """The page can explain whatever the rule can say."""
    assert set(OUTCOME_MEANINGS) == set(OUTCOMES)
    assert set(CLASS_MEANINGS) == set(CLASSES) == set(WHAT_JUDGES_DO)
    assert set(WHAT_LADDERS_DO) == set(OUTCOMES)
    assert set(STATUS_MEANINGS) == {"verified", "unverifiable", "unregistered", "broken"}
    assert set(FLAG_MEANINGS) == {"position_dominated", "excess_length_lean",
                                  "composition_driven", "length_gradient", "borderline_mc"}
