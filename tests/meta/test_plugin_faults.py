"""Faults that the pytest plugin must not let pass: each fails the run and names what is wrong."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lengthmirror.pairs import write_pairs

from .ladder_runs import (
    CLASSES,
    LIKE_GPT4,
    MODES,
    ONLY_LENGTH,
    ONLY_SLOT,
    PROJECT,
    Run,
    at,
    drops_rows_of,
    edit,
    every_mode,
    made_once,
    run_ladder,
)


@pytest.fixture
def own_copy(study, tmp_path):
    """A copy of the study that a test may damage."""
    return Path(shutil.copytree(study, tmp_path / "study"))


@pytest.fixture(scope="module")
def troubled(study, tmp_path_factory):
    """One run per mode with tau 0.3, --require-logits and a damaged table of ``ONLY_SLOT``.

    The project's receipt was copied along with the edited registration.
    """
    def fill(root, mode):
        shutil.copytree(study, root / "study")
        edit(root / "study/preregistration/decision_rule.toml", "\ntau = 0.2", "\ntau = 0.3")
        shutil.copy(PROJECT / "preregistration/RECEIPT.json", root / "study/preregistration")
        path = root / "study/artifacts" / ONLY_SLOT / "logits.parquet"
        path.write_bytes(path.read_bytes()[:-100])
        run_ladder(root, *at(root / "study"), *MODES[mode], "--require-logits")

    def run(mode):
        return Run(made_once(tmp_path_factory, f"troubled {mode}", lambda root: fill(root, mode)))
    return run


@every_mode
def test_another_registration_is_unregistered(mode, troubled, runs):
    """A copy with tau 0.3 has its own digest and units, and no copied receipt registers it."""
    run = troubled(mode)
    row = run.rows[LIKE_GPT4]
    assert (row["r_long"]["longer"]["n"], row["r_long"]["shorter"]["n"]) == (802, 268)
    assert {each["status"] for each in run.rows.values()} == {"unregistered", "not_run"}
    assert row["registration_digest"] == run.document["registration"]["digest"]
    assert row["registration_digest"] != runs(mode).rows[LIKE_GPT4]["registration_digest"]
    assert run.document["registration"]["tau"] == 0.3
    assert set(run.outcomes("test_registration").values()) == {"skipped"}
    assert run.message("test_registration[bytes]").startswith("unregistered: ")


@every_mode
def test_require_logits_fails_what_is_not_run(mode, troubled):
    """With --require-logits a rung without logits fails in a sentence, and keeps its row."""
    run = troubled(mode)
    assert run.status == 1
    assert run.outcomes("test_rung")["smollm2-360m"] == "failure"
    assert run.rows["smollm2-360m"]["status"] == "not_run"
    assert run.message("test_rung[smollm2-360m]") == (
        "Failed: smollm2-360m is not run: it has no logits (its weights come from the model hub).")


@every_mode
def test_a_corrupted_table_fails_its_rung_alone(mode, troubled):
    """One damaged logits file fails that rung in one sentence; the other judges still report."""
    run = troubled(mode)
    assert run.status == 1
    outcomes = {name: outcome for test in ("test_rung", "test_reference", "test_control")
                for name, outcome in run.outcomes(test).items()}
    assert outcomes[ONLY_SLOT] == run.outcomes("test_prediction")[ONLY_SLOT] == "failure"
    assert {outcomes[name] for name in CLASSES if name != ONLY_SLOT} == {"passed"}
    sentence = run.cases[f"test_rung[{ONLY_SLOT}]"].find("failure").text
    assert f"{ONLY_SLOT}: " in sentence and "is not the table recorded" in sentence
    assert "Traceback" not in run.output and "\n" not in sentence.strip()
    assert set(CLASSES) - set(run.rows) == {ONLY_SLOT} == set(run.document["missing"])


@every_mode
def test_a_corrupted_table_fails_the_ladders_it_is_in(mode, troubled):
    """A ladder is not computed without a rung that should be in it; the sentence names the rung."""
    run = troubled(mode)
    assert run.outcomes("test_ladder")["small-cpu"] == "failure"
    assert run.outcomes("test_scale_prediction")["small-cpu"] == "failure"
    assert f"{ONLY_SLOT}: " in run.message("test_ladder[small-cpu]")
    assert run.document["missing_ladders"] == ["small-cpu"]
    assert {row["ladder"] for row in run.document["ladders"]} == {"qwen2.5-instruct",
                                                                  "smollm2-instruct"}


def test_require_verified_fails_without_a_receipt(study, tmp_path):
    """What cannot be verified fails when the run requires it."""
    run = run_ladder(tmp_path, *at(study), *MODES["no xdist"], "--require-verified",
                     tests=("tests/ladder/test_registration.py",))
    assert run.status == 1
    assert set(run.outcomes("test_registration").values()) == {"failure"}


def test_a_recorded_table_that_is_gone_is_no_skip(own_copy, tmp_path):
    """A judge that the manifest lists cannot quietly become one that was never run."""
    (own_copy / "artifacts" / ONLY_SLOT / "logits.parquet").unlink()
    run = run_ladder(tmp_path, *at(own_copy), *MODES["no xdist"], "-k", f"test_rung[{ONLY_SLOT}]")
    assert run.status == 1
    assert run.outcomes("test_rung") == {ONLY_SLOT: "failure"}


DROPS_A_ROW = drops_rows_of(f"test_rung[{ONLY_SLOT}]")

KILLS_ITS_WORKER = f"""
import os

def pytest_runtest_call(item):
    if item.name == "test_rung[{ONLY_SLOT}]":
        os._exit(1)
"""


@every_mode
def test_a_lost_row_fails_the_run(mode, study, tmp_path):
    """A passed test whose row never arrives fails the run and is named."""
    run = run_ladder(tmp_path, *at(study), *MODES[mode], "-k", f"{ONLY_SLOT} or humans",
                     plugin=DROPS_A_ROW)
    assert run.status == 1
    assert set(run.outcomes("test_rung").values()) == {"passed"}
    assert (f"no row arrived from tests/ladder/test_rungs.py::test_rung[{ONLY_SLOT}], "
            "so this run does not count.") in run.output
    assert list(run.rows) == ["humans"]
    assert ONLY_SLOT in run.document["missing"] and "humans" not in run.document["missing"]


def test_a_killed_worker_fails_the_run(study, tmp_path):
    """A worker that dies takes its rung with it: no second try, and the run fails by name."""
    run = run_ladder(tmp_path, *at(study), *MODES["n 2"], plugin=KILLS_ITS_WORKER)
    assert run.status != 0
    assert f"no row arrived from tests/ladder/test_rungs.py::test_rung[{ONLY_SLOT}]" in run.output
    assert "worker restarting disabled" in run.output
    assert ONLY_SLOT in run.document["missing"]


def broken_rule(root):
    (root / "preregistration/decision_rule.toml").write_text("schema = \n", encoding="utf-8")


def broken_ladder(root):
    with open(root / "config/ladder.toml", "a", encoding="utf-8") as file:
        file.write("[[rung]\n")


def no_unit_table(root):
    (root / "artifacts/pairs.parquet").unlink()


def unit_table_of_text(root):
    (root / "artifacts/pairs.parquet").write_bytes(b"question_id,turn\n")


def edited_unit_table(root):
    units = pq.read_table(root / "artifacts/pairs.parquet").to_pylist()
    units[0]["votes_a_expert"] += 1
    write_pairs(root / "artifacts/pairs.parquet", units)


def broken_manifest(root):
    (root / "artifacts/MANIFEST.json").write_bytes(b"{")


def no_predictions(root):
    (root / "preregistration/predictions.toml").unlink()


def tau_that_empties_a_subset(root):
    edit(root / "preregistration/decision_rule.toml", "\ntau = 0.2", "\ntau = 0.999")


def reference_as_a_slug(root):
    for path in (root / "config/ladder.toml", root / "preregistration/predictions.toml"):
        edit(path, '"smollm2-360m"', '"humans"')


def control_as_a_slug(root):
    for path in (root / "config/ladder.toml", root / "preregistration/predictions.toml"):
        edit(path, '"smollm2-360m"', '"coin"')


DEFECTS = {
    broken_rule: "decision_rule.toml is not valid TOML",
    broken_ladder: "ladder.toml is not valid TOML",
    no_unit_table: "pairs.parquet does not exist",
    unit_table_of_text: "pairs.parquet cannot be read as parquet",
    edited_unit_table: "pairs.parquet is not the unit table recorded in MANIFEST.json",
    broken_manifest: "MANIFEST.json is not valid JSON",
    no_predictions: "predictions.toml does not exist",
    tau_that_empties_a_subset: "at tau 0.999 there are",
    reference_as_a_slug: "the slug 'humans' is a reference row's",
    control_as_a_slug: "the slug 'coin' is a control row's",
}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_a_bad_study_is_one_sentence(defect, own_copy, tmp_path, capfd, monkeypatch):
    """Options that name a broken study stop the run before any test, with one clear sentence."""
    defect(own_copy)
    monkeypatch.chdir(PROJECT)
    status = pytest.main(["tests/ladder", "-p", "no:cacheprovider", "-p", "no:faulthandler",
                          *at(own_copy)])
    assert status == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in capfd.readouterr().err.splitlines() if line.strip()]
    assert line.startswith("ERROR: ") and DEFECTS[defect] in line


def test_a_folder_as_report_is_one_sentence(study, tmp_path):
    """--ladder-json must name a file."""
    (tmp_path / "ladder.json").mkdir()
    run = run_ladder(tmp_path, *at(study), *MODES["no xdist"])
    assert run.status == pytest.ExitCode.USAGE_ERROR
    assert "--ladder-json must name a file" in run.output


def test_margins_that_fail_the_design_check_classify_nobody(own_copy, tmp_path):
    """Margins that cannot tell "no gap" from "the human gap" fail every judge in one sentence."""
    edit(own_copy / "preregistration/decision_rule.toml", "delta_0 = 0.125", "delta_0 = 0.4")
    run = run_ladder(tmp_path, *at(own_copy), *MODES["no xdist"])
    assert run.status == 1
    assert [run.outcomes("test_rung")[name] for name in (ONLY_LENGTH, ONLY_SLOT, LIKE_GPT4)] == [
        "failure"] * 3
    assert "must be below the lower limit of the human gap" in run.message(
        f"test_rung[{ONLY_LENGTH}]")
    assert run.rows["humans"]["human_gap"] is not None


def test_junit_properties_need_their_family(study, tmp_path):
    """xunit2 has no properties of test cases, in which the rows travel: one sentence says so."""
    run = run_ladder(tmp_path, *at(study), "-o", "junit_family=xunit2")
    assert run.status == pytest.ExitCode.USAGE_ERROR
    assert "which need junit_family xunit1, got xunit2" in run.output


def test_a_report_that_cannot_be_written_is_told_first(study, tmp_path):
    """A path below a file is refused before any test runs."""
    (tmp_path / "file").write_text("")
    run = run_ladder(tmp_path, *at(study), f"--ladder-json={tmp_path / 'file' / 'ladder.json'}")
    assert run.status == pytest.ExitCode.USAGE_ERROR
    assert "--ladder-json cannot write below" in run.output
