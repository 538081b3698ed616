"""Exclusions and labels: exact thresholds, every knob, and the registered counts."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthmirror.errors import EmptySubset, InvalidUnits
from lengthmirror.pairs import SCHEMA, VOTES, PairTable, exceeds, labels, select_units

from ..strategies import PROPERTIES

LABEL_RULES = ("net_sign", "plurality", "strict_majority", "unanimous")
KNOWN = {"0.1": (1376, 946, 360, 80), "0.2": (1242, 873, 308, 80), "0.3": (1127, 802, 268, 80),
         "0.5": (834, 619, 177, 79)}


def table_of(*units):
    """A unit table of (chars_a, chars_b, votes for a, ties, votes for b), all of experts."""
    rows = []
    for number, (chars_a, chars_b, *votes) in enumerate(units):
        row = dict.fromkeys(VOTES, 0) | {
            "question_id": number, "turn": 1, "model_a": "m", "model_b": "n", "chars_a": chars_a,
            "chars_b": chars_b, "gpt4_verdict": "tie", "prompt_sha256_ab": "",
            "prompt_sha256_ba": "", **dict(zip(VOTES[:3], votes))}
        row |= {name: 0 for name in SCHEMA.names if name not in row}
        rows.append(row)
    return PairTable(pa.Table.from_pylist(rows, schema=SCHEMA))


BOTH = ((9, 1, 1, 0, 0), (9, 1, 0, 0, 1))  # one unit in L and one in S


@pytest.fixture(scope="session")
def rule(study):
    """The registered unit rule."""
    return study.rule.units


@pytest.mark.parametrize("tau", KNOWN)
def test_known_counts_of_the_registered_table(pairs, rule, tau):
    """Judged units, L, S and questions of the committed table are those of the protocol."""
    units = select_units(pairs, replace(rule, tau=Fraction(tau)))
    assert (int(units.judged.sum()), int(units.weight_longer.sum()),
            int(units.weight_shorter.sum()), len(units.frame)) == KNOWN[tau]


def test_known_questions_of_both_subsets(pairs, rule):
    """At tau 0.2 the longer subset has 80 questions, the shorter 75, and 75 are in both."""
    units = select_units(pairs, rule)
    longer, shorter = (set(units.question_id[units.label == sign]) for sign in (1, -1))
    assert (len(longer), len(shorter), len(longer & shorter)) == (80, 75, 75)


def test_known_votes_of_the_registered_table(pairs):
    """One vote of the file is a repeat: 3354 of the 3355 votes are counted."""
    total = {kind: sum(int(getattr(pairs, name).sum()) for name in VOTES if name.endswith(kind))
             for kind in ("expert", "author")}
    assert sum(total.values()) == 3354 and len(pairs) == 1814
    assert 2667 <= total["expert"] <= 2668 and 686 <= total["author"] <= 687


def test_two_real_units_lie_exactly_on_tau(pairs, rule):
    """Two units have a relative difference of exactly one fifth, and tau 0.2 excludes them."""
    longest = np.maximum(pairs.chars_a, pairs.chars_b)
    difference = np.abs(pairs.chars_a - pairs.chars_b)
    exact = np.flatnonzero((5 * difference == longest) & (longest > 0))
    assert len(exact) == 2
    above = exceeds(pairs, pairs.chars_a, pairs.chars_b, rule)
    just_below = replace(rule, tau=Fraction(1, 5) - Fraction(1, 10 ** 9))
    assert not above[exact].any()
    assert exceeds(pairs, pairs.chars_a, pairs.chars_b, just_below)[exact].all()


@pytest.mark.parametrize("label_rule", LABEL_RULES)
def test_excluded_units_are_counted_by_reason(pairs, rule, label_rule):
    """Every unit of the table is selected or counted under one reason, under any label rule."""
    units = select_units(pairs, replace(rule, label_rule=label_rule))
    assert len(units) + sum(units.excluded.values()) == len(pairs)
    assert set(units.excluded) == {"other_turn", "no_vote", "equal_length", "at_or_below_tau"}


@PROPERTIES
@given(long=st.integers(1, 5000), short=st.integers(0, 5000), tau=st.fractions(0, 2),
       metric=st.sampled_from(["max", "mean", "min"]))
def test_threshold_against_exact_fractions(rule, long, short, tau, metric):
    """Above tau means above it in exact rational arithmetic, for each metric."""
    low, high = sorted((long, short))
    if metric == "min" and low == 0:
        return
    base = {"max": Fraction(high), "mean": Fraction(low + high, 2), "min": Fraction(low)}[metric]
    table = table_of((long, short, 1, 0, 0))
    found = exceeds(table, table.chars_a, table.chars_b,
                    replace(rule, tau=tau, length_metric=metric))[0]
    assert found == (Fraction(high - low) / base > tau)


@pytest.mark.parametrize("tau", ["0.1", "0.2", "0.3", "0.7"])
@pytest.mark.parametrize("metric", ["max", "mean", "min"])
def test_difference_equal_to_tau_is_excluded(rule, tau, metric):
    """A difference of exactly tau is excluded where floating point would let it in or not."""
    tau = Fraction(tau)
    short = 1000 * (2 - tau).numerator * tau.denominator
    long = {"max": short / (1 - tau), "mean": short * (2 + tau) / (2 - tau),
            "min": short * (1 + tau)}[metric]
    scale = Fraction(long).denominator
    table = table_of((int(long * scale), short * scale, 1, 0, 0),
                     (int(long * scale) + 1, short * scale, 1, 0, 0))
    rule = replace(rule, tau=tau, length_metric=metric)
    assert exceeds(table, table.chars_a, table.chars_b, rule).tolist() == [False, True]


def test_threshold_of_many_digits_is_exact_too(pairs, rule):
    """A tau whose fraction leaves 64-bit integers selects what the exact fraction does."""
    tau = Fraction("0.20000000000000000001")
    above = exceeds(pairs, pairs.chars_a, pairs.chars_b, replace(rule, tau=tau))
    expected = [high > 0 and Fraction(high - low, high) > tau for low, high in
                map(sorted, zip(pairs.chars_a.tolist(), pairs.chars_b.tolist()))]
    assert above.dtype == bool and above.tolist() == expected


def test_equal_lengths_are_never_above_tau(rule):
    """Equal answers, two empty ones included, have no longer answer even at tau 0."""
    table = table_of((5, 5, 1, 0, 0), (0, 0, 0, 0, 1), *BOTH)
    units = select_units(table, replace(rule, tau=Fraction(0)))
    assert len(units) == 2 and units.excluded["equal_length"] == 2


def test_empty_answer_under_metric_min_is_an_error_naming_the_unit(pairs, rule):
    """The real empty answer makes the metric min undefined; its unit is named."""
    with pytest.raises(InvalidUnits, match="^question 127, turn 1, .*llama-13b.*: an answer is "
                                           "empty, so the length metric 'min' is undefined"):
        select_units(pairs, replace(rule, length_metric="min"))


def test_empty_subset_is_an_error_with_tau_and_counts(pairs, rule):
    """A tau that leaves no unit is an error with tau and both counts, never an empty result."""
    with pytest.raises(EmptySubset, match="^at tau 1.0 there are 0 units where humans preferred "
                                          "the longer answer and 0"):
        select_units(pairs, replace(rule, tau=Fraction(1)))


@pytest.mark.parametrize("units, counts", [(BOTH[:1], (1, 0)), (BOTH[1:], (0, 1))])
def test_one_empty_subset_is_an_error_too(rule, units, counts):
    """Both subsets are needed; one of them alone is an error with its count."""
    with pytest.raises(EmptySubset, match=f"there are {counts[0]} units .* and {counts[1]} where"):
        select_units(table_of(*units), rule)


@PROPERTIES
@given(longer=st.integers(0, 6), tie=st.integers(0, 6), shorter=st.integers(0, 6),
       label_rule=st.sampled_from(LABEL_RULES))
def test_labels_against_definition(longer, tie, shorter, label_rule):
    """Each label rule gives what the protocol's words say, counted vote by vote."""
    votes = [1] * longer + [0] * tie + [-1] * shorter
    sides = [side for side in (1, -1) if {
        "net_sign": sum(votes) * side > 0,
        "plurality": all(votes.count(side) > votes.count(other) for other in {1, 0, -1} - {side}),
        "strict_majority": 2 * votes.count(side) > len(votes),
        "unanimous": bool(votes) and set(votes) == {side}}[label_rule]]
    found = labels(*(np.array([count]) for count in (longer, tie, shorter)), label_rule)[0]
    assert found == (sides[0] if sides else 0)


@pytest.mark.parametrize("votes, expected", [
    ((2, 0, 0), (1, 1, 1, 1)), ((0, 0, 1), (-1, -1, -1, -1)), ((0, 3, 0), (0, 0, 0, 0)),
    ((3, 1, 1), (1, 1, 1, 0)), ((2, 1, 1), (1, 1, 0, 0)), ((2, 2, 1), (1, 0, 0, 0)),
    ((0, 2, 2), (-1, 0, 0, 0)), ((1, 2, 0), (1, 0, 0, 0)), ((1, 1, 1), (0, 0, 0, 0)),
    ((2, 0, 2), (0, 0, 0, 0))])
def test_ties_enter_the_label_rules_as_registered(votes, expected):
    """Votes for longer, neither, shorter under net_sign, plurality, strict_majority, unanimous."""
    columns = [np.array([count]) for count in votes]
    assert tuple(int(labels(*columns, rule)[0]) for rule in LABEL_RULES) == expected
