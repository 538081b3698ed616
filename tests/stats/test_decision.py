"""The decision rule over all facts, and the facts over all kinds of interval."""

from dataclasses import replace
from itertools import product

import pytest

from lengthmirror.decision import (
    Facts,
    classify,
    facts_of,
    inside,
    is_borderline,
    sign,
    smallest_margin,
)
from lengthmirror.errors import InvalidStatistic
from lengthmirror.intervals import Estimate, Interval

from .registered import rule

SIGNS = ("pos", "neg", "ns")
COMBINATIONS = list(product((True, False), (True, False), (True, False), *[SIGNS] * 4))


def by_chain(eq0, eqH, lean_inside, lean, g, g_adj, D):
    """Section 7 as a chain of conditions, written from the protocol and not from the clauses."""
    if g == g_adj:
        gap = g
    else:
        gap = "ns"
    if eq0 and eqH:
        return "UNRESOLVABLE_MARGINS"
    if eq0 and lean_inside:
        return "NO_PREFERENCE"
    if eq0 and lean == "pos":
        return "LENGTH_PREFERENCE"
    if eq0 and lean == "neg":
        return "BREVITY_PREFERENCE"
    if eq0:
        return "ZERO_GAP_LEAN_UNRESOLVED"
    if eqH:
        if gap == "pos":
            return "QUALITY_TRACKING"
        return "INCONCLUSIVE"
    if gap == "neg":
        return "INVERSE"
    if gap == "pos" and D == "pos":
        return "PARTIAL_TRACKING"
    if gap == "pos" and D == "neg":
        return "EXCEEDS_HUMAN"
    return "INCONCLUSIVE"


def test_every_combination_of_facts_against_definition():
    """All 648 combinations get the class of the protocol's chain of conditions."""
    assert len(COMBINATIONS) == 648
    for combination in COMBINATIONS:
        assert classify(Facts(*combination), rule().decision) == by_chain(*combination), combination


def test_every_class_is_reached():
    """No class of the rule is unreachable."""
    reached = {classify(Facts(*combination), rule().decision) for combination in COMBINATIONS}
    assert reached == {clause.outcome for clause in rule().decision.clauses}
    assert len(reached) == 10


def test_the_first_matching_clause_wins():
    """With the clauses in another order, facts that match two of them change class."""
    clauses = rule().decision.clauses
    facts = Facts(True, False, True, "pos", "ns", "ns", "pos")
    exchanged = replace(rule().decision, clauses=(clauses[2], clauses[1], *clauses[3:]))
    assert classify(facts, rule().decision) == "NO_PREFERENCE"
    assert classify(facts, exchanged) == "LENGTH_PREFERENCE"


def test_facts_that_no_clause_covers_are_refused():
    """A rule without its last clause is not total, and says so instead of giving no class."""
    partial = replace(rule().decision, clauses=rule().decision.clauses[:-1])
    with pytest.raises(InvalidStatistic, match="no registered clause covers"):
        classify(Facts(False, False, False, "ns", "ns", "ns", "ns"), partial)


@pytest.mark.parametrize(("low", "high", "expected"), [
    (-0.1, 0.1, True), (-0.125, 0.1, False), (-0.1, 0.125, False), (0.0, 0.0, True),
    (0.05, 0.2, False), (-0.2, -0.05, False), (-0.3, 0.3, False)])
def test_inside_is_strict(low, high, expected):
    """An interval that touches a margin is not inside it."""
    assert inside(Interval(low, high), 0.125) is expected


@pytest.mark.parametrize(("low", "high", "expected"), [
    (0.1, 0.2, "pos"), (-0.2, -0.1, "neg"), (-0.1, 0.1, "ns"), (0.0, 0.1, "ns"), (-0.1, 0.0, "ns"),
    (0.0, 0.0, "ns")])
def test_sign_is_strict(low, high, expected):
    """An interval that touches 0 has no sign."""
    assert sign(Interval(low, high)) == expected


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.2), (-0.3, 0.2), (0.1, 0.2), (-0.2, -0.1)])
def test_smallest_margin_is_where_equivalence_begins(low, high):
    """Equivalence fails at the smallest margin and holds just above it."""
    margin = smallest_margin(Interval(low, high))
    assert not inside(Interval(low, high), margin)
    assert inside(Interval(low, high), margin + 1e-12)


FAR = Estimate(0.3, Interval(0.2, 0.4), Interval(0.25, 0.35))


def test_each_fact_reads_its_own_interval():
    """Moving one interval changes the facts that rest on it and no other."""
    base = facts_of(FAR, FAR, FAR, FAR, rule().decision)
    zero = Estimate(0.0, Interval(-0.1, 0.1), Interval(-0.04, 0.04))
    changed = {
        name: facts_of(*(zero if other == name else FAR
                         for other in ("gap", "gap_adjusted", "lean", "shortfall")),
                       rule().decision)
        for name in ("gap", "gap_adjusted", "lean", "shortfall")}
    assert base == Facts(False, False, False, "pos", "pos", "pos", "pos")
    assert changed["gap"] == replace(base, eq0=True, g="ns")
    assert changed["gap_adjusted"] == replace(base, g_adj="ns")
    assert changed["lean"] == replace(base, lean_inside=True, lean="ns")
    assert changed["shortfall"] == replace(base, eqH=True, D="ns")


def test_each_margin_belongs_to_its_own_fact():
    """delta_0, delta_h and delta_b each move one equivalence fact."""
    estimate = Estimate(0.0, Interval(-0.2, 0.2), Interval(-0.1, 0.1))
    for name, fact in (("delta_0", "eq0"), ("delta_h", "eqH"), ("delta_b", "lean_inside")):
        margins = {"delta_0": 0.05, "delta_h": 0.05, "delta_b": 0.05, name: 0.15}
        facts = facts_of(*[estimate] * 4, replace(rule().decision, **margins))
        assert {other for other in ("eq0", "eqH", "lean_inside") if getattr(facts, other)} == {fact}


def test_a_gap_that_the_adjusted_gap_contradicts_has_no_sign():
    """The sign of G counts only where G_adj has it too."""
    for g, g_adj in product(SIGNS, SIGNS):
        assert Facts(False, False, False, "ns", g, g_adj, "ns").gap == (g if g == g_adj else "ns")


def near(ci95=(0.2, 0.4), ci90=(0.25, 0.35)):
    return Estimate(0.3, Interval(*ci95), Interval(*ci90))


@pytest.mark.parametrize(("at", "estimate", "expected"), [
    (0, near(ci90=(0.126, 0.35)), True), (0, near(ci90=(0.25, 0.35), ci95=(0.001, 0.4)), True),
    (0, near(ci90=(-0.4, -0.1235), ci95=(-0.5, -0.1)), True), (0, near(ci90=(0.05, 0.35)), False),
    (1, near(ci95=(-0.0019, 0.4)), True), (1, near(ci90=(0.125, 0.35)), False),
    (2, near(ci90=(0.0515, 0.35)), True), (2, near(ci95=(-0.3, -0.002)), True),
    (2, near(ci90=(0.125, 0.35)), False),
    (3, near(ci90=(0.1265, 0.35)), True), (3, near(ci95=(0.0, 0.4)), True), (3, near(), False)])
def test_borderline_looks_at_the_boundaries_of_the_rule(at, estimate, expected):
    """An endpoint is borderline near its own margins (90 %) or near 0 (95 %), and nowhere else."""
    estimates = [near(), near(), near(), near()]
    estimates[at] = estimate
    assert is_borderline(*estimates, rule().decision, 0.002) is expected
