"""The tamper checks: the frozen files, the receipt and the history tell one story.

Tamper-evident, not tamper-proof (PREREGISTRATION.md sections 10 and 17). ``verify`` makes five
checks: the bytes equal the receipt; the freeze commit exists; no later commit touches the frozen
files; the freeze is older than the logits; an altered rule gives another class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import InvalidRegistration, LengthMirrorError
from .freeze import write_receipt
from .frozen import frozen_files, registration_digest, sha256_file
from .history import History, NoHistory, find_history, literal, name_in
from .receipt import (
    AMENDMENTS,
    LOGITS,
    RECEIPT,
    Receipt,
    amendment_dates,
    locate_entries,
    logits_below,
    parse_receipt,
    read_receipt,
    tracked_paths,
)
from .rule_check import altered_rules_change_the_class

__all__ = ["CHECKS", "Check", "is_registered", "overall", "verify", "write_receipt"]

CHECKS = ("bytes", "commit", "untouched", "order", "rule")
PASSED, FAILED, UNVERIFIABLE, UNREGISTERED = "passed", "failed", "unverifiable", "unregistered"


@dataclass(frozen=True)
class Check:
    """One check: its name (of ``CHECKS``), its status, and why in one sentence.

    The status is ``passed``, ``failed``, ``unverifiable``, or ``unregistered`` for every check
    when there is no receipt.
    """
    name: str
    status: str
    sentence: str


@dataclass(frozen=True)
class _Evidence:
    """What the history checks share: where in the history each entry of the receipt was made."""
    history: History
    receipt: Receipt
    files: dict[str, str]
    located: list[str | None]
    registration_dir: Path
    artifacts_dir: Path


def verify(registration_dir: Path, config_dir: Path, artifacts_dir: Path) -> list[Check]:
    """Makes the five tamper checks and gives one ``Check`` for each of ``CHECKS``.

    Args:
        registration_dir: preregistration/, with RECEIPT.json.
        config_dir: config/.
        artifacts_dir: where <rung>/logits.parquet and pairs.parquet are.
    """
    registration_dir, config_dir = Path(registration_dir), Path(config_dir)
    try:
        receipt = read_receipt(registration_dir / RECEIPT)
    except InvalidRegistration as error:
        return [Check(CHECKS[0], FAILED, str(error)),
                *_same(CHECKS[1:], UNVERIFIABLE, f"{RECEIPT} cannot be read.")]
    if receipt is None:
        return _same(CHECKS, UNREGISTERED,
                     f"{registration_dir} has no {RECEIPT}, so nothing is registered.")
    return [_bytes(receipt, registration_dir, config_dir),
            *_history_checks(receipt, registration_dir, config_dir, Path(artifacts_dir)),
            _rule(registration_dir, Path(artifacts_dir))]


def overall(checks: Sequence[Check], own: bool = True) -> str:
    """``verified``, ``unverifiable``, ``broken`` or ``unregistered``.

    Args:
        checks: from ``verify``.
        own: False when the registration is a copy made to try something else: where its bytes are
            not those of the receipt copied with it, that receipt is not its own.
    """
    statuses = {check.status for check in checks}
    foreign = not own and any(check.name == CHECKS[0] and check.status == FAILED
                              for check in checks)
    if UNREGISTERED in statuses or foreign:
        return UNREGISTERED
    if FAILED in statuses:
        return "broken"
    return UNVERIFIABLE if UNVERIFIABLE in statuses else "verified"


def is_registered(registration_dir: Path, digest: str) -> bool:
    """Whether the receipt beside a registration is its own: the digest is its last entry's."""
    try:
        receipt = read_receipt(Path(registration_dir) / RECEIPT)
    except InvalidRegistration:
        return False
    return receipt is not None and receipt.current.digest == digest


def _bytes(receipt: Receipt, registration_dir: Path, config_dir: Path) -> Check:
    files = frozen_files(registration_dir, config_dir)
    gone = [role for role, path in files.items() if not path.is_file()]
    changed = [role for role, path in files.items()
               if path.is_file() and sha256_file(path) != receipt.current.files[role]]
    expected = {path.resolve() for path in files.values()}
    expected |= {(registration_dir / name).resolve() for name in (RECEIPT, AMENDMENTS)}
    added = [name_in(role, path.relative_to(directory).as_posix())
             for role, directory in (("preregistration", registration_dir), ("config", config_dir))
             for path in sorted(directory.rglob("*"))
             if not path.is_dir() and path.resolve() not in expected]
    odd = [f"{word} {', '.join(names)}" for word, names in
           (("changed", changed), ("gone", gone), ("added", added)) if names]
    if odd:
        return Check("bytes", FAILED, f"the registration differs from its receipt: "
                                      f"{'; '.join(odd)}.")
    return Check("bytes", PASSED, f"all {len(files)} frozen files have the bytes of the receipt "
                                  f"(digest {registration_digest(receipt.current.files)[:12]}).")


def _history_checks(receipt: Receipt, registration_dir: Path, config_dir: Path,
                    artifacts_dir: Path) -> list[Check]:
    history = find_history(registration_dir)
    if isinstance(history, NoHistory):
        return _same(CHECKS[1:4], UNVERIFIABLE, history.reason)
    try:
        files = tracked_paths(history, registration_dir, config_dir)
    except InvalidRegistration as error:
        return _same(CHECKS[1:4], UNVERIFIABLE, str(error))
    if not history.commits(map(literal, files.values())):
        return _same(CHECKS[1:4], UNVERIFIABLE, f"no commit of the git repository at "
                                                f"{history.root} holds the frozen files.")
    evidence = _Evidence(history, receipt, files, locate_entries(history, receipt, files),
                         registration_dir, artifacts_dir)
    commit = _commit(evidence)
    if commit.status != PASSED:
        return [commit, *_same(CHECKS[2:4], UNVERIFIABLE,
                               "the history lacks what the receipt names (see the check before).")]
    return [commit, _untouched(evidence), _order(evidence)]


def _same(names: Sequence[str], status: str, sentence: str) -> list[Check]:
    return [Check(name, status, sentence) for name in names]


def _commit(evidence: _Evidence) -> Check:
    dates = amendment_dates(evidence.registration_dir)
    for entry, found in zip(evidence.receipt.entries, evidence.located):
        if found is None:
            return Check("commit", FAILED, f"no commit has the frozen files as the receipt's entry "
                                           f"'{entry.name}' records them.")
        if entry.date is not None and dates.get(entry.name) != entry.date:
            return Check("commit", FAILED,
                         f"{AMENDMENTS} has no heading '## {entry.name} ({entry.date}): title' "
                         f"for the receipt's amendment {entry.name}.")
    named, found = evidence.receipt.freeze.commit, evidence.located[0]
    known = evidence.history.exists(named)
    note = "" if known else ", which this history does not have (a rebase changes ids)"
    return Check("commit", PASSED, f"the freeze is commit {found[:12]}, found by content; "
                                   f"the receipt names {named[:12]}{note}.")


def _untouched(evidence: _Evidence) -> Check:
    history, freeze = evidence.history, evidence.located[0]
    touching = history.commits(map(literal, evidence.files.values()), after=freeze)
    stray = [commit for commit in touching if commit not in evidence.located]
    if stray:
        return Check("untouched", FAILED, f"commit {stray[0][:12]} touches frozen files after the "
                                          f"freeze {freeze[:12]} and is no amendment.")
    rewritten = _rewritten_receipt(evidence)
    if rewritten:
        return Check("untouched", FAILED, f"the receipt in commit {rewritten[:12]} has entries "
                                          "that today's receipt lacks or changes.")
    amended = ", ".join(entry.name for entry in evidence.receipt.amendments) or "none"
    return Check("untouched", PASSED, f"no commit after the freeze {freeze[:12]} touches the "
                                      f"frozen files (registered amendments: {amended}).")


def _rewritten_receipt(evidence: _Evidence) -> str | None:
    """The first commit whose receipt is not a beginning of today's."""
    path = evidence.history.relative(evidence.registration_dir / RECEIPT)
    today = [(entry.name, entry.digest) for entry in evidence.receipt.entries]
    for commit in evidence.history.commits([literal(path)]):
        [content] = evidence.history.contents(commit, [path])
        if content is None:
            continue
        try:
            entries = parse_receipt(content, path).entries
        except InvalidRegistration:
            return commit
        if [(entry.name, entry.digest) for entry in entries] != today[:len(entries)]:
            return commit
    return None


def _order(evidence: _Evidence) -> Check:
    history, freeze = evidence.history, evidence.located[0]
    specs = logits_below(history, evidence.artifacts_dir)
    if not specs:
        return Check("order", UNVERIFIABLE, f"{evidence.artifacts_dir} is not in the git "
                                            f"repository at {history.root}.")
    later, scored = history.descendants(freeze), history.commits(specs)
    early = [commit for commit in scored if commit not in later]
    if freeze in early:
        return Check("order", FAILED, f"commit {freeze[:12]} freezes the registration and holds "
                                      "logits; the freeze must be a commit before.")
    if early:
        return Check("order", FAILED, f"commit {early[0][:12]} holds logits but does not come "
                                      f"after the freeze {freeze[:12]}.")
    held = f"commit {scored[0][:12]}, the first with logits" if scored else "any logits"
    return _amendments_before_logits(evidence) or Check(
        "order", PASSED, f"the freeze {freeze[:12]} is an ancestor of HEAD and older than "
                         f"{held}.")


def _amendments_before_logits(evidence: _Evidence) -> Check | None:
    history = evidence.history
    directory = history.relative(evidence.artifacts_dir)
    for entry, commit in zip(evidence.receipt.amendments, evidence.located[1:]):
        later = history.descendants(commit)
        for slug in entry.concerns:
            path = name_in(directory, f"{slug}/{LOGITS}")
            changes = history.commits([literal(path)])
            present = history.digests(history.head, [path]) != [None]
            if present and changes[-1] not in later:
                return Check("order", FAILED, f"the logits of {slug} were last changed in "
                                              f"{changes[-1][:12]}, before the amendment "
                                              f"{entry.name} that concerns them.")
    return None


def _rule(registration_dir: Path, artifacts_dir: Path) -> Check:
    pairs = artifacts_dir / "pairs.parquet"
    if not pairs.is_file():
        return Check("rule", UNVERIFIABLE, f"{pairs} does not exist, so the rule has nothing to "
                                           "decide on.")
    try:
        outcomes = altered_rules_change_the_class(registration_dir / "decision_rule.toml", pairs)
    except LengthMirrorError as error:
        return Check("rule", FAILED, str(error))
    registered = outcomes.pop("registered")
    same = [name for name, outcome in outcomes.items() if outcome == registered]
    if same:
        return Check("rule", FAILED, f"the class of GPT-4's published verdicts stays {registered} "
                                     f"when {same[0]} is altered, so the rule does not decide it.")
    altered = ", ".join(f"{outcome} with {name} altered" for name, outcome in outcomes.items())
    return Check("rule", PASSED, f"GPT-4's published verdicts are {registered}, but {altered}.")
