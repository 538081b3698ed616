"""Across scale: trend, monotone statement and localisation, planted and by definition."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lengthmirror.errors import InvalidStatistic
from lengthmirror.gap import gap, mantel_haenszel
from lengthmirror.intervals import holm_adjusted, two_sided_bootstrap_p
from lengthmirror.judge_statistics import judge_statistics
from lengthmirror.resampling import resampled_totals
from lengthmirror.scale import JointLadder, SizedJudge, scale_statistics, slope_coefficients
from lengthmirror.scale_outcome import Boundary, localisation, runs_of
from lengthmirror.subset_sums import subset_sums

from ..strategies import PROPERTIES
from . import registered

SIZES = (135_000_000, 360_000_000, 500_000_000, 1_700_000_000, 7_600_000_000)
ZERO_GAP = ("NO_PREFERENCE", "LENGTH_PREFERENCE", "BREVITY_PREFERENCE")


def verdicts(seed, longer, shorter):
    """Independent verdicts with a planted rate for the longer answer in L and in S."""
    units = registered.units()
    random = np.random.default_rng(seed).random(len(units))
    rate = np.where(units.label > 0, longer, shorter)
    return np.where(units.judged & (random < rate), 4, 0)


def like_gpt4(seed):
    """GPT-4's published verdicts, three in a hundred replaced by a tie."""
    random = np.random.default_rng(seed).random(len(registered.units()))
    return np.where(registered.units().judged & (random < 0.03), 2, registered.gpt4_score4())


def judge(parameters, score4):
    """A rung with the statistics of these verdicts under the registered rule."""
    found = judge_statistics(registered.units(), score4, None, registered.rule())
    return SizedJudge(parameters, found.outcome, found.sign_flip_p, found.equivalence_p_0,
                      found.equivalence_p_H, found.sums)


def ladder(*rates, seed=1):
    """One judge per size, with planted rates in L and S or GPT-4's verdicts with noise."""
    return [judge(size, like_gpt4(seed + at) if rate == QUALITY else verdicts(seed + at, *rate))
            for at, (size, rate) in enumerate(zip(SIZES, rates))]


LENGTH, PARTIAL, INVERSE, QUALITY = (0.8, 0.8), (0.8, 0.55), (0.3, 0.7), "like GPT-4"


@pytest.fixture(scope="module", name="step")
def step_ladder():
    """Three length judges, then two that track quality."""
    judges = ladder(LENGTH, LENGTH, LENGTH, QUALITY, QUALITY)
    return judges, scale_statistics(judges, registered.rule())


def test_a_planted_step_is_localised(step):
    """A ladder that changes class once, with flat runs, is localised at that judge."""
    judges, found = step
    assert [each.outcome for each in judges] == ["LENGTH_PREFERENCE"] * 3 + ["QUALITY_TRACKING"] * 2
    assert (found.localisation.outcome, found.localisation.boundary) == ("LOCALISED", 3)
    assert found.trend.p < 0.05
    assert found.monotone == "no evidence"


def test_equal_judges_are_uniform():
    """A ladder of judges with one planted rate has one class and no trend."""
    found = scale_statistics(ladder(*[LENGTH] * 4), registered.rule())
    assert (found.localisation.outcome, found.localisation.boundary) == ("UNIFORM", None)
    assert found.trend.slope.ci95.low < 0 < found.trend.slope.ci95.high
    assert found.trend.p > 0.05
    assert found.monotone == "no evidence"


def test_three_rising_classes_are_graded_and_increasing():
    """Length, partial tracking and tracking in order of size: graded, every step significant."""
    found = scale_statistics(ladder(LENGTH, PARTIAL, QUALITY), registered.rule())
    assert found.localisation.outcome == "GRADED"
    assert (found.monotone, found.trend.kendall_tau) == ("increasing", 1)


def test_falling_classes_are_graded_and_decreasing():
    """The same ladder turned round falls, and is graded as well."""
    found = scale_statistics(ladder(QUALITY, PARTIAL, LENGTH), registered.rule())
    assert (found.localisation.outcome, found.monotone) == ("GRADED", "decreasing")


def test_a_return_is_not_monotone_and_a_violation():
    """Up and down again is neither graded nor monotone."""
    found = scale_statistics(ladder(LENGTH, QUALITY, PARTIAL), registered.rule())
    assert (found.localisation.outcome, found.monotone) == ("NON_MONOTONE", "violated")


@pytest.mark.parametrize("rates", [(QUALITY, PARTIAL, PARTIAL), (PARTIAL, PARTIAL, QUALITY)],
                         ids=["falling", "rising"])
def test_a_step_with_the_slope_is_no_violation(rates):
    """A significant step in the direction of the slope, beside a flat one, violates nothing."""
    found = scale_statistics(ladder(*rates), registered.rule())
    assert sorted(p < 0.05 for p in found.step_p) == [False, True]
    assert found.monotone == "no evidence"


def test_a_slope_inside_a_run_is_graded():
    """Two classes, but the gap rises within a class: the change is gradual."""
    judges = ladder(INVERSE, (0.86, 0.60), (0.86, 0.52), (0.86, 0.46))
    found = scale_statistics(judges, registered.rule())
    assert [each.outcome for each in judges] == ["INVERSE"] + ["PARTIAL_TRACKING"] * 3
    assert found.localisation.run_slope_p[0] < 0.05
    assert found.localisation.outcome == "GRADED"


def test_zero_gap_classes_are_compared_by_lean():
    """Between brevity and length preference the gap is 0 on both sides; the lean decides."""
    judges = ladder((0.2, 0.2), (0.2, 0.2), (0.8, 0.8))
    found = scale_statistics(judges, registered.rule())
    assert [each.outcome for each in judges] == ["BREVITY_PREFERENCE"] * 2 + ["LENGTH_PREFERENCE"]
    assert (found.localisation.outcome, found.localisation.boundary) == ("LOCALISED", 2)


def test_an_unresolved_judge_leaves_the_ladder_undetermined():
    """An inconclusive judge makes no statement about scale possible."""
    judges = ladder(LENGTH, QUALITY)
    unclear = [judges[0], replace(judges[1], outcome="INCONCLUSIVE")]
    assert scale_statistics(unclear, registered.rule()).localisation.outcome == "UNDETERMINED"


def test_one_judge_has_no_trend():
    """With a single scored judge there is no trend and nothing to localise."""
    found = scale_statistics(ladder(LENGTH), registered.rule())
    assert (found.trend, found.fit, found.monotone, found.step_p) == (None, (), "no evidence", ())
    assert found.localisation.outcome == "UNDETERMINED"


def test_slope_against_scipy(step):
    """The slope is scipy's least squares on log10(parameters), tau its Kendall tau-b."""
    judges, found = step
    gaps = [gap(each.sums.columns().sum(axis=0)) for each in judges]
    assert found.trend.slope.estimate == pytest.approx(
        stats.linregress(np.log10(SIZES), gaps).slope, rel=1e-12)
    assert found.trend.kendall_tau == stats.kendalltau(SIZES, gaps).statistic


def test_slope_interval_against_definition(step):
    """The interval holds the order statistics of the slopes fitted replicate by replicate."""
    judges, found = step
    seed = registered.rule().bootstrap.seed
    gaps = np.stack([gap(resampled_totals(each.sums.columns(), seed, 9999)) for each in judges])
    slopes = np.sort(np.polyfit(np.log10(SIZES), gaps, 1)[0])
    assert found.trend.slope.ci95 == pytest.approx((slopes[249], slopes[9749]), abs=1e-12)
    assert found.trend.slope.ci90 == pytest.approx((slopes[499], slopes[9499]), abs=1e-12)


def test_fitted_line_against_definition(step):
    """The line and its pointwise interval are those of the lines fitted replicate by replicate."""
    judges, found = step
    seed, logs = registered.rule().bootstrap.seed, np.log10(SIZES)
    gaps = np.stack([gap(resampled_totals(each.sums.columns(), seed, 9999)) for each in judges])
    slopes, heights = np.polyfit(logs, gaps, 1)
    line = np.polyfit(logs, [gap(each.sums.columns().sum(axis=0)) for each in judges], 1)
    assert [found.fit[end].log10_parameters for end in (0, -1)] == [logs[0], logs[-1]]
    for point in found.fit:
        heights_here = np.sort(slopes * point.log10_parameters + heights)
        assert point.gap.estimate == pytest.approx(np.polyval(line, point.log10_parameters))
        assert point.gap.ci95 == pytest.approx((heights_here[249], heights_here[9749]), abs=1e-9)


def test_slope_p_against_scipy():
    """The sign-flip p of a trend agrees with scipy on the per-question contrast."""
    judges = ladder((0.7, 0.62), (0.7, 0.6), (0.7, 0.57), seed=40)
    found = scale_statistics(judges, registered.rule())
    contrast = sum(c * mantel_haenszel(each.sums.columns())[0]
                   for c, each in zip(slope_coefficients(SIZES[:3]), judges))
    oracle = stats.permutation_test((contrast,), np.sum, permutation_type="samples",
                                    n_resamples=9999, rng=np.random.default_rng(3)).pvalue
    assert abs(found.trend.p - oracle) < 4 * np.sqrt(2 * oracle * (1 - oracle) / 9999) + 2e-4


def test_step_p_against_definition(step):
    """Each neighbouring difference has its joint two-sided p, Holm over the differences."""
    judges, found = step
    seed = registered.rule().bootstrap.seed
    gaps = [gap(resampled_totals(each.sums.columns(), seed, 9999)) for each in judges]
    raw = [two_sided_bootstrap_p(right - left) for left, right in zip(gaps, gaps[1:])]
    assert found.step_p == tuple(holm_adjusted(raw))
    mean = np.mean(gaps[3:], axis=0) - np.mean(gaps[:3], axis=0)
    assert found.localisation.boundaries == (Boundary(3, two_sided_bootstrap_p(mean)),)


def test_holm_over_the_judges_of_a_ladder(step):
    """The p-values of the judges are adjusted over the ladder, in its order."""
    judges, found = step
    for adjusted, name in ((found.gap_p_holm, "sign_flip_p"),
                           (found.equivalence_p_0_holm, "equivalence_p_0"),
                           (found.equivalence_p_H_holm, "equivalence_p_H")):
        assert adjusted == tuple(holm_adjusted([getattr(each, name) for each in judges]))


def test_a_null_slope_is_rarely_significant():
    """Ladders of judges with one rate are called a trend about one time in twenty."""
    units, rule = registered.units(), registered.small_rule(n_resamples=499)
    significant = []
    for seed in range(200):
        judges = [SizedJudge(size, "LENGTH_PREFERENCE", 1.0, 1.0, 1.0,
                             subset_sums(units, verdicts(1000 + 5 * seed + at, 0.7, 0.7)))
                  for at, size in enumerate(SIZES[:3])]
        significant.append(JointLadder(judges, rule).trend(range(3)).p < 0.05)
    assert abs(np.mean(significant) - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize(("judges", "message"), [
    (lambda pair: [], "needs at least 1 scored judge, got 0"),
    (lambda pair: pair[::-1], "must increase in size, got"),
    (lambda pair: [pair[0], pair[0]], "must increase in size, got"),
    (lambda pair: [pair[0], replace(pair[1], sums=subset_sums(
        registered.units().subset(registered.units().turn == 1, "turn"),
        verdicts(1, 1, 1)[registered.units().turn == 1]))], "on the same units")],
    ids=["none", "order", "size", "units"])
def test_ladders_that_make_no_sense_are_refused(judges, message):
    """No judge, sizes that do not increase or judges of other units are an error."""
    with pytest.raises(InvalidStatistic, match=message):
        scale_statistics(judges(ladder(LENGTH, QUALITY)), registered.rule())


CLASSES = ("INVERSE", *ZERO_GAP, "PARTIAL_TRACKING", "QUALITY_TRACKING", "EXCEEDS_HUMAN",
           "INCONCLUSIVE", "UNRESOLVABLE_MARGINS", "ZERO_GAP_LEAN_UNRESOLVED")
P = st.sampled_from([0.001, 0.049, 0.05, 0.2])


def by_chain(outcomes, boundary_p, slope_p):
    """Section 8 as a chain of conditions, written from the protocol."""
    unresolved = {"INCONCLUSIVE", "UNRESOLVABLE_MARGINS", "ZERO_GAP_LEAN_UNRESOLVED"}
    if len(outcomes) < 2 or unresolved & set(outcomes):
        return "UNDETERMINED"
    changes = [place for place in range(1, len(outcomes)) if outcomes[place] != outcomes[place - 1]]
    if not changes:
        return "UNIFORM"
    if not all(p < 0.05 for p in boundary_p):
        return "UNDETERMINED"
    if len(changes) > 1:
        rank = {"INVERSE": 0, "PARTIAL_TRACKING": 2, "QUALITY_TRACKING": 3, "EXCEEDS_HUMAN": 4}
        ranks = [rank.get(outcomes[place], 1) for place in (0, *changes)]
        steps = [b - a for a, b in zip(ranks, ranks[1:])]
        monotone = all(s >= 0 for s in steps) or all(s <= 0 for s in steps)
        return "GRADED" if monotone else "NON_MONOTONE"
    return "GRADED" if any(p < 0.05 for p in slope_p) else "LOCALISED"


@given(st.data(), st.lists(st.sampled_from(CLASSES[:7]), min_size=1, max_size=5) |
       st.lists(st.sampled_from(CLASSES), min_size=1, max_size=5))
@PROPERTIES
def test_localisation_against_definition(data, outcomes):
    """For any classes and p-values the outcome is that of the protocol's chain of conditions."""
    runs = runs_of(outcomes)
    assert [run.outcome for run in runs for _ in run.members] == outcomes
    boundaries = [Boundary(run.members[0], data.draw(P)) for run in runs[1:]]
    slopes = [data.draw(P) for run in runs if len(run.members) > 1]
    found = localisation(runs, boundaries, slopes, registered.rule().scale, 0.05)
    assert found.outcome == by_chain(outcomes, [each.p for each in boundaries], slopes)
    assert (found.boundary is not None) == (found.outcome == "LOCALISED")
