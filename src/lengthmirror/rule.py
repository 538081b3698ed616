"""The registered statistics and decision rule, read from preregistration/decision_rule.toml."""

import copy
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from .errors import InvalidConfig
from .toml_reader import Table, read_toml

SCHEMA = 1
SIGNS = ("pos", "neg", "ns")
FACTS = {"eq0": (True, False), "eqH": (True, False), "lean_inside": (True, False),
         "lean": SIGNS, "gap": SIGNS, "D": SIGNS}
CLASSES = ("UNRESOLVABLE_MARGINS", "NO_PREFERENCE", "LENGTH_PREFERENCE", "BREVITY_PREFERENCE",
           "ZERO_GAP_LEAN_UNRESOLVED", "QUALITY_TRACKING", "INCONCLUSIVE", "INVERSE",
           "PARTIAL_TRACKING", "EXCEEDS_HUMAN")
VERDICT_KINDS = ("primary", "order_debiased")


@dataclass(frozen=True)
class UnitRule:
    """Which units enter, how long an answer is and what a label is (protocol section 1)."""
    tau: Fraction
    scoring_tau: Fraction
    turns: tuple[int, ...]
    unit: str
    length_unit: str
    length_scope: str
    length_metric: str
    tokenizer: str
    label_rule: str
    annotators: str


@dataclass(frozen=True)
class IntervalRule:
    """``alpha``: 1 - alpha intervals for differences, 1 - 2 alpha for equivalence."""
    alpha: float
    deff_floor: float


@dataclass(frozen=True)
class BootstrapRule:
    seed: int
    n_resamples: int
    max_dropped_share: float
    borderline_distance: float
    borderline_n_resamples: int


@dataclass(frozen=True)
class SignFlipRule:
    n_resamples: int
    slack: float


@dataclass(frozen=True)
class Clause:
    """``outcome`` holds when every named fact has the named value; the first match wins."""
    outcome: str
    when: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class DecisionRule:
    delta_0: float
    delta_h: float
    delta_b: float
    pc_min: float
    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class ScaleRule:
    min_judges: int
    undetermined: tuple[str, ...]
    zero_gap: tuple[str, ...]
    rank: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Rule:
    """All registered numbers of one specification."""
    units: UnitRule
    intervals: IntervalRule
    bootstrap: BootstrapRule
    sign_flip: SignFlipRule
    n_length_bins: int
    decision: DecisionRule
    scale: ScaleRule
    verdict_kind: str


def load_rule(path: Path) -> tuple[Rule, dict[str, Rule]]:
    """The primary rule, and one rule per registered sensitivity analysis, by its name.

    Args:
        path: decision_rule.toml.

    Raises:
        InvalidConfig: a key is missing, unknown or out of range, or the clauses are not a rule.
    """
    data = read_toml(path)
    specifications = {}
    for entry in Table(data, str(path)).tables("sensitivity"):
        name, changes = entry.take("name", str), entry.take("set", dict)
        entry.done()
        if name in specifications:
            raise InvalidConfig(f"{path}: the sensitivity analysis {name!r} is listed twice.")
        specifications[name] = _parse(_changed(data, changes, entry.where), f"{path} ({name})")
    return _parse(data, str(path)), specifications


def _changed(data: dict, changes: dict, where: str) -> dict:
    result = copy.deepcopy(data)
    for dotted, value in changes.items():
        section, _, key = dotted.partition(".")
        if key not in result.get(section, {}):
            raise InvalidConfig(f"{where}: there is no registered key '{dotted}' to change.")
        result[section][key] = value
    return result


def _parse(data: dict, where: str) -> Rule:
    top = Table(data, where)
    schema = top.take("schema", int)
    if schema != SCHEMA:
        raise InvalidConfig(f"{where}: schema {schema} is not supported, expected {SCHEMA}.")
    units = _units(top.table("units"), top.table("length"), top.table("label"))
    intervals, bootstrap, flips = map(top.table, ("intervals", "bootstrap", "sign_flip"))
    bins, verdict = top.table("gap_adjusted"), top.table("verdict")
    rule = Rule(
        units=units,
        intervals=IntervalRule(intervals.within("alpha", float, 0, 0.5),
                               _at_least(intervals, "deff_floor", float, 0)),
        bootstrap=BootstrapRule(
            _at_least(bootstrap, "seed", int, 0), _at_least(bootstrap, "n_resamples", int, 1),
            bootstrap.within("max_dropped_share", float, 0, 1),
            _at_least(bootstrap, "borderline_distance", float, 0),
            _at_least(bootstrap, "borderline_n_resamples", int, 1)),
        sign_flip=SignFlipRule(_at_least(flips, "n_resamples", int, 1),
                               _at_least(flips, "slack", float, 0)),
        n_length_bins=_at_least(bins, "n_bins", int, 1),
        decision=_decision(top.table("decision")),
        scale=_scale(top.table("scale")),
        verdict_kind=verdict.choice("kind", VERDICT_KINDS),
    )
    top.take("sensitivity", list)
    for table in (intervals, bootstrap, flips, bins, verdict, top):
        table.done()
    return rule


def _units(units: Table, length: Table, label: Table) -> UnitRule:
    rule = UnitRule(
        tau=units.take("tau", Fraction),
        scoring_tau=units.take("scoring_tau", Fraction),
        turns=units.items_of("turns", int),
        unit=units.choice("unit", ("pair", "vote")),
        length_unit=length.choice("unit", ("chars", "tokens")),
        length_scope=length.choice("scope", ("judged_turn", "conversation")),
        length_metric=length.choice("metric", ("max", "mean", "min")),
        tokenizer=length.take("tokenizer", str),
        label_rule=label.choice("rule", ("net_sign", "plurality", "strict_majority", "unanimous")),
        annotators=label.choice("annotators", ("all", "expert", "author")),
    )
    for name, tau in (("tau", rule.tau), ("scoring_tau", rule.scoring_tau)):
        if tau < 0:
            raise InvalidConfig(f"{units.where}: '{name}' must not be negative, got {float(tau)}.")
    if not set(rule.turns) <= {1, 2} or len(set(rule.turns)) != len(rule.turns):
        raise InvalidConfig(f"{units.where}: 'turns' must list 1, 2 or both once, "
                            f"got {rule.turns}.")
    for table in (units, length, label):
        table.done()
    return rule


def _at_least(table: Table, key: str, kind: type, low: float) -> Any:
    value = table.take(key, kind)
    if value < low:
        raise InvalidConfig(f"{table.where}: '{key}' must be at least {low}, got {value}.")
    return value


def _decision(table: Table) -> DecisionRule:
    clauses = tuple(_clause(entry) for entry in table.tables("clause"))
    if clauses[-1].when:
        raise InvalidConfig(f"{table.where}: the last clause must have an empty 'when', "
                            "so that every judge gets a class.")
    rule = DecisionRule(table.within("delta_0", float, 0, 1), table.within("delta_h", float, 0, 1),
                        table.within("delta_b", float, 0, 1), table.within("pc_min", float, 0, 1),
                        clauses)
    table.done()
    return rule


def _clause(entry: Table) -> Clause:
    outcome, when = entry.choice("class", CLASSES), entry.take("when", dict)
    entry.done()
    for fact, value in when.items():
        if fact not in FACTS or value not in FACTS[fact]:
            raise InvalidConfig(f"{entry.where}: {fact} = {value!r} is not a fact of the rule.")
    return Clause(outcome, tuple(when.items()))


def _scale(table: Table) -> ScaleRule:
    rank = table.table("rank")
    ranks = tuple((name, rank.take(name, int)) for name in rank.keys())
    rule = ScaleRule(_at_least(table, "min_judges", int, 2), table.items_of("undetermined", str),
                     table.items_of("zero_gap", str), ranks)
    unknown = {*rule.undetermined, *rule.zero_gap, *dict(ranks)} - set(CLASSES)
    if unknown or {*rule.undetermined, *dict(ranks)} != set(CLASSES):
        raise InvalidConfig(f"{table.where}: 'undetermined' and 'rank' must together name every "
                            "class of the rule and no other.")
    table.done()
    return rule
