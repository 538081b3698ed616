"""G, its length-adjusted and paired variants, against definitions, libraries and planted truth."""

from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable

from lengthmirror.gap import (
    gap,
    gap_adjusted,
    lean,
    length_bins,
    mantel_haenszel,
    paired_test,
    r_long,
    sign_flip_p,
    signal_detection,
)
from lengthmirror.joint_bootstrap import joint_bootstrap, judge_columns
from lengthmirror.resampling import (
    BOOTSTRAP,
    SIGN_FLIP,
    resample_counts,
    resampled_totals,
    sign_matrix,
)
from lengthmirror.rule import SignFlipRule
from lengthmirror.subset_sums import binned_sums, subset_sums

from ..strategies import PROPERTIES, judged_tables, reordered, units_of
from . import by_hand, registered


@given(judged_tables())
@PROPERTIES
def test_gap_and_lean_against_definition(table):
    """G and lean equal exact fractions computed unit by unit, up to their last roundings."""
    units, score4 = table
    totals = subset_sums(units, score4).columns().sum(axis=0)
    assert gap(totals) == pytest.approx(float(by_hand.gap(units, score4)), abs=1e-15)
    assert lean(totals) == pytest.approx(float(by_hand.lean(units, score4)), abs=1e-15)


def test_rates_are_correctly_rounded():
    """Each rate is the double nearest to its fraction, the gap one subtraction of two of them."""
    longer, shorter = r_long(np.array([775 * 4, 873 * 4, 394, 308 * 4]))
    assert (longer, shorter) == (775 / 873, 197 / 616)
    assert gap(np.array([775 * 4, 873 * 4, 394, 308 * 4])) == 775 / 873 - 197 / 616


def test_an_empty_subset_has_no_rate():
    """Without a unit in S the gap is NaN, which the bootstrap drops, and not 0."""
    assert np.isnan(gap(np.array([4, 8, 0, 0])))


@given(judged_tables())
@PROPERTIES
def test_gap_adjusted_against_definition(table):
    """G_adj equals the weighted mean of exact gaps within the length bins."""
    units, score4 = table
    bins = length_bins(units, 3)
    result = gap_adjusted(binned_sums(units, score4, bins, 3).columns().sum(axis=0))
    expected = by_hand.stratified_gap(units, score4, bins)
    assert np.isnan(result) if expected is None else result == pytest.approx(float(expected))


@given(judged_tables())
@PROPERTIES
def test_gap_within_against_definition(table):
    """G_within equals the weighted mean of exact gaps within the questions."""
    units, score4 = table
    within = paired_test(subset_sums(units, score4), 1, SignFlipRule(9, 1e-9)).gap_within
    expected = by_hand.stratified_gap(units, score4, units.question_id)
    assert np.isnan(within) if expected is None else within == pytest.approx(float(expected))


def test_mantel_haenszel_against_statsmodels():
    """The summed excess is the numerator of statsmodels' Cochran-Mantel-Haenszel statistic."""
    tables = [np.array([[30, 10], [15, 25]]), np.array([[12, 4], [6, 10]])]
    totals = np.array([[4 * t[0, 0], 4 * t[0].sum(), 4 * t[1, 0], 4 * t[1].sum()] for t in tables])
    excess, weight = mantel_haenszel(totals)
    assert excess.sum() / weight.sum() == pytest.approx(0.375)
    statistic = (excess.sum() / 2) ** 2 / sum(
        t[0].sum() * t[1].sum() * t[:, 0].sum() * t[:, 1].sum() / t.sum() ** 2 / (t.sum() - 1)
        for t in tables)
    assert StratifiedTable(tables).test_null_odds(correction=False).statistic == pytest.approx(
        statistic)


@given(judged_tables())
@PROPERTIES
def test_paired_contrast_has_the_registered_bits(table):
    """In doubled scores z_q is one division of integers, equal to the registered formula."""
    units, score4 = table
    sums = subset_sums(units, score4)
    excess, weight = mantel_haenszel(sums.columns())
    for q in range(len(units.frame)):
        n2_longer, n2_shorter = int(sums.den_longer[q]) // 2, int(sums.den_shorter[q]) // 2
        if n2_longer + n2_shorter == 0:
            assert (excess[q], weight[q]) == (0, 0)
        elif not (sums.num_longer[q] % 2 or sums.num_shorter[q] % 2):
            doubled = int(sums.num_longer[q]) // 2, int(sums.num_shorter[q]) // 2
            z = (doubled[0] * n2_shorter - doubled[1] * n2_longer) / (n2_longer + n2_shorter)
            assert (excess[q], weight[q]) == (
                z, n2_longer * n2_shorter / (n2_longer + n2_shorter))


def test_sign_flip_against_definition():
    """The p-value counts sign vectors whose sum is at least as far from 0 as the observed one."""
    contrast = np.array([0.5, -0.25, 1.0, 0.75, 0.0, 0.5])
    flipped = [abs(sum(s * z for s, z in zip(row, contrast)))
               for row in sign_matrix(11, SIGN_FLIP, 99, 6).tolist()]
    expected = (1 + sum(value >= 2.5 - 1e-9 for value in flipped)) / 100
    assert sign_flip_p(contrast, 11, SignFlipRule(99, 1e-9)) == expected


@pytest.mark.parametrize("seed", range(6))
def test_sign_flip_against_scipy(seed):
    """The p-value agrees with scipy's exact enumeration within Monte Carlo error."""
    contrast = np.random.default_rng(seed).normal(0.3, 1, 11)
    exact = stats.permutation_test((contrast,), np.sum, permutation_type="samples",
                                   n_resamples=2 ** 11 + 1, alternative="two-sided").pvalue
    p = sign_flip_p(contrast, 1, SignFlipRule(9999, 1e-9))
    assert abs(p - exact) < 4 * np.sqrt(exact * (1 - exact) / 9999) + 2e-4


def test_equal_sums_count_although_they_round_differently():
    """The slack absorbs rounding: with thirds, flips that equal the observed sum all count."""
    contrast = np.array([1 / 3, 1 / 3, 1 / 3, -1.0])
    assert sign_flip_p(contrast, 1, SignFlipRule(999, 1e-9)) == 1.0


def test_sign_flip_holds_its_level_on_a_planted_null():
    """Without a gap, p falls below 0.05 about one time in twenty."""
    rng = np.random.default_rng(7)
    p = [sign_flip_p(rng.standard_t(3, 40), 1, SignFlipRule(999, 1e-9)) for _ in range(400)]
    share = np.mean(np.array(p) <= 0.05)
    assert abs(share - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 400)


def test_length_bins_against_definition():
    """Edges interpolate between ordered labelled distances; a value on an edge is below it."""
    rng = np.random.default_rng(3)
    shorter, excess = rng.integers(0, 300, 41), rng.integers(1, 900, 41)
    longer_votes = rng.integers(0, 3, 41)
    units = units_of(np.arange(41), longer_votes, np.zeros(41), np.ones(41), shorter, excess)
    distance = [abs(log((a + 1) / (b + 1))) for a, b in zip(shorter + excess, shorter)]
    ordered = sorted(d for d, label in zip(distance, units.label) if label)
    edges = []
    for part in (0.2, 0.4, 0.6, 0.8):
        place = part * (len(ordered) - 1)
        low = int(place)
        edges.append(ordered[low] + (place - low) * (ordered[low + 1] - ordered[low]))
    expected = [sum(edge < d - 1e-12 for edge in edges) for d in distance]
    assert len(ordered) < 41
    assert length_bins(units, 5).tolist() == expected


def test_length_bins_against_pandas():
    """On the real labelled units the bins are pandas' quantile bins."""
    units = registered.units()
    labelled = units.label != 0
    distance = np.log((units.length_longer + 1) / (units.length_shorter + 1))[labelled]
    expected = pd.qcut(distance, 5, labels=False)
    bins = length_bins(units, 5)[labelled]
    assert np.array_equal(bins, expected)
    assert (np.bincount(bins) >= 230).all()


def test_one_bin_is_the_plain_gap():
    """With a single length bin G_adj is G."""
    units, score4 = registered.units(), registered.gpt4_score4()
    bins = length_bins(units, 1)
    sums = binned_sums(units, score4, bins, 1).columns().sum(axis=0)
    assert set(bins.tolist()) == {0}
    assert gap_adjusted(sums) == pytest.approx(gap(sums[0]), abs=1e-14)


def test_signal_detection_against_definition():
    """d' and c are normal quantiles of the two rates."""
    d_prime, criterion = signal_detection(np.array([30, 40, 10, 40]))
    assert d_prime == pytest.approx(2 * stats.norm.ppf(0.75))
    assert criterion == pytest.approx(0, abs=1e-15)
    d_prime, criterion = signal_detection(np.array([36, 40, 30, 40]))
    assert d_prime == pytest.approx(stats.norm.ppf(0.9) - stats.norm.ppf(0.75))
    assert criterion == pytest.approx(-(stats.norm.ppf(0.9) + stats.norm.ppf(0.75)) / 2)


@pytest.mark.parametrize("totals", [[40, 40, 10, 40], [30, 40, 0, 40], [0, 40, 40, 40]],
                         ids=["always in L", "never in S", "reversed"])
def test_signal_detection_is_absent_at_rates_of_0_and_1(totals):
    """Where a rate has no finite quantile, d' and c are absent and not infinite."""
    assert signal_detection(np.array(totals)) == (None, None)


@pytest.mark.parametrize("name", ["gap", "lean", "gap_matched", "shortfall"])
def test_bootstrap_interval_against_scipy(name):
    """Percentile intervals agree with scipy's paired cluster bootstrap within Monte Carlo error."""
    rule = registered.rule()
    columns = judge_columns(registered.units(), registered.gpt4_score4(), rule.n_length_bins)
    parts = {"gap": (gap, [0, 1, 2, 3]), "lean": (lean, [0, 1, 2, 3]),
             "gap_matched": (gap, [4, 5, 6, 7]), "shortfall": (_shortfall, list(range(4, 12)))}
    of, chosen = parts[name]

    def statistic(*sampled, axis):
        return of(np.stack([column.sum(axis=axis) for column in sampled], axis=-1))

    oracle = stats.bootstrap(tuple(columns[:, at] for at in chosen), statistic, paired=True,
                             n_resamples=9999, method="percentile", vectorized=True, axis=-1,
                             rng=np.random.default_rng(99))
    ours = joint_bootstrap(columns, rule, 9999).estimates[name].ci95
    for mine, theirs, level in zip(ours, oracle.confidence_interval, (0.025, 0.975)):
        density = stats.gaussian_kde(oracle.bootstrap_distribution)(theirs)[0]
        error = np.sqrt(level * (1 - level) / 9999) / density
        assert abs(mine - theirs) < 4 * np.sqrt(2) * error


def _shortfall(totals):
    return gap(totals[..., 4:]) - gap(totals[..., :4])


def test_replicates_against_definition():
    """A replicate is the statistic of a table in which each question is repeated as drawn."""
    units, score4 = registered.units(), registered.gpt4_score4()
    columns = subset_sums(units, score4).columns()
    replicates = gap(resampled_totals(columns, 5, 20))
    counts = resample_counts(5, BOOTSTRAP, 20, len(units.frame))
    for row, replicate in zip(counts, replicates):
        order = np.repeat(np.arange(len(units)), row[units.question_index])
        assert replicate == gap(subset_sums(reordered(units, order),
                                            score4[order]).columns().sum(axis=0))


@pytest.mark.parametrize("truth", [0.0, 0.3])
def test_gap_interval_covers_a_planted_gap(truth):
    """With clustered units, the interval holds the planted gap about 95 times in 100."""
    rng, held = np.random.default_rng(17), []
    for _ in range(200):
        n_questions = 60
        question = np.repeat(np.arange(n_questions), 12)
        in_longer = rng.random(len(question)) < 0.7
        shift = rng.normal(0, 0.1, n_questions)[question]
        rate = np.clip(0.4 + truth * in_longer + shift, 0, 1)
        score4 = np.where(rng.random(len(question)) < rate, 4, 0)
        sums = subset_sums(units_of(question, in_longer, np.zeros_like(question), ~in_longer,
                                    *[np.ones_like(question)] * 2), score4).columns()
        replicates = np.sort(gap(resampled_totals(sums, 1, 399)))
        held.append(replicates[9] <= truth <= replicates[-10])
    assert np.mean(held) > 0.95 - 0.02 - 4 * np.sqrt(0.95 * 0.05 / 200)
