"""Results: compared with their targets, merged by benchmark, shown as they are."""

import json

import pytest

from measure import command, results, table
from measure.results import Outcome, Skipped, entry, merged
from measure.targets import MEASURES, Target

MACHINE = {"processor": "one", "instruction_set": "two", "cores": 2, "memory_gb": 8.0,
           "load": 0.1, "versions": {"python": "3.11"}}


def report(name="flops", values=None, date="2026-01-02", quick=False, **details):
    """An entry with made-up values."""
    outcome = Outcome(values or {"share": 0.5, "scorer_rate": 250.0}, details)
    return entry(name, outcome, date, MACHINE, quick)


@pytest.mark.parametrize("target, value, met", [
    (Target(high=0.56), 0.56, True), (Target(high=0.56), 0.561, False),
    (Target(low=0.85), 0.85, True), (Target(low=0.85), 0.849, False),
    (Target(1.0, 1.01), 1.005, True), (Target(1.0, 1.01), 0.99, False),
    (Target(1.0, 1.01), 1.02, False)])
def test_a_target_is_met_inside_its_closed_range(target, value, met):
    """A value on the limit meets the target, one beyond it misses."""
    assert target.met(value) is met


def test_targets_in_words():
    """An open side is said as such."""
    assert [Target(high=0.4).words, Target(low=0.85).words, Target(1, 1.01).words] == [
        "0.4 or less", "0.85 or more", "1 to 1.01"]


def test_every_quantity_has_one_key_within_its_benchmark():
    """No two measures of a benchmark share a key."""
    for measures in MEASURES.values():
        keys = [measure.key for measure in measures]
        assert len(set(keys)) == len(keys)


def test_lines_hold_target_and_verdict_where_there_is_a_target():
    """A value is compared with its target; one without a target is only reported."""
    share, rate = report()["lines"]
    assert (share["value"], share["target"], share["met"]) == (0.5, "0.85 or more", False)
    assert rate["value"] == 250.0 and "met" not in rate


def test_a_trial_meets_and_misses_nothing():
    """Numbers of a trial are compared with no target."""
    assert report(quick=True)["lines"][0]["met"] is None


def test_a_value_that_is_not_finite_is_refused():
    """A ratio to nothing is an error and not a result."""
    with pytest.raises(ValueError, match="must be finite, got nan"):
        report(values={"share": float("nan")})


def test_a_skipped_benchmark_says_why():
    """The reason stands in the entry and in the table."""
    skipped = entry("lm_eval", Skipped("it is not installed."), "2026-01-02", MACHINE, False)
    assert (skipped["status"], skipped["reason"]) == ("skipped", "it is not installed.")
    shown = table.render(merged({}, {"lm_eval": skipped}))
    assert "Skipped: lm_eval (2026-01-02): it is not installed." in shown


def test_merging_keeps_what_was_not_measured_again():
    """Another benchmark's entry stays with its own date; the same one's is replaced."""
    before = merged({}, {"flops": report(date="2026-01-01"),
                         "bootstrap": report("bootstrap", {"drawn": 0.1}, "2026-01-01")})
    after = merged(before, {"flops": report(date="2026-02-02")})
    assert {name: each["date"] for name, each in after["benchmarks"].items()} == {
        "flops": "2026-02-02", "bootstrap": "2026-01-01"}
    assert list(after["benchmarks"]) == [name for name in MEASURES if name in after["benchmarks"]]


def test_the_table_shows_values_targets_verdicts_and_seconds():
    """Each line has its number, its target and whether it was met; then what was timed."""
    shown = table.render(merged({}, {"flops": report(seconds={"scorer": 12.3456})}))
    assert "one, two, 2 cores, 8 GB; python 3.11: flops (2026-01-02)." in shown
    assert ("| flops | rate of the scorer / rate of a 2048-cubed float32 matrix product | 0.5 | "
            "0.85 or more | missed |") in shown
    assert "| flops | rate of the scorer | 250 GFLOP/s |  |  |" in shown
    assert "| flops | scorer | 12.35 |" in shown


def test_machines_are_told_apart():
    """Results of two machines are not shown as those of one."""
    other = {**report("bootstrap", {"drawn": 0.1}), "machine": {**MACHINE, "cores": 64}}
    shown = table.render(merged({}, {"flops": report(), "bootstrap": other}))
    assert "2 cores, 8 GB; python 3.11: flops" in shown
    assert "64 cores, 8 GB; python 3.11: bootstrap" in shown


@pytest.mark.parametrize("value, unit, shown", [
    (0.05678, "", "0.0568"), (1.00021, "", "1"), (0, "", "0"), (612.6, "MB", "613 MB"),
    (31241, "", "31241"), (2.3e-05, "", "2.3e-05"), (1.009, "", "1.01")])
def test_numbers_have_three_digits(value, unit, shown):
    """Three significant digits, but no digit before the point is dropped."""
    assert table.number(value, unit) == shown


def test_no_results_give_no_table():
    """Without results the text is empty."""
    assert table.render({}).strip() == ""


def test_pasting_replaces_what_is_between_the_markers():
    """What stands before and behind the markers stays."""
    document = f"before\n{table.BEGIN}\nold\n{table.END}\nbehind\n"
    pasted = table.pasted(document, "new\n")
    assert pasted == f"before\n{table.BEGIN}\nnew\n{table.END}\nbehind\n"
    assert table.pasted(pasted, "new\n") == pasted


def test_a_document_without_markers_is_refused():
    """A table is never pasted at a guess."""
    with pytest.raises(ValueError, match="once each"):
        table.pasted("no markers", "new\n")


def test_writing_updates_results_table_and_readme(tmp_path):
    """Each part's entries are merged into the file, and the README shows all of them."""
    (tmp_path / "README.md").write_text(f"{table.BEGIN}\n{table.END}\n", encoding="utf-8")
    command.write(tmp_path / "results.json", {"flops": report()})
    command.write(tmp_path / "results.json", {"bootstrap": report("bootstrap", {"drawn": 0.25})})
    kept = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert set(kept["benchmarks"]) == {"flops", "bootstrap"}
    shown = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert shown == table.render(results.read(tmp_path / "results.json"))
    assert shown in (tmp_path / "README.md").read_text(encoding="utf-8")
