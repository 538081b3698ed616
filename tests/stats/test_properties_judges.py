"""Invariants of the statistics of a judge, over random unit tables and scores."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthmirror.gap import gap, length_bins, paired_test, r_long
from lengthmirror.joint_bootstrap import joint_bootstrap, joint_statistics, judge_columns
from lengthmirror.resampling import BOOTSTRAP, resample_counts, resampled_totals
from lengthmirror.subset_sums import subset_sums

from ..strategies import PROPERTIES, judged_tables, mirrored, reordered
from . import by_hand, registered

RULE = registered.small_rule(n_resamples=99)
SEED = RULE.bootstrap.seed


def estimates(units, score4):
    return joint_bootstrap(judge_columns(units, score4, 1), RULE, 99)


def replicates(units, score4, n_bins=3):
    return joint_statistics(resampled_totals(judge_columns(units, score4, n_bins), SEED, 99))


def totals(units, score4):
    return subset_sums(units, score4).columns().sum(axis=0)


def equal(first, second):
    return np.array_equal(first, second, equal_nan=True)


@given(judged_tables())
@PROPERTIES
def test_exchanging_the_subsets_negates_the_gap_and_every_replicate(table):
    """With L and S exchanged G, G_adj and G_within change sign to the bit; the lean stays."""
    units, score4 = table
    first, second = replicates(units, score4), replicates(mirrored(units), score4)
    for name in ("gap", "gap_adjusted", "gap_matched"):
        assert equal(first[name], -second[name])
    assert equal(first["lean"], second["lean"])
    forward, backward = (paired_test(subset_sums(each, score4), SEED, RULE.sign_flip)
                         for each in (units, mirrored(units)))
    assert equal(forward.gap_within, -backward.gap_within)
    assert forward.p == backward.p


@given(judged_tables())
@PROPERTIES
def test_reversing_a_judge_negates_gap_and_lean(table):
    """The judge with all verdicts turned round has -G and -lean, up to rounding."""
    units, score4 = table
    first, second = replicates(units, score4), replicates(units, 4 - score4)
    for name in ("gap", "lean", "gap_adjusted", "gap_matched"):
        assert np.allclose(first[name], -second[name], rtol=0, atol=1e-13, equal_nan=True)


@given(judged_tables(), st.randoms(use_true_random=False))
@PROPERTIES
def test_the_order_of_rows_is_irrelevant_to_the_bit(table, random):
    """Shuffled units give identical estimates, intervals and p-values."""
    units, score4 = table
    order = np.array(random.sample(range(len(units)), len(units)))
    shuffled = reordered(units, order)
    assert estimates(units, score4) == estimates(shuffled, score4[order])
    assert paired_test(subset_sums(units, score4), SEED, RULE.sign_flip).p == paired_test(
        subset_sums(shuffled, score4[order]), SEED, RULE.sign_flip).p


@given(judged_tables())
@PROPERTIES
def test_names_and_places_of_the_answers_are_irrelevant_to_the_bit(table):
    """Which model wrote which answer, and which is called a, changes nothing."""
    units, score4 = table
    renamed = replace(units, model_a=units.model_b, model_b=units.model_a,
                      longer_is_a=~units.longer_is_a)
    assert estimates(units, score4) == estimates(renamed, score4)


@given(judged_tables(), st.permutations(range(6)))
@PROPERTIES
def test_the_numbering_of_questions_leaves_the_estimates(table, numbers):
    """Renumbered questions give the same point estimates to the bit."""
    units, score4 = table
    question = np.array(numbers)[units.question_id - 1]
    frame, index = np.unique(question, return_inverse=True)
    renumbered = replace(units, question_id=question, frame=frame, question_index=index)
    first, second = estimates(units, score4).estimates, estimates(renumbered, score4).estimates
    assert {name: each.estimate for name, each in first.items()} == {
        name: each.estimate for name, each in second.items()}


@given(judged_tables(), st.integers(0, 4))
@PROPERTIES
def test_a_constant_judge_has_no_gap_in_any_replicate(table, points):
    """Length-only, brevity-only, slot-only: G, G_matched and G_adj are exactly 0 everywhere."""
    units, _ = table
    score4 = np.full(len(units), points)
    found = replicates(units, score4)
    for name in ("gap", "gap_adjusted", "gap_matched"):
        assert set(found[name][~np.isnan(found[name])]) <= {0}
    assert r_long(totals(units, score4)) == (points / 4, points / 4)
    assert set(found["lean"][~np.isnan(found["lean"])]) == {points / 4 - 0.5}
    test = paired_test(subset_sums(units, score4), SEED, RULE.sign_flip)
    assert test.p == 1
    assert test.gap_within == 0 or np.isnan(test.gap_within)


@given(judged_tables())
@PROPERTIES
def test_a_copy_of_the_label_has_gap_one_and_its_opposite_minus_one(table):
    """The human copy has G exactly 1 in every valid replicate, the anti-human exactly -1."""
    units, _ = table
    for side in (1, -1):
        found = replicates(units, (2 + 2 * side * units.label).astype(np.int64))["gap"]
        assert set(found[~np.isnan(found)]) == {side}


@given(judged_tables())
@PROPERTIES
def test_statistics_stay_in_their_range(table):
    """G lies in [-1, 1], the lean in [-1/2, 1/2] and D in [-2, 2]."""
    found = replicates(*table)
    for name, bound in (("gap", 1), ("gap_adjusted", 1 + 1e-12), ("human_gap", 1), ("lean", 0.5),
                        ("gap_matched", 1), ("shortfall", 2), ("excess_lean", 1)):
        values = found[name][~np.isnan(found[name])]
        assert (np.abs(values) <= bound).all()


@given(judged_tables())
@PROPERTIES
def test_duplicated_questions_leave_every_estimate(table):
    """A second copy of every question, as a new question, changes no point estimate."""
    units, score4 = table
    twice = np.tile(np.arange(len(units)), 2)
    doubled = reordered(units, twice)
    question = doubled.question_id + 10 * (np.arange(len(twice)) >= len(units))
    frame, index = np.unique(question, return_inverse=True)
    doubled = replace(doubled, question_id=question, frame=frame, question_index=index)
    first = joint_statistics(judge_columns(units, score4, 1).sum(axis=0))
    second = joint_statistics(judge_columns(doubled, score4[twice], 1).sum(axis=0))
    assert first == second


def test_duplicated_questions_shrink_the_interval():
    """Twice the questions narrow the interval of G by about the square root of two."""
    units, score4 = registered.units(), registered.gpt4_score4()
    columns = subset_sums(units, score4).columns()
    widths = [np.std(gap(resampled_totals(np.tile(columns, (times, 1)), SEED, 1999)))
              for times in (1, 2, 4)]
    assert widths[0] / widths[1] == pytest.approx(np.sqrt(2), rel=0.1)
    assert widths[0] / widths[2] == pytest.approx(2, rel=0.1)


@given(judged_tables())
@PROPERTIES
def test_replicates_equal_a_naive_loop(table):
    """Vectorised replicates are the statistics of tables whose questions are repeated as drawn."""
    units, score4 = table
    found = replicates(units, score4)
    for row, counts in enumerate(resample_counts(SEED, BOOTSTRAP, 99, len(units.frame))[:4]):
        order = np.repeat(np.arange(len(units)), counts[units.question_index])
        drawn, scores = reordered(units, order), score4[order]
        if np.isnan(found["gap"][row]) or np.isnan(found["gap_matched"][row]):
            continue
        for name, expected in (
                ("gap", by_hand.gap(drawn, scores)), ("lean", by_hand.lean(drawn, scores)),
                ("human_gap", by_hand.human_gap(drawn)),
                ("gap_matched", by_hand.gap_matched(drawn, scores)),
                ("gap_adjusted", by_hand.stratified_gap(
                    drawn, scores, length_bins(units, 3)[order]))):
            value = found[name][row]
            assert np.isnan(value) if expected is None else value == pytest.approx(
                float(expected), abs=1e-13)


@given(judged_tables())
@PROPERTIES
def test_scores_of_unlabelled_units_do_not_matter_to_the_gap(table):
    """A unit in neither subset has no part in G, whatever the judge says about it."""
    units, score4 = table
    changed = np.where(units.label == 0, 4 - score4, score4)
    for name in ("gap", "lean", "gap_adjusted"):
        assert equal(replicates(units, score4)[name], replicates(units, changed)[name])


@given(judged_tables())
@PROPERTIES
def test_equal_lengths_in_all_units_make_the_adjusted_gap_plain(table):
    """When every unit has the same length difference there is one bin, and G_adj is G."""
    units, score4 = table
    level = replace(units, length_longer=np.full(len(units), 20),
                    length_shorter=np.full(len(units), 10))
    found = replicates(level, score4)
    assert np.allclose(found["gap"], found["gap_adjusted"], rtol=0, atol=1e-13, equal_nan=True)


@given(judged_tables(), st.integers(1, 6))
@PROPERTIES
def test_bins_hold_equal_lengths_together_in_order(table, n_bins):
    """Units with the same lengths share a bin, and a larger ratio never has a lower bin."""
    units, _ = table
    bins = length_bins(units, n_bins)
    ratio = np.log((units.length_longer + 1) / (units.length_shorter + 1))
    ordered = bins[np.argsort(ratio, kind="stable")]
    assert (np.diff(ordered) >= 0).all()
    assert set(bins) <= set(range(n_bins))


@given(judged_tables(), st.integers(2, 9))
@PROPERTIES
def test_scaling_all_lengths_changes_no_pooled_statistic(table, factor):
    """G, lean, G_h and D do not look at lengths beyond which answer is longer."""
    units, score4 = table
    scaled = replace(units, length_longer=factor * units.length_longer,
                     length_shorter=factor * units.length_shorter)
    first, second = replicates(units, score4), replicates(scaled, score4)
    for name in ("gap", "lean", "human_gap", "gap_matched", "shortfall", "excess_lean"):
        assert equal(first[name], second[name])
