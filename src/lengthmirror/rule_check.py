"""The fifth tamper check: the registered rule decides, so an altered copy decides otherwise."""

from dataclasses import replace
from pathlib import Path

from .analysis import published_score4
from .errors import UnresolvableDesign
from .judge_statistics import JudgeStatistics, judge_statistics
from .pairs import read_pairs, select_units
from .rule import CLASSES, DecisionRule, load_rule

REFUSED = "refused by the design check"


def altered_rules_change_the_class(rule_path: Path, pairs_path: Path) -> dict[str, str]:
    """The class of GPT-4's published verdicts under the registered rule and altered copies.

    Each margin is moved across the smallest margin at which its equivalence holds, and the clause
    that decides is given another class, so that no alteration depends on a number in code.

    Returns:
        Class by what was altered; the key "registered" has the registered rule's own.
    """
    rule, pairs = load_rule(rule_path)[0], read_pairs(pairs_path)
    units = select_units(pairs, rule.units)
    score4 = published_score4(pairs, units)
    registered = judge_statistics(units, score4, None, rule)
    outcomes = {"registered": registered.outcome}
    for name, decision in _altered(registered, rule.decision).items():
        try:
            outcomes[name] = judge_statistics(units, score4, None,
                                              replace(rule, decision=decision)).outcome
        except UnresolvableDesign:
            outcomes[name] = REFUSED
    return outcomes


def _altered(registered: JudgeStatistics, decision: DecisionRule) -> dict[str, DecisionRule]:
    flags, facts = registered.flags, registered.facts
    return {
        "delta_0": replace(decision, delta_0=_across(flags.margin_min_0, facts.eq0)),
        "delta_h": replace(decision, delta_h=_across(flags.margin_min_H, facts.eqH)),
        "the deciding clause": _other_outcome(registered, decision),
    }


def _across(smallest: float, holds: bool) -> float:
    """A margin well on the other side of the one at which the equivalence begins to hold."""
    return smallest / 2 if holds else smallest * 2


def _other_outcome(registered: JudgeStatistics, decision: DecisionRule) -> DecisionRule:
    other = next(name for name in CLASSES if name != registered.outcome)
    deciding = next(number for number, clause in enumerate(decision.clauses)
                    if all(getattr(registered.facts, name) == value for name, value in clause.when))
    clauses = [replace(clause, outcome=other) if number == deciding else clause
               for number, clause in enumerate(decision.clauses)]
    return replace(decision, clauses=tuple(clauses))
