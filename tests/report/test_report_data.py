"""Documents that cannot be reported: one sentence that names the file and what is wrong."""

import copy

import pytest

pytest.importorskip("jsonschema", reason="the report needs the extra 'report'")
pytest.importorskip("matplotlib", reason="the report needs the extra 'report'")

from jsonschema import Draft202012Validator

from lengthmirror.errors import InvalidReport
from lengthmirror.ladder_report import SCHEMA
from lengthmirror.report_checks import validator
from lengthmirror.report_data import read_report_data
from lengthmirror.report_words import STATUS_MEANINGS
from lengthmirror.rule import CLASSES
from lengthmirror.study import SCALE_OUTCOMES

from .documents import JUDGES, MANY, judge, sensitivity, written


def refused(path):
    with pytest.raises(InvalidReport) as caught:
        read_report_data(path)
    sentence = str(caught.value)
    assert "\n" not in sentence and str(path.parent) in sentence
    return sentence


def changed(change):
    """A document with something broken in it."""
    content = copy.deepcopy(MANY)
    change(content)
    return content


def test_a_missing_file_names_the_command_to_run(tmp_path):
    """The sentence is the way to the file."""
    path = tmp_path / "ladder.json"
    assert f"first run: python -m pytest -n auto tests/ladder --ladder-json {path}" in refused(path)


@pytest.mark.parametrize("content", [
    "", "{", "[1, 2", '{"schema": NaN}', '{"schema": Infinity}', '{"schema": 1e999}',
    pytest.param("[" * 200_000, id="a deep nest")])
def test_a_file_that_is_not_strict_json_is_refused(content, tmp_path):
    """Half a file, numbers that JSON lacks, or a nest too deep to read."""
    assert "is not strict JSON" in refused(written(tmp_path, content))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    """A file of another kind altogether."""
    path = tmp_path / "ladder.json"
    path.write_bytes(b"PAR1\xff\xfe")
    assert "is not strict JSON" in refused(path)


@pytest.mark.parametrize("content", ["[]", "3", '{"rows": []}', '{"schema": 99, "rows": []}'])
def test_another_schema_is_refused(content, tmp_path):
    """A document of another kind or version."""
    assert f"is not of schema {SCHEMA}" in refused(written(tmp_path, content))


BROKEN = {
    "no registration": (lambda d: d.pop("registration"),
                        "the document has no valid 'registration'"),
    "a margin in words": (lambda d: d["registration"].update(delta_0="wide"),
                          "'registration.delta_0' ('wide' is not of type 'number')"),
    "no digest": (lambda d: d["registration"].pop("digest"), "'registration.digest'"),
    "rows by name": (lambda d: d.update(rows={"tiny": 1}),
                     "'rows' ({'tiny': 1} is not of type 'array')"),
    "a number as a row": (lambda d: d["rows"].append(3), "entry 9 of its rows has no valid 'rung'"),
    "no G": (lambda d: d["rows"][0].pop("gap"), "small has no valid 'gap'"),
    "no size": (lambda d: d["rows"][0].pop("parameters"), "small has no valid 'parameters'"),
    "a class of no rule": (lambda d: d["rows"][1].update({"class": "BEST"}),
                           "tiny has no valid 'class'"),
    "G without intervals": (lambda d: d["rows"][0].update(gap=0.3), "small has no valid 'gap'"),
    "half an interval": (lambda d: d["rows"][0]["gap"].update(ci95=[0.1]),
                         "small has no valid 'gap.ci95' ([0.1] is too short)"),
    "an open interval": (lambda d: d["rows"][0]["gap"].update(ci90=[None, 0.1]),
                         "small has no valid 'gap.ci90.0'"),
    "no shares": (lambda d: d["rows"][0].update(r_long=None),
                  "small has no valid 'r_long'"),
    "a ladder without a sentence": (lambda d: d["ladders"][0].pop("coverage"),
                                    "one family has no valid 'coverage'"),
    "a slope without intervals": (lambda d: d["ladders"][0].update(slope=0.2),
                                  "one family has no valid 'slope'"),
    "no word on the slope": (lambda d: d["ladders"][0].pop("slope"),
                             "one family has no valid 'slope'"),
    "a slope without judges": (lambda d: d["ladders"][0].update(judges=[]),
                               "one family has no valid 'judges'"),
    "a slope without a line": (lambda d: d["ladders"][0].update(fit=[{"estimate": 1}]),
                               "one family has no valid 'fit.0.ci95'"),
    "ladders by name": (lambda d: d.update(ladders={"a": 1}),
                        "'ladders' ({'a': 1} is not of type 'array')"),
    "no D": (lambda d: d["rows"][0].pop("shortfall"), "small has no valid 'shortfall'"),
    "a bare debiased class": (lambda d: d["rows"][0].update(order_debiased={"class": "INVERSE"}),
                              "small has no valid 'order_debiased.bootstrap_p'"),
    "no orders": (lambda d: d["rows"][0].pop("position_consistency"),
                  "small has no valid 'position_consistency'"),
    "no slot share": (lambda d: d["rows"][0].pop("slot_a_share"),
                      "small has no valid 'slot_a_share'"),
    "half an option mass": (lambda d: d["rows"][0]["option_mass"].pop("p05"),
                            "small has no valid 'option_mass.p05'"),
    "a curve of one subset": (lambda d: d["rows"][0]["length_curve"][1]["r_long"].pop("longer"),
                              "small has no valid 'length_curve.1.r_long.longer'"),
    "a curve in words": (lambda d: d["rows"][0].update(length_curve="rising"),
                         "small has no valid 'length_curve' ('rising' is not of type"),
    "an outcome of no rule": (lambda d: d["ladders"][1].update(outcome="STEEP"),
                              "two sizes has no valid 'outcome'"),
    "no flags": (lambda d: d["rows"][0].update(flags=None), "small has no valid 'flags'"),
    "a share above one": (lambda d: d["rows"][0].update(slot_a_share=1.2),
                          "small has no valid 'slot_a_share' (1.2 is greater than the maximum"),
    "a judge without a class": (lambda d: d["rows"][0].update({"class": None}),
                                "small has no valid 'class'"),
    "a debiased verdict without a class": (
        lambda d: d["rows"][0]["order_debiased"].update({"class": None}),
        "small has no valid 'order_debiased.class'"),
    "more parameters than there are": (lambda d: d["rows"][0].update(parameters=10 ** 400),
                                       "small has no valid 'parameters'"),
    "an interval without end": (lambda d: d["rows"][0]["gap"].update(ci95=[-1e308, 1e308]),
                                "small has no valid 'gap.ci95.0'"),
    "no data set": (lambda d: d.update(dataset=None), "the document has no valid 'dataset'"),
    "one share": (lambda d: d["rows"][0]["r_long"].pop("shorter"),
                  "small has no valid 'r_long.shorter'"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_document_that_cannot_be_drawn_names_the_key(fault, tmp_path):
    """What a figure needs is checked before anything is drawn."""
    change, named = BROKEN[fault]
    assert named in refused(written(tmp_path, changed(change)))


TABLE_FAULTS = {
    "of another registration": (lambda d: d["registration"].update(digest="00"),
                                "another registration"),
    "of another run": (lambda d: d["judges"][0]["specifications"][0]["gap"].update(estimate=0.9),
                       "its primary G of small is not that of the ladder"),
    "no judges": (lambda d: d.pop("judges"), "the document has no valid 'judges'"),
    "no table": (lambda d: d["judges"][1].update(specifications=None),
                 "tiny has no valid 'specifications'"),
    "a table without names": (lambda d: d["judges"][1]["specifications"][0].pop("specification"),
                              "tiny has no valid 'specifications.0.specification'"),
    "a class of no rule": (lambda d: d["judges"][1]["specifications"][1].update({"class": "BEST"}),
                           "tiny has no valid 'specifications.1.class'"),
}


@pytest.mark.parametrize("fault", TABLE_FAULTS)
def test_sensitivity_tables_that_do_not_fit_are_refused(fault, tmp_path):
    """Tables that are malformed, or of other results than the ladder beside them."""
    change, named = TABLE_FAULTS[fault]
    tables = copy.deepcopy(sensitivity(*JUDGES))
    change(tables)
    path = written(tmp_path, MANY)
    assert "sensitivity.json" in str(written(tmp_path, tables, "sensitivity.json"))
    sentence = refused(path)
    assert named in sentence and "sensitivity.json" in sentence


@pytest.mark.parametrize("name", ["ladder", "sensitivity"])
def test_a_schema_is_a_schema_and_asks_for_what_it_describes(name):
    """Each schema is valid itself, and every object's keys are all required."""
    schema = validator(name).schema
    Draft202012Validator.check_schema(schema)

    def objects(value):
        if isinstance(value, dict):
            if "properties" in value and "required" in value:
                yield value
            for each in value.values():
                yield from objects(each)
        elif isinstance(value, list):
            for each in value:
                yield from objects(each)
    found = [*objects(schema)]
    assert len(found) > 2
    for each in found:
        assert each["required"] == sorted(each["properties"])


def test_the_schema_names_the_classes_and_outcomes_of_the_rule():
    """What the rule can say and what the schema accepts are the same."""
    definitions = validator("ladder").schema["$defs"]
    assert definitions["class"]["enum"] == [*CLASSES, None]
    assert definitions["scale"]["properties"]["outcome"]["enum"] == list(SCALE_OUTCOMES)
    assert set(definitions["registration_status"]["enum"]) == set(STATUS_MEANINGS)


def test_judges_of_one_size_keep_their_order(tmp_path):
    """Rows are sorted by size; equal sizes stay in the order of the ladder."""
    content = copy.deepcopy(MANY)
    content["rows"].insert(2, judge("twin", 134515008, 0.5, 0.4))
    names = [row["rung"] for row in read_report_data(written(tmp_path, content)).judges]
    assert names == ["tiny", "twin", "small", "middle", "large"]


def test_levels_come_from_alpha(tmp_path):
    """What the page calls its intervals follows from the registered alpha."""
    content = changed(lambda d: d["registration"].update(alpha=0.025))
    data = read_report_data(written(tmp_path, content))
    assert (data.level, data.equivalence_level) == ("97.5 %", "95 %")
