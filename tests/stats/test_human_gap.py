"""The leave-one-out human gap: against a loop over vote pairs, and against planted annotators."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from lengthmirror.errors import EmptySubset, InvalidStatistic, UnresolvableDesign
from lengthmirror.gap import gap, lean
from lengthmirror.human_gap import human_sums, leave_one_out, matched_sums
from lengthmirror.human_statistics import check_design, human_statistics
from lengthmirror.subset_sums import subset_sums

from ..strategies import PROPERTIES, judged_tables, units_of
from . import by_hand, registered


def totals(sums):
    return sums.columns().sum(axis=0)


def from_votes(longer, tie, shorter):
    n = len(longer)
    return units_of(np.arange(n) % 5, longer, tie, shorter, np.ones(n), np.ones(n))


@given(judged_tables())
@PROPERTIES
def test_human_gap_against_definition(table):
    """G_h and the human lean equal exact fractions over all ordered pairs of votes."""
    units, _ = table
    sums = totals(human_sums(units, leave_one_out(units)))
    assert gap(sums) == pytest.approx(float(by_hand.human_gap(units)), abs=1e-14)
    assert lean(sums) == pytest.approx(float(by_hand.human_lean(units)), abs=1e-14)


@given(judged_tables())
@PROPERTIES
def test_matched_gap_against_definition(table):
    """G_matched and the matched lean use the pairs and weights of the humans."""
    units, score4 = table
    sums = totals(matched_sums(units, score4, leave_one_out(units)))
    assert gap(sums) == pytest.approx(float(by_hand.gap_matched(units, score4)), abs=1e-14)
    assert lean(sums) == pytest.approx(float(by_hand.lean_matched(units, score4)), abs=1e-14)


def test_human_gap_of_the_real_votes_against_definition():
    """On the real votes the integers give the fraction of the loop over vote pairs."""
    units = registered.units()
    num_longer, den_longer, num_shorter, den_shorter = totals(
        human_sums(units, leave_one_out(units))).tolist()
    exact = Fraction(num_longer, den_longer) - Fraction(num_shorter, den_shorter)
    assert exact == by_hand.human_gap(units)


def test_every_unit_weighs_the_same_whatever_its_votes():
    """A unit without ties has total weight one, with 2 votes or with 7."""
    units = from_votes([2, 1, 3, 5], [0, 0, 0, 0], [0, 1, 1, 2])
    pairs = leave_one_out(units)
    assert (pairs.longer + pairs.shorter == pairs.scale).all()


def test_registered_scale():
    """The votes of the data need the common multiple 420."""
    assert leave_one_out(registered.units()).scale == 420


def test_single_votes_do_not_count():
    """Two annotators who agree give G_h 1; a unit with one vote has no pair and adds nothing."""
    agreed = from_votes([2, 0], [0, 0], [0, 2])
    more = from_votes([2, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 2, 0, 0, 1])
    for units in (agreed, more):
        assert gap(totals(human_sums(units, leave_one_out(units)))) == 1
    assert leave_one_out(more).n_pairs == leave_one_out(agreed).n_pairs == 4


def test_an_annotators_own_vote_is_never_used_for_him():
    """Two annotators who always disagree have G_h -1, which self-agreement would pull to 0."""
    units = from_votes([1, 1, 1], [0, 0, 0], [1, 1, 1])
    assert gap(totals(human_sums(units, leave_one_out(units)))) == -1


def test_ties_of_the_other_annotator_count_one_half():
    """A tie is no label but is a verdict of one half."""
    units = from_votes([1, 0], [1, 1], [0, 1])
    pairs = leave_one_out(units)
    sums = totals(human_sums(units, pairs))
    assert (gap(sums), lean(sums), pairs.n_pairs) == (0, 0, 2)


def test_independent_annotators_have_no_gap():
    """Votes drawn without regard to the unit give a G_h that differs from 0 by chance only."""
    rng, found = np.random.default_rng(5), []
    for _ in range(200):
        votes = rng.multinomial(rng.integers(1, 6, 300), (0.5, 0.2, 0.3))
        units = from_votes(*votes.T)
        found.append(gap(totals(human_sums(units, leave_one_out(units)))))
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(200)


def test_planted_annotators_give_their_planted_gap():
    """Annotators who see the truth with rate 0.8 have the G_h that this rate implies."""
    rng, rate, found = np.random.default_rng(6), 0.8, []
    for _ in range(200):
        truth = rng.random(400) < 0.7
        n = rng.integers(1, 6, 400)
        longer = rng.binomial(n, np.where(truth, rate, 1 - rate))
        units = from_votes(longer, np.zeros(400), n - longer)
        found.append(gap(totals(human_sums(units, leave_one_out(units)))))
    both, none = 0.7 * rate ** 2 + 0.3 * (1 - rate) ** 2, rate * (1 - rate)
    mean = 0.7 * rate + 0.3 * (1 - rate)
    expected = both / mean - none / (1 - mean)
    assert abs(np.mean(found) - expected) < 4 * np.std(found) / np.sqrt(200)


def test_a_judge_like_one_more_annotator_has_no_shortfall():
    """A judge that votes as annotators do has D 0, whatever the number of votes per unit."""
    rng, found = np.random.default_rng(8), []
    for _ in range(200):
        truth = rng.random(400) < 0.7
        chance = np.where(truth, 0.8, 0.2)
        n = rng.integers(1, 6, 400)
        longer = rng.binomial(n, chance)
        units = from_votes(longer, np.zeros(400), n - longer)
        pairs, score4 = leave_one_out(units), 4 * (rng.random(400) < chance).astype(int)
        found.append(gap(totals(human_sums(units, pairs)))
                     - gap(totals(matched_sums(units, score4, pairs))))
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(200)


def test_matched_and_full_labels_differ():
    """The full-label gap of a judge is not its matched gap, so the two cannot be confused."""
    units, score4 = registered.units(), registered.gpt4_score4()
    matched = gap(totals(matched_sums(units, score4, leave_one_out(units))))
    assert abs(matched - gap(totals(subset_sums(units, score4)))) > 0.02


@pytest.mark.parametrize("votes", [([1, 0], [0, 1], [0, 1]), ([2, 3], [0, 1], [0, 0])],
                         ids=["no pair", "one label"])
def test_no_pairs_of_a_kind_is_refused(votes):
    """Without vote pairs of both labels there is no human gap."""
    units = from_votes(*([*column, 0] for column in votes))
    with pytest.raises(EmptySubset, match="two or more votes and labels of both kinds"):
        leave_one_out(units)


def test_weights_too_large_for_exact_sums_are_refused():
    """Vote counts whose common multiple leaves exact integers are an error, not an overflow."""
    n = np.arange(2, 40)
    with pytest.raises(InvalidStatistic, match="too large for exact 64-bit sums"):
        leave_one_out(from_votes(n - 1, np.zeros_like(n), np.ones_like(n)))


def test_design_check_refuses_margins_that_reach_the_human_gap():
    """delta_0 + delta_h at or above the lower limit of G_h is refused with both numbers."""
    rule = registered.rule()
    human = human_statistics(registered.units(), rule)
    check_design(human, rule)
    lower = human.gap.ci95.low
    at = replace(rule, decision=replace(rule.decision, delta_0=lower / 2, delta_h=lower / 2))
    with pytest.raises(UnresolvableDesign, match=f"= {lower:.4f} must be below .* {lower:.4f}"):
        check_design(human, at)
