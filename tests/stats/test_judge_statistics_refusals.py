"""What the statistics of a judge refuse, and what they drop and count."""

from dataclasses import replace

import numpy as np
import pytest

from lengthmirror.errors import EmptySubset, InvalidStatistic, UnresolvableDesign
from lengthmirror.joint_bootstrap import joint_bootstrap, judge_columns
from lengthmirror.judge_statistics import judge_statistics
from lengthmirror.resampling import BOOTSTRAP, resample_counts

from ..strategies import units_of
from . import registered


def test_margins_that_cannot_be_resolved_are_refused():
    """The design check comes before any class, for every caller."""
    with pytest.raises(UnresolvableDesign, match="must be below the lower limit"):
        judge_statistics(registered.units(), registered.gpt4_score4(), None,
                         registered.small_rule(delta_0=0.3, delta_h=0.3))


def test_an_empty_subset_is_refused_with_the_counts():
    """Units of one subset only have no gap."""
    units = registered.units()
    only = units.subset(units.label >= 0, "in S")
    with pytest.raises(EmptySubset, match="873 units .* and 0 where"):
        judge_statistics(only, registered.gpt4_score4()[units.label >= 0], None, registered.rule())


@pytest.mark.parametrize("consistent", [np.ones(3, dtype=bool), np.ones(1275)],
                         ids=["length", "type"])
def test_consistency_that_does_not_fit_is_refused(consistent):
    """Consistency needs one boolean per unit."""
    with pytest.raises(InvalidStatistic, match="booleans, one per unit"):
        judge_statistics(registered.units(), registered.gpt4_score4(), consistent,
                         registered.rule())


def rare_table():
    """Four questions, S in one of them only: (columns of the joint bootstrap, lacking) of 199."""
    units = units_of([1, 1, 2, 3, 4], [2, 2, 2, 1, 2], [0, 1, 0, 0, 0], [0, 0, 1, 2, 1],
                     [5] * 5, [5] * 5)
    counts = resample_counts(registered.rule().bootstrap.seed, BOOTSTRAP, 199, 4)
    lacking = (counts[:, 2] == 0) | (counts[:, [0, 1, 3]].sum(axis=1) == 0)
    return judge_columns(units, np.array([4, 3, 2, 0, 1]), 1), lacking


def test_dropped_replicates_are_counted_and_left_out():
    """A replicate without L or S is dropped from every interval, and the number is reported."""
    columns, lacking = rare_table()
    result = joint_bootstrap(columns, registered.small_rule(n_resamples=199), 199)
    assert 0 < result.n_dropped == lacking.sum() < 199


@pytest.mark.parametrize("extra", [-1e-6, 1e-6])
def test_too_many_dropped_replicates_are_refused(extra):
    """When a subset is empty in more replicates than the registered share, there is no interval."""
    columns, lacking = rare_table()
    rule = registered.small_rule(n_resamples=199)
    share = lacking.mean() + extra
    rule = replace(rule, bootstrap=replace(rule.bootstrap, max_dropped_share=share))
    if extra > 0:
        assert joint_bootstrap(columns, rule, 199).n_dropped == lacking.sum()
    else:
        with pytest.raises(InvalidStatistic, match=f"empty in {lacking.sum()} of 199 bootstrap"):
            joint_bootstrap(columns, rule, 199)
