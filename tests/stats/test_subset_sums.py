"""Per-question sums: exact, and refusing scores that do not fit."""

import numpy as np
import pytest
from hypothesis import given

from lengthmirror.errors import InvalidStatistic
from lengthmirror.subset_sums import binned_sums, question_totals, subset_sums, weighted_sums

from ..strategies import PROPERTIES, judged_tables, units_of


@given(judged_tables())
@PROPERTIES
def test_sums_against_definition(table):
    """Sums by question equal a loop over the units."""
    units, score4 = table
    sums = subset_sums(units, score4)
    for place, question in enumerate(units.frame):
        for label, num, den in ((1, sums.num_longer, sums.den_longer),
                                (-1, sums.num_shorter, sums.den_shorter)):
            own = (units.question_id == question) & (units.label == label)
            scores = [int(score) for score, mine in zip(score4, own) if mine]
            assert (num[place], den[place]) == (sum(scores), 4 * len(scores))


@given(judged_tables())
@PROPERTIES
def test_bins_partition_the_sums(table):
    """Summed over bins, binned sums are the plain sums, and each bin holds its own units."""
    units, score4 = table
    bins = np.arange(len(units)) % 3
    plain, binned = subset_sums(units, score4).columns(), binned_sums(units, score4, bins, 3)
    assert np.array_equal(binned.columns().sum(axis=1), plain)
    only = weighted_sums(units, score4, units.weight_longer * (bins == 1),
                         units.weight_shorter * (bins == 1))
    assert np.array_equal(binned.columns()[:, 1], only.columns())


def test_totals_are_exact_beyond_the_precision_of_floats():
    """A total above 2^53 keeps its last bit."""
    units = units_of([1, 1, 2], *[[1] * 3] * 5)
    column = np.array([2 ** 60, 1, 7])
    assert question_totals(units, column).tolist() == [2 ** 60 + 1, 7]


@pytest.mark.parametrize(("score4", "message"), [
    (np.zeros(3), "must be 2 integers, one per unit, got float64"),
    (np.zeros(3, dtype=int), "got int64 of shape"),
    (np.array([0, 5]), "quarter points from 0 to 4, got 0 to 5"),
    (np.array([-1, 0]), "got -1 to 0")], ids=["float", "length", "above", "below"])
def test_scores_that_do_not_fit_are_refused(score4, message):
    """Floats, another number of units or points outside 0 to 4 are an error."""
    with pytest.raises(InvalidStatistic, match=message):
        subset_sums(units_of([1, 2], *[[1] * 2] * 5), score4)
