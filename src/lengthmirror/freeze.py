"""Writes RECEIPT.json: the first freeze of the registration, and its amendments."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import InvalidRegistration
from .files import write_bytes
from .frozen import file_digests, sha256_file
from .history import History, NoHistory, find_history, literal
from .ladder import find_rung, load_ladder
from .receipt import (
    AMENDMENTS,
    RECEIPT,
    Entry,
    Receipt,
    amendment_dates,
    locate_entries,
    logits_below,
    read_receipt,
    receipt_bytes,
    tracked_paths,
)


@dataclass(frozen=True)
class _State:
    """The repository and the registration as they are now."""
    history: History
    registration_dir: Path
    receipt: Receipt | None
    files: dict[str, str]
    digests: dict[str, str]


def write_receipt(registration_dir: Path, config_dir: Path, artifacts_dir: Path,
                  amendment: str | None = None, concerns: Sequence[str] = ()) -> Receipt:
    """Freezes the registration as HEAD has it and writes RECEIPT.json.

    Args:
        registration_dir: preregistration/.
        config_dir: config/.
        artifacts_dir: where logits are committed; a first freeze must come before any of them.
        amendment: id of the amendment ("A1", "A2", ...), None for the first freeze.
        concerns: the rungs the amendment concerns.

    Raises:
        InvalidRegistration: the files are not committed, a receipt exists already, logits came
            first, or the amendment is not entered in AMENDMENTS.md or changes nothing.
        UnknownRung: the amendment concerns a rung that is not registered.
    """
    state = _read_state(Path(registration_dir), Path(config_dir))
    if amendment is None:
        entries = _first(state, Path(artifacts_dir))
    else:
        rungs = load_ladder(Path(config_dir) / "ladder.toml")[0]
        entries = _amended(state, amendment,
                           tuple(find_rung(rungs, slug).slug for slug in concerns))
    result = Receipt(entries)
    write_bytes(Path(registration_dir) / RECEIPT, receipt_bytes(result))
    return result


def _read_state(registration_dir: Path, config_dir: Path) -> _State:
    digests = file_digests(registration_dir, config_dir)
    history = find_history(registration_dir)
    if isinstance(history, NoHistory):
        raise InvalidRegistration(f"nothing can be frozen: {history.reason}")
    files = tracked_paths(history, registration_dir, config_dir)
    for role, path in files.items():
        _check_committed(history, role, path, digests[role])
    receipt = read_receipt(registration_dir / RECEIPT)
    return _State(history, registration_dir, receipt, files, digests)


def _check_committed(history: History, name: str, path: str, digest: str) -> None:
    if history.digests(history.head, [path]) != [digest]:
        raise InvalidRegistration(f"{name} is not committed as it is; commit it first, so that the "
                                  "receipt has a commit to name.")


def _first(state: _State, artifacts_dir: Path) -> tuple[Entry, ...]:
    history = state.history
    written = history.commits([literal(history.relative(state.registration_dir / RECEIPT))])
    if state.receipt is not None or written:
        raise InvalidRegistration(f"the registration is frozen already ({RECEIPT} exists, here or "
                                  "in the history); a change is an amendment: "
                                  "'lengthmirror freeze --amend'.")
    specs = logits_below(history, artifacts_dir)
    early = history.commits(specs) if specs else []
    if early:
        raise InvalidRegistration(f"commit {early[0][:12]} already holds logits; the registration "
                                  "must be frozen before any judge is scored.")
    by_path = {path: state.digests[role] for role, path in state.files.items()}
    return (Entry("freeze", history.first_with(by_path), state.digests, None, ()),)


def _amended(state: _State, amendment: str, concerns: tuple[str, ...]) -> tuple[Entry, ...]:
    if state.receipt is None:
        raise InvalidRegistration(f"there is no {RECEIPT} to amend; freeze the registration first.")
    expected = f"A{len(state.receipt.entries)}"
    if amendment != expected:
        raise InvalidRegistration(f"the next amendment is {expected}, got {amendment}.")
    if not concerns:
        raise InvalidRegistration(f"the amendment {amendment} must name the rungs it concerns.")
    date = amendment_dates(state.registration_dir).get(amendment)
    if date is None:
        raise InvalidRegistration(f"{AMENDMENTS} has no heading '## {amendment} (YYYY-MM-DD): "
                                  "title'; enter the amendment there first.")
    path = state.registration_dir / AMENDMENTS
    _check_committed(state.history, AMENDMENTS, state.history.relative(path), sha256_file(path))
    entry = Entry(amendment, _one_commit(state, amendment), state.digests, date, concerns)
    return (*state.receipt.entries, entry)


def _one_commit(state: _State, amendment: str) -> str:
    """The one commit since the last entry that touches frozen files."""
    if state.digests == state.receipt.current.files:
        raise InvalidRegistration(f"the amendment {amendment} changes no frozen file.")
    before = locate_entries(state.history, state.receipt, state.files)[-1]
    if before is None:
        raise InvalidRegistration("no commit has the frozen files with the bytes of the receipt's "
                                  "last entry, so there is nothing to amend.")
    changes = state.history.commits(map(literal, state.files.values()), after=before)
    if len(changes) != 1:
        raise InvalidRegistration(f"the amendment {amendment} must change the frozen files in one "
                                  f"commit, but {len(changes)} commits touch them.")
    return changes[0]
