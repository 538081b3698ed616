"""The rows of the report: strict JSON, one order, and a table that a terminal can show."""

import json
from types import SimpleNamespace

import pytest
from _pytest.junitxml import xml_key

from lengthmirror.ladder_controller import add_suite_properties
from lengthmirror.ladder_report import in_ladder_order, ladder_bytes, row_json, table_lines

RUNGS = ["small", "large"]


def row(name, **fields):
    empty = dict.fromkeys(("class", "r_long", "gap", "flags", "order_debiased"))
    return {"rung": name, "kind": "judge", "status": "scored", **empty, **fields}


def strict(text):
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not strict JSON"))


def test_a_number_that_json_lacks_becomes_null():
    """NaN and infinities are null, at any depth."""
    fields = {"d_prime": float("inf"), "gap": {"ci95": [float("nan"), float("-inf"), 1.5]}}
    found = strict(row_json(row("small", **fields)))
    assert found["d_prime"] is None and found["gap"] == {"ci95": [None, None, 1.5]}


def test_floats_are_rounded_to_ten_decimals():
    """Differences in the last bits never show, and no zero is negative."""
    found = row_json(row("small", lean=0.1 + 0.2, gap_within=-1e-17))
    assert '"lean": 0.3,' in found and '"gap_within": 0.0,' in found


def test_counts_and_flags_keep_their_types():
    """Booleans stay booleans and integers stay integers."""
    found = strict(row_json(row("small", flags={"borderline_mc": True}, exact_ties=3)))
    assert found["flags"]["borderline_mc"] is True and type(found["exact_ties"]) is int


def test_a_row_is_one_line():
    """A row travels as one line of ASCII, so that no XML or terminal can change it."""
    found = row_json(row("small", reason="a\nb\x07 é"))
    assert found.isascii() and found.isprintable()
    assert strict(found)["reason"] == "a\nb\x07 é"


def test_rows_come_in_the_order_of_the_configuration():
    """Rungs as configured, then the references, then the controls, however they arrived."""
    arrived = [row(name) for name in ("coin", "humans", "large", "always-longer", "gpt4-published",
                                      "small")]
    ordered = [each["rung"] for each in in_ladder_order(arrived, RUNGS)]
    assert ordered == ["small", "large", "gpt4-published", "humans", "always-longer", "coin"]


def test_the_report_is_sorted_strict_json():
    """Keys are sorted, the last line ends, and the missing rungs and ladders are listed."""
    found = ladder_bytes({"digest": "d"}, {"revision": None}, [row("small")], [], ["large"], ["up"])
    assert found.endswith(b"}\n")
    document = strict(found)
    assert list(document) == sorted(document) and document["missing"] == ["large"]
    assert (document["ladders"], document["missing_ladders"]) == ([], ["up"])
    assert [each["rung"] for each in document["rows"]] == ["small"]


def test_the_table_shows_r_long_twice_the_gap_the_class_and_the_flags():
    """One line per judge under the heading; raised flags by name, a missing statistic as a dash."""
    shown = row("small", gap={"estimate": 0.25, "ci95": [0.125, 0.375]},
                r_long={"longer": {"estimate": 0.75}, "shorter": {"estimate": 0.5}},
                flags={"length_gradient": False, "borderline_mc": True, "margin_min_0": 1.0},
                order_debiased={"class": "INVERSE"}, **{"class": "PARTIAL_TRACKING"})
    lines = [line.split("  ") for line in table_lines([shown, row("large", status="not_run")])]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells[0] == ["judge", "r_long (L)", "r_long (S)", "G [interval]", "class",
                        "order-debiased", "flags"]
    assert cells[1] == ["small", "0.750", "0.500", "0.250 [0.125, 0.375]", "PARTIAL_TRACKING",
                        "INVERSE", "borderline_mc"]
    assert cells[2] == ["large", "-", "-", "-", "not run", "-", "-"]


def test_a_control_is_called_one_in_the_table():
    """A control's line says that it is no judge."""
    assert table_lines([row("coin", kind="control")])[1].startswith("coin (control)  ")


def test_suite_properties_go_to_the_junit_report():
    """Each property is added once to the suite; without --junitxml nothing happens."""
    added = []
    xml = SimpleNamespace(add_global_property=lambda name, value: added.append((name, value)))
    add_suite_properties(SimpleNamespace(stash={xml_key: xml}), {"registration_tau": "0.2"})
    add_suite_properties(SimpleNamespace(stash={}), {"registration_tau": "0.2"})
    assert added == [("registration_tau", "0.2")]
