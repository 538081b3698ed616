"""Invariants of intervals, p-values and the random stream."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lengthmirror.decision import inside, sign, smallest_margin
from lengthmirror.gap import sign_flip_p
from lengthmirror.intervals import (Interval, bootstrap_estimate, cluster_proportion, equivalence_p,
                                    holm_adjusted, percentile_interval, two_sided_bootstrap_p,
                                    wilson)
from lengthmirror.resampling import BOOTSTRAP, resample_counts, sign_matrix
from lengthmirror.rule import SignFlipRule

from ..strategies import PROPERTIES

ALPHA = st.sampled_from([0.01, 0.05, 0.1, 0.2])
COUNTS = st.integers(1, 2000).flatmap(
    lambda n: st.tuples(st.integers(0, 2 * n).map(lambda k: k / 2), st.just(n)))
REPLICATES = hnp.arrays(float, st.integers(1, 120), elements=st.integers(-20, 20).map(
    lambda value: value / 32))
CLUSTERS = st.lists(st.integers(1, 15).flatmap(
    lambda n: st.tuples(st.integers(0, 4 * n), st.just(4 * n))), min_size=2, max_size=30)
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)
CONTRAST = hnp.arrays(float, st.integers(1, 12), elements=st.integers(-8, 8).map(float))
FLIPS = SignFlipRule(199, 1e-9)
FEW = settings(PROPERTIES, max_examples=12)  # statsmodels collects garbage at every adjustment


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


@given(REPLICATES, st.sampled_from([0.0, 0.1, 0.125, 0.25, 0.5, 1.0]))
@PROPERTIES
def test_equivalence_p_lies_between_its_bounds(replicates, margin):
    """p lies in [1/(B+1), 1] and falls with the margin."""
    p = equivalence_p(replicates, margin)
    assert 1 / (len(replicates) + 1) <= p <= 1
    assert equivalence_p(replicates, margin + 0.1) <= p


@given(hnp.arrays(float, st.just(199), elements=st.integers(-20, 20).map(lambda v: v / 32)),
       st.sampled_from([0.05, 0.125, 0.25, 0.5, 0.6]))
@PROPERTIES
def test_equivalence_p_agrees_with_the_interval(replicates, margin):
    """p <= alpha exactly when the 1 - 2 alpha interval is strictly inside the margin."""
    found = bootstrap_estimate(0.0, replicates, 0.05)
    assert (equivalence_p(replicates, margin) <= 0.05) == inside(found.ci90, margin)


@given(REPLICATES)
@PROPERTIES
def test_two_sided_p_lies_between_its_bounds_and_has_no_side(replicates):
    """p lies in [2/(B+1), 1] or is 1, and negating the replicates leaves it."""
    p = two_sided_bootstrap_p(replicates)
    assert min(1, 2 / (len(replicates) + 1)) <= p <= 1
    assert two_sided_bootstrap_p(-replicates) == p


@given(hnp.arrays(float, st.just(199), elements=st.integers(-20, 20).map(lambda v: v / 32)))
@PROPERTIES
def test_two_sided_p_agrees_with_the_interval(replicates):
    """p <= alpha exactly when 0 is outside the 1 - alpha interval."""
    found = bootstrap_estimate(0.0, replicates, 0.05)
    assert (two_sided_bootstrap_p(replicates) <= 0.05) == (sign(found.ci95) != "ns")


@given(P_VALUES)
@FEW
def test_holm_never_lowers_a_p_value_or_leaves_the_unit_interval(p_values):
    """Adjusted p-values are at least the raw ones, at most n times them, at most 1."""
    adjusted = holm_adjusted(p_values)
    assert (adjusted >= np.array(p_values) - 1e-15).all()
    assert (adjusted <= np.minimum(1, len(p_values) * np.array(p_values)) + 1e-12).all()


@given(P_VALUES)
@FEW
def test_holm_keeps_the_order(p_values):
    """A smaller p-value never has a larger adjusted one."""
    adjusted = holm_adjusted(p_values)[np.argsort(p_values, kind="stable")]
    assert (np.diff(adjusted) >= 0).all()


@given(P_VALUES, st.integers(0, 7), st.floats(0, 1))
@FEW
def test_holm_is_monotone_in_each_p_value(p_values, at, factor):
    """Lowering one p-value raises no adjusted one."""
    lower = list(p_values)
    lower[at % len(lower)] *= factor
    assert (holm_adjusted(lower) <= holm_adjusted(p_values) + 1e-15).all()


@given(st.permutations(range(5)), st.lists(st.floats(0, 1), min_size=5, max_size=5, unique=True))
@FEW
def test_holm_ignores_the_order_of_the_judges(order, p_values):
    """Adjusted p-values belong to their judge, wherever it stands."""
    shuffled = holm_adjusted([p_values[at] for at in order])
    assert shuffled.tolist() == holm_adjusted(p_values)[list(order)].tolist()


@given(CONTRAST)
@PROPERTIES
def test_sign_flip_p_lies_between_its_bounds(contrast):
    """p is at least 1/(P+1), never 0, and at most 1."""
    assert 1 / 200 <= sign_flip_p(contrast, 3, FLIPS) <= 1


@given(CONTRAST)
@PROPERTIES
def test_sign_flip_p_has_no_side_and_no_scale(contrast):
    """Negating or doubling the contrast leaves its p-value."""
    p = sign_flip_p(contrast, 3, FLIPS)
    assert sign_flip_p(-contrast, 3, FLIPS) == p
    assert sign_flip_p(2 * contrast, 3, FLIPS) == p


@given(CONTRAST)
@PROPERTIES
def test_sign_flip_p_of_balanced_contrasts_is_one(contrast):
    """A contrast that sums to 0 is as extreme as any of its flips."""
    assert sign_flip_p(np.concatenate([contrast, -contrast]), 3, FLIPS) == 1


@given(st.integers(0, 2 ** 40), st.integers(1, 40), st.integers(1, 40))
@PROPERTIES
def test_every_replicate_draws_as_many_questions_as_there_are(seed, n_resamples, n_clusters):
    """Rows of the resample counts sum to Q, and signs are 1 or -1."""
    counts = resample_counts(seed, BOOTSTRAP, n_resamples, n_clusters)
    assert (counts.sum(axis=1) == n_clusters).all()
    assert (counts >= 0).all()
    assert set(np.unique(sign_matrix(seed, "signflip", n_resamples, n_clusters))) <= {-1, 1}


@given(st.integers(0, 2 ** 40), st.integers(1, 30), st.integers(1, 30), st.integers(1, 20))
@PROPERTIES
def test_more_replicates_begin_with_the_same_rows(seed, n_resamples, more, n_clusters):
    """Adding replicates changes none of the earlier ones."""
    first = resample_counts(seed, BOOTSTRAP, n_resamples, n_clusters)
    longer = resample_counts(seed, BOOTSTRAP, n_resamples + more, n_clusters)
    assert np.array_equal(longer[:n_resamples], first)


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.001, 1))
@PROPERTIES
def test_an_interval_is_inside_exactly_above_its_smallest_margin(first, second, margin):
    """inside holds for every margin above the smallest one and for no other."""
    interval = Interval(min(first, second), max(first, second))
    assert inside(interval, margin) == (margin > smallest_margin(interval))
