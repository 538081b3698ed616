"""One test per ladder: it passes when the frozen rule gives a scale outcome from valid inputs,
whichever outcome that is."""

import pytest

from lengthmirror.scale_report import coverage
from lengthmirror.study import SCALE_OUTCOMES


def test_ladder(scale_ladder, ladder_inputs, scale_row, record_row, request):
    """The frozen rule gives the ladder one scale outcome from its scored rungs."""
    covered, row = coverage(ladder_inputs, scale_ladder), scale_row(scale_ladder)
    record_row(row)
    if not covered.enough:
        if request.config.option.require_logits:
            pytest.fail(covered.sentence, pytrace=False)
        pytest.skip(covered.sentence)
    assert row["outcome"] in SCALE_OUTCOMES
    assert row["order_debiased"]["outcome"] in SCALE_OUTCOMES
