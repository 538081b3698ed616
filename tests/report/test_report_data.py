"""Documents that cannot be reported: one sentence that names the file and what is wrong."""

import copy

import pytest

from lengthmirror.errors import InvalidReport
from lengthmirror.report_data import read_report_data

from .documents import MANY, judge, written


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


@pytest.mark.parametrize("content", ["", "{", "[1, 2", '{"schema": NaN}', '{"schema": Infinity}'])
def test_a_file_that_is_not_strict_json_is_refused(content, tmp_path):
    """Half a file, or numbers that JSON lacks."""
    assert "is not strict JSON" in refused(written(tmp_path, content))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    """A file of another kind altogether."""
    path = tmp_path / "ladder.json"
    path.write_bytes(b"PAR1\xff\xfe")
    assert "is not strict JSON" in refused(path)


@pytest.mark.parametrize("content", ["[]", "3", '{"rows": []}', '{"schema": 2, "rows": []}'])
def test_another_schema_is_refused(content, tmp_path):
    """A document of another kind or version."""
    assert "is not of schema 1" in refused(written(tmp_path, content))


BROKEN = {
    "no registration": (lambda d: d.pop("registration"), "'alpha'"),
    "a margin in words": (lambda d: d["registration"].update(delta_0="wide"), "'delta_0'"),
    "no digest": (lambda d: d["registration"].pop("digest"), "'digest'"),
    "rows by name": (lambda d: d.update(rows={"tiny": 1}), "no list of rows"),
    "a number as a row": (lambda d: d["rows"].append(3), "a row has no valid 'rung'"),
    "no G": (lambda d: d["rows"][0].pop("gap"), "small has no valid 'gap'"),
    "no size": (lambda d: d["rows"][0].pop("parameters"), "small has no valid 'parameters'"),
    "a class of no rule": (lambda d: d["rows"][1].update({"class": "BEST"}),
                           "tiny has no valid 'class'"),
    "G without intervals": (lambda d: d["rows"][0].update(gap=0.3), "small has no valid 'gap'"),
    "half an interval": (lambda d: d["rows"][0]["gap"].update(ci95=[0.1]),
                         "small has no valid 'gap'"),
    "an open interval": (lambda d: d["rows"][0]["gap"].update(ci90=[None, 0.1]),
                         "small has no valid 'gap'"),
    "no shares": (lambda d: d["rows"][0].update(r_long=None),
                  "small has no valid 'r_long.longer'"),
    "one share": (lambda d: d["rows"][0]["r_long"].pop("shorter"),
                  "small has no valid 'r_long.shorter'"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_document_that_cannot_be_drawn_names_the_key(fault, tmp_path):
    """What a figure needs is checked before anything is drawn."""
    change, named = BROKEN[fault]
    assert named in refused(written(tmp_path, changed(change)))


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
