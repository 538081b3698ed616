"""Scoring some units of a committed rung again: differences, verdicts and bits are told apart."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lengthmirror.cli import main
from lengthmirror.errors import InvalidLogits
from lengthmirror.files import write_table
from lengthmirror.rescoring import compare, sample_units

from .tiny import SLUG

UNITS = [(question_id, turn, "m", "n") for question_id in range(20) for turn in (1, 2)]
SEED = 5


@pytest.fixture
def committed(small, tiny_weights, capsys):
    """The small study with its committed logits; returns the path of the table."""
    assert main(["score", SLUG, *small.job_options(tiny_weights), f"--work={small.work}"]) == 0
    capsys.readouterr()
    return small.artifacts / SLUG / "logits.parquet"


@pytest.fixture
def verify(small, tiny_weights, capsys):
    """Runs the command and returns its exit status and what it printed."""
    def run(*more):
        status = main(["verify", *small.job_options(tiny_weights), *more])
        return status, capsys.readouterr()
    return run


def with_column(table, name, values):
    """The table with one column replaced."""
    field = table.schema.field(name)
    return table.set_column(table.schema.get_field_index(name), field, pa.array(values, field.type))


@pytest.mark.parametrize("k", [1, 7, 40, 1000])
def test_sample_is_of_different_units_in_table_order(k):
    """K units, all of them when there are fewer, each once and in order; the seed decides."""
    sample = sample_units(UNITS, k, SEED)
    assert len(sample) == min(k, len(UNITS)) and sample == sorted(set(sample))
    assert sample == sample_units(UNITS, k, SEED)
    assert k >= len(UNITS) or any(sample_units(UNITS, k, seed) != sample for seed in range(20))


def test_same_machine_agrees_to_the_bit(committed, verify):
    """Units scored again where they were scored before have the same bits, and pass."""
    status, printed = verify("--rescore=5")
    found = re.search(rf"^{SLUG}: (\d+) units scored again", printed.out)
    assert status == 0 and int(found[1]) >= 5
    assert (f"largest logit difference 0, verdict changes 0 of {2 * int(found[1])}, within reach "
            "of a change: none; bits agree.") in printed.out


def test_reference_path_is_close_and_not_the_same_bits(committed, verify):
    """Scoring the registered units from scratch agrees in verdicts and not in every bit."""
    status, printed = verify("--rescore=42", "--no-prefix-sharing")
    found = re.search(r"largest logit difference (\S+), verdict changes 0 of 82", printed.out)
    assert status == 0 and 0 < float(found[1]) < 1e-4 and "bits differ" in printed.out


def test_close_margins_are_named(committed):
    """An ordering whose margin is smaller than the largest difference is listed by its key."""
    table = pq.read_table(committed)
    values = table["logit_a"].to_numpy().copy()
    values[3] = table["logit_b"].to_numpy()[3] + np.float32(1e-3)
    before = with_column(table, "logit_a", values)
    values = values.copy()
    values[5] += np.float32(2e-3)
    comparison = compare(before, with_column(before, "logit_a", values), SLUG, SEED)
    key = tuple(table[name].to_pylist()[3]
                for name in ("question_id", "turn", "model_a", "model_b"))
    assert comparison.largest_difference == pytest.approx(2e-3, rel=1e-3)
    assert key in comparison.close and len(comparison.close) < 5
    assert f"question {key[0]} turn {key[1]} {key[2]} before {key[3]}" in comparison.sentence
    assert comparison.longest_prompt == max(table["n_tokens"].to_pylist())


def test_changed_verdict_fails_and_is_counted(committed, verify):
    """A committed logit that turns a verdict is counted, and the command fails."""
    table = pq.read_table(committed)
    exchanged = {"logit_a": "logit_b", "logit_b": "logit_a", "logprob_a": "logprob_b",
                 "logprob_b": "logprob_a"}
    write_table(committed, pa.table({name: table[exchanged.get(name, name)]
                                     for name in table.schema.names}, schema=table.schema))
    status, printed = verify("--rescore=42", f"--rung={SLUG}")
    assert status == 1 and "verdict changes 82 of 82, within reach" in printed.out


def test_small_difference_is_told_and_passes(committed, verify):
    """Another processor's last bits are reported and are no failure."""
    table = pq.read_table(committed)
    values = table["logit_a"].to_numpy()
    write_table(committed, with_column(table, "logit_a", np.nextafter(values, np.float32(9))))
    status, printed = verify("--rescore=42", f"--rung={SLUG}")
    assert status == 0 and "verdict changes 0 of 82, within reach" in printed.out


def test_logits_far_from_the_committed_ones_fail(committed, verify):
    """A table whose verdicts are right and whose logits are not is no agreement."""
    table = pq.read_table(committed)
    for name in ("logit_a", "logit_b"):
        table = with_column(table, name, table[name].to_numpy() + np.float32(50))
    write_table(committed, table)
    status, printed = verify("--rescore=42", f"--rung={SLUG}")
    assert status == 1 and "difference 50, verdict changes 0 of 82" in printed.out


def test_margins_below_twice_the_difference_are_named(committed):
    """A margin that two logits moving towards each other could turn is listed, turned or not."""
    table = pq.read_table(committed)
    values = table["logit_a"].to_numpy().copy()
    values[4] = table["logit_b"].to_numpy()[4] + np.float32(0.015)
    before = with_column(table, "logit_a", values)
    values = values.copy()
    values[4] += np.float32(0.01)
    comparison = compare(before, with_column(before, "logit_a", values), SLUG, SEED)
    key = tuple(table[name].to_pylist()[4]
                for name in ("question_id", "turn", "model_a", "model_b"))
    assert comparison.verdict_changes == 0 and key in comparison.close


def test_changed_verdicts_are_named(committed):
    """Two logits that move towards each other turn a margin of twice their difference."""
    table = pq.read_table(committed)
    low, high = table["logit_a"].to_numpy().copy(), table["logit_b"].to_numpy().copy()
    low[4] = high[4] + np.float32(0.015)
    before = with_column(table, "logit_a", low)
    low, high = low.copy(), high.copy()
    low[4] -= np.float32(0.01)
    high[4] += np.float32(0.01)
    comparison = compare(before, with_column(with_column(before, "logit_a", low), "logit_b", high),
                         SLUG, SEED)
    key = tuple(table[name].to_pylist()[4]
                for name in ("question_id", "turn", "model_a", "model_b"))
    assert comparison.verdict_changes == 1 and key in comparison.close


@pytest.mark.parametrize("arguments, expected", [
    (["--rescore=3"], "no rung has logits"),
    (["--sample-seed=4"], "--sample-seed chooses what --rescore scores again"),
    (["--rescore=1", "--require-verified"], "--require-verified is about the tamper checks"),
    (["--no-prefix-sharing"], "--no-prefix-sharing is a way of scoring again"),
    ([f"--rung={SLUG}"], "--rung names what --rescore scores again"),
    (["--rescore=3", "--rung=gpt-9"], "there is no rung 'gpt-9'"),
    (["--rescore=3", f"--rung={SLUG}"], "logits.parquet does not exist")])
def test_impossible_rescoring_is_one_sentence(verify, arguments, expected):
    """Half a request, an unknown rung or a rung without logits is one sentence and status 1."""
    status, printed = verify(*arguments)
    assert status == 1 and expected in printed.err and printed.err.count("\n") == 1


@pytest.mark.parametrize("change, match", [
    (lambda table: table.slice(2), "has no row for"),
    (lambda table: with_column(table, "prompt_sha256", ["0" * 64] * table.num_rows),
     "made from other prompts")], ids=["row missing", "other prompts"])
def test_rows_that_cannot_be_compared_are_refused(committed, change, match):
    """A committed table without the ordering, or of other prompts, is refused by the slug."""
    table = pq.read_table(committed)
    with pytest.raises(InvalidLogits, match=f"^{SLUG}: .*{match}"):
        compare(change(table), table, SLUG, SEED)
