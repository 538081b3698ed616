"""``lengthmirror sensitivity``: a table per judge from committed logits, always the same bytes."""

import csv
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from lengthmirror.cli import main
from lengthmirror.inputs import Inputs
from lengthmirror.ladder_session import LadderOptions, LadderSession
from lengthmirror.manifest import read_manifest, update_manifest
from lengthmirror.sensitivity import Source, specification_row, specifications
from lengthmirror.sensitivity_report import sensitivity_lines

from .ladder_runs import LIKE_GPT4, ONLY_LENGTH, ONLY_SLOT, at, planted_study

FILES = ("sensitivity.json", "sensitivity.csv")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study with planted judges and without a receipt."""
    return planted_study(tmp_path_factory)


@pytest.fixture(scope="module")
def session(study):
    """The study as the ladder reads it."""
    return LadderSession(LadderOptions(study / "preregistration", study / "config",
                                       study / "artifacts", own=False))


@pytest.fixture(scope="module")
def output(study, tmp_path_factory):
    """What the command writes for every judge with logits."""
    folder = tmp_path_factory.mktemp("reports")
    assert main(["sensitivity", "--output", str(folder), *at(study)]) == 0
    return folder


@pytest.fixture(scope="module")
def tables(output):
    """The rows by judge and specification."""
    document = json.loads((output / FILES[0]).read_text(encoding="utf-8"),
                          parse_constant=pytest.fail)
    return {each["judge"]: {row["specification"]: row for row in each["specifications"]}
            for each in document["judges"]}


def test_every_judge_has_every_registered_specification(tables, session):
    """The primary specification comes first, then the fifteen of the registration in its order."""
    names = [name for name, _ in specifications(session.study)]
    assert list(tables) == [ONLY_LENGTH, ONLY_SLOT, LIKE_GPT4, "gpt4-published"]
    assert [list(rows) for rows in tables.values()] == [names] * 4
    assert len(names) == 16 and names[0] == "primary"


@pytest.mark.parametrize("name", [ONLY_LENGTH, ONLY_SLOT, LIKE_GPT4, "gpt4-published"])
def test_the_primary_row_is_the_row_of_the_ladder(name, tables, session):
    """Beside the analyses stands what the ladder says: the same counts, G and class."""
    row, found = session.row(name), tables[name]["primary"]
    assert found["class"] == row["class"]
    assert found["gap"]["estimate"] == pytest.approx(row["gap"]["estimate"], abs=1e-10)
    assert found["gap"]["ci95"] == pytest.approx(row["gap"]["ci95"], abs=1e-10)
    assert (found["n_longer"], found["n_shorter"]) == (873, 308)
    assert (found["n_left_out"], found["sentence"]) == (0, None)


@pytest.mark.parametrize("name", [ONLY_LENGTH, ONLY_SLOT, LIKE_GPT4])
def test_the_order_debiased_row_repeats_the_secondary_analysis(name, tables, session):
    """The last specification is the order-debiased part of the judge's row."""
    row, found = session.row(name)["order_debiased"], tables[name]["order-debiased verdict"]
    assert found["class"] == row["class"]
    assert found["gap"]["ci95"] == pytest.approx(row["gap"]["ci95"], abs=1e-10)


def test_published_verdicts_have_no_order_debiased_one(tables):
    """GPT-4's published verdicts have no logits: that row says so and has no G."""
    row = tables["gpt4-published"]["order-debiased verdict"]
    assert row["class"] is row["gap"] is None
    assert row["sentence"] == ("the verdicts of gpt4-published have no logits, from which the "
                               "order_debiased verdict could be read.")


def test_units_without_logits_are_left_out_and_counted(tables):
    """Only other lengths need units that were not scored; GPT-4 has a verdict for every unit."""
    left_out = {name: row["n_left_out"] for name, row in tables[ONLY_LENGTH].items()}
    assert {name for name, count in left_out.items() if count} == {"length in tokens",
                                                                   "conversation scope"}
    assert {row["n_left_out"] for row in tables["gpt4-published"].values()} == {0}
    for name in ("length in tokens", "conversation scope"):
        all_units, judged = tables["gpt4-published"][name], tables[ONLY_LENGTH][name]
        fewer = sum(all_units[side] - judged[side] for side in ("n_longer", "n_shorter"))
        assert 0 < fewer <= judged["n_left_out"]


def test_known_judges_keep_their_class(tables):
    """A length judge and a slot judge are what they are under every specification."""
    for name, expected in ((ONLY_LENGTH, "LENGTH_PREFERENCE"), (ONLY_SLOT, "NO_PREFERENCE")):
        assert {label: row["class"] for label, row in tables[name].items()} == dict.fromkeys(
            tables[name], expected)


def test_a_second_run_gives_the_same_bytes(study, output, tmp_path):
    """Both files are byte-identical on re-run, whatever order the judges are named in."""
    names = ["gpt4-published", LIKE_GPT4, ONLY_SLOT, ONLY_LENGTH]
    assert main(["sensitivity", *names, "--output", str(tmp_path), *at(study)]) == 0
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (output / name).read_bytes()


def test_the_csv_has_the_numbers_of_the_json(output, tables):
    """One line per judge and specification, an absent value empty; lines end in a line feed."""
    assert b"\r" not in (output / FILES[1]).read_bytes()
    with open(output / FILES[1], encoding="utf-8", newline="") as file:
        records = list(csv.DictReader(file))
    assert len(records) == 16 * len(tables)
    for record in records:
        row = tables[record["judge"]][record["specification"]]
        for name in ("n_longer", "n_shorter", "n_left_out", "class", "sentence"):
            assert record[name] == ("" if row[name] is None else str(row[name]))
        if row["gap"]:
            assert float(record["gap"]) == row["gap"]["estimate"]
            assert [float(record[f"gap_ci95_{end}"]) for end in ("low", "high")] == (
                row["gap"]["ci95"])


def test_the_table_is_printed(study, tmp_path, capsys):
    """The terminal has the judge, a heading and a line per specification with G and class."""
    assert main(["sensitivity", ONLY_SLOT, "--output", str(tmp_path), *at(study)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == ONLY_SLOT and len(lines) == 18
    cells = [re.split(r"\s{2,}", line.strip()) for line in lines[1:3]]
    assert cells[0] == ["specification", "n_L", "n_S", "G [interval]", "class", "left out"]
    assert cells[1] == ["primary", "873", "308", "0.000 [0.000, 0.000]", "NO_PREFERENCE", "0"]


def row_of(session, rule, source=None):
    """The row of GPT-4-like verdicts under a specification of the test's own."""
    inputs: Inputs = session.inputs
    scored = np.ones(len(inputs.pairs), dtype=bool) if source is None else source
    return specification_row(inputs.pairs, "here", rule, Source(
        scored, lambda units, rule: (np.where(units.judged, 2, 0), None)))


def test_an_unresolvable_specification_is_a_row_without_a_class(session):
    """Where the design check fails there are counts and G, no class, and the sentence."""
    rule = session.study.rule
    row = row_of(session, replace(rule, decision=replace(rule.decision, delta_0=0.4)))
    assert (row["n_longer"], row["n_shorter"], row["class"]) == (873, 308, None)
    assert row["gap"]["estimate"] == 0
    assert row["sentence"].startswith("the margins delta_0 + delta_h = 0.5250 must be below")
    assert row["sentence"].endswith("or no judge can be classified.")


def test_an_empty_subset_is_a_row_with_its_sentence(session):
    """A specification that leaves no unit is no crash; the sentence has tau and both counts."""
    rule = session.study.rule
    row = row_of(session, replace(rule, units=replace(rule.units, tau=Fraction(999, 1000))))
    assert row["gap"] is row["class"] is row["n_longer"] is None
    assert row["sentence"].startswith("at tau 0.999 there are ")


def test_a_subset_emptied_by_missing_logits_is_a_row_with_its_sentence(session):
    """Where leaving units out empties a subset, the sentence says how many were left out."""
    units = session.inputs.units
    scored = np.zeros(len(session.inputs.pairs), dtype=bool)
    scored[units.row[units.label > 0]] = True
    row = row_of(session, session.study.rule, scored)
    assert row["class"] is None
    assert row["sentence"].startswith("without the 369 units that were not scored there are 873 ")


def test_too_few_questions_are_a_row_with_their_sentence(session):
    """A specification whose resamples lack a subset too often has counts and the sentence."""
    units = session.inputs.units
    scored = np.zeros(len(session.inputs.pairs), dtype=bool)
    scored[units.row[(units.label > 0) | (units.question_id == 81)]] = True
    row = row_of(session, session.study.rule, scored)
    assert row["n_shorter"] > 0 and row["gap"] is row["class"] is None
    assert "a subset is empty in " in row["sentence"]


def test_a_sentence_stands_below_the_table():
    """What a row cannot say in a number is said below the table of its judge."""
    row = {"specification": "tau 0.9", "n_longer": None, "n_shorter": None, "n_left_out": None,
           "gap": None, "class": None, "sentence": "there is nothing."}
    lines = sensitivity_lines({"judges": [{"judge": "small", "specifications": [row]}]})
    assert lines[0] == "small" and lines[2].split() == ["tau", "0.9", "-", "-", "-", "-", "-"]
    assert lines[3] == "  tau 0.9: there is nothing."


@pytest.mark.parametrize("names, said", [
    (["smollm3"], "there is no rung 'smollm3' in config/ladder.toml; it has smollm2-135m,"),
    ([ONLY_SLOT, ONLY_SLOT], f"the rung '{ONLY_SLOT}' is listed twice."),
    (["qwen2.5-7b"], "qwen2.5-7b is not run: it has no logits below "),
], ids=["unknown", "twice", "not run"])
def test_a_judge_that_cannot_be_shown_is_one_sentence(names, said, study, tmp_path, capsys):
    """An unknown rung, one named twice and one without logits are refused; nothing is written."""
    assert main(["sensitivity", *names, "--output", str(tmp_path / "out"), *at(study)]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and said in printed.err
    assert not (tmp_path / "out").exists()


def test_logits_of_other_weights_are_one_sentence(study, tmp_path, capsys):
    """A judge whose manifest names other weights stops the command; no row stands for it."""
    own = Path(shutil.copytree(study, tmp_path / "study"))
    manifest = own / "artifacts/MANIFEST.json"
    entry = read_manifest(manifest)["rungs"][ONLY_LENGTH]
    update_manifest(manifest, "rungs", ONLY_LENGTH, {**entry, "weights": {"sha256": "0" * 64}})
    assert main(["sensitivity", "--output", str(tmp_path / "out"), *at(own)]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith(f"lengthmirror: {ONLY_LENGTH}: the logits were scored with weights")
    assert printed.count("\n") == 1 and not (tmp_path / "out").exists()


def test_a_report_that_cannot_be_written_is_one_sentence(study, tmp_path, capsys):
    """An output folder that is a file is refused in a sentence."""
    (tmp_path / "file").write_text("")
    assert main(["sensitivity", ONLY_SLOT, "--output", str(tmp_path / "file"), *at(study)]) == 1
    assert "sensitivity.json cannot be written (" in capsys.readouterr().err


def test_no_model_library_is_loaded(study, tmp_path):
    """The command reads committed logits only: no torch, no pytest."""
    arguments = ["sensitivity", ONLY_SLOT, "--output", str(tmp_path), *at(study)]
    code = (f"import sys; from lengthmirror.cli import main; assert main({arguments!r}) == 0; "
            "print({'torch', 'transformers', 'datasets', 'pytest'} & set(sys.modules))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
