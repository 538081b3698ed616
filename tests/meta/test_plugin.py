"""What the pytest plugin reports: without xdist, with -n 0 and with -n 2 alike."""

import json

import pytest

from lengthmirror.ladder_controller import ROW_PROPERTY
from lengthmirror.study import load_study

from .ladder_runs import (
    CLASSES,
    LIKE_GPT4,
    MODES,
    ONLY_LENGTH,
    ONLY_SLOT,
    PROJECT,
    at,
    every_mode,
    plant_all,
    run_ladder,
)


@every_mode
def test_valid_inputs_pass_whatever_the_class(mode, runs):
    """A run whose inputs are valid exits with 0: rungs pass, a falsified prediction is xfail."""
    run = runs(mode)
    assert run.status == 0, run.output
    scored = (ONLY_LENGTH, ONLY_SLOT, LIKE_GPT4)
    assert {name for name, outcome in run.outcomes("test_rung").items()
            if outcome == "passed"} == set(scored)
    predictions = run.outcomes("test_prediction")
    assert [predictions[name] for name in scored] == ["skipped", "passed", "skipped"]
    gap = run.rows[ONLY_LENGTH]["gap"]
    assert run.message(f"test_prediction[{ONLY_LENGTH}]") == (
        f"registered NO_PREFERENCE, observed LENGTH_PREFERENCE (G = {gap['estimate']:.4f}, "
        f"CI = [{gap['ci95'][0]:.4f}, {gap['ci95'][1]:.4f}])")
    assert run.outcomes("test_scale_prediction")["small-cpu"] == "skipped"
    assert "3 xfailed" in run.output


@every_mode
def test_the_rows_carry_the_class(mode, runs):
    """ladder.json has a row per rung, reference and control, in the order of the configuration."""
    rows = runs(mode).rows
    study = load_study(PROJECT / "preregistration", PROJECT / "config")
    assert list(rows) == [*study.rungs, "gpt4-published", "humans", "always-longer", "coin"]
    assert {name: row["class"] for name, row in rows.items() if row["gap"]} == CLASSES
    assert {row["status"] for name, row in rows.items() if name not in CLASSES} == {"not_run"}
    assert runs(mode).document["missing"] == runs(mode).document["missing_ladders"] == []
    assert [row["ladder"] for row in runs(mode).document["ladders"]] == list(study.ladders)


@pytest.mark.parametrize("mode", ["n 0", "n 2", "-n 1", "-n 4"])
def test_the_bytes_do_not_depend_on_the_workers(mode, runs):
    """ladder.json is byte-identical however many workers there were."""
    assert runs(mode).json_path.read_bytes() == runs("no xdist").json_path.read_bytes()


def test_a_second_run_gives_the_same_bytes(study, runs, tmp_path):
    """ladder.json is byte-identical on re-run."""
    again = run_ladder(tmp_path, *at(study), *MODES["n 0"])
    assert again.json_path.read_bytes() == runs("n 0").json_path.read_bytes()


def test_the_report_names_no_time_and_no_path(study, runs):
    """Nothing in ladder.json depends on when or where it was made."""
    text = runs("n 0").json_path.read_text(encoding="utf-8")
    assert str(study) not in text and str(PROJECT) not in text and text.endswith("}\n")
    assert text == json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def test_a_scored_row_has_every_statistic(runs):
    """The keys of a row are the registered ones, and a scored row leaves none of them empty."""
    expected = {"rung", "status", "class", "r_long", "gap", "gap_adjusted", "gap_within", "lean",
                "human_gap", "gap_matched", "shortfall", "excess_lean", "sign_flip_p", "flags",
                "position_consistency", "slot_a_share", "option_mass", "exact_ties",
                "order_debiased", "registration_digest"}
    for row in runs("n 0").rows.values():
        assert expected <= set(row)
    row = runs("n 0").rows[LIKE_GPT4]
    assert not {name for name in expected if row[name] is None}
    for subset in ("longer", "shorter"):
        assert {"estimate", "n", "wilson", "wilson_cluster"} <= set(row["r_long"][subset])
    for name in ("gap", "gap_adjusted", "lean", "human_gap", "gap_matched", "shortfall"):
        assert set(row[name]) == {"estimate", "ci95", "ci90"}
    assert {"margin_min_0", "margin_min_H"} < set(row["flags"])
    assert expected - {"rung", "status", "order_debiased", "registration_digest"} <= set(
        row["order_debiased"])


@every_mode
def test_junit_says_the_class(mode, runs):
    """Each rung's test case carries its row, and the suite the registration and each class."""
    run = runs(mode)
    for name in (ONLY_LENGTH, ONLY_SLOT, LIKE_GPT4):
        properties = run.cases[f"test_rung[{name}]"].find("properties")
        [value] = [each.get("value") for each in properties if each.get("name") == ROW_PROPERTY]
        assert json.loads(value) == run.rows[name]
        assert run.suite[f"result_{name}"].startswith(f"{CLASSES[name]}; G = ")
    document = run.document["registration"]
    assert run.suite["registration_digest"] == document["digest"]
    assert run.suite["registration_status"] == "unregistered"
    assert (run.suite["registration_tau"], run.suite["registration_seed"]) == ("0.2", "20261129")


@every_mode
def test_header_and_table_are_printed_once(mode, runs):
    """The header echoes the registration; the table shows r_long twice, G, class and flags."""
    run = runs(mode)
    digest = run.document["registration"]["digest"]
    assert run.output.count(f"registration: unregistered, digest {digest}") == 1
    assert run.output.count("registered: tau 0.2, alpha 0.05, delta_0 0.125, delta_h 0.125, "
                            "delta_b 0.05, seed 20261129") == 1
    [line] = [line.split("  ") for line in run.output.splitlines()
              if line.startswith(f"{ONLY_SLOT} ") and "NO_PREFERENCE" in line]
    cells = [cell.strip() for cell in line if cell.strip()]
    assert cells == [ONLY_SLOT, "0.500", "0.500", "0.000 [0.000, 0.000]", "NO_PREFERENCE",
                     "NO_PREFERENCE", "borderline_mc, position_dominated"]


def test_no_model_library_is_loaded(runs):
    """Run alone, the ladder's own check of sys.modules is made and passes."""
    assert [child.tag for child in runs("n 0").cases["test_no_model_library_is_loaded"]] == []


def test_a_study_with_its_own_receipt_is_scored(committed, tmp_path):
    """A study frozen in its own repository is verified and its rows are scored."""
    committed.freeze()
    plant_all(committed.root)
    committed.commit("score")
    run = run_ladder(tmp_path, *at(committed.root), *MODES["n 2"], "--require-verified")
    assert run.status == 0, run.output
    assert run.document["registration"]["status"] == "verified"
    assert run.rows[LIKE_GPT4]["status"] == "scored"
    assert run.rows["humans"]["status"] == "reference"
    assert set(run.outcomes("test_registration").values()) == {"passed"}


@pytest.mark.parametrize("option", [(), ("--require-verified",)], ids=["allowed", "required"])
def test_a_shallow_clone_is_unverifiable(option, committed, tmp_path):
    """Without history the header, the rows and JUnit say unverifiable; it fails when required."""
    committed.freeze()
    plant_all(committed.root)
    committed.commit("score")
    clone = committed.clone("--depth", "1")
    run = run_ladder(tmp_path, *at(clone.root), *MODES["no xdist"], *option,
                     "-k", "registration or humans")
    assert "registration: unverifiable, digest " in run.output
    assert run.rows["humans"]["registration_status"] == "unverifiable"
    assert run.rows["humans"]["status"] == "reference"
    assert run.suite["registration_status"] == "unverifiable"
    expected = "failure" if option else "skipped"
    assert run.outcomes("test_registration") == {
        "bytes": "passed", "rule": "passed", "commit": expected, "untouched": expected,
        "order": expected}
    assert run.status == (1 if option else 0), run.output


def test_tests_that_were_not_selected_fail_nothing_and_are_named(study, tmp_path):
    """With -k the run passes, and the report says which rungs it has no row of."""
    run = run_ladder(tmp_path, *at(study), *MODES["n 2"], "-k", f"{LIKE_GPT4} or humans")
    assert run.status == 0, run.output
    assert list(run.rows) == [LIKE_GPT4, "humans"]
    everything = run_ladder(tmp_path, *at(study), *MODES["n 0"])
    assert everything.document["missing"] == []
    assert run.document["missing"] == [name for name in everything.rows if name not in run.rows]


def test_collecting_writes_nothing(study, tmp_path):
    """--collect-only makes no report and complains about no row."""
    run = run_ladder(tmp_path, *at(study), "--collect-only", "-q")
    assert run.status == 0
    assert not run.json_path.exists() and "no row arrived" not in run.output
