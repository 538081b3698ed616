"""r_long by relative length difference: bins, shares and intervals from their definitions."""

from fractions import Fraction

import numpy as np
import pytest

from lengthmirror.gap import length_bins
from lengthmirror.human_gap import human_sums, leave_one_out
from lengthmirror.human_statistics import human_statistics
from lengthmirror.intervals import wilson
from lengthmirror.length_curve import (
    human_length_curve,
    judge_length_curve,
    relative_difference,
)

from .registered import gpt4_score4, rule, units

N_BINS = rule().n_length_bins
SUBSETS = {"longer": 1, "shorter": -1}


def by_hand(index, label):
    """Units of one bin with one label, and the exact sum of their scores, in a plain loop."""
    bins, n, total = length_bins(units(), N_BINS), 0, Fraction(0)
    for at, score4 in enumerate(gpt4_score4()):
        if bins[at] == index and units().label[at] == label:
            n, total = n + 1, total + Fraction(int(score4), 4)
    return n, total


def test_shares_against_definition():
    """Each point is the mean score of the units of its bin and label, with its Wilson interval."""
    curve = judge_length_curve(units(), gpt4_score4(), rule())
    assert len(curve) == N_BINS
    for index, point in enumerate(curve):
        for subset, label in SUBSETS.items():
            n, total = by_hand(index, label)
            found = point.r_long[subset]
            assert (found.n, found.estimate) == (n, float(total / n))
            assert found.wilson == wilson(float(total), n, rule().intervals.alpha)


def test_the_bins_hold_every_labelled_unit_once():
    """The numbers of units of the points add up to L and S."""
    curve = judge_length_curve(units(), gpt4_score4(), rule())
    for subset, label in SUBSETS.items():
        assert sum(point.r_long[subset].n for point in curve) == np.sum(units().label == label)


def test_points_lie_in_order_of_the_length_difference():
    """Each bin's median lies between its ends, and bins come with growing differences above tau."""
    curve = judge_length_curve(units(), gpt4_score4(), rule())
    for point in curve:
        assert float(rule().units.tau) < point.low <= point.median <= point.high <= 1
    for name in ("low", "median", "high"):
        values = [getattr(point, name) for point in curve]
        assert values == sorted(values)


def test_the_human_curve_adds_up_to_the_human_statistics():
    """Weighted by their units, the points of the humans give the r_long of the whole."""
    curve, whole = human_length_curve(units(), rule()), human_statistics(units(), rule()).r_long
    for subset in SUBSETS:
        n = sum(point.r_long[subset].n for point in curve)
        total = sum(point.r_long[subset].n * point.r_long[subset].estimate for point in curve)
        assert n == pytest.approx(whole[subset].n)
        assert total / n == pytest.approx(whole[subset].estimate)


def test_pairs_of_some_units_only():
    """Units that are not kept weigh nothing, and the parts add up to the whole."""
    whole = leave_one_out(units())
    keep = units().turn == 1
    parts = [human_sums(units(), whole.only(mask)).columns() for mask in (keep, ~keep)]
    assert np.array_equal(parts[0] + parts[1], human_sums(units(), whole).columns())
    assert not whole.only(keep).longer[~keep].any()


def test_a_bin_of_one_question_has_no_interval():
    """Where fewer than two questions have such a unit the share is absent, not guessed."""
    one = units().subset(units().question_id == units().question_id[0], "other question")
    curve = judge_length_curve(one, gpt4_score4()[:len(one)], rule())
    assert curve and all(point.r_long == {"longer": None, "shorter": None} for point in curve)


@pytest.mark.parametrize("metric", ["max", "mean", "min"])
def test_the_difference_is_that_of_the_exclusion_rule(metric):
    """Every unit above tau has a relative difference above tau, under each metric."""
    longer, shorter = units().length_longer, units().length_shorter
    some = shorter > 0
    found = relative_difference(units().subset(some, "empty"), metric)
    base = {"max": longer, "mean": (longer + shorter) / 2, "min": shorter}[metric][some]
    assert np.array_equal(found, (longer - shorter)[some] / base)
    assert len(found) and found.min() > rule().units.tau
