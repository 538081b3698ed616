"""Wilson and cluster Wilson intervals, percentile intervals and p-values."""

from math import floor, sqrt

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from lengthmirror.errors import InvalidStatistic
from lengthmirror.intervals import (
    Interval,
    bootstrap_estimate,
    cluster_proportion,
    equivalence_p,
    holm_adjusted,
    percentile_interval,
    two_sided_bootstrap_p,
    wilson,
)


@pytest.mark.parametrize(("k", "n"), [(1, 9), (3.5, 9), (40, 41), (775, 873), (98.5, 308)])
def test_wilson_against_statsmodels(k, n):
    """The interval is statsmodels' Wilson interval, half successes included."""
    assert wilson(k, n, 0.05) == pytest.approx(
        proportion_confint(k, n, alpha=0.05, method="wilson"), abs=1e-15)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (1, 9), (7, 9), (40, 41), (41, 41)])
def test_wilson_against_scipy(k, n):
    """For whole successes the interval is scipy's Wilson interval."""
    expected = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
    assert wilson(k, n, 0.05) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(3.5, 9), (40, 41)])
def test_wilson_against_definition(k, n):
    """At each endpoint the score statistic equals the normal quantile."""
    z, p = stats.norm.isf(0.025), k / n

    def excess(t, quantile):
        return (p - t) / sqrt(t * (1 - t) / n) - quantile

    low, high = (optimize.brentq(excess, *bracket, args=(quantile,))
                 for quantile, bracket in ((z, (1e-9, p)), (-z, (p, 1 - 1e-9))))
    assert wilson(k, n, 0.05) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize("n", [1, 3, 7, 308])
def test_wilson_ends_are_exact(n):
    """No success gives exactly 0 below, all successes exactly 1 above."""
    assert wilson(0, n, 0.05).low == 0.0
    assert wilson(n, n, 0.05).high == 1.0


@pytest.mark.parametrize(("k", "n"), [(0, 0), (-1, 4), (5, 4), (float("nan"), 4)])
def test_wilson_refuses_impossible_counts(k, n):
    """Counts outside 0 to n, or no unit at all, are an error and not NaN."""
    with pytest.raises(InvalidStatistic, match="needs 0 <= k <= n"):
        wilson(k, n, 0.05)


def clustered(seed, n_clusters, concentration):
    """Per-question successes and units whose rates vary between questions."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, n_clusters)
    rates = rng.beta(0.6 * concentration, 0.4 * concentration, n_clusters)
    return rng.binomial(sizes, rates), sizes


def test_cluster_wilson_against_definition():
    """Design effect and interval follow the registered formula, computed unit by unit."""
    k_q, n_q = clustered(1, 30, 2)
    n, p = n_q.sum(), k_q.sum() / n_q.sum()
    squares = sum((k - size * p) ** 2 for k, size in zip(k_q.tolist(), n_q.tolist()))
    effect = 30 / 29 * squares / n ** 2 / (p * (1 - p) / n)
    n_eff, t = n / max(effect, 1), stats.t.isf(0.025, 29)
    centre = (p + t * t / (2 * n_eff)) / (1 + t * t / n_eff)
    half = t * sqrt(p * (1 - p) / n_eff + t * t / (4 * n_eff ** 2)) / (1 + t * t / n_eff)
    result = cluster_proportion(4 * k_q, 4 * n_q, 4, 0.05, 1.0)
    assert (result.estimate, result.n) == (p, n)
    assert effect > 1
    assert result.design_effect == pytest.approx(effect, rel=1e-12)
    assert result.wilson_cluster == pytest.approx((centre - half, centre + half), abs=1e-12)
    assert result.wilson == wilson(k_q.sum(), n, 0.05)


def test_design_effect_against_statsmodels():
    """The variance in the design effect is the cluster-robust variance of a mean."""
    k_q, n_q = clustered(2, 25, 3)
    y = np.concatenate([[1] * k + [0] * (n - k) for k, n in zip(k_q, n_q)])
    groups = np.repeat(np.arange(25), n_q)
    fit = sm.OLS(y, np.ones(len(y))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    p = y.mean()
    expected = float(fit.cov_params()[0, 0]) / (p * (1 - p) / len(y))
    assert cluster_proportion(k_q, n_q, 1, 0.05, 1.0).design_effect == pytest.approx(expected)


def test_cluster_wilson_covers_where_wilson_does_not():
    """With clustered units the cluster interval covers the planted rate and the plain one fails."""
    results = [cluster_proportion(*clustered(seed, 40, 1), 1, 0.05, 1.0) for seed in range(400)]
    plain, cluster = (np.mean([interval.low < 0.6 < interval.high for interval in intervals])
                      for intervals in ([each.wilson for each in results],
                                        [each.wilson_cluster for each in results]))
    assert plain < 0.85
    assert cluster > 0.95 - 3 * sqrt(0.95 * 0.05 / 400)


@pytest.mark.parametrize("floor_", [0.0, 1.0, 2.5])
def test_the_floor_bounds_the_design_effect_in_use(floor_):
    """Questions that agree perfectly have design effect 0, and the floor decides the width."""
    result = cluster_proportion(np.full(10, 2), np.full(10, 4), 1, 0.05, floor_)
    t = stats.t.isf(0.025, 9)
    assert result.design_effect == 0
    if floor_ == 0:
        assert result.wilson_cluster == (0.5, 0.5)
    else:
        half = t * sqrt(0.25 * floor_ / 40 + (t * floor_ / 80) ** 2) / (1 + t * t * floor_ / 40)
        assert result.wilson_cluster == pytest.approx((0.5 - half, 0.5 + half), abs=1e-12)


@pytest.mark.parametrize("k", [0, 4])
def test_constant_verdicts_have_design_effect_one_and_an_exact_end(k):
    """A rate of 0 or 1 has no residuals; the design effect is 1 by convention."""
    result = cluster_proportion(np.full(9, k), np.full(9, 4), 4, 0.05, 1.0)
    assert result.design_effect == 1.0
    assert (result.wilson_cluster.low == 0.0) if k == 0 else (result.wilson_cluster.high == 1.0)


def test_questions_without_a_unit_are_not_clusters():
    """A question that has no unit in the subset does not count in K."""
    k_q, n_q = clustered(3, 12, 2)
    padded = [np.concatenate([column, np.zeros(20, dtype=int)]) for column in (k_q, n_q)]
    assert cluster_proportion(*padded, 1, 0.05, 1.0) == cluster_proportion(k_q, n_q, 1, 0.05, 1.0)


def test_one_question_has_no_cluster_interval():
    """K - 1 = 0 degrees of freedom is an error that says how many questions there are."""
    with pytest.raises(InvalidStatistic, match="at least 2 questions, got 1"):
        cluster_proportion(np.array([3, 0]), np.array([8, 0]), 4, 0.05, 1.0)


@pytest.mark.parametrize("alpha", [0.01, 0.025, 0.05, 0.1, 0.2, 0.035, 0.07])
@pytest.mark.parametrize("n", [1, 2, 19, 39, 199, 999, 9899, 9999, 99999])
def test_percentile_ranks_against_definition(alpha, n):
    """The endpoints are the registered order statistics, counted from each end."""
    ordered = np.arange(1.0, n + 1)
    rank = max(floor((n + 1) * alpha / 2 + 1e-9), 1)
    assert percentile_interval(ordered, alpha) == Interval(rank, n + 1 - rank)


def test_registered_ranks():
    """9999 replicates give ranks 250 and 9750, and 500 and 9500 for the equivalence interval."""
    estimate = bootstrap_estimate(0.0, np.arange(9999.0, 0, -1), 0.05)
    assert estimate.ci95 == (250, 9750)
    assert estimate.ci90 == (500, 9500)


def test_percentile_interval_against_numpy():
    """The order statistics are close to numpy's quantiles of the replicates."""
    replicates = np.sort(np.random.default_rng(4).normal(size=9999))
    assert percentile_interval(replicates, 0.05) == pytest.approx(
        np.quantile(replicates, [0.025, 0.975], method="weibull"), abs=1e-12)


def test_no_replicate_is_refused():
    """A percentile interval of nothing is an error."""
    with pytest.raises(InvalidStatistic, match="at least 1 replicate"):
        percentile_interval(np.zeros(0), 0.05)


def test_equivalence_p_against_definition():
    """The larger one-sided p counts replicates at or beyond each margin."""
    replicates = np.array([-0.3, -0.2, 0.0, 0.1, 0.2, 0.2, 0.25, 0.4, 0.05])
    assert equivalence_p(replicates, 0.2) == (1 + 4) / 10
    assert equivalence_p(-replicates, 0.2) == (1 + 4) / 10
    assert equivalence_p(replicates, 0.5) == 1 / 10


def test_two_sided_p_against_definition():
    """Twice the smaller tail, zeros counting in both, never above 1."""
    assert two_sided_bootstrap_p(np.array([-1.0, 1, 2, 3, 4, 5, 6, 7, 8])) == 2 * 2 / 10
    assert two_sided_bootstrap_p(np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9])) == 2 * 1 / 10
    assert two_sided_bootstrap_p(np.zeros(9)) == 1.0


def test_holm_against_statsmodels():
    """Adjusted p-values are statsmodels' Holm p-values in the order given."""
    p = [0.04, 0.001, 0.3, 0.013, 0.013]
    assert holm_adjusted(p).tolist() == multipletests(p, method="holm")[1].tolist()


def test_holm_against_definition():
    """The i-th smallest p is multiplied by the number not yet rejected, never falling."""
    p = [0.04, 0.001, 0.3, 0.013]
    assert holm_adjusted(p) == pytest.approx([0.08, 0.004, 0.3, 0.039], abs=1e-15)


def test_holm_of_nothing_is_empty():
    """A ladder without judges has no p-values to adjust."""
    assert holm_adjusted([]).shape == (0,)
