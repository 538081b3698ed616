"""The registered sensitivity analyses of one judge: reported, never deciding.

PREREGISTRATION.md section 9. Each specification changes what it names and nothing else, and is
computed from the same logits; a unit that it needs and that was not scored is left out and counted.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .analysis import Row, plain, published_score4, rung_logits, verdicts_of
from .errors import EmptySubset, InvalidStatistic, InvalidUnits, UnresolvableDesign
from .gap import gap
from .inputs import GPT4, Inputs
from .intervals import Estimate, bootstrap_estimate
from .joint_bootstrap import valid_replicates
from .judge_statistics import judge_statistics
from .pairs import PairTable, Units, select_units
from .resampling import resampled_totals
from .rule import Rule
from .study import Study
from .subset_sums import subset_sums

PRIMARY = "primary"
NOT_SCORED = "not_scored"
# What a specification, unlike bad input, may end in: it has a row that says so.
NO_ANSWER = (EmptySubset, InvalidStatistic, InvalidUnits, UnresolvableDesign)

Scores = Callable[[Units, Rule], tuple[np.ndarray, np.ndarray | None]]


@dataclass(frozen=True)
class Source:
    """Where a judge's verdicts come from.

    Attributes:
        scored: bool per row of the unit table, whether the judge has a verdict.
        scores: gives int64[n] quarter points, and bool[n] consistency or None, for units.
    """
    scored: np.ndarray
    scores: Scores


def specifications(study: Study) -> list[tuple[str, Rule]]:
    """The primary specification and the registered analyses, in the order of the registration."""
    return [(PRIMARY, study.rule), *study.sensitivity.items()]


def sensitivity_rows(inputs: Inputs, name: str) -> list[Row]:
    """One row per specification for a scored rung, or for GPT-4's published verdicts.

    Raises:
        InvalidLogits: the table is corrupt, incomplete, duplicated or another judge's.
    """
    source = _published(inputs) if name == GPT4 else _scored_rung(inputs, name)
    return [specification_row(inputs.pairs, label, rule, source)
            for label, rule in specifications(inputs.study)]


def specification_row(pairs: PairTable, label: str, rule: Rule, source: Source) -> Row:
    """Counts, G and the class under one specification, or the sentence why something is missing."""
    row = {"specification": label, "n_longer": None, "n_shorter": None, "n_left_out": None,
           "gap": None, "class": None, "sentence": None}
    try:
        units = specified_units(pairs, rule, source.scored)
        row |= {"n_longer": int(units.weight_longer.sum()),
                "n_shorter": int(units.weight_shorter.sum()),
                "n_left_out": units.excluded[NOT_SCORED]}
        score4, consistent = source.scores(units, rule)
        row["gap"] = plain(_gap(units, score4, rule))
        found = judge_statistics(units, score4, consistent, rule)
    except NO_ANSWER as error:
        return {**row, "sentence": str(error)}
    return {**row, "gap": plain(found.gap), "class": found.outcome}


def specified_units(pairs: PairTable, rule: Rule, scored: np.ndarray) -> Units:
    """The units of a specification that have a verdict; a unit of ties alone needs none.

    Args:
        pairs: the unit table.
        rule: the specification.
        scored: bool per row of the unit table.

    Raises:
        EmptySubset: no unit is left in a subset.
        InvalidUnits: a length of the specification is undefined.
    """
    units = select_units(pairs, rule.units)
    units = units.subset(~units.judged | scored[units.row], NOT_SCORED)
    n_longer, n_shorter = int(units.weight_longer.sum()), int(units.weight_shorter.sum())
    if not n_longer or not n_shorter:
        raise EmptySubset(
            f"without the {units.excluded[NOT_SCORED]} units that were not scored there are "
            f"{n_longer} units where humans preferred the longer answer and {n_shorter} where "
            "they preferred the shorter one; both are needed.")
    return units


def scored_rows(pairs: PairTable, units: Units) -> np.ndarray:
    """bool per row of the unit table: the judged ones of the units that a judge is run on."""
    scored = np.zeros(len(pairs), dtype=bool)
    scored[units.row[units.judged]] = True
    return scored


def _gap(units: Units, score4: np.ndarray, rule: Rule) -> Estimate:
    """G alone, for a specification under which no class can be given."""
    columns = subset_sums(units, score4).columns()
    replicates = gap(resampled_totals(columns, rule.bootstrap.seed, rule.bootstrap.n_resamples))
    valid = valid_replicates(replicates, rule.bootstrap.max_dropped_share)
    return bootstrap_estimate(gap(columns.sum(axis=0)), replicates[valid], rule.intervals.alpha)


def _scored_rung(inputs: Inputs, slug: str) -> Source:
    logits = rung_logits(inputs, slug)

    def scores(units: Units, rule: Rule) -> tuple[np.ndarray, np.ndarray]:
        found = verdicts_of(units, logits(units), rule.verdict_kind)
        return found.score4, found.diagnostics.consistent
    return Source(scored_rows(inputs.pairs, inputs.scored_units), scores)


def _published(inputs: Inputs) -> Source:
    """GPT-4's published verdicts, which every unit has; they cannot be read in another way."""
    def scores(units: Units, rule: Rule) -> tuple[np.ndarray, None]:
        if rule.verdict_kind != inputs.study.rule.verdict_kind:
            raise InvalidStatistic(f"the verdicts of {GPT4} have no logits, from which the "
                                   f"{rule.verdict_kind} verdict could be read.")
        return published_score4(inputs.pairs, units), None
    return Source(np.ones(len(inputs.pairs), dtype=bool), scores)
