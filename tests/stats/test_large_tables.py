"""Tables of many units: columns from the files to the class, and memory in proportion to them."""

import tracemalloc

import pytest

from lengthmirror.judge_statistics import judge_statistics
from lengthmirror.logit_alignment import align_logits
from lengthmirror.logit_table import read_logits
from lengthmirror.pairs import read_pairs, scored, select_units
from lengthmirror.verdicts import primary_verdicts
from measure import synthetic

from . import registered


def analysed(folder, n_questions):
    """The statistics of a synthetic study's judge, from its files, and the peak memory in bytes."""
    rule = registered.small_rule(n_resamples=99)
    synthetic.write_study(folder, n_questions,
                          lambda pairs: select_units(pairs, scored(rule.units)), seed=1)
    tracemalloc.start()
    pairs, table = read_pairs(folder / "pairs.parquet"), read_logits(folder / "logits.parquet", "x")
    units = select_units(pairs, rule.units)
    verdicts = primary_verdicts(align_logits(units, pairs, table, "x"), units.judged, 0.05)
    statistics = judge_statistics(units, verdicts.score4, verdicts.diagnostics.consistent, rule)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return units, statistics, peak


@pytest.fixture(scope="module", name="large")
def large_study(tmp_path_factory):
    """200,000 units in 20,000 questions."""
    return analysed(tmp_path_factory.mktemp("large"), 20_000)


def test_a_judge_of_many_units_gets_its_class(large):
    """A judge that leans to length, against humans who do not, is called that on 200,000 units."""
    units, statistics, _ = large
    assert (len(units), len(units.frame)) == (200_000, 20_000)
    assert statistics.outcome == "LENGTH_PREFERENCE"


def test_memory_grows_in_proportion_to_the_units(large, tmp_path):
    """Four times the units take at most about four times the memory, under a kilobyte each."""
    _, _, few = analysed(tmp_path, 5_000)
    _, _, many = large
    assert many < 4.4 * few
    assert many < 200_000 * 1024
