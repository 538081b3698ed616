"""Verdicts and position diagnostics from the logits of both orderings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lengthmirror.errors import InvalidLogits
from lengthmirror.verdicts import OrderedLogits, order_debiased_verdicts, primary_verdicts

from ..strategies import PROPERTIES

LEVEL = 0.05


def logits_of(margins, mass=1.0):
    """Logits with given margins toward the longer answer and a given mass on the two options."""
    margins = np.array(margins, dtype=float)
    logprob = -np.logaddexp(0, -margins) + np.log(mass), -np.logaddexp(0, margins) + np.log(mass)
    return OrderedLogits(margins / 2, -margins / 2, *logprob)


def both(margins, judged=None):
    logits = logits_of(margins)
    judged = np.ones(len(margins), dtype=bool) if judged is None else np.array(judged)
    return tuple(kind(logits, judged, LEVEL)
                 for kind in (primary_verdicts, order_debiased_verdicts))


@pytest.mark.parametrize(("margins", "primary", "debiased"), [
    ((1, 2), 4, 4), ((-1, -2), 0, 0), ((3, -1), 2, 4), ((1, -3), 2, 0), ((2, -2), 2, 2),
    ((0, 1), 3, 4), ((0, -1), 1, 0), ((0, 0), 2, 2)], ids=str)
def test_scores_of_two_orderings(margins, primary, debiased):
    """Primary verdicts average the two winners, debiased ones take the sign of the mean margin."""
    first, second = both([margins])
    assert (first.score4.tolist(), second.score4.tolist()) == ([primary], [debiased])


@given(hnp.arrays(float, st.tuples(st.integers(1, 20), st.just(2)),
                  elements=st.integers(-3, 3).map(float)))
@PROPERTIES
def test_verdicts_and_diagnostics_against_definition(margins):
    """Scores, consistency, slot share and ties equal a loop over orderings."""
    first, second = both(margins)
    points = [[1.0 if m > 0 else 0.0 if m < 0 else 0.5 for m in row] for row in margins]
    slot_a = [value for row in points for value in (row[0], 1 - row[1])]
    assert (first.score4 / 4).tolist() == [sum(row) / 2 for row in points]
    total = [row[0] + row[1] for row in margins.tolist()]
    assert (second.score4 / 4).tolist() == [1.0 if t > 0 else 0.0 if t < 0 else 0.5 for t in total]
    for verdicts in (first, second):
        found = verdicts.diagnostics
        assert found.consistent.tolist() == [row[0] == row[1] for row in points]
        assert found.slot_a_share == pytest.approx(np.mean(slot_a), abs=1e-15)
        assert found.exact_ties == sum(value == 0.5 for row in points for value in row)


@given(hnp.arrays(float, st.tuples(st.integers(1, 20), st.just(2)),
                  elements=st.integers(-3, 3).map(float)))
@PROPERTIES
def test_reversed_margins_reverse_the_verdict(margins):
    """A judge with opposite preferences has the complementary score on every unit."""
    for forward, backward in zip(both(margins), both(-margins)):
        assert np.array_equal(forward.score4, 4 - backward.score4)
        assert np.array_equal(forward.diagnostics.consistent, backward.diagnostics.consistent)


@given(hnp.arrays(float, st.tuples(st.integers(1, 20), st.just(2)),
                  elements=st.integers(-3, 3).map(float)))
@PROPERTIES
def test_exchanging_the_orderings_changes_only_the_slot_share(margins):
    """Which ordering comes first is no part of a verdict; the slots change places."""
    for forward, backward in zip(both(margins), both(margins[:, ::-1])):
        assert np.array_equal(forward.score4, backward.score4)
        share = forward.diagnostics.slot_a_share + backward.diagnostics.slot_a_share
        assert share == pytest.approx(1, abs=1e-12)


@given(hnp.arrays(float, st.tuples(st.integers(1, 20), st.just(2)),
                  elements=st.integers(-3, 3).map(float)))
@PROPERTIES
def test_both_kinds_agree_where_the_orderings_agree(margins):
    """Where both orderings name the same answer, the debiased verdict names it too."""
    first, second = both(margins)
    agreed = first.diagnostics.consistent
    assert np.array_equal(first.score4[agreed], second.score4[agreed])


def test_always_slot_a():
    """A judge that only picks slot A has share 1, no consistency and one half everywhere."""
    verdicts, debiased = both([(5, -5), (2, -2), (1, -1)])
    found = verdicts.diagnostics
    assert (found.slot_a_share, found.consistent.any(), found.exact_ties) == (1.0, False, 0)
    assert verdicts.score4.tolist() == debiased.score4.tolist() == [2, 2, 2]


def test_option_mass_against_numpy():
    """Mean and low quantile of the probability on the two options, over both orderings."""
    mass = np.linspace(0.3, 0.95, 12).reshape(6, 2)
    found = primary_verdicts(logits_of(np.ones((6, 2)), mass), np.ones(6, dtype=bool), 0.2)
    assert found.diagnostics.option_mass.mean == pytest.approx(mass.mean())
    assert found.diagnostics.option_mass.p05 == pytest.approx(np.quantile(mass, 0.2))


def test_option_mass_never_exceeds_one():
    """Log-probabilities that round upward do not give a probability above 1."""
    tiny = np.full((2, 2), np.log(0.5) + 1e-7)
    found = primary_verdicts(OrderedLogits(tiny, tiny, tiny, tiny), np.ones(2, dtype=bool), LEVEL)
    assert found.diagnostics.option_mass.mean == 1.0


def test_units_that_are_not_judged_do_not_count():
    """A unit without a non-tie vote scores 0 and enters no diagnostic, whatever its logits."""
    logits = logits_of([(1, -1), (2, 2), (0, 0)])
    logits.logit_longer[1] = np.nan
    for kind in (primary_verdicts, order_debiased_verdicts):
        verdicts = kind(logits, np.array([True, False, False]), LEVEL)
        found = verdicts.diagnostics
        assert verdicts.score4.tolist() == [2, 0, 0]
        assert (found.consistent.tolist(), found.exact_ties) == ([False] * 3, 0)
        assert (found.slot_a_share, found.option_mass.mean) == (1.0, pytest.approx(1.0))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["logit_longer", "logit_shorter", "logprob_longer"])
def test_values_that_are_not_finite_are_refused(name, value):
    """NaN and infinity are an error that names the unit, never a verdict."""
    arrays = {field: np.zeros((3, 2)) for field in OrderedLogits.__annotations__}
    arrays[name][1, 1] = value
    for kind in (primary_verdicts, order_debiased_verdicts):
        with pytest.raises(InvalidLogits, match=f"{name} of unit 1 is not finite"):
            kind(OrderedLogits(**arrays), np.ones(3, dtype=bool), LEVEL)


def test_shapes_that_do_not_fit_are_refused():
    """Logits of another number of units are an error."""
    with pytest.raises(InvalidLogits, match=r"must have shape \(3, 2\), got \(2, 2\)"):
        primary_verdicts(logits_of(np.ones((2, 2))), np.ones(3, dtype=bool), LEVEL)


def test_no_judged_unit_is_refused():
    """Diagnostics of nothing are an error and not NaN."""
    with pytest.raises(InvalidLogits, match="no judged unit"):
        primary_verdicts(logits_of(np.ones((2, 2))), np.zeros(2, dtype=bool), LEVEL)
