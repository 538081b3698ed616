"""Every value of decision_rule.toml matters: changing it, and it alone, changes an outcome.

The outcomes are computed on the committed unit table, from GPT-4's published verdicts or a
planted judge, so that a value the code reads but ignores is found here.
"""

import itertools
import re
import shutil
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from lengthmirror import planted
from lengthmirror.analysis import published_score4, rung_row
from lengthmirror.decision import Facts, classify
from lengthmirror.errors import InvalidStatistic, LengthMirrorError
from lengthmirror.inputs import Registration, load_inputs
from lengthmirror.judge_statistics import judge_statistics
from lengthmirror.pairs import read_pairs, select_units
from lengthmirror.rule import CLASSES, FACTS, SIGNS, load_rule
from lengthmirror.scale import SizedJudge, scale_statistics
from lengthmirror.scale_outcome import Boundary, localisation, runs_of
from lengthmirror.scoring_plan import scoring_units
from lengthmirror.study import load_study

PROJECT = Path(__file__).parents[2]
RULE = PROJECT / "preregistration" / "decision_rule.toml"
SEED, SLUG = 1, "smollm2-135m"


def leaves(table: dict, prefix: str = "") -> set[str]:
    """The dotted keys of all values, lists of numbers or names included."""
    found = set()
    for key, value in table.items():
        nested = isinstance(value, dict)
        found |= leaves(value, f"{prefix}{key}.") if nested else {f"{prefix}{key}"}
    return found


KEYS = leaves(tomllib.loads(RULE.read_text(encoding="utf-8"))) - {"schema", "sensitivity",
                                                                 "decision.clause"}


def rule_text(**values: str) -> str:
    """decision_rule.toml with other values; keys have ``__`` for the dot."""
    text = RULE.read_text(encoding="utf-8")
    for name, value in values.items():
        section, _, key = name.replace("__", ".").rpartition(".")
        pattern = rf"(?ms)(^\[{re.escape(section)}\]\n(?:(?!^\[).*?\n)??{key} = )[^\n#]*"
        text, count = re.subn(pattern, rf"\g<1>{value} ", text)
        assert count == 1, name
    return text


def rule_of(folder: Path, **values: str):
    """The rule of such a file."""
    path = folder / "rule.toml"
    path.write_text(rule_text(**values), encoding="utf-8")
    return load_rule(path)[0]


@pytest.fixture(scope="module")
def pairs():
    """The committed unit table."""
    return read_pairs(PROJECT / "artifacts" / "pairs.parquet")


def score4_of(margins, pairs, units) -> np.ndarray:
    """A planted judge's verdicts in quarter points."""
    points = np.where(margins(pairs, units) > 0, 2, 0).sum(axis=1)
    return np.where(units.judged, points, 0)


def gpt4(pairs, rule, keep=None):
    """The statistics of GPT-4's published verdicts, or why there are none."""
    units = select_units(pairs, rule.units)
    if keep is not None:
        units = units.subset(np.isin(units.question_id, keep), "other question")
    try:
        return judge_statistics(units, published_score4(pairs, units), None, rule)
    except LengthMirrorError as error:
        return type(error)


def judge(pairs, rule, margins, consistent=None):
    """The statistics of a planted judge."""
    units = select_units(pairs, rule.units)
    if consistent is not None:
        consistent = np.full(len(units), consistent)
    return judge_statistics(units, score4_of(margins, pairs, units), consistent, rule)


def coin(pairs, rule):
    """The class of a coin."""
    return judge(pairs, rule, planted.noisy_length(0.5, SEED)).outcome


def subsets(pairs, rule):
    """How often each unit sits in L and in S."""
    units = select_units(pairs, rule.units)
    return [tuple(row) for row in zip(units.row, units.weight_longer, units.weight_shorter)]


def on_gpt4(*names):
    """An outcome that is a part of GPT-4's statistics."""
    def outcome(pairs, rule):
        value = gpt4(pairs, rule)
        for name in names:
            value = value[name] if isinstance(value, dict) else getattr(value, name)
        return value
    return outcome


def scale_outcomes(length: int):
    """The scale outcome of every ladder of so many judges, all contrasts being significant."""
    def outcome(pairs, rule):
        return [localisation(runs_of(classes), [Boundary(1, 0.0)] * (length - 1), (), rule.scale,
                             rule.intervals.alpha).outcome
                for classes in itertools.permutations(CLASSES, length)]
    return outcome


def small_ladder(pairs, rule):
    """The scale outcome of a coin and a larger length-only judge."""
    judges = []
    for size, margins in ((1, planted.noisy_length(0.5, SEED)), (10, planted.always_longer)):
        found = judge(pairs, rule, margins)
        judges.append(SizedJudge(size, found.outcome, found.sign_flip_p, found.equivalence_p_0,
                                 found.equivalence_p_H, found.sums))
    return scale_statistics(judges, rule).localisation.outcome


# key: (another value, the outcome that must change, other values that make it visible)
CASES = {
    "units.tau": ("0.3", subsets, {}),
    "units.scoring_tau": ("0.15", lambda pairs, rule: len(scoring_units(pairs, rule.units)), {}),
    "units.turns": ("[2]", subsets, {}),
    "units.unit": ('"vote"', subsets, {}),
    "length.unit": ('"tokens"', subsets, {}),
    "length.scope": ('"conversation"', subsets, {}),
    "length.metric": ('"mean"', subsets, {}),
    "label.rule": ('"unanimous"', subsets, {}),
    "label.annotators": ('"expert"', subsets, {}),
    "intervals.alpha": ("0.1", on_gpt4("gap", "ci95"), {}),
    "intervals.deff_floor": ("9.0", on_gpt4("r_long", "longer", "wilson_cluster"), {}),
    "bootstrap.seed": ("20261130", on_gpt4("gap", "ci95"), {}),
    "bootstrap.n_resamples": ("999", on_gpt4("n_resamples"), {}),
    "bootstrap.max_dropped_share": (
        "0.9", lambda pairs, rule: gpt4(pairs, rule, keep=(81, 82, 83)) is InvalidStatistic, {}),
    "bootstrap.borderline_distance": ("0.9", on_gpt4("flags", "borderline_mc"), {}),
    "bootstrap.borderline_n_resamples": ("1999", on_gpt4("n_resamples"),
                                         {"bootstrap__borderline_distance": "0.9"}),
    "sign_flip.n_resamples": ("999", on_gpt4("sign_flip_p"), {}),
    "sign_flip.slack": ("1e9", on_gpt4("sign_flip_p"), {}),
    "gap_adjusted.n_bins": ("3", on_gpt4("gap_adjusted", "estimate"), {}),
    "decision.delta_0": ("0.02", coin, {}),
    "decision.delta_h": ("0.05", on_gpt4("outcome"), {}),
    "decision.delta_b": ("0.001", coin, {}),
    "decision.pc_min": ("0.001", lambda pairs, rule: judge(
        pairs, rule, planted.always_slot_a, consistent=False).flags.position_dominated, {}),
    "scale.min_judges": ("3", small_ladder, {}),
    "scale.undetermined": ('["INCONCLUSIVE", "UNRESOLVABLE_MARGINS", "ZERO_GAP_LEAN_UNRESOLVED", '
                           '"INVERSE"]', scale_outcomes(2), {}),
    "scale.zero_gap": ('["NO_PREFERENCE", "BREVITY_PREFERENCE"]', small_ladder, {}),
    **{f"scale.rank.{name}": ("9", scale_outcomes(3), {}) for name in
       ("INVERSE", "NO_PREFERENCE", "LENGTH_PREFERENCE", "BREVITY_PREFERENCE", "PARTIAL_TRACKING",
        "QUALITY_TRACKING")},
    "scale.rank.EXCEEDS_HUMAN": ("-1", scale_outcomes(3), {}),
}
BELOW = {"verdict.kind", "length.tokenizer"}  # each has a test of its own below


def test_every_value_of_the_rule_has_a_case():
    """A value added to the file needs a case here."""
    assert set(CASES) | BELOW == KEYS


@pytest.mark.parametrize("key", CASES)
def test_changing_a_value_changes_the_outcome(key, pairs, tmp_path):
    """The outcome under the registered value differs from that under another one."""
    value, outcome, others = CASES[key]
    changed = {**others, key.replace(".", "__"): value}
    assert outcome(pairs, rule_of(tmp_path, **others)) != outcome(pairs,
                                                                  rule_of(tmp_path, **changed))


def test_changing_the_kind_of_verdict_changes_the_class(pairs, tmp_path):
    """A judge bound to slot A, but less so against the longer answer, has a class of each kind."""
    def lopsided(_, units):
        return np.tile([3.0, -1.0], (len(units), 1))
    found = []
    for kind in ("primary", "order_debiased"):
        folder = tmp_path / kind
        shutil.copytree(PROJECT / "config", folder / "config")
        shutil.copytree(PROJECT / "preregistration", folder / "preregistration")
        (folder / "preregistration" / "decision_rule.toml").write_text(
            rule_text(verdict__kind=f'"{kind}"'), encoding="utf-8")
        study = load_study(folder / "preregistration", folder / "config")
        for name in ("pairs.parquet", "MANIFEST.json"):
            shutil.copy(PROJECT / "artifacts" / name, folder)
        planted.plant(folder, study, pairs, SLUG, lopsided)
        inputs = load_inputs(study, folder, Registration(study.digest, "verified", True))
        found.append(rung_row(inputs, SLUG)["class"])
    assert found == ["NO_PREFERENCE", "LENGTH_PREFERENCE"]


def test_changing_the_tokenizer_changes_whose_tokens_count(tmp_path, monkeypatch):
    """The unit table's tokens are counted by the rung that the rule names."""
    pytest.importorskip("torch", reason="the unit table is built with the extra 'score'")
    from lengthmirror import scoring_job
    asked = []

    def locate(rung, *_, **__):
        asked.append(rung.slug)
        raise FileNotFoundError
    monkeypatch.setattr(scoring_job, "locate_weights", locate)
    monkeypatch.setattr(scoring_job, "load_judgments", lambda *_: None)
    study = load_study(PROJECT / "preregistration", PROJECT / "config")
    for name in ("smollm2-135m", "gemma-3-270m"):
        rule = rule_of(tmp_path, length__tokenizer=f'"{name}"')
        with pytest.raises(FileNotFoundError):
            scoring_job.build_pairs(replace(study, rule=rule),
                                    scoring_job.Places(tmp_path, tmp_path, tmp_path))
    assert asked == ["smollm2-135m", "gemma-3-270m"]


def outcomes(decision) -> list[str]:
    """The class of each of the 648 combinations of facts."""
    return [classify(Facts(*values), decision)
            for values in itertools.product(*[(True, False)] * 3, *[SIGNS] * 4)]


REGISTERED = load_rule(RULE)[0].decision
CONDITIONS = [(number, fact) for number, clause in enumerate(REGISTERED.clauses)
              for fact, _ in clause.when]


def with_clause(number: int, **changes):
    """The registered clauses with one of them changed."""
    clauses = list(REGISTERED.clauses)
    clauses[number] = replace(clauses[number], **changes)
    return replace(REGISTERED, clauses=tuple(clauses))


def test_the_facts_are_combined_in_648_ways():
    """Three truths and four signs; the class is a function of them alone."""
    assert len(outcomes(REGISTERED)) == 648 and len(fields(Facts)) == 7


@pytest.mark.parametrize("number", range(len(REGISTERED.clauses)))
def test_changing_the_class_of_a_clause_changes_the_outcome(number):
    """No clause is dead: each decides some combination of facts."""
    old = REGISTERED.clauses[number].outcome
    new = next(name for name in CLASSES if name != old)
    assert outcomes(with_clause(number, outcome=new)) != outcomes(REGISTERED)


@pytest.mark.parametrize("number, fact", CONDITIONS)
def test_changing_a_condition_changes_the_outcome(number, fact):
    """No condition is idle: dropping it, or asking for another value, changes some class."""
    when = dict(REGISTERED.clauses[number].when)
    variants = [{key: value for key, value in when.items() if key != fact}]
    variants += [{**when, fact: value} for value in FACTS[fact] if value != when[fact]]
    for variant in variants:
        assert outcomes(with_clause(number, when=tuple(variant.items()))) != outcomes(REGISTERED)


@pytest.mark.parametrize("name", load_rule(RULE)[1])
def test_every_sensitivity_analysis_differs_from_the_primary(name, pairs):
    """Each analysis changes the units, a margin or the verdict, as its name says."""
    rule, analyses = load_rule(RULE)
    changed = analyses[name]
    assert changed != rule
    same_units = subsets(pairs, changed) == subsets(pairs, rule)
    assert same_units == (changed.units == rule.units)
