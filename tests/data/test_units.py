"""What the selected units hold: sides by length, votes, weights and the resampling frame."""

from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest

from lengthmirror.pairs import select_units

from .test_select_units import BOTH, table_of

ARRAYS = ("row", "question_id", "turn", "longer_is_a", "length_longer", "length_shorter",
          "votes_longer", "votes_tie", "votes_shorter", "label", "judged")


@pytest.fixture(scope="session")
def rule(study):
    """The registered unit rule."""
    return study.rule.units


def test_sides_follow_the_length(rule):
    """Lengths and votes are turned toward the longer answer, whichever model wrote it."""
    units = select_units(table_of((9, 2, 3, 1, 0), (2, 9, 3, 1, 0)), rule)
    assert units.longer_is_a.tolist() == [True, False]
    assert units.length_longer.tolist() == [9, 9] and units.length_shorter.tolist() == [2, 2]
    assert units.votes_longer.tolist() == [3, 0] and units.votes_shorter.tolist() == [0, 3]
    assert units.votes_tie.tolist() == [1, 1] and units.label.tolist() == [1, -1]


def test_unit_without_a_decided_vote_is_not_judged(rule):
    """Ties alone keep a unit in the frame, unlabelled and unjudged; a net of 0 is judged."""
    units = select_units(table_of(*BOTH, (9, 1, 0, 2, 0), (9, 1, 1, 0, 1)), rule)
    assert units.judged.tolist() == [True, True, False, True]
    assert units.label.tolist() == [1, -1, 0, 0]
    assert units.frame.tolist() == [0, 1, 2, 3]


def test_unit_without_a_vote_is_no_unit(rule):
    """A unit that nobody voted on is neither selected nor in the frame."""
    units = select_units(table_of((9, 1, 0, 0, 0), *BOTH), rule)
    assert units.frame.tolist() == [1, 2] and units.excluded["no_vote"] == 1


@pytest.mark.parametrize("unit, weights", [("pair", [(1, 0), (0, 1), (1, 0)]),
                                           ("vote", [(1, 0), (0, 1), (3, 2)])])
def test_weights_by_pair_and_by_vote(rule, unit, weights):
    """A unit counts once, or once per decided vote and then in both subsets."""
    units = select_units(table_of(*BOTH, (9, 1, 3, 4, 2)), replace(rule, unit=unit))
    assert list(zip(units.weight_longer.tolist(), units.weight_shorter.tolist())) == weights


@pytest.mark.parametrize("kind", ["expert", "author"])
def test_annotators_of_one_kind(pairs, rule, kind):
    """Only votes of the registered kind of annotator enter, and units need one of them."""
    units = select_units(pairs, replace(rule, annotators=kind))
    total = sum(getattr(pairs, f"votes_{side}_{kind}")[units.row] for side in ("a", "tie", "b"))
    assert np.array_equal(units.votes_longer + units.votes_tie + units.votes_shorter, total)
    assert (total > 0).all()


def test_kinds_of_annotators_add_up(pairs, rule):
    """Votes of all annotators are those of the experts and of the authors together."""
    units = select_units(pairs, rule)
    votes_a = np.where(units.longer_is_a, units.votes_longer, units.votes_shorter)
    for side, found in (("tie", units.votes_tie), ("a", votes_a)):
        both = sum(getattr(pairs, f"votes_{side}_{kind}") for kind in ("expert", "author"))
        assert np.array_equal(found, both[units.row])


@pytest.mark.parametrize("turns", [(1,), (2,)])
def test_turns_partition_the_units(pairs, rule, turns):
    """One turn's units are those of the whole selection with that turn, the rest counted."""
    units, whole = select_units(pairs, replace(rule, turns=turns)), select_units(pairs, rule)
    assert units.row.tolist() == whole.row[whole.turn == turns[0]].tolist()
    assert units.excluded["other_turn"] == int((pairs.turn != turns[0]).sum())


@pytest.mark.parametrize("unit", ["chars", "tokens"])
@pytest.mark.parametrize("scope, suffix", [("judged_turn", ""), ("conversation", "_conversation")])
def test_registered_length_is_the_one_used(pairs, rule, unit, scope, suffix):
    """Unit and scope of length name the columns the sides and thresholds come from."""
    units = select_units(pairs, replace(rule, length_unit=unit, length_scope=scope))
    lengths = [getattr(pairs, f"{unit}{suffix}_{side}")[units.row] for side in ("a", "b")]
    assert np.array_equal(units.longer_is_a, lengths[0] > lengths[1])
    assert np.array_equal(units.length_longer, np.maximum(*lengths))
    assert np.array_equal(units.length_shorter, np.minimum(*lengths))


@pytest.mark.parametrize("tau", ["0", "0.1", "0.2", "0.5"])
def test_scaling_every_length_changes_no_unit(rule, tau):
    """Lengths matter through their ratio alone: a hundredfold of all of them selects the same."""
    votes = [(1, 0, 0), (0, 0, 1), (2, 1, 0), (1, 0, 1)]
    lengths = [(9, 2), (10, 8), (5, 4), (7, 7)]
    rule = replace(rule, tau=Fraction(tau))
    first, scaled = (select_units(table_of(*[(a * k, b * k, *vote)
                                             for (a, b), vote in zip([*lengths, (9, 1)],
                                                                     [*votes, (0, 0, 2)])]), rule)
                     for k in (1, 100))
    assert all(np.array_equal(getattr(first, name), getattr(scaled, name)) for name in
               set(ARRAYS) - {"length_longer", "length_shorter"})


def test_units_keep_the_order_of_the_table(pairs, rule):
    """Units stand in the table's order, and the frame is in increasing question_id."""
    units = select_units(pairs, rule)
    assert (np.diff(units.row) > 0).all() and (np.diff(units.frame) > 0).all()
    assert np.array_equal(units.frame[units.question_index], units.question_id)
    assert np.array_equal(units.question_id, pairs.question_id[units.row])


def test_subset_keeps_the_frame_and_counts_what_it_drops(pairs, rule):
    """A subset of units is resampled over the same questions, and says what it left out."""
    units = select_units(pairs, rule)
    keep = units.turn == 1
    part = units.subset(keep, "second_turn")
    assert part.frame is units.frame and part.excluded["second_turn"] == int((~keep).sum())
    for field in fields(units):
        if field.name not in ("frame", "excluded"):
            assert np.array_equal(getattr(part, field.name), getattr(units, field.name)[keep])
