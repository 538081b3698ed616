"""All statistics of one judge: planted classes, flags, redoing near a boundary, bad input."""

import time
from dataclasses import fields, replace

import numpy as np
import pytest

from lengthmirror.judge_statistics import JudgeStatistics, judge_statistics
from lengthmirror.pairs import PairTable, select_units
from lengthmirror.subset_sums import subset_sums

from . import by_hand, registered


def whole(values):
    return np.where(registered.units().judged, values, 0).astype(np.int64)


def drawn(seed, chance):
    """Independent whole verdicts with a given chance for the longer answer."""
    random = np.random.default_rng(seed).random(len(registered.units()))
    return whole(np.where(random < chance, 4, 0))


def log_ratio():
    units = registered.units()
    return np.log((units.length_longer + 1) / (units.length_shorter + 1))


def mixture(seed):
    random = np.random.default_rng(seed).random(len(registered.units()))
    return whole(np.where(random < 0.5, 4, registered.gpt4_score4()))


def planted():
    """The planted judges of section 7 as (scores, consistency)."""
    units = registered.units()
    n, label = len(units), units.label
    every, none = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    coin = np.random.default_rng(20).integers(0, 2, (n, 2))
    return {
        "length only": (whole(np.full(n, 4)), every), "brevity only": (whole(np.zeros(n)), every),
        "slot A only": (whole(np.full(n, 2)), none),
        "coin": (whole(2 * coin.sum(axis=1)), coin[:, 0] == coin[:, 1]),
        "human copy": (whole(2 + 2 * label), every), "anti-human": (whole(2 - 2 * label), every),
        "noisy length": (drawn(21, 0.8), every),
        "graded length": (drawn(22, 1 / (1 + np.exp(-log_ratio()))), every),
        "mixture": (mixture(23), every), "GPT-4": (registered.gpt4_score4(), None)}


@pytest.fixture(scope="module", name="statistics")
def planted_statistics():
    """Statistics of every planted judge under the registered rule."""
    return {name: judge_statistics(registered.units(), score4, consistent, registered.rule())
            for name, (score4, consistent) in planted().items()}


@pytest.mark.parametrize(("name", "outcome"), [
    ("length only", "LENGTH_PREFERENCE"), ("brevity only", "BREVITY_PREFERENCE"),
    ("slot A only", "NO_PREFERENCE"), ("coin", "NO_PREFERENCE"), ("human copy", "EXCEEDS_HUMAN"),
    ("anti-human", "INVERSE"), ("noisy length", "LENGTH_PREFERENCE"),
    ("graded length", "LENGTH_PREFERENCE"), ("mixture", "PARTIAL_TRACKING"),
    ("GPT-4", "QUALITY_TRACKING")])
def test_planted_judges_get_their_class(statistics, name, outcome):
    """Each planted judge gets the class that section 7 demands."""
    assert statistics[name].outcome == outcome


@pytest.mark.parametrize("name", planted())
def test_statistics_against_definition(statistics, name):
    """Every point estimate equals an exact fraction from loops over units and vote pairs."""
    units, score4 = registered.units(), planted()[name][0]
    found = statistics[name]
    for statistic, expected in (
            ("gap", by_hand.gap(units, score4)), ("lean", by_hand.lean(units, score4)),
            ("human_gap", by_hand.human_gap(units)), ("human_lean", by_hand.human_lean(units)),
            ("gap_matched", by_hand.gap_matched(units, score4)),
            ("shortfall", by_hand.human_gap(units) - by_hand.gap_matched(units, score4)),
            ("excess_lean", by_hand.lean_matched(units, score4) - by_hand.human_lean(units))):
        assert getattr(found, statistic).estimate == pytest.approx(float(expected), abs=1e-14)


def test_degenerate_judges_are_exact(statistics):
    """Length-only, slot-only and the human copy have their rates and gaps to the bit."""
    expected = {"length only": (1, 1, 0, 0.5), "brevity only": (0, 0, 0, -0.5),
                "slot A only": (0.5, 0.5, 0, 0), "human copy": (1, 0, 1, 0),
                "anti-human": (0, 1, -1, 0)}
    for name, (longer, shorter, gap, lean) in expected.items():
        found = statistics[name]
        rates = found.r_long["longer"].estimate, found.r_long["shorter"].estimate
        assert (*rates, found.gap.estimate, found.lean.estimate) == (longer, shorter, gap, lean)
        assert found.gap.ci95 == found.gap.ci90 == (gap, gap)
        assert found.gap_within == gap
        assert found.gap_adjusted.ci95 == pytest.approx((gap, gap), abs=1e-15)
    for name in ("length only", "brevity only", "slot A only"):
        assert statistics[name].gap_adjusted.ci95 == (0, 0)
        assert statistics[name].sign_flip_p == statistics[name].bootstrap_p == 1


def test_all_numbers_are_plain_and_finite(statistics):
    """Reports need Python numbers: no NaN or infinity, for degenerate judges neither."""
    def check(value):
        if isinstance(value, float):
            assert np.isfinite(value)
        elif hasattr(value, "__dataclass_fields__"):
            for field in fields(value):
                if field.name != "sums":
                    check(getattr(value, field.name))
        elif isinstance(value, dict):
            for item in value.values():
                check(item)
        elif isinstance(value, tuple):
            for item in value:
                check(item)
        else:
            assert value is None or type(value) in (int, bool, str), repr(value)
    for found in statistics.values():
        check(found)


def test_flags_of_planted_judges(statistics):
    """Each flag is raised by the judge made for it and not by the others beside it."""
    assert [name for name, found in statistics.items() if found.flags.position_dominated] == [
        "slot A only"]
    assert {"length only", "noisy length", "mixture", "GPT-4"} <= {
        name for name, found in statistics.items() if found.flags.excess_length_lean}
    assert not statistics["brevity only"].flags.excess_length_lean
    assert not any(found.flags.composition_driven for found in statistics.values())


def test_a_length_gradient_is_flagged():
    """A judge that picks longer answers only at large ratios has a gap that G_adj explains."""
    score4 = whole(np.where(log_ratio() > np.quantile(log_ratio(), 0.5), 4, 0))
    found = judge_statistics(registered.units(), score4, None, registered.rule())
    assert found.gap.estimate > 0.05
    assert (found.facts.g, found.flags.length_gradient) == ("pos", True)
    assert abs(found.gap_adjusted.estimate) < found.gap.estimate / 2


def test_a_gap_between_questions_only_is_flagged():
    """A judge that favours questions with a large share of L has a gap made of questions."""
    units = registered.units()
    longer = np.bincount(units.question_index, units.weight_longer)
    share = longer / (longer + np.bincount(units.question_index, units.weight_shorter))
    score4 = whole(np.where(share[units.question_index] > np.median(share), 4, 0))
    found = judge_statistics(units, score4, None, registered.rule())
    assert found.gap_within == 0
    assert found.sign_flip_p == 1
    assert found.bootstrap_p < 0.05
    assert found.flags.composition_driven


def test_position_consistency_counts_judged_units(statistics):
    """Consistency is the share of judged units, those with a net vote of zero included."""
    found, units = statistics["coin"].position_consistency, registered.units()
    consistent = planted()["coin"][1]
    assert found.n == 1242
    assert found.estimate == (consistent & units.judged).sum() / 1242
    assert statistics["slot A only"].position_consistency.wilson_cluster.low == 0
    assert statistics["GPT-4"].position_consistency is None


def test_gap_on_consistent_units_against_definition():
    """It is G of the consistent units alone, and absent without them or without orderings."""
    units, score4 = registered.units(), registered.gpt4_score4()
    consistent = np.random.default_rng(2).random(len(units)) < 0.3
    found = judge_statistics(units, score4, consistent, registered.rule()).gap_consistent
    only = units.subset(consistent, "inconsistent")
    assert found == pytest.approx(float(by_hand.gap(only, score4[consistent])), abs=1e-15)
    for without in (np.zeros(len(units), dtype=bool), None):
        assert judge_statistics(units, score4, without,
                                registered.small_rule()).gap_consistent is None


def borderline_rule():
    """Margins that put an endpoint of GPT-4's D exactly on delta_h."""
    base = judge_statistics(registered.units(), registered.gpt4_score4(), None,
                            registered.small_rule(n_resamples=999))
    return registered.small_rule(n_resamples=999, delta_h=base.shortfall.ci90.high)


def test_an_endpoint_near_a_boundary_is_flagged_and_done_again():
    """Near a boundary everything rests on the larger number of resamples, and the flag stays."""
    rule = borderline_rule()
    found = judge_statistics(registered.units(), registered.gpt4_score4(), None, rule)
    assert (found.flags.borderline_mc, found.n_resamples) == (True, 1999)
    more = replace(rule, bootstrap=replace(rule.bootstrap, n_resamples=1999))
    again = judge_statistics(registered.units(), registered.gpt4_score4(), None, more)
    for name in ("gap", "gap_adjusted", "lean", "human_gap", "human_lean", "gap_matched",
                 "shortfall", "excess_lean", "bootstrap_p", "equivalence_p_0", "equivalence_p_H"):
        assert getattr(found, name) == getattr(again, name), name


def test_no_endpoint_near_a_boundary_resamples_once():
    """Where no endpoint is near, the registered number of resamples is the last word."""
    found = judge_statistics(registered.units(), registered.gpt4_score4(), None,
                             registered.small_rule(n_resamples=999))
    assert (found.flags.borderline_mc, found.n_resamples) == (False, 999)


def test_answer_names_do_not_matter():
    """Exchanging the two models of every unit changes no statistic by a bit."""
    table = registered.pairs()
    exchanged = object.__new__(PairTable)
    for name, column in vars(table).items():
        other = {"a": name[:-2] + "_b", "b": name[:-2] + "_a"}.get(name[-1]) if (
            name[-2:] in ("_a", "_b")) else name
        for kind in ("expert", "author"):
            other = {f"votes_a_{kind}": f"votes_b_{kind}",
                     f"votes_b_{kind}": f"votes_a_{kind}"}.get(name, other)
        exchanged.__dict__[name] = vars(table).get(other, column)
    units, rule = registered.units(), registered.rule()
    mirror = select_units(exchanged, rule.units)
    assert (mirror.longer_is_a != units.longer_is_a).all()
    for name, (score4, consistent) in planted().items():
        if name in ("coin", "mixture", "GPT-4"):
            assert same(judge_statistics(units, score4, consistent, rule),
                        judge_statistics(mirror, score4, consistent, rule)), name


def same(first, second):
    names = {field.name for field in fields(JudgeStatistics)} - {"sums"}
    return (np.array_equal(first.sums.columns(), second.sums.columns())
            and all(getattr(first, name) == getattr(second, name) for name in names))


def test_sums_are_those_behind_the_gap(statistics):
    """The sums that the trend over a ladder needs come with the statistics."""
    expected = subset_sums(registered.units(), registered.gpt4_score4()).columns()
    assert np.array_equal(statistics["GPT-4"].sums.columns(), expected)


def test_one_judge_takes_well_under_a_second():
    """The whole of one judge's statistics is fast enough to be computed in every test run."""
    started = time.process_time()
    judge_statistics(registered.units(), registered.gpt4_score4(), None, registered.rule())
    assert time.process_time() - started < 1
