"""From committed tables to one row per judge: every registered statistic and the class.

``load_inputs`` reads a study's unit table once; ``rung_row``, ``gpt4_row`` and ``humans_row`` each
give one row of the ladder report (README.md has the data dictionary). No model is loaded here.
"""

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .errors import InvalidConfig, InvalidLogits
from .intervals import Estimate, Proportion
from .judge_statistics import HumanStatistics, JudgeStatistics, human_statistics, judge_statistics
from .length_curve import LengthBin, human_length_curve, judge_length_curve
from .logit_alignment import align_logits
from .logit_table import read_logits
from .manifest import NAME, check_logits_entry, check_unit_table_entry, read_manifest
from .pairs import PairTable, Units, read_pairs, scored, select_units
from .rule import Rule
from .study import Study
from .verdicts import OrderedLogits, Verdicts, order_debiased_verdicts, primary_verdicts

GPT4, HUMANS = "gpt4-published", "humans"
REFERENCES = (GPT4, HUMANS)
MASS_PERCENTILE = 5  # the option mass is described by its mean and its 5th percentile
MODEL = ("model", "family", "parameters", "unscored_reason")  # of the rung; null for references
STATISTICS = ("r_long", "gap", "gap_adjusted", "gap_within", "gap_consistent", "lean", "human_gap",
              "human_lean", "gap_matched", "shortfall", "excess_lean", "d_prime", "criterion",
              "sign_flip_p", "bootstrap_p", "equivalence_p_0", "equivalence_p_H", "facts", "flags",
              "position_consistency", "slot_a_share", "option_mass", "exact_ties",
              "n_resamples", "n_dropped")

Row = dict[str, Any]


@dataclass(frozen=True)
class Registration:
    """What every row repeats: the digest, what the tamper checks say (``status``) and whether
    the study's own receipt records these very files (``registered``)."""
    digest: str
    status: str
    registered: bool


@dataclass(frozen=True)
class Inputs:
    """A study with its unit table, the state of its registration and the recorded artifacts."""
    study: Study
    registration: Registration
    artifacts: Path
    manifest: dict[str, Any]
    pairs: PairTable
    units: Units

    @cached_property
    def scored_units(self) -> Units:
        """The units a judge is run on, all of which its table must have."""
        return select_units(self.pairs, scored(self.study.rule.units))

    def logits_path(self, slug: str) -> Path:
        return self.artifacts / slug / "logits.parquet"

    def has_logits(self, slug: str) -> bool:
        """Whether logits are there or should be: a recorded table that is gone is no skip."""
        return self.logits_path(slug).exists() or slug in self.manifest["rungs"]

    @property
    def dataset(self) -> dict[str, Any]:
        """Which judgments the unit table was built from, as recorded with it."""
        entry = self.manifest["pairs"].get("unit_table", {})
        return {name: entry.get(name) for name in ("repository", "revision", "content_matches",
                                                   "table_sha256")}


def load_inputs(study: Study, artifacts: Path, registration: Registration) -> Inputs:
    """Reads the unit table and selects the registered units.

    Raises:
        InvalidConfig: a rung has the name of a reference row.
        InvalidUnits: the unit table is missing, malformed or not the recorded one.
        EmptySubset: the registered tau leaves a subset empty.
    """
    for name in REFERENCES:
        if name in study.rungs:
            raise InvalidConfig(f"the slug {name!r} is a reference row's and cannot name a rung.")
    path = Path(artifacts) / "pairs.parquet"
    pairs = read_pairs(path)
    manifest = read_manifest(Path(artifacts) / NAME)
    check_unit_table_entry(manifest, study, path)
    units = select_units(pairs, study.rule.units)
    return Inputs(study, registration, Path(artifacts), manifest, pairs, units)


def rung_row(inputs: Inputs, slug: str) -> Row:
    """The row of a scored rung.

    Raises:
        InvalidLogits: the table is corrupt, incomplete, duplicated or another judge's.
        UnresolvableDesign: the registered margins cannot tell the hypotheses apart.
    """
    logits = rung_logits(inputs, slug)
    rule, units = inputs.study.rule, inputs.units
    debiased = order_debiased_verdicts(logits, units.judged, MASS_PERCENTILE / 100)
    deciding = primary_verdicts(logits, units.judged, MASS_PERCENTILE / 100)
    if rule.verdict_kind == "order_debiased":
        deciding = debiased
    return _row(inputs, slug, "scored",
                **_judged(units, deciding, rule), order_debiased=_judged(units, debiased, rule))


def rung_logits(inputs: Inputs, slug: str) -> OrderedLogits:
    """The checked logits of a rung, aligned to the units of the study.

    Raises:
        InvalidLogits: as for ``rung_row``.
    """
    path = inputs.logits_path(slug)
    entry = check_logits_entry(inputs.manifest, inputs.study, inputs.study.rungs[slug], path)
    table = read_logits(path, slug)
    if entry.get("n_rows", table.num_rows) != table.num_rows:
        raise InvalidLogits(f"{slug}: {path} has {table.num_rows} rows, but {NAME} records "
                            f"{entry['n_rows']}.")
    align_logits(inputs.scored_units, inputs.pairs, table, slug)
    return align_logits(inputs.units, inputs.pairs, table, slug)


def not_run_row(inputs: Inputs, slug: str) -> Row:
    """The row of a rung without logits: no statistics."""
    return _row(inputs, slug, "not_run")


def gpt4_row(inputs: Inputs) -> Row:
    """The reference row of GPT-4's published pair verdicts; a tie of either kind scores 0.5."""
    score4 = published_score4(inputs.pairs, inputs.units)
    statistics = judge_statistics(inputs.units, score4, None, inputs.study.rule)
    curve = judge_length_curve(inputs.units, score4, inputs.study.rule)
    return _row(inputs, GPT4, "reference", **_fields(statistics), length_curve=_curve(curve))


def humans_row(inputs: Inputs) -> Row:
    """The reference row of the leave-one-out human gap; the rule classifies judges only."""
    human = human_statistics(inputs.units, inputs.study.rule)
    curve = human_length_curve(inputs.units, inputs.study.rule)
    return _row(inputs, HUMANS, "reference", **_human_fields(human), length_curve=_curve(curve))


def published_score4(pairs: PairTable, units: Units) -> np.ndarray:
    """GPT-4's verdicts in quarter points toward the longer answer: int64[n], 4, 2 or 0."""
    verdict = pairs.gpt4_verdict[units.row]
    longer = np.where(units.longer_is_a, "model_a", "model_b")
    decided = np.isin(verdict, ("model_a", "model_b"))
    score4 = np.where(decided, np.where(verdict == longer, 4, 0), 2)
    return np.where(units.judged, score4, 0).astype(np.int64)


def _judged(units: Units, verdicts: Verdicts, rule: Rule) -> Row:
    found = verdicts.diagnostics
    statistics = judge_statistics(units, verdicts.score4, found.consistent, rule)
    curve = judge_length_curve(units, verdicts.score4, rule)
    return {**_fields(statistics), "length_curve": _curve(curve),
            "slot_a_share": found.slot_a_share,
            "option_mass": asdict(found.option_mass), "exact_ties": found.exact_ties}


def _row(inputs: Inputs, name: str, status: str, **fields: Any) -> Row:
    registration = inputs.registration
    if status != "not_run" and not registration.registered:
        status = "unregistered"
    rung = inputs.study.rungs.get(name)
    what = {key: getattr(rung, key, None) for key in MODEL}
    empty = dict.fromkeys(("class", *STATISTICS, "length_curve", "order_debiased"))
    return {"rung": name, "status": status, "registration_digest": registration.digest,
            "registration_status": registration.status, **what, **empty, **fields}


def _fields(statistics: JudgeStatistics) -> Row:
    fields = {name: getattr(statistics, name) for name in STATISTICS if hasattr(statistics, name)}
    return {"class": statistics.outcome, **{name: _plain(value) for name, value in fields.items()}}


def _human_fields(human: HumanStatistics) -> Row:
    return {"r_long": _plain(human.r_long), "gap": _plain(human.gap), "lean": _plain(human.lean),
            "human_gap": _plain(human.gap), "human_lean": _plain(human.lean)}


def _curve(bins: list[LengthBin]) -> list[Row]:
    return [{"relative_difference": {"low": each.low, "median": each.median, "high": each.high},
             "r_long": _plain(each.r_long)} for each in bins]


def _plain(value: Any) -> Any:
    """Dataclasses and intervals as the dicts and lists of the report."""
    if isinstance(value, Estimate):
        return {"estimate": value.estimate, "ci95": list(value.ci95), "ci90": list(value.ci90)}
    if isinstance(value, Proportion):
        return {**asdict(value), "wilson": list(value.wilson),
                "wilson_cluster": list(value.wilson_cluster)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value
