"""The five tamper checks, each against a registration with the defect it is there to see."""

import shutil
from pathlib import Path

import pytest

from lengthmirror.registration import CHECKS, is_registered, overall

PROJECT = Path(__file__).parents[2]
RULE = "preregistration/decision_rule.toml"
RECEIPT = "preregistration/RECEIPT.json"
AMENDMENTS = "preregistration/AMENDMENTS.md"


def statuses(checks: dict) -> dict:
    """The statuses of the checks, without the rule's (a tiny repository has no unit table)."""
    return {name: check.status for name, check in checks.items() if name != "rule"}


def all_of(status: str) -> dict:
    """One status for the four checks of bytes and history."""
    return dict.fromkeys(CHECKS[:4], status)


def test_a_registration_frozen_before_its_logits_passes(frozen):
    """Freeze, receipt, logits, in three commits: every check of bytes and history passes."""
    first = frozen.score("smollm2-135m")
    checks = frozen.checks()
    assert statuses(checks) == all_of("passed")
    assert checks["commit"].sentence == (
        f"the freeze is commit {frozen.first[:12]}, found by content; the receipt names "
        f"{frozen.first[:12]}.")
    assert f"older than commit {first[:12]}, the first with logits." in checks["order"].sentence


def test_a_registration_without_receipt_is_unregistered(committed):
    """No receipt: all five checks say so, and so does the status of the whole."""
    checks = committed.checks()
    assert set(checks) == set(CHECKS)
    assert {check.status for check in checks.values()} == {"unregistered"}
    assert checks["bytes"].sentence.endswith("has no RECEIPT.json, so nothing is registered.")
    assert overall(list(checks.values())) == "unregistered"


def test_an_edited_file_is_named(frozen):
    """An edit in the work tree fails the bytes, and the history stays as it was."""
    frozen.append(RULE, "# edited\n")
    checks = frozen.checks()
    assert statuses(checks) == {**all_of("passed"), "bytes": "failed"}
    assert checks["bytes"].sentence == f"the registration differs from its receipt: changed {RULE}."


def test_a_file_that_is_gone_is_named(frozen):
    """A deleted frozen file fails the bytes."""
    (frozen.config / "dataset.toml").unlink()
    assert frozen.checks()["bytes"].sentence == (
        "the registration differs from its receipt: gone config/dataset.toml.")


@pytest.mark.parametrize("name", ["preregistration/decision_rule_2.toml", "config/sub/extra.toml"])
def test_a_file_that_is_added_is_named(frozen, name):
    """A file that the registration does not know fails the bytes, at any depth."""
    frozen.append(name, "tau = 0.3\n")
    assert frozen.checks()["bytes"].sentence == (
        f"the registration differs from its receipt: added {name}.")


def test_every_difference_is_listed_at_once(frozen):
    """Changed, gone and added files come in one sentence."""
    frozen.append(RULE, "# edited\n")
    frozen.append("config/notes.txt", "x")
    (frozen.registration / "predictions.toml").unlink()
    assert frozen.checks()["bytes"].sentence == (
        f"the registration differs from its receipt: changed {RULE}; "
        "gone preregistration/predictions.toml; added config/notes.txt.")


def test_a_committed_edit_fails_bytes_and_history(frozen):
    """An edit that is committed shows in both places."""
    frozen.append(RULE, "# edited\n")
    edit = frozen.commit("edit")
    checks = frozen.checks()
    assert statuses(checks) == {**all_of("passed"), "bytes": "failed", "untouched": "failed"}
    assert checks["untouched"].sentence == (f"commit {edit[:12]} touches frozen files after the "
                                            f"freeze {frozen.first[:12]} and is no amendment.")


def test_a_reverted_edit_still_shows(frozen):
    """An edit that was taken back leaves the bytes right and the history wrong."""
    frozen.append(RULE, "# edited\n")
    edit = frozen.commit("edit")
    frozen.git("revert", "--no-edit", "HEAD")
    checks = frozen.checks()
    assert statuses(checks) == {**all_of("passed"), "untouched": "failed"}
    assert edit[:12] in checks["untouched"].sentence


def test_an_edit_reverted_on_a_side_branch_still_shows(frozen):
    """A merge whose result equals the main line does not hide what the branch did."""
    frozen.git("checkout", "--quiet", "-b", "side")
    frozen.append(RULE, "# edited\n")
    edit = frozen.commit("edit")
    frozen.git("revert", "--no-edit", "HEAD")
    frozen.git("checkout", "--quiet", "main")
    frozen.append("README.md", "text\n")
    frozen.commit("main goes on")
    frozen.git("merge", "--quiet", "--no-edit", "side")
    checks = frozen.checks()
    assert statuses(checks) == {**all_of("passed"), "untouched": "failed"}
    assert edit[:12] in checks["untouched"].sentence


def test_an_edit_made_in_a_merge_commit_still_shows(frozen):
    """A merge that changes a frozen file by itself is an edit like any other."""
    frozen.git("checkout", "--quiet", "-b", "side")
    frozen.append("a.txt", "a\n")
    frozen.commit("side")
    frozen.git("checkout", "--quiet", "main")
    frozen.append("b.txt", "b\n")
    frozen.commit("main")
    frozen.git("merge", "--quiet", "--no-commit", "side")
    frozen.append(RULE, "# edited\n")
    merge = frozen.commit("merge")
    assert merge[:12] in frozen.checks()["untouched"].sentence


def test_a_freeze_after_the_logits_fails(committed):
    """A rule that was changed once logits were there is newer than they are."""
    scored = committed.score("smollm2-135m")
    committed.append(RULE, "# fits the results better\n")
    late = committed.commit("freeze")
    committed.forge(late)
    committed.commit("receipt")
    checks = committed.checks()
    assert statuses(checks) == {**all_of("passed"), "order": "failed"}
    assert checks["order"].sentence == (f"commit {scored[:12]} holds logits but does not come "
                                        f"after the freeze {late[:12]}.")


def test_logits_from_beside_the_freeze_fail(frozen):
    """Logits merged from a branch that never saw the freeze are not shown to be later."""
    frozen.git("checkout", "--quiet", "--orphan", "side")
    frozen.git("rm", "-rf", "--quiet", ".")
    scored = frozen.score("smollm2-135m")
    frozen.git("checkout", "--quiet", "main")
    frozen.git("merge", "--quiet", "--no-edit", "--allow-unrelated-histories", "side")
    checks = frozen.checks()
    assert checks["order"].status == "failed"
    assert f"commit {scored[:12]} holds logits" in checks["order"].sentence


def test_logits_that_were_deleted_before_the_freeze_fail(committed):
    """Logits that were once committed count, even when they are gone at the freeze."""
    committed.score("gemma-3-270m")
    shutil.rmtree(committed.artifacts)
    committed.append(RULE, "# new\n")
    committed.forge(committed.commit("delete and freeze"))
    committed.commit("receipt")
    assert committed.checks()["order"].status == "failed"


def test_a_freeze_in_the_same_commit_as_logits_fails(committed):
    """The freeze must be a commit of its own, strictly before."""
    committed.append(RULE, "# new\n")
    both = committed.score("smollm2-135m")
    committed.forge(both)
    committed.commit("receipt")
    assert committed.checks()["order"].sentence == (
        f"commit {both[:12]} freezes the registration and holds logits; the freeze must be a "
        "commit before.")


def test_a_rebased_history_is_found_by_content(frozen):
    """A rebase changes every id; the freeze is still found, and the check says what it saw."""
    frozen.score("smollm2-135m")
    frozen.git("rebase", "--quiet", "--root", "--force-rebase", when="2026-05-05T00:00:00Z")
    clone = frozen.clone()
    checks = clone.checks()
    new = clone.git("rev-list", "--max-parents=0", "HEAD")
    assert statuses(checks) == all_of("passed") and new != frozen.first
    assert checks["commit"].sentence == (
        f"the freeze is commit {new[:12]}, found by content; the receipt names "
        f"{frozen.first[:12]}, which this history does not have (a rebase changes ids).")


def test_a_squashed_history_fails(frozen):
    """One commit with everything cannot show that the freeze came first."""
    frozen.score("smollm2-135m")
    frozen.git("checkout", "--quiet", "--orphan", "squashed")
    frozen.commit("everything")
    frozen.git("branch", "--quiet", "-D", "main")
    checks = frozen.clone("--branch", "squashed").checks()
    assert statuses(checks) == {**all_of("passed"), "order": "failed"}


def test_bytes_that_were_never_committed_fail(frozen):
    """A receipt whose bytes no commit has names a freeze that did not happen."""
    frozen.append(RULE, "# never committed\n")
    frozen.forge(frozen.first)
    checks = frozen.checks()
    assert statuses(checks) == {"bytes": "passed", "commit": "failed",
                                "untouched": "unverifiable", "order": "unverifiable"}
    assert checks["commit"].sentence == (
        "no commit has the frozen files as the receipt's entry 'freeze' records them.")


def test_a_receipt_that_was_rewritten_fails(frozen):
    """Freezing again over the first receipt shows in the receipt's own history."""
    frozen.append(RULE, "# second thoughts\n")
    frozen.forge(frozen.commit("second thoughts"))
    frozen.commit("receipt again")
    checks = frozen.checks()
    assert statuses(checks) == {**all_of("passed"), "untouched": "failed"}
    assert "has entries that today's receipt lacks or changes." in checks["untouched"].sentence


def test_a_shallow_clone_is_unverifiable(frozen):
    """A clone of depth 1 has the bytes but not the history."""
    frozen.score("smollm2-135m")
    checks = frozen.clone("--depth", "1").checks()
    assert statuses(checks) == {**all_of("unverifiable"), "bytes": "passed"}
    assert checks["order"].sentence == ("this is a shallow clone, whose history is cut off; "
                                        "'git fetch --unshallow' brings it.")
    assert overall(list(checks.values())) == "unverifiable"


def test_a_tree_without_git_is_unverifiable(frozen):
    """An unpacked archive has no history at all."""
    shutil.rmtree(frozen.root / ".git")
    checks = frozen.checks()
    assert statuses(checks) == {**all_of("unverifiable"), "bytes": "passed"}
    assert "has no git history to read (git said: " in checks["commit"].sentence


def test_a_tree_in_a_foreign_repository_is_unverifiable(frozen):
    """An archive unpacked in some other repository is not taken for part of its history."""
    shutil.rmtree(frozen.root / ".git")
    frozen.git("init", "--quiet", "--initial-branch", "main")
    frozen.git("commit", "--quiet", "--allow-empty", "--message", "something else")
    checks = frozen.checks()
    assert statuses(checks) == {**all_of("unverifiable"), "bytes": "passed"}
    assert checks["commit"].sentence.endswith("holds the frozen files.")


def test_a_repository_without_commits_is_unverifiable(frozen):
    """A fresh 'git init' says nothing about the past."""
    shutil.rmtree(frozen.root / ".git")
    frozen.git("init", "--quiet")
    assert frozen.checks()["commit"].sentence.endswith("has no commit yet.")


def test_a_machine_without_git_is_unverifiable(frozen, monkeypatch):
    """Without the git program the bytes are checked and the history is not."""
    monkeypatch.setenv("PATH", "")
    checks = frozen.checks()
    assert statuses(checks) == {**all_of("unverifiable"), "bytes": "passed"}
    assert checks["order"].sentence == "git is not installed, so the history cannot be read."


def test_logits_outside_the_repository_are_unverifiable(frozen, tmp_path):
    """Artifacts in another place have no history that could be compared."""
    frozen.artifacts = tmp_path / "elsewhere"
    assert frozen.checks()["order"].status == "unverifiable"


def test_git_variables_of_the_caller_do_not_redirect_the_checks(frozen, tmp_path, monkeypatch):
    """Run from a git hook, the checks still read the repository of the registration."""
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert statuses(frozen.checks()) == all_of("passed")


def test_a_replaced_commit_does_not_hide_an_edit(frozen):
    """git replace can show another history under the same ids; the checks do not follow it."""
    frozen.append(RULE, "# edited\n")
    edit = frozen.commit("edit")
    frozen.git("revert", "--no-edit", "HEAD")
    before = frozen.git("rev-parse", "HEAD~2")
    frozen.git("replace", "--graft", "HEAD", before)
    assert edit[:12] in frozen.checks()["untouched"].sentence


def test_an_amendment_is_allowed(frozen):
    """An amendment in one commit, before the logits it concerns, passes every check."""
    commit = frozen.amend("A1")
    receipt = frozen.freeze("A1", ["smollm2-135m"])
    frozen.score("smollm2-135m")
    checks = frozen.checks()
    assert receipt.current.commit == commit and receipt.current.date == "2026-02-03"
    assert statuses(checks) == all_of("passed")
    assert checks["untouched"].sentence.endswith("(registered amendments: A1).")


def test_two_amendments_are_found_one_after_the_other(frozen):
    """A second amendment that takes the first one back is a commit of its own."""
    before = (frozen.root / RULE).read_bytes()
    frozen.amend("A1")
    frozen.freeze("A1", ["smollm2-135m"])
    (frozen.root / RULE).write_bytes(before)
    frozen.append(AMENDMENTS, "\n## A2 (2026-02-04): as it was\n")
    second = frozen.commit("amendment A2")
    receipt = frozen.freeze("A2", ["smollm2-135m"])
    assert receipt.current.commit == second != frozen.first
    assert statuses(frozen.checks()) == all_of("passed")


def test_an_edit_after_an_amendment_fails(frozen):
    """An amendment does not open the files for later edits."""
    frozen.amend("A1")
    frozen.freeze("A1", ["smollm2-135m"])
    frozen.append(RULE, "# edited\n")
    edit = frozen.commit("edit")
    frozen.git("revert", "--no-edit", "HEAD")
    assert edit[:12] in frozen.checks()["untouched"].sentence


@pytest.mark.parametrize("heading", ["", "## A1 (2026-01-01): antedated\n"])
def test_an_amendment_whose_heading_was_removed_or_redated_fails(frozen, heading):
    """The receipt's amendments and AMENDMENTS.md say the same."""
    frozen.amend("A1")
    frozen.freeze("A1", ["smollm2-135m"])
    (frozen.root / AMENDMENTS).write_text(f"# Amendments\n{heading}", encoding="utf-8")
    assert frozen.checks()["commit"].sentence == (
        "AMENDMENTS.md has no heading '## A1 (2026-02-03): title' for the receipt's amendment A1.")


def test_an_amendment_after_the_logits_it_concerns_fails(frozen):
    """Logits older than an amendment that concerns them were made under another registration."""
    scored = frozen.score("smollm2-135m")
    frozen.amend("A1")
    frozen.freeze("A1", ["gemma-3-270m", "smollm2-135m"])
    checks = frozen.checks()
    assert statuses(checks) == {**all_of("passed"), "order": "failed"}
    assert checks["order"].sentence == (
        f"the logits of smollm2-135m were last changed in {scored[:12]}, before the amendment A1 "
        "that concerns them.")


def test_logits_made_again_after_an_amendment_pass(frozen):
    """What counts is the last change of the logits an amendment concerns."""
    frozen.score("smollm2-135m")
    frozen.amend("A1")
    frozen.freeze("A1", ["smollm2-135m"])
    frozen.score("smollm2-135m", "made again")
    assert statuses(frozen.checks()) == all_of("passed")


def test_logits_taken_away_by_an_amendment_pass(frozen):
    """Between an amendment and the new scoring a rung may have no logits."""
    frozen.score("smollm2-135m")
    shutil.rmtree(frozen.artifacts)
    frozen.amend("A1")
    frozen.freeze("A1", ["smollm2-135m"])
    assert statuses(frozen.checks()) == all_of("passed")


def test_logits_that_an_amendment_does_not_concern_stay(frozen):
    """An amendment about one rung leaves the older logits of another alone."""
    frozen.score("smollm2-135m")
    frozen.amend("A1")
    frozen.freeze("A1", ["gemma-3-270m"])
    assert statuses(frozen.checks()) == all_of("passed")


@pytest.mark.parametrize("content, said", [
    ("{", "is not a receipt: JSONDecodeError"),
    ("[]", "is not a receipt: TypeError"),
    ('{"schema": 1}', "is not a receipt: KeyError at 'freeze_commit'."),
    ('{"schema": 2}', "schema 2 is not supported, expected 1."),
    ('{"schema": 1, "freeze_commit": "x", "files": {}, "digest": "", "amendments": []}',
     "the files of 'freeze' are not the frozen files of this study"),
])
def test_a_receipt_that_cannot_be_read_is_broken(frozen, content, said):
    """A damaged receipt fails in one sentence; it does not pass for no receipt."""
    (frozen.root / RECEIPT).write_text(content, encoding="utf-8")
    checks = frozen.checks()
    assert said in checks["bytes"].sentence
    assert set(checks) == set(CHECKS) and overall(list(checks.values())) == "broken"


def test_a_receipt_whose_digest_does_not_fit_its_files_is_broken(frozen):
    """One edited sha256 in the receipt shows in its digest."""
    path = frozen.root / RECEIPT
    digest = path.read_text(encoding="utf-8").split('"config/dataset.toml": "')[1][:64]
    path.write_text(path.read_text(encoding="utf-8").replace(digest, "0" * 64), encoding="utf-8")
    assert "the digest of 'freeze' is" in frozen.checks()["bytes"].sentence


def test_an_edited_copy_is_unregistered_and_not_broken(frozen, tmp_path):
    """A copy made to try another tau has a receipt that is not its own."""
    shutil.copytree(frozen.registration, tmp_path / "copy")
    frozen.registration = tmp_path / "copy"
    rule = frozen.registration / "decision_rule.toml"
    rule.write_text(rule.read_text(encoding="utf-8").replace("tau = 0.2 ", "tau = 0.3 "),
                    encoding="utf-8")
    checks = list(frozen.checks().values())
    assert overall(checks) == "broken"
    assert overall(checks, own=False) == "unregistered"


def test_a_registration_is_its_receipts_own_by_digest(committed):
    """``is_registered`` is about the digest of the last entry, and bad receipts have none."""
    digest = committed.freeze().current.digest
    assert is_registered(committed.registration, digest)
    assert not is_registered(committed.registration, "0" * 64)
    (committed.root / RECEIPT).write_text("{", encoding="utf-8")
    assert not is_registered(committed.registration, digest)


def test_the_status_of_the_whole_is_its_worst_check(frozen):
    """Failed beats unverifiable, which beats passed."""
    checks = list(frozen.checks().values())
    passed = [check for check in checks if check.status == "passed"]
    assert overall(passed) == "verified"
    assert overall(checks) == "unverifiable"
    frozen.append(RULE, "# edited\n")
    assert overall(list(frozen.checks().values())) == "broken"


def test_an_altered_rule_changes_the_class(frozen):
    """Each margin and the deciding clause decide the class of GPT-4's published verdicts."""
    frozen.artifacts.mkdir()
    shutil.copy(PROJECT / "artifacts" / "pairs.parquet", frozen.artifacts)
    check = frozen.checks()["rule"]
    assert check.status == "passed"
    assert check.sentence.startswith("GPT-4's published verdicts are QUALITY_TRACKING, but ")


def test_a_rule_that_does_not_decide_fails(frozen):
    """A rule with one clause for everybody gives the same class at every margin."""
    frozen.artifacts.mkdir()
    shutil.copy(PROJECT / "artifacts" / "pairs.parquet", frozen.artifacts)
    text = (frozen.root / RULE).read_text(encoding="utf-8")
    start, end = text.index("[[decision.clause]]"), text.index("[scale]")
    clause = '[[decision.clause]]\nclass = "INCONCLUSIVE"\nwhen = {}\n\n'
    (frozen.root / RULE).write_text(text[:start] + clause + text[end:], encoding="utf-8")
    check = frozen.checks()["rule"]
    assert check.status == "failed"
    assert check.sentence == ("the class of GPT-4's published verdicts stays INCONCLUSIVE when "
                              "delta_h is altered, so the rule does not decide it.")


def test_a_rule_that_cannot_be_read_fails_in_one_sentence(frozen):
    """An edited rule that is no rule any more is a failed check and not a traceback."""
    frozen.artifacts.mkdir()
    shutil.copy(PROJECT / "artifacts" / "pairs.parquet", frozen.artifacts)
    frozen.append(RULE, "[surprise]\n")
    assert frozen.checks()["rule"].sentence.endswith("unknown key 'surprise'.")
