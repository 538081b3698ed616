"""The known values of the protocol, on the committed unit table."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from lengthmirror.human_gap import human_sums, leave_one_out, matched_sums
from lengthmirror.judge_statistics import human_statistics, judge_statistics
from lengthmirror.pairs import select_units
from lengthmirror.resampling import resampled_totals
from lengthmirror.subset_sums import subset_sums

from . import registered

# Quarter points times 420 over L and S: numerator and largest possible value of each.
HUMAN_TOTALS = [638472, 748596, 79268, 275284]
MATCHED_TOTALS = [666212, 748596, 96706, 275284]


@pytest.fixture(scope="module", name="gpt4")
def gpt4_statistics():
    """Statistics of GPT-4's published verdicts under the registered rule."""
    return judge_statistics(registered.units(), registered.gpt4_score4(), None, registered.rule())


@pytest.mark.parametrize(("tau", "judged", "n_longer", "n_shorter", "n_questions"), [
    ("0.1", 1376, 946, 360, 80), ("0.2", 1242, 873, 308, 80), ("0.3", 1127, 802, 268, 80),
    ("0.5", 834, 619, 177, 79)])
def test_known_counts(tau, judged, n_longer, n_shorter, n_questions):
    """Units with a non-tie vote, sizes of L and S and questions at each registered tau."""
    rule = replace(registered.rule().units, tau=Fraction(tau))
    units = select_units(registered.pairs(), rule)
    assert units.judged.sum() == judged
    assert (units.weight_longer.sum(), units.weight_shorter.sum()) == (n_longer, n_shorter)
    assert len(np.unique(units.question_id[units.judged])) == n_questions


def test_known_frame():
    """All 80 questions have units in L, 75 have units in S, 75 both."""
    sums = subset_sums(registered.units(), registered.gpt4_score4())
    longer, shorter = sums.den_longer > 0, sums.den_shorter > 0
    assert (len(registered.units().frame), longer.sum(), shorter.sum(),
            (longer & shorter).sum()) == (80, 80, 75, 75)


def test_known_rates_to_the_bit(gpt4):
    """GPT-4's rates are 775/873 and 98.5/308, correctly rounded."""
    assert gpt4.r_long["longer"].estimate == 775 / 873
    assert gpt4.r_long["shorter"].estimate == 98.5 / 308
    assert gpt4.gap.estimate == 775 / 873 - 98.5 / 308
    assert (gpt4.r_long["longer"].n, gpt4.r_long["shorter"].n) == (873, 308)


@pytest.mark.parametrize(("name", "estimate", "ci95", "ci90"), [
    ("gap", 0.5679, (0.4980, 0.6344), (0.5104, 0.6239)),
    ("lean", 0.1038, (0.0675, 0.1422), None),
    ("human_gap", 0.5649, None, None),
    ("gap_matched", 0.5387, None, None),
    ("shortfall", 0.0263, (-0.0213, 0.0781), (-0.0143, 0.0702)),
    ("excess_lean", 0.0502, (0.0190, 0.0816), None),
    ("gap_adjusted", 0.5656, (0.4912, 0.6329), None)])
def test_known_estimates_of_gpt4(gpt4, name, estimate, ci95, ci90):
    """The protocol's estimates and intervals, to its four decimals."""
    found = getattr(gpt4, name)
    assert round(found.estimate, 4) == estimate
    for known, interval in ((ci95, found.ci95), (ci90, found.ci90)):
        if known is not None:
            assert tuple(round(endpoint, 4) for endpoint in interval) == known


def test_known_tests_and_class_of_gpt4(gpt4):
    """G_within, the sign-flip p-value, the class and the flags of the protocol."""
    assert round(gpt4.gap_within, 4) == 0.5310
    assert gpt4.sign_flip_p == 1 / 10000
    assert gpt4.outcome == "QUALITY_TRACKING"
    assert gpt4.flags.excess_length_lean
    assert not (gpt4.flags.composition_driven or gpt4.flags.length_gradient
                or gpt4.flags.borderline_mc or gpt4.flags.position_dominated)
    assert (gpt4.n_resamples, gpt4.n_dropped) == (9999, 0)


def test_known_interval_endpoints_to_the_bit(gpt4):
    """The endpoints of G are the 250th and 9750th exact fraction of the registered resamples."""
    sums = subset_sums(registered.units(), registered.gpt4_score4())
    totals = resampled_totals(sums.columns(), registered.rule().bootstrap.seed, 9999).tolist()
    gaps = sorted(num_l / den_l - num_s / den_s for num_l, den_l, num_s, den_s in totals)
    assert gpt4.gap.ci95 == (gaps[249], gaps[9749])
    assert gpt4.gap.ci90 == (gaps[499], gaps[9499])


def test_known_human_gap_to_the_bit():
    """G_h and G_matched are the registered integers over 420, divided once."""
    units, score4 = registered.units(), registered.gpt4_score4()
    pairs = leave_one_out(units)
    human = human_sums(units, pairs).columns().sum(axis=0).tolist()
    matched = matched_sums(units, score4, pairs).columns().sum(axis=0).tolist()
    assert human == HUMAN_TOTALS
    assert matched == MATCHED_TOTALS
    statistics = human_statistics(units, registered.rule())
    assert statistics.gap.estimate == human[0] / human[1] - human[2] / human[3]
    assert round(statistics.gap.estimate, 4) == 0.5649
    assert (statistics.n_units, statistics.n_pairs, statistics.scale) == (704, 2937, 420)


def test_known_human_gap_interval(gpt4):
    """The human gap of a judge's report is that of the humans' own row, interval and all."""
    assert human_statistics(registered.units(), registered.rule()).gap == gpt4.human_gap


def test_wilson_of_gpt4_assumes_independent_units(gpt4):
    """The cluster interval contains the plain one, with a design effect above 1 here."""
    for proportion in gpt4.r_long.values():
        assert proportion.wilson_cluster.low < proportion.wilson.low
        assert proportion.wilson.high < proportion.wilson_cluster.high
        assert proportion.design_effect > 1
