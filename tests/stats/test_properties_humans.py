"""Invariants of units, labels and the leave-one-out human gap."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lengthmirror.gap import gap, r_long
from lengthmirror.human_gap import human_sums, leave_one_out, matched_sums
from lengthmirror.joint_bootstrap import joint_statistics, judge_columns
from lengthmirror.pairs import exceeds, labels
from lengthmirror.resampling import resampled_totals
from lengthmirror.subset_sums import subset_sums

from ..strategies import LENGTHS, PROPERTIES, VOTES, judged_tables, units_of
from . import registered

UNIT_RULE = registered.rule().units


@given(judged_tables())
@PROPERTIES
def test_humans_are_the_same_beside_every_judge(table):
    """G_h and the human lean do not depend on the judge they are compared with."""
    units, score4 = table
    first, second = (joint_statistics(resampled_totals(judge_columns(units, scores, 1), 1, 99))
                     for scores in (score4, 4 - score4))
    for name in ("human_gap", "human_lean"):
        assert np.array_equal(first[name], second[name], equal_nan=True)


@given(judged_tables(), st.integers(1, 6), st.sampled_from([(1, 0, 0), (0, 1, 0), (0, 0, 1)]),
       st.integers(0, 4))
@PROPERTIES
def test_a_single_vote_never_enters_the_human_gap(table, question, votes, points):
    """A unit whose only vote is an annotator's own changes neither G_h nor G_matched."""
    units, score4 = table
    columns = (units.question_id, units.votes_longer, units.votes_tie, units.votes_shorter)
    more = units_of(*(np.append(column, new) for column, new in zip(columns, (question, *votes))),
                    np.append(units.length_shorter, 1),
                    np.append(units.length_longer - units.length_shorter, 1))
    for of in (lambda u, s: human_sums(u, leave_one_out(u)),
               lambda u, s: matched_sums(u, s, leave_one_out(u))):
        before, after = of(units, score4), of(more, np.append(score4, points))
        assert gap(before.columns().sum(axis=0)) == gap(after.columns().sum(axis=0))


@given(st.integers(0, 4))
@PROPERTIES
def test_no_vote_is_paired_with_itself(ties):
    """Where each opinion is held once beside some ties, the verdicts are those of the others."""
    alone = units_of([1, 2], [1, 1], [ties] * 2, [1, 1], [1, 1], [1, 1])
    human = human_sums(alone, leave_one_out(alone)).columns().sum(axis=0)
    assert r_long(human) == ((ties / 2) / (ties + 1), (ties / 2 + 1) / (ties + 1))


@given(judged_tables())
@PROPERTIES
def test_matched_gap_of_unanimous_pairs_is_the_plain_gap(table):
    """Where all annotators agree and all units have two votes, G_matched is G."""
    units, score4 = table
    two = units_of(units.question_id, 2 * (units.label >= 0), np.zeros(len(units)),
                   2 * (units.label < 0), units.length_shorter, np.ones(len(units)))
    matched = matched_sums(two, score4, leave_one_out(two)).columns().sum(axis=0)
    assert gap(matched) == gap(subset_sums(two, score4).columns().sum(axis=0))


@given(st.sampled_from(["net_sign", "plurality", "strict_majority", "unanimous"]), VOTES)
@PROPERTIES
def test_labels_mirror(label_rule, votes):
    """Exchanging the votes of the two sides negates every kind of label."""
    longer, tie, shorter = (np.array([count]) for count in votes)
    assert labels(longer, tie, shorter, label_rule) == -labels(shorter, tie, longer, label_rule)


@given(VOTES, st.integers(1, 5))
@PROPERTIES
def test_a_tie_vote_never_changes_a_registered_label(votes, ties):
    """Adding tie votes leaves the sign of the remaining votes."""
    longer, tie, shorter = (np.array([count]) for count in votes)
    assert labels(longer, tie, shorter, "net_sign") == labels(longer, tie + ties, shorter,
                                                              "net_sign")


@given(st.integers(1, 500), st.integers(1, 500), st.integers(1, 40), st.integers(1, 8),
       st.sampled_from(["max", "mean", "min"]))
@PROPERTIES
def test_scaling_both_lengths_keeps_the_selection(length_a, length_b, hundredths, factor, metric):
    """Multiplying all lengths by a number excludes and keeps the same units."""
    rule = replace(UNIT_RULE, tau=Fraction(hundredths, 100), length_metric=metric)
    kept = [exceeds(None, np.array([scale * length_a]), np.array([scale * length_b]), rule)[0]
            for scale in (1, factor)]
    assert kept[0] == kept[1]


@given(st.integers(1, 99), st.integers(1, 20))
@PROPERTIES
def test_a_difference_exactly_at_tau_is_excluded(hundredths, factor):
    """x == tau is out and the next possible difference is in, in exact arithmetic."""
    rule = replace(UNIT_RULE, tau=Fraction(hundredths, 100))
    longest = np.array([100 * factor])
    at = longest - hundredths * factor
    assert not exceeds(None, longest, at, rule)[0]
    assert exceeds(None, longest, at - 1, rule)[0]
    assert exceeds(None, at - 1, longest, rule)[0]


@given(LENGTHS)
@PROPERTIES
def test_which_answer_is_called_a_does_not_matter_to_the_selection(lengths):
    """Exchanging the lengths keeps or excludes the same unit."""
    first, second = np.array([lengths[0]]), np.array([sum(lengths)])
    assert exceeds(None, first, second, UNIT_RULE) == exceeds(None, second, first, UNIT_RULE)


@given(judged_tables())
@PROPERTIES
def test_vote_weights_are_sums_over_votes(table):
    """With votes as units, a unit counts once per vote under the vote's own label."""
    units, score4 = table
    voted = replace(units, weight_longer=units.votes_longer, weight_shorter=units.votes_shorter)
    rates = []
    for votes in (units.votes_longer, units.votes_shorter):
        scores = [Fraction(int(score), 4) for score, count in zip(score4, votes)
                  for _ in range(int(count))]
        rates.append(sum(scores) / len(scores))
    observed = r_long(subset_sums(voted, score4).columns().sum(axis=0))
    assert observed == tuple(float(rate) for rate in rates)
