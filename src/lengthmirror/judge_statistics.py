"""Every registered statistic of one judge, and its class, from one score per unit.

PREREGISTRATION.md sections 3 to 7 and 11. ``human_statistics`` and ``check_design`` are offered
here too, so that a caller needs one module.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import decision
from .errors import EmptySubset, InvalidStatistic
from .gap import PairedTest, gap, paired_test, signal_detection
from .human_statistics import HumanStatistics, check_design, human_statistics
from .intervals import Estimate, Proportion, cluster_proportion
from .joint_bootstrap import JointBootstrap, joint_bootstrap, judge_columns, subset_proportions
from .subset_sums import POINTS, SubsetSums, question_totals, subset_sums, weighted_sums

if TYPE_CHECKING:
    from .pairs import Units
    from .rule import Rule

__all__ = ["Flags", "HumanStatistics", "JudgeStatistics", "check_design", "human_statistics",
           "judge_statistics"]


@dataclass(frozen=True)
class Flags:
    """Printed always, never changing the class.

    Attributes:
        position_dominated: the upper cluster Wilson limit of position consistency is below pc_min.
        excess_length_lean: the judge leans to longer answers more than humans do.
        composition_driven: the sign-flip test and the bootstrap of G disagree.
        length_gradient: G is above 0 but not once adjusted for the length difference.
        borderline_mc: an interval ended near a boundary, so more resamples were drawn.
        margin_min_0, margin_min_H: each equivalence holds for every margin above this.
    """
    position_dominated: bool
    excess_length_lean: bool
    composition_driven: bool
    length_gradient: bool
    borderline_mc: bool
    margin_min_0: float
    margin_min_H: float


@dataclass(frozen=True)
class JudgeStatistics:
    """``shortfall`` is D = G_h - G_matched; ``sums`` are the per-question sums behind ``gap``.

    ``gap_consistent`` is G on the units whose orderings agree. It, ``d_prime`` and ``criterion``
    are None where they are not defined, ``position_consistency`` without orderings. ``outcome`` is
    the class that the registered rule gives.
    """
    r_long: dict[str, Proportion]
    gap: Estimate
    gap_adjusted: Estimate
    lean: Estimate
    human_gap: Estimate
    human_lean: Estimate
    gap_matched: Estimate
    shortfall: Estimate
    excess_lean: Estimate
    gap_within: float
    sign_flip_p: float
    bootstrap_p: float
    d_prime: float | None
    criterion: float | None
    gap_consistent: float | None
    position_consistency: Proportion | None
    facts: decision.Facts
    outcome: str
    flags: Flags
    equivalence_p_0: float
    equivalence_p_H: float
    n_resamples: int
    n_dropped: int
    sums: SubsetSums


def judge_statistics(units: "Units", score4: np.ndarray, consistent: np.ndarray | None,
                     rule: "Rule") -> JudgeStatistics:
    """All statistics of one judge; where an interval ends near a boundary, with more resamples.

    Args:
        units: n units above tau.
        score4: int64[n], quarter points toward the longer answer (0 for units not judged).
        consistent: bool[n], the two orderings agree; None for a judge without orderings.
        rule: the registered numbers.

    Raises:
        UnresolvableDesign: the margins cannot be resolved with these votes.
        EmptySubset: a subset has no unit.
        InvalidStatistic: scores that do not fit, or too many replicates lack a subset.
    """
    sums = _checked_sums(units, score4, consistent)
    check_design(human_statistics(units, rule), rule)
    columns = judge_columns(units, score4, rule.n_length_bins)
    result = joint_bootstrap(columns, rule, rule.bootstrap.n_resamples)
    borderline = decision.is_borderline(
        *(result.estimates[name] for name in ("gap", "gap_adjusted", "lean", "shortfall")),
        rule.decision, rule.bootstrap.borderline_distance)
    if borderline:
        result = joint_bootstrap(columns, rule, rule.bootstrap.borderline_n_resamples)
    return _assembled(units, score4, consistent, sums, result, borderline, rule)


def _assembled(units: "Units", score4: np.ndarray, consistent: np.ndarray | None, sums: SubsetSums,
               result: JointBootstrap, borderline: bool, rule: "Rule") -> JudgeStatistics:
    of = result.estimates
    facts = decision.facts_of(of["gap"], of["gap_adjusted"], of["lean"], of["shortfall"],
                              rule.decision)
    test = paired_test(sums, rule.bootstrap.seed, rule.sign_flip)
    consistency = _position_consistency(units, consistent, rule)
    d_prime, criterion = signal_detection(sums.columns().sum(axis=0))
    return JudgeStatistics(
        r_long=subset_proportions(sums, POINTS, rule.intervals), **of,
        gap_within=test.gap_within, sign_flip_p=test.p, bootstrap_p=result.bootstrap_p,
        d_prime=d_prime, criterion=criterion,
        gap_consistent=_gap_consistent(units, score4, consistent),
        position_consistency=consistency, facts=facts,
        outcome=decision.classify(facts, rule.decision),
        flags=_flags(result, facts, test, consistency, borderline, rule),
        equivalence_p_0=result.equivalence_p_0, equivalence_p_H=result.equivalence_p_H,
        n_resamples=result.n_resamples, n_dropped=result.n_dropped, sums=sums)


def _flags(result: JointBootstrap, facts: decision.Facts, test: PairedTest,
           consistency: Proportion | None, borderline: bool, rule: "Rule") -> Flags:
    of, alpha = result.estimates, rule.intervals.alpha
    signs_differ = of["gap"].estimate * test.gap_within < 0
    return Flags(
        position_dominated=(consistency is not None
                            and consistency.wilson_cluster.high < rule.decision.pc_min),
        excess_length_lean=decision.sign(of["excess_lean"].ci95) == "pos",
        composition_driven=signs_differ or (test.p < alpha) != (result.bootstrap_p < alpha),
        length_gradient=facts.g == "pos" and facts.g_adj != "pos",
        borderline_mc=borderline,
        margin_min_0=decision.smallest_margin(of["gap"].ci90),
        margin_min_H=decision.smallest_margin(of["shortfall"].ci90))


def _checked_sums(units: "Units", score4: np.ndarray, consistent: np.ndarray | None) -> SubsetSums:
    if consistent is not None and (consistent.shape != units.label.shape
                                   or consistent.dtype.kind != "b"):
        raise InvalidStatistic(f"consistency must be {len(units.label)} booleans, one per unit, "
                               f"got {consistent.dtype} of shape {consistent.shape}.")
    sums = subset_sums(units, score4)
    if not (sums.den_longer.any() and sums.den_shorter.any()):
        raise EmptySubset(f"there are {sums.den_longer.sum() // POINTS} units where humans "
                          f"preferred the longer answer and {sums.den_shorter.sum() // POINTS} "
                          "where they preferred the shorter one; both are needed.")
    return sums


def _gap_consistent(units: "Units", score4: np.ndarray,
                    consistent: np.ndarray | None) -> float | None:
    if consistent is None:
        return None
    totals = weighted_sums(units, score4, units.weight_longer * consistent,
                           units.weight_shorter * consistent).columns().sum(axis=0)
    return float(gap(totals)) if totals[1] and totals[3] else None


def _position_consistency(units: "Units", consistent: np.ndarray | None,
                          rule: "Rule") -> Proportion | None:
    if consistent is None:
        return None
    judged = units.judged.astype(np.int64)
    return cluster_proportion(question_totals(units, judged * consistent),
                              question_totals(units, judged), 1, rule.intervals.alpha,
                              rule.intervals.deff_floor)
