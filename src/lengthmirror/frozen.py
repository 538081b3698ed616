"""Which files the registration freezes, and their digests."""

import hashlib
from pathlib import Path

from .errors import InvalidConfig

REGISTRATION_FILES = ("PREREGISTRATION.md", "decision_rule.toml", "predictions.toml",
                      "prompt_templates.json")
CONFIG_FILES = ("ladder.toml", "dataset.toml")


def frozen_files(registration_dir: Path, config_dir: Path) -> dict[str, Path]:
    """Each frozen file by its role path (``preregistration/...`` or ``config/...``).

    The role path does not change when the directories live elsewhere, so that a copied study and
    its original are compared file by file.
    """
    files = {f"preregistration/{name}": Path(registration_dir) / name
             for name in REGISTRATION_FILES}
    files.update({f"config/{name}": Path(config_dir) / name for name in CONFIG_FILES})
    return files


def file_digests(registration_dir: Path, config_dir: Path) -> dict[str, str]:
    """The sha256 of each frozen file's bytes, by role path.

    Raises:
        InvalidConfig: a frozen file is missing.
    """
    digests = {}
    for role, path in frozen_files(registration_dir, config_dir).items():
        if not path.is_file():
            raise InvalidConfig(f"the registration is incomplete: {path} does not exist.")
        digests[role] = sha256_file(path)
    return digests


def registration_digest(digests: dict[str, str]) -> str:
    """One sha256 for a whole registration: over the sorted lines ``<role path> <sha256>``."""
    lines = "".join(f"{role} {digests[role]}\n" for role in sorted(digests))
    return hashlib.sha256(lines.encode()).hexdigest()


def sha256_file(path: Path) -> str:
    """The sha256 of a file's bytes, as hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
