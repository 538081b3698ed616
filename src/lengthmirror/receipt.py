"""The receipt of the registration: what was frozen, in which commit, and every amendment.

``freeze`` writes it and ``registration`` checks it against the files and the history.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import InvalidRegistration
from .files import json_bytes
from .frozen import frozen_files, registration_digest
from .history import History, below

SCHEMA = 1
RECEIPT, AMENDMENTS, LOGITS = "RECEIPT.json", "AMENDMENTS.md", "logits.parquet"
_HEADING = re.compile(r"^## (A[1-9][0-9]*) \(([0-9]{4}-[0-9]{2}-[0-9]{2})\): \S", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """One frozen state of the registration; ``name`` is "freeze" or an amendment's id.

    ``date`` and ``concerns`` (rungs) belong to amendments; the first freeze concerns every rung.
    """
    name: str
    commit: str
    files: dict[str, str]
    date: str | None
    concerns: tuple[str, ...]

    @property
    def digest(self) -> str:
        return registration_digest(self.files)


@dataclass(frozen=True)
class Receipt:
    """The first freeze and its amendments, in order."""
    entries: tuple[Entry, ...]

    @property
    def freeze(self) -> Entry:
        return self.entries[0]

    @property
    def amendments(self) -> tuple[Entry, ...]:
        return self.entries[1:]

    @property
    def current(self) -> Entry:
        """The entry that today's files must equal."""
        return self.entries[-1]


def read_receipt(path: Path) -> Receipt | None:
    """The receipt, or None where there is no such file.

    Raises:
        InvalidRegistration: the file is not a receipt, or its digests contradict its files.
    """
    if not Path(path).exists():
        return None
    return parse_receipt(Path(path).read_bytes(), str(path))


def parse_receipt(content: bytes, where: str) -> Receipt:
    """The receipt in these bytes; ``where`` names them in errors."""
    try:
        data = json.loads(content)
        if data["schema"] != SCHEMA:
            raise InvalidRegistration(f"{where}: schema {data['schema']!r} is not supported, "
                                      f"expected {SCHEMA}.")
        freeze = Entry("freeze", data["freeze_commit"], dict(data["files"]), None, ())
        amendments = [Entry(item["id"], item["commit"], dict(item["files"]), item["date"],
                            tuple(item["concerns"])) for item in data["amendments"]]
        written = [data["digest"], *(item["digest"] for item in data["amendments"])]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRegistration(
            f"{where} is not a receipt: {type(error).__name__} at {error}.") from None
    receipt = Receipt((freeze, *amendments))
    for entry, digest in zip(receipt.entries, written):
        _check_entry(entry, digest, where)
    return receipt


def _check_entry(entry: Entry, digest: str, where: str) -> None:
    roles = set(frozen_files(Path(), Path()))
    if set(entry.files) != roles:
        odd = sorted(set(entry.files) ^ roles)[0]
        raise InvalidRegistration(f"{where}: the files of '{entry.name}' are not the frozen files "
                                  f"of this study; {odd} is missing or too many.")
    if entry.digest != digest:
        raise InvalidRegistration(f"{where}: the digest of '{entry.name}' is {digest}, but its "
                                  f"files give {entry.digest}.")


def receipt_bytes(receipt: Receipt) -> bytes:
    """The receipt as strict, sorted JSON."""
    first = receipt.freeze
    amendments = [{"id": entry.name, "date": entry.date, "commit": entry.commit,
                   "concerns": list(entry.concerns), "files": entry.files, "digest": entry.digest}
                  for entry in receipt.amendments]
    data: dict[str, Any] = {"schema": SCHEMA, "freeze_commit": first.commit, "files": first.files,
                            "digest": first.digest, "amendments": amendments}
    return json_bytes(data)


def amendment_dates(registration_dir: Path) -> dict[str, str]:
    """The date of each amendment heading of AMENDMENTS.md, by id."""
    path = Path(registration_dir) / AMENDMENTS
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return dict(_HEADING.findall(text))


def tracked_paths(history: History, registration_dir: Path, config_dir: Path) -> dict[str, str]:
    """The frozen files as git names them, by role path.

    Raises:
        InvalidRegistration: one of them lies outside the repository.
    """
    paths = {}
    for role, path in frozen_files(registration_dir, config_dir).items():
        paths[role] = history.relative(path)
        if paths[role] is None:
            raise InvalidRegistration(f"{path} is not in the git repository at {history.root}.")
    return paths


def logits_below(history: History, artifacts_dir: Path) -> list[str]:
    """The pathspecs of every rung's logits table; none when they lie outside the repository."""
    directory = history.relative(artifacts_dir)
    return [] if directory is None else [below(directory, LOGITS)]


def locate_entries(history: History, receipt: Receipt, files: dict[str, str]) -> list[str | None]:
    """The commit of each entry, found by content: the first with all its bytes.

    An amendment is looked for after the entry before it. None where there is no such commit.
    """
    located: list[str | None] = []
    for entry in receipt.entries:
        wanted = {files[role]: digest for role, digest in entry.files.items()}
        located.append(history.first_with(wanted, *located[-1:]))
    return located
