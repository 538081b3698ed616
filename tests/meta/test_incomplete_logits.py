"""A logits table is used whole or not at all."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lengthmirror.files import write_table
from lengthmirror.frozen import sha256_file
from lengthmirror.ladder_session import LadderOptions, LadderSession
from lengthmirror.manifest import read_manifest, update_manifest

from .ladder_runs import LIKE_GPT4, MODES, at, planted_study, run_ladder

MANIFEST = "artifacts/MANIFEST.json"


@pytest.fixture
def own_copy(tmp_path_factory, tmp_path):
    """A copy of the study with planted judges that a test may damage."""
    return Path(shutil.copytree(planted_study(tmp_path_factory), tmp_path / "study"))


def test_an_incomplete_table_fails_its_rung(own_copy, tmp_path):
    """A unit that was to be scored is missed, also where tau keeps it out of the analysis."""
    path, manifest = own_copy / "artifacts" / LIKE_GPT4 / "logits.parquet", own_copy / MANIFEST
    session = LadderSession(LadderOptions(own_copy / "preregistration", own_copy / "config",
                                          own_copy / "artifacts", own=True))
    above_tau = set(session.inputs.units.row.tolist())
    below = next(row for row in session.inputs.scored_units.row.tolist() if row not in above_tau)
    pairs, table = session.inputs.pairs, pq.read_table(path)
    gone = pc.and_(pc.equal(table["question_id"], int(pairs.question_id[below])),
                   pc.and_(pc.equal(table["turn"], int(pairs.turn[below])),
                           pc.is_in(table["prompt_sha256"], pa.array(
                               [pairs.prompt_sha256_ab[below], pairs.prompt_sha256_ba[below]]))))
    write_table(path, table.filter(pc.invert(gone)))
    entry = read_manifest(manifest)["rungs"][LIKE_GPT4]
    entry["table_sha256"] = sha256_file(path)
    update_manifest(manifest, "rungs", LIKE_GPT4, entry)
    run = run_ladder(tmp_path, *at(own_copy), *MODES["no xdist"], "-k",
                     f"test_rung[{LIKE_GPT4}]")
    assert run.outcomes("test_rung") == {LIKE_GPT4: "failure"}
    assert f"{LIKE_GPT4}: no logits for question {pairs.question_id[below]}," in run.output


def test_another_number_of_rows_fails_its_rung(own_copy, tmp_path):
    """The table must have as many rows as its entry records."""
    manifest = own_copy / MANIFEST
    entry = read_manifest(manifest)["rungs"][LIKE_GPT4]
    update_manifest(manifest, "rungs", LIKE_GPT4, {**entry, "n_rows": 17})
    run = run_ladder(tmp_path, *at(own_copy), *MODES["no xdist"], "-k", f"test_rung[{LIKE_GPT4}]")
    assert run.outcomes("test_rung") == {LIKE_GPT4: "failure"}
    assert "rows, but MANIFEST.json records 17." in run.output


def test_logits_of_other_weights_fail_their_rung_and_its_ladder(own_copy, tmp_path):
    """A manifest that names other weights is told in one sentence by the rung and the ladder."""
    manifest = own_copy / MANIFEST
    entry = read_manifest(manifest)["rungs"][LIKE_GPT4]
    update_manifest(manifest, "rungs", LIKE_GPT4, {**entry, "weights": {"sha256": "0" * 64}})
    run = run_ladder(tmp_path, *at(own_copy), *MODES["no xdist"], "-k",
                     f"test_rung[{LIKE_GPT4}] or test_ladder[small-cpu]")
    assert run.outcomes("test_rung") == {LIKE_GPT4: "failure"}
    assert run.outcomes("test_ladder") == {"small-cpu": "failure"}
    for name in (f"test_rung[{LIKE_GPT4}]", "test_ladder[small-cpu]"):
        sentence = run.cases[name].find("failure").text.strip()
        assert f"{LIKE_GPT4}: the logits were scored with weights = " in sentence
        assert "\n" not in sentence and sentence.endswith(".")
