"""One test per rung, reference row and control: it passes when the frozen rule gives a class from
valid inputs, whichever class that is."""

import pytest

from lengthmirror.analysis import not_run_row
from lengthmirror.inputs import HUMANS
from lengthmirror.rule import CLASSES


def test_rung(ladder_rung, ladder_inputs, ladder_row, record_row, request):
    """The frozen rule gives the rung one class from its committed logits."""
    if not ladder_inputs.has_logits(ladder_rung):
        record_row(not_run_row(ladder_inputs, ladder_rung))
        sentence = missing_logits(ladder_inputs, ladder_rung)
        if request.config.option.require_logits:
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)
    row = ladder_row(ladder_rung)
    record_row(row)
    assert row["class"] in CLASSES
    assert row["order_debiased"]["class"] in CLASSES


def test_reference(ladder_reference, ladder_row, record_row):
    """The reference rows are computed from the unit table alone; humans get no class."""
    row = ladder_row(ladder_reference)
    record_row(row)
    assert row["class"] in ((None,) if ladder_reference == HUMANS else CLASSES)


def test_control(ladder_control, ladder_row, record_row):
    """A control is classified by the same rule; it is no judge and no logits are read for it."""
    row = ladder_row(ladder_control)
    record_row(row)
    assert row["class"] in CLASSES and row["kind"] == "control"


def missing_logits(inputs, slug):
    """Why a rung has no row of its own."""
    reason = inputs.study.rungs[slug].unscored_reason
    return f"{slug} is not run: it has no logits" + (f" ({reason})." if reason else ".")
