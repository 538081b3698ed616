"""Rows of ladders with a known answer, from the plugin as a user runs it."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from lengthmirror.ladder_controller import SCALE_PROPERTY
from lengthmirror.ladder_session import LadderOptions, LadderSession
from lengthmirror.scale import SizedJudge, scale_statistics
from lengthmirror.scale_report import CAVEAT
from lengthmirror.study import load_study

from .ladder_runs import (
    ABOVE_THE_STEP,
    ALL_EQUAL,
    ALONE,
    BELOW_THE_STEP,
    LIKE_GPT4,
    MODES,
    ONLY_LENGTH,
    ONLY_SLOT,
    PROJECT,
    Run,
    at,
    drops_rows_of,
    every_mode,
    ladders_study,
    made_once,
    planted_run,
    run_ladder,
)

STEP, EQUAL, SHORT = "qwen2.5-instruct", "smollm2-instruct", "small-cpu"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The study with planted ladders."""
    return ladders_study(tmp_path_factory)


@pytest.fixture(scope="module")
def runs(study, tmp_path_factory):
    """Gives the run of that study in a mode, or with other options."""
    def run(mode):
        options = at(study) + list(MODES.get(mode) or mode.split())
        return Run(made_once(tmp_path_factory, f"ladders {mode}",
                             lambda folder: run_ladder(folder, *options)))
    return run


def ladders(run):
    return {row["ladder"]: row for row in run.document["ladders"]}


@pytest.fixture(scope="module")
def rows(runs):
    """The rows of the ladders by name."""
    return ladders(runs("n 0"))


@every_mode
def test_a_planted_step_is_localised(mode, runs):
    """Two slot judges below two that track quality: LOCALISED between them, slope above 0."""
    run = runs(mode)
    assert run.status == 0, run.output
    row = ladders(run)[STEP]
    assert (row["outcome"], row["status"], row["kind"]) == ("LOCALISED", "unregistered",
                                                            "one_family")
    assert row["boundary"] == {"below": BELOW_THE_STEP[1], "above": ABOVE_THE_STEP[0]}
    assert [each["class"] for each in row["judges"]] == (["NO_PREFERENCE"] * 2
                                                         + ["QUALITY_TRACKING"] * 2)
    assert row["slope"]["ci95"][0] > 0 and row["slope_p"] < 0.05 and row["kendall_tau"] > 0
    assert row["monotone"] == "no evidence"
    assert row["caveat"] is None and row["not_scored"] == []


@every_mode
def test_equal_planted_judges_are_uniform(mode, runs):
    """Three judges of one planted length preference: UNIFORM, without a trend or a boundary."""
    row = ladders(runs(mode))[EQUAL]
    assert (row["outcome"], row["boundary"], row["boundaries"]) == ("UNIFORM", None, [])
    assert {each["class"] for each in row["judges"]} == {"LENGTH_PREFERENCE"}
    low, high = row["slope"]["ci95"]
    assert low < 0 < high and row["slope_p"] > 0.05


@every_mode
def test_a_ladder_with_one_scored_rung_is_skipped(mode, runs):
    """One sentence says how many rungs are scored, and which are not; the row has no statistics."""
    run = runs(mode)
    sentence = (f"{SHORT} has 1 of 3 rungs scored and needs at least 2 "
                f"(not scored: {ONLY_LENGTH}, {LIKE_GPT4}).")
    assert run.outcomes("test_ladder") == {STEP: "passed", EQUAL: "passed", SHORT: "skipped"}
    assert sentence in run.cases[f"test_ladder[{SHORT}]"].find("skipped").text
    row = ladders(run)[SHORT]
    assert (row["status"], row["outcome"], row["coverage"]) == ("not_run", "UNDETERMINED", sentence)
    assert (row["scored"], row["not_scored"]) == ([ALONE], [ONLY_LENGTH, LIKE_GPT4])
    assert row["slope"] is row["judges"] is row["order_debiased"] is None


@every_mode
def test_registered_scale_predictions_are_compared(mode, runs):
    """A ladder whose outcome is another than registered is xfail and says both, with the slope."""
    run = runs(mode)
    assert run.outcomes("test_scale_prediction") == dict.fromkeys((STEP, EQUAL, SHORT), "skipped")
    slope = ladders(run)[STEP]["slope"]
    assert run.message(f"test_scale_prediction[{STEP}]") == (
        f"registered GRADED, observed LOCALISED (slope = {slope['estimate']:.4f}, CI = "
        f"[{slope['ci95'][0]:.4f}, {slope['ci95'][1]:.4f}]); {STEP} has 4 of 4 rungs scored "
        "(not scored: none).")
    assert run.message(f"test_scale_prediction[{EQUAL}]").startswith(
        "registered LOCALISED, observed UNIFORM (slope = ")
    text = run.cases[f"test_scale_prediction[{SHORT}]"].find("skipped").text
    assert f"The registered prediction stays open: {SHORT} has 1 of 3 rungs scored" in text


def test_a_prediction_that_holds_passes(study, tmp_path):
    """With the outcome that is observed registered, the test of the prediction passes."""
    own = Path(shutil.copytree(study, tmp_path / "study"))
    path = own / "preregistration/predictions.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('outcome = "GRADED"', 'outcome = "LOCALISED"'), encoding="utf-8")
    run = run_ladder(tmp_path, *at(own), *MODES["no xdist"], "-k", "scale_prediction")
    assert run.outcomes("test_scale_prediction")[STEP] == "passed"


def test_mixed_families_carry_the_registered_caveat(tmp_path_factory):
    """Length, slot and quality in three families: graded, and the row and the table say why not."""
    run = planted_run(tmp_path_factory, "n 0")
    row = ladders(run)[SHORT]
    assert [each["rung"] for each in row["judges"]] == [ONLY_LENGTH, ONLY_SLOT, LIKE_GPT4]
    assert (row["outcome"], row["kind"], row["caveat"]) == ("GRADED", "mixed_families", CAVEAT)
    assert CAVEAT[:-1] in (PROJECT / "preregistration/PREREGISTRATION.md").read_text("utf-8")
    assert f"{SHORT}: {CAVEAT}" in run.output
    assert [each["contrast"] for each in row["boundaries"]] == ["lean", "gap"]


@pytest.mark.parametrize("mode", ["n 0", "n 2", "-n 1", "-n 4"])
def test_the_bytes_do_not_depend_on_the_workers(mode, runs):
    """ladder.json is byte-identical however many workers computed the ladders."""
    assert runs(mode).json_path.read_bytes() == runs("no xdist").json_path.read_bytes()


def test_a_second_run_gives_the_same_bytes(study, runs, tmp_path):
    """ladder.json is byte-identical on re-run."""
    again = run_ladder(tmp_path, *at(study), *MODES["n 2"])
    assert again.json_path.read_bytes() == runs("n 0").json_path.read_bytes()


@every_mode
def test_junit_carries_the_ladder(mode, runs):
    """Each ladder's test case has its row, and the suite its outcome with the slope and p."""
    run = runs(mode)
    for name, row in ladders(run).items():
        properties = run.cases[f"test_ladder[{name}]"].find("properties")
        [value] = [each.get("value") for each in properties if each.get("name") == SCALE_PROPERTY]
        assert json.loads(value) == row
    step = f"LOCALISED ({BELOW_THE_STEP[1]} | {ABOVE_THE_STEP[0]}); slope = "
    assert run.suite[f"scale_{STEP}"].startswith(step)
    assert run.suite[f"scale_{SHORT}"] == "not_run"


@every_mode
def test_the_terminal_has_a_line_per_ladder(mode, runs):
    """The line shows how much is scored, the slope with interval and p, and both outcomes."""
    run = runs(mode)
    [line] = [line for line in run.output.splitlines() if line.startswith(f"{STEP}  ")]
    cells = re.split(r"\s{2,}", line)
    row = ladders(run)[STEP]
    slope = row["slope"]
    assert cells == [STEP, "one_family", "4 of 4", f"{slope['estimate']:.3f} "
                     f"[{slope['ci95'][0]:.3f}, {slope['ci95'][1]:.3f}]",
                     f"{row['slope_p']:.4f}", "no evidence",
                     f"LOCALISED ({BELOW_THE_STEP[1]} | {ABOVE_THE_STEP[0]})",
                     row["order_debiased"]["outcome"]]


def test_the_row_against_the_statistics(study, rows):
    """Every number of a row is the one that ``scale`` gives for the rungs' own sums."""
    session = LadderSession(LadderOptions(study / "preregistration", study / "config",
                                          study / "artifacts", own=False))
    for kind, section in (("deciding", rows[STEP]), ("debiased", rows[STEP]["order_debiased"])):
        judged = {slug: getattr(session.statistics(slug), kind).statistics
                  for slug in (*BELOW_THE_STEP, *ABOVE_THE_STEP)}
        sizes = [session.study.rungs[slug].parameters for slug in judged]
        found = scale_statistics([
            SizedJudge(size, each.outcome, each.sign_flip_p, each.equivalence_p_0,
                       each.equivalence_p_H, each.sums)
            for size, each in zip(sizes, judged.values())], session.study.rule)
        assert section["outcome"] == found.localisation.outcome
        assert section["slope"]["ci95"] == pytest.approx(found.trend.slope.ci95, abs=1e-10)
        assert section["slope_p"] == found.trend.p
        assert [each["p_holm"] for each in section["steps"]] == pytest.approx(found.step_p)
        assert [each["p_holm"] for each in section["boundaries"]] == [
            each.p for each in found.localisation.boundaries]
        assert [each["slope_p_holm"] for each in section["runs"]] == list(
            found.localisation.run_slope_p)
        for name, expected in (("sign_flip_p_holm", found.gap_p_holm),
                               ("equivalence_p_0_holm", found.equivalence_p_0_holm),
                               ("equivalence_p_H_holm", found.equivalence_p_H_holm)):
            assert [each[name] for each in section["judges"]] == list(expected)


def test_the_slope_against_scipy(runs, rows):
    """The slope and tau of a row are scipy's, from the G of the judges' own rows."""
    judges = [runs("n 0").rows[slug] for slug in ALL_EQUAL]
    gaps, sizes = [each["gap"]["estimate"] for each in judges], [each["parameters"]
                                                                 for each in judges]
    row, slope = rows[EQUAL], stats.linregress(np.log10(sizes), gaps).slope
    assert row["slope"]["estimate"] == pytest.approx(slope)
    assert row["kendall_tau"] == pytest.approx(stats.kendalltau(sizes, gaps).statistic)
    assert [each["gap"] for each in row["judges"]] == [each["gap"] for each in judges]
    assert [each["sign_flip_p"] for each in row["judges"]] == [each["sign_flip_p"]
                                                              for each in judges]


def test_the_runs_and_steps_name_their_rungs(rows):
    """Runs of equal class, the boundary and each neighbouring difference are given by slug."""
    row = rows[STEP]
    assert [each["rungs"] for each in row["runs"]] == [list(BELOW_THE_STEP), list(ABOVE_THE_STEP)]
    assert row["boundaries"][0] | {"p_holm": None} == {
        "below": BELOW_THE_STEP[1], "above": ABOVE_THE_STEP[0], "contrast": "gap", "p_holm": None}
    slugs = [*BELOW_THE_STEP, *ABOVE_THE_STEP]
    gaps = [each["gap"]["estimate"] for each in row["judges"]]
    assert [(each["below"], each["above"]) for each in row["steps"]] == list(zip(slugs, slugs[1:]))
    assert [each["difference"] for each in row["steps"]] == pytest.approx(np.diff(gaps), abs=1e-9)


def test_the_fitted_line_has_the_slope(rows):
    """The points of the fitted line run from the smallest to the largest judge along the slope."""
    row, fit = rows[STEP], rows[STEP]["fit"]
    x, y = ([each[name] for each in fit] for name in ("log10_parameters", "estimate"))
    sizes = [each["parameters"] for each in row["judges"]]
    assert (x[0], x[-1]) == pytest.approx((np.log10(sizes[0]), np.log10(sizes[-1])))
    line = np.polyfit(np.log10(sizes), [each["gap"]["estimate"] for each in row["judges"]], 1)
    assert y == pytest.approx(np.polyval(line, x))
    assert all(low < estimate < high for estimate, (low, high)
               in ((each["estimate"], each["ci95"]) for each in fit))


def test_controls_change_no_judge(study, runs, tmp_path):
    """Without the controls every other row is the same, to the last digit."""
    run = run_ladder(tmp_path, *at(study), *MODES["no xdist"], "-k", "not test_control")
    everything = runs("no xdist").rows
    assert run.rows == {name: row for name, row in everything.items() if row["kind"] != "control"}
    controls = [row for row in everything.values() if row["kind"] == "control"]
    assert [row["rung"] for row in controls] == ["always-longer", "coin"]
    assert [row["class"] for row in controls] == ["LENGTH_PREFERENCE", "NO_PREFERENCE"]
    longer, coin = (row["r_long"] for row in controls)
    assert [longer[name]["estimate"] for name in longer] == [1, 1]
    assert [coin[name]["estimate"] for name in coin] == [0.5, 0.5]
    assert all(row["parameters"] is row["order_debiased"] is None for row in controls)


def test_controls_enter_no_ladder(study):
    """A control has no size and is in no ladder of the configuration."""
    configured = load_study(study / "preregistration", study / "config")
    named = {slug for ladder in configured.ladders.values() for slug in ladder.rungs}
    assert not named & {"always-longer", "coin", "gpt4-published", "humans"}


def test_required_logits_fail_a_short_ladder(study, tmp_path):
    """With --require-logits a ladder of too few scored rungs fails in its sentence."""
    run = run_ladder(tmp_path, *at(study), *MODES["no xdist"], "--require-logits",
                     tests=("tests/ladder/test_scale.py",))
    assert run.outcomes("test_ladder") == {STEP: "passed", EQUAL: "passed", SHORT: "failure"}
    assert f"Failed: {SHORT} has 1 of 3 rungs scored" in run.message(f"test_ladder[{SHORT}]")
    assert run.document["rows"] == [] and run.document["missing_ladders"] == []


DROPS_A_LADDER = drops_rows_of(f"test_ladder[{STEP}]")


def test_a_lost_ladder_fails_the_run(study, tmp_path):
    """A passed test whose ladder never arrives fails the run and is named."""
    run = run_ladder(tmp_path, *at(study), *MODES["n 2"], plugin=DROPS_A_LADDER,
                     tests=("tests/ladder/test_scale.py",))
    assert run.status == 1
    assert f"no row arrived from tests/ladder/test_scale.py::test_ladder[{STEP}]" in run.output
    assert run.document["missing_ladders"] == [STEP]


def test_no_model_library_is_loaded(runs):
    """Computing every ladder imports neither torch nor transformers nor datasets."""
    assert [child.tag for child in runs("n 0").cases["test_no_model_library_is_loaded"]] == []
