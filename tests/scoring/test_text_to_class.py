"""The whole path on a small data set: texts, prompts, a real transformer, logits, one class."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
import torch

from lengthmirror.analysis import rung_row
from lengthmirror.cli import main
from lengthmirror.inputs import Registration, load_inputs
from lengthmirror.pairs import read_pairs
from lengthmirror.rule import CLASSES
from lengthmirror.study import load_study

from .tiny import SLUG, byte_tokenizer, save_hub_layout, tiny_llama

N_JUDGED = 41  # of 42 units; one has only ties


def score(folders, weights):
    """Scores the tiny judge and returns its rows."""
    assert main(["score", SLUG, *folders.job_options(weights), f"--work={folders.work}",
                 "--workers=2"]) == 0
    return pq.read_table(folders.artifacts / SLUG / "logits.parquet").to_pylist()


def row_of(folders):
    """The row of the tiny judge in the report of its study."""
    study = load_study(folders.registration, folders.config)
    registration = Registration(study.digest, "unregistered", registered=False)
    return rung_row(load_inputs(study, folders.artifacts, registration), SLUG)


def scores_by_hand(folders, rows):
    """Order-averaged scores toward the longer answer, in L and in S, unit by unit."""
    slot_a_wins = {(row["question_id"], row["turn"], row["model_a"], row["model_b"]):
                   1.0 if row["logit_a"] > row["logit_b"] else
                   0.5 if row["logit_a"] == row["logit_b"] else 0.0 for row in rows}
    units, scores = read_pairs(folders.artifacts / "pairs.parquet"), {"longer": [], "shorter": []}
    for i in range(len(units)):
        unit, a, b = (units.question_id[i], units.turn[i]), units.model_a[i], units.model_b[i]
        for_a = units.votes_a_expert[i] + units.votes_a_author[i]
        for_b = units.votes_b_expert[i] + units.votes_b_author[i]
        if for_a == for_b:
            continue
        a_is_longer = units.chars_a[i] > units.chars_b[i]
        toward_a = (slot_a_wins[*unit, a, b] + 1 - slot_a_wins[*unit, b, a]) / 2
        subset = "longer" if (for_a > for_b) == a_is_longer else "shorter"
        scores[subset].append(toward_a if a_is_longer else 1 - toward_a)
    return scores


def test_small_study_gives_one_class_against_definition(small, tiny_weights):
    """From texts to one class on a CPU in seconds; r_long and G equal a count by hand."""
    by_hand = scores_by_hand(small, score(small, tiny_weights))
    row = row_of(small)
    assert row["class"] in CLASSES and row["order_debiased"]["class"] in CLASSES
    assert row["status"] == "unregistered"
    rates = {subset: sum(scores) / len(scores) for subset, scores in by_hand.items()}
    for subset, scores in by_hand.items():
        found = row["r_long"][subset]
        assert (found["n"], found["estimate"]) == (len(scores), pytest.approx(rates[subset]))
    assert row["gap"]["estimate"] == pytest.approx(rates["longer"] - rates["shorter"])
    assert row["position_consistency"]["n"] == N_JUDGED


def test_small_study_goes_through_the_ladder_run(request, small, tiny_weights, tmp_path):
    """The committed tests, pointed at the small study, report the class that was computed here."""
    score(small, tiny_weights)
    report = tmp_path / "ladder.json"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/ladder",
         *small.study_options(), f"--ladder-json={report}"],
        cwd=request.config.rootpath, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    rows = {row["rung"]: row for row in json.loads(report.read_text())["rows"]}
    here = row_of(small)
    assert rows[SLUG]["class"] == here["class"]
    assert rows[SLUG]["gap"]["estimate"] == pytest.approx(here["gap"]["estimate"], abs=1e-9)
    assert rows[SLUG]["registration_digest"] == here["registration_digest"]


def test_judge_that_never_tells_the_options_apart_has_no_preference(small, tmp_path):
    """A transformer with equal rows for A and B ties exactly everywhere, scored one half."""
    tokenizer = byte_tokenizer()
    model, (a, b) = tiny_llama(tokenizer), tokenizer.convert_tokens_to_ids(["A", "B"])
    with torch.no_grad():
        model.lm_head.weight[b] = model.lm_head.weight[a]
    save_hub_layout(tmp_path / "weights" / SLUG, model, tokenizer)
    rows = score(small, tmp_path / "weights")
    assert all(row["logit_a"] == row["logit_b"] for row in rows)
    row = row_of(small)
    assert row["class"] == "NO_PREFERENCE" and row["exact_ties"] == 2 * N_JUDGED
    assert [row["r_long"][subset]["estimate"] for subset in ("longer", "shorter")] == [0.5, 0.5]
    assert (row["gap"]["estimate"], row["slot_a_share"]) == (0, 0.5)
