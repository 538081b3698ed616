"""What ``lengthmirror freeze`` writes, and everything it refuses without writing."""

import json
import shutil

import pytest

from lengthmirror.errors import InvalidConfig, InvalidRegistration, UnknownRung
from lengthmirror.frozen import file_digests, registration_digest
from lengthmirror.receipt import read_receipt

RULE = "preregistration/decision_rule.toml"
RECEIPT = "preregistration/RECEIPT.json"
AMENDMENTS = "preregistration/AMENDMENTS.md"


def refusal(repository, *arguments, error=InvalidRegistration) -> str:
    """The one sentence of a refused freeze, which leaves the receipt as it was."""
    path = repository.root / RECEIPT
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(error) as caught:
        repository.freeze(*arguments)
    assert (path.read_bytes() if path.exists() else None) == before
    return str(caught.value)


def test_the_receipt_holds_files_digest_and_commit(committed):
    """The receipt is sorted JSON with one sha256 per frozen file and the freeze commit."""
    committed.freeze()
    content = (committed.root / RECEIPT).read_bytes()
    digests = file_digests(committed.registration, committed.config)
    expected = {"schema": 1, "freeze_commit": committed.first, "files": digests,
                "digest": registration_digest(digests), "amendments": []}
    assert json.loads(content) == expected
    assert content == (json.dumps(expected, sort_keys=True, indent=1) + "\n").encode()


def test_the_receipt_names_the_commit_with_the_bytes_and_not_a_later_one(committed):
    """Commits between the freeze and the command change nothing in the receipt."""
    committed.append("README.md", "text\n")
    committed.commit("something else")
    assert committed.freeze().freeze.commit == committed.first


def test_an_amendment_appends_an_entry(frozen):
    """The first freeze stays in the receipt, the amendment follows with date and rungs."""
    before = json.loads((frozen.root / RECEIPT).read_bytes())
    commit = frozen.amend("A1")
    frozen.freeze("A1", ["smollm2-135m", "gemma-3-270m"])
    after = json.loads((frozen.root / RECEIPT).read_bytes())
    [entry] = after.pop("amendments")
    assert {**after, "amendments": []} == before
    digests = file_digests(frozen.registration, frozen.config)
    assert entry == {"id": "A1", "date": "2026-02-03", "commit": commit, "files": digests,
                     "concerns": ["smollm2-135m", "gemma-3-270m"],
                     "digest": registration_digest(digests)}


def test_reading_a_receipt_gives_what_was_written(frozen):
    """Writing and reading are inverse to each other."""
    frozen.amend("A1")
    assert frozen.freeze("A1", ["smollm2-135m"]) == read_receipt(frozen.root / RECEIPT)


def test_files_that_are_not_committed_are_refused(committed):
    """A freeze needs a commit to name."""
    committed.append(RULE, "# not committed\n")
    assert refusal(committed) == (f"{RULE} is not committed as it is; commit it first, so that "
                                  "the receipt has a commit to name.")


def test_a_missing_frozen_file_is_refused(committed):
    """An incomplete registration cannot be frozen."""
    (committed.registration / "predictions.toml").unlink()
    assert refusal(committed, error=InvalidConfig).endswith("predictions.toml does not exist.")


def test_a_second_freeze_is_refused(frozen):
    """What is frozen changes by amendment only."""
    assert refusal(frozen) == (
        "the registration is frozen already (RECEIPT.json exists, here or in the history); a "
        "change is an amendment: 'lengthmirror freeze --amend'.")


def test_a_second_freeze_is_refused_when_the_receipt_was_deleted(frozen):
    """Deleting the receipt does not make room for another one."""
    (frozen.root / RECEIPT).unlink()
    frozen.commit("delete the receipt")
    assert refusal(frozen).startswith("the registration is frozen already")


def test_a_freeze_after_logits_is_refused(committed):
    """Logits anywhere in the history make a first freeze impossible."""
    scored = committed.score("smollm2-135m")
    shutil.rmtree(committed.artifacts)
    committed.commit("delete the logits")
    assert refusal(committed) == (f"commit {scored[:12]} already holds logits; the registration "
                                  "must be frozen before any judge is scored.")


def test_a_freeze_without_history_is_refused(committed):
    """No git, no freeze."""
    shutil.rmtree(committed.root / ".git")
    assert refusal(committed).startswith("nothing can be frozen: ")


def test_a_freeze_in_a_shallow_clone_is_refused(committed):
    """A cut history cannot show that no logits came before."""
    committed.append("README.md", "text\n")
    committed.commit("something else")
    assert refusal(committed.clone("--depth", "1")).startswith(
        "nothing can be frozen: this is a shallow clone")


def test_a_configuration_outside_the_repository_is_refused(committed, tmp_path):
    """The frozen files live in one repository."""
    committed.config = shutil.copytree(committed.config, tmp_path / "config")
    assert "is not in the git repository at" in refusal(committed)


def test_an_amendment_without_heading_is_refused(frozen):
    """AMENDMENTS.md says in words what the receipt says in digests."""
    frozen.amend("A1", heading="\n## A2 (2026-02-03): the wrong one\n")
    assert refusal(frozen, "A1", ["smollm2-135m"]) == (
        "AMENDMENTS.md has no heading '## A1 (YYYY-MM-DD): title'; enter the amendment there "
        "first.")


@pytest.mark.parametrize("heading", ["## A1: no date\n", "## A1 (2026-02-03):\n",
                                     "    ## A1 (2026-02-03): an example\n"])
def test_a_heading_without_date_or_title_is_no_heading(frozen, heading):
    """The heading has the id, a date and a title, at the beginning of a line."""
    frozen.amend("A1", heading=heading)
    assert "has no heading" in refusal(frozen, "A1", ["smollm2-135m"])


def test_a_heading_that_is_not_committed_is_refused(frozen):
    """The entry is in the history before the receipt points to it."""
    frozen.amend("A1", heading="\n")
    frozen.append(AMENDMENTS, "## A1 (2026-02-03): a reason\n")
    assert refusal(frozen, "A1", ["smollm2-135m"]).startswith(
        "AMENDMENTS.md is not committed as it is")


def test_amendments_are_numbered_in_order(frozen):
    """A gap in the numbers would look like a lost amendment."""
    frozen.amend("A2")
    assert refusal(frozen, "A2", ["smollm2-135m"]) == "the next amendment is A1, got A2."


def test_an_amendment_names_the_rungs_it_concerns(frozen):
    """Without a rung there is nothing whose logits must come later."""
    frozen.amend("A1")
    assert refusal(frozen, "A1", []) == "the amendment A1 must name the rungs it concerns."


def test_an_amendment_of_an_unknown_rung_is_refused(frozen):
    """A mistyped slug would exempt the real rung from the check."""
    frozen.amend("A1")
    assert "there is no rung 'smollm2'" in refusal(frozen, "A1", ["smollm2"], error=UnknownRung)


def test_an_amendment_that_changes_nothing_is_refused(frozen):
    """A heading alone is no amendment."""
    frozen.append(AMENDMENTS, "\n## A1 (2026-02-03): nothing\n")
    frozen.commit("heading")
    assert refusal(frozen, "A1", ["smollm2-135m"]) == "the amendment A1 changes no frozen file."


def test_an_amendment_in_two_commits_is_refused(frozen):
    """One commit per amendment, so that every other commit is a stray edit."""
    frozen.amend("A1")
    frozen.append(RULE, "# and more\n")
    frozen.commit("more")
    assert refusal(frozen, "A1", ["smollm2-135m"]) == (
        "the amendment A1 must change the frozen files in one commit, but 2 commits touch them.")


def test_an_amendment_before_the_freeze_is_refused(committed):
    """There is nothing to amend without a receipt."""
    committed.amend("A1")
    assert refusal(committed, "A1", ["smollm2-135m"]) == (
        "there is no RECEIPT.json to amend; freeze the registration first.")


def test_an_amendment_of_a_forged_receipt_is_refused(frozen):
    """A receipt whose bytes no commit has cannot be amended."""
    frozen.append(RULE, "# never committed as such\n")
    frozen.forge(frozen.first)
    frozen.amend("A1")
    assert "so there is nothing to amend" in refusal(frozen, "A1", ["smollm2-135m"])
