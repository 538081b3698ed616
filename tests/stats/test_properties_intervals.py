"""Invariants of Wilson, cluster Wilson and percentile intervals."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from lengthmirror.decision import inside, smallest_margin
from lengthmirror.intervals import (
    Interval,
    bootstrap_estimate,
    cluster_proportion,
    percentile_interval,
    wilson,
)

from ..strategies import PROPERTIES, REPLICATES

ALPHA = st.sampled_from([0.01, 0.05, 0.1, 0.2])
COUNTS = st.integers(1, 2000).flatmap(
    lambda n: st.tuples(st.integers(0, 2 * n).map(lambda k: k / 2), st.just(n)))
CLUSTERS = st.lists(st.integers(1, 15).flatmap(
    lambda n: st.tuples(st.integers(0, 4 * n), st.just(4 * n))), min_size=2, max_size=30)


@given(COUNTS, ALPHA)
@PROPERTIES
def test_wilson_lies_in_the_unit_interval_around_its_rate(counts, alpha):
    """0 <= low <= k/n <= high <= 1."""
    k, n = counts
    low, high = wilson(k, n, alpha)
    assert 0 <= low <= k / n + 1e-12
    assert k / n - 1e-12 <= high <= 1


@given(COUNTS, ALPHA)
@PROPERTIES
def test_wilson_reflects(counts, alpha):
    """Exchanging successes and failures reflects the interval."""
    k, n = counts
    low, high = wilson(k, n, alpha)
    other = wilson(n - k, n, alpha)
    assert np.allclose((1 - other.high, 1 - other.low), (low, high), rtol=0, atol=1e-12)


@given(COUNTS, ALPHA)
@PROPERTIES
def test_wilson_rises_with_its_count(counts, alpha):
    """Half a success more moves neither endpoint down, and one of them up."""
    k, n = counts
    assume(k + 0.5 <= n)
    before, after = wilson(k, n, alpha), wilson(k + 0.5, n, alpha)
    assert after.low >= before.low
    assert after.high >= before.high
    assert after != before


@given(COUNTS, ALPHA)
@PROPERTIES
def test_wilson_narrows_with_more_units(counts, alpha):
    """Twice the units at the same rate give a narrower interval."""
    k, n = counts
    before, after = wilson(k, n, alpha), wilson(2 * k, 2 * n, alpha)
    assert after.high - after.low < before.high - before.low


@given(COUNTS)
@PROPERTIES
def test_wilson_narrows_with_alpha(counts):
    """A lower coverage is nested in a higher one."""
    outer, inner = wilson(*counts, 0.05), wilson(*counts, 0.1)
    assert outer.low <= inner.low <= inner.high <= outer.high


@given(st.integers(1, 5000), ALPHA)
@PROPERTIES
def test_wilson_ends_are_exact_for_any_size(n, alpha):
    """k = 0 and k = n give exactly 0 and exactly 1."""
    assert wilson(0, n, alpha).low == 0
    assert wilson(n, n, alpha).high == 1


@given(CLUSTERS, ALPHA)
@PROPERTIES
def test_cluster_wilson_contains_wilson(clusters, alpha):
    """With the floor 1 the cluster interval is never the narrower one."""
    found = cluster_proportion(*np.array(clusters).T, 4, alpha, 1.0)
    assert 0 <= found.wilson_cluster.low <= found.wilson.low
    assert found.wilson.high <= found.wilson_cluster.high <= 1


@given(CLUSTERS, ALPHA)
@PROPERTIES
def test_cluster_wilson_reflects(clusters, alpha):
    """Exchanging successes and failures reflects both intervals and leaves the design effect."""
    numerators, denominators = np.array(clusters).T
    found = cluster_proportion(numerators, denominators, 4, alpha, 1.0)
    other = cluster_proportion(denominators - numerators, denominators, 4, alpha, 1.0)
    assert np.isclose(found.design_effect, other.design_effect, rtol=1e-9, atol=1e-9)
    for name in ("wilson", "wilson_cluster"):
        low, high = getattr(other, name)
        assert np.allclose((1 - high, 1 - low), getattr(found, name), rtol=0, atol=1e-9)


@given(CLUSTERS, st.randoms(use_true_random=False))
@PROPERTIES
def test_cluster_wilson_ignores_the_order_of_questions(clusters, random):
    """Which question comes first is no part of the interval."""
    shuffled = random.sample(clusters, len(clusters))
    first, second = (cluster_proportion(*np.array(each).T, 4, 0.05, 1.0)
                     for each in (clusters, shuffled))
    assert (first.estimate, first.n, first.wilson) == (second.estimate, second.n, second.wilson)
    assert np.allclose(first.wilson_cluster, second.wilson_cluster, rtol=0, atol=1e-12)


@given(CLUSTERS, st.integers(2, 5))
@PROPERTIES
def test_cluster_wilson_ignores_the_scale_of_points(clusters, factor):
    """Counting a unit as more points changes nothing."""
    numerators, denominators = np.array(clusters).T
    first = cluster_proportion(numerators, denominators, 4, 0.05, 1.0)
    second = cluster_proportion(factor * numerators, factor * denominators, 4 * factor, 0.05, 1.0)
    assert (first.estimate, first.n) == (second.estimate, second.n)
    assert np.allclose(first.wilson_cluster, second.wilson_cluster, rtol=0, atol=1e-12)


@given(REPLICATES, ALPHA)
@PROPERTIES
def test_the_equivalence_interval_lies_inside_the_wider_one(replicates, alpha):
    """The 1 - 2 alpha interval is nested in the 1 - alpha interval."""
    found = bootstrap_estimate(0.0, replicates, alpha)
    assert found.ci95.low <= found.ci90.low <= found.ci90.high <= found.ci95.high or (
        len(replicates) * alpha < 2)
    assert found.ci95.low <= found.ci90.low
    assert found.ci90.high <= found.ci95.high


@given(REPLICATES, ALPHA)
@PROPERTIES
def test_percentile_endpoints_are_replicates(replicates, alpha):
    """Order statistics are observed values, never interpolated ones."""
    assert set(percentile_interval(np.sort(replicates), alpha)) <= set(replicates)


@given(REPLICATES, ALPHA)
@PROPERTIES
def test_percentile_intervals_negate(replicates, alpha):
    """The interval of negated replicates is the negated interval, to the bit."""
    low, high = percentile_interval(np.sort(replicates), alpha)
    assert percentile_interval(np.sort(-replicates), alpha) == (-high, -low)


@given(REPLICATES, ALPHA)
@PROPERTIES
def test_percentile_intervals_follow_monotone_maps(replicates, alpha):
    """A rising transformation of the replicates transforms the endpoints."""
    ordered = np.sort(replicates)
    low, high = percentile_interval(ordered, alpha)
    assert percentile_interval(ordered ** 3, alpha) == (low ** 3, high ** 3)


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.001, 1))
@PROPERTIES
def test_an_interval_is_inside_exactly_above_its_smallest_margin(first, second, margin):
    """inside holds for every margin above the smallest one and for no other."""
    interval = Interval(min(first, second), max(first, second))
    assert inside(interval, margin) == (margin > smallest_margin(interval))
