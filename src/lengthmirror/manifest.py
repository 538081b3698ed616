"""artifacts/MANIFEST.json: what each committed table is, so that no other file passes for it.

One strict JSON object, keys sorted: ``{"schema", "pairs", "rungs": {slug: entry}}``. An entry
holds the table's sha256 and everything its logits depend on; README.md has the data dictionary.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from .errors import InvalidLogits, InvalidUnits
from .files import json_bytes, write_bytes
from .frozen import sha256_file
from .ladder import Rung
from .study import Study

SCHEMA = 1
NAME = "MANIFEST.json"
SECTIONS = ("pairs", "rungs")
REGISTERED = ("dtype", "attention", "device", "threads", "path")


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest, with an empty section where nothing was recorded yet.

    Raises:
        InvalidLogits: the file is not a manifest of this schema.
    """
    path = Path(path)
    if not path.exists():
        return {"schema": SCHEMA, "pairs": {}, "rungs": {}}
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidLogits(f"{path} is not valid JSON: {error}.") from None
    schema = manifest.get("schema") if isinstance(manifest, dict) else None
    if schema != SCHEMA or any(not isinstance(manifest.get(key), dict) for key in SECTIONS):
        raise InvalidLogits(f"{path} must be a manifest of schema {SCHEMA} with the sections "
                            f"{' and '.join(SECTIONS)}, got schema {schema!r}.")
    return manifest


def update_manifest(path: Path, section: str, key: str, entry: Any) -> None:
    """Sets ``manifest[section][key]``; other entries stay, also under parallel writers.

    Args:
        path: artifacts/MANIFEST.json, replaced atomically under a lock file.
        section: "pairs" or "rungs".
        key: a rung's slug, or a field of the section "pairs".
        entry: anything strict JSON can hold.

    Raises:
        InvalidLogits: the manifest that is there cannot be read; it is left alone.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        manifest = read_manifest(path)
        manifest[section][key] = entry
        write_bytes(path, json_bytes(manifest))


def check_unit_table_entry(manifest: Mapping[str, Any], path: Path,
                           tokenizer: str) -> dict[str, Any]:
    """The entry of pairs.parquet, empty when none was recorded.

    Args:
        manifest: from ``read_manifest``.
        path: of pairs.parquet.
        tokenizer: the rung whose tokenizer the study registers for lengths in tokens.

    Raises:
        InvalidUnits: the file has other bytes than were recorded, or another tokenizer counted.
    """
    entry = manifest["pairs"].get("unit_table", {})
    found, recorded = sha256_file(path), entry.get("table_sha256")
    if entry and found != recorded:
        raise InvalidUnits(f"{path} is not the unit table recorded in {NAME}: its sha256 is "
                           f"{found}, expected {recorded}.")
    counted = entry.get("tokenizer", {}).get("rung", tokenizer)
    if counted != tokenizer:
        raise InvalidUnits(f"{path} counts tokens with the tokenizer of {counted}, but the study "
                           f"registers {tokenizer}.")
    return dict(entry)


def check_logits_entry(manifest: Mapping[str, Any], study: Study, rung: Rung,
                       logits_path: Path) -> dict[str, Any]:
    """The rung's entry, when it shows that the file holds this rung's logits.

    Raises:
        InvalidLogits: the file has other bytes than were recorded, or was scored with other
            weights, another template or other settings than the study registers.
    """
    entry = manifest["rungs"].get(rung.slug)
    if not isinstance(entry, Mapping):
        raise InvalidLogits(f"{rung.slug}: {logits_path} has no entry in {NAME}, "
                            "so nothing shows whose logits it holds.")
    try:
        found = sha256_file(logits_path)
    except OSError as error:
        raise InvalidLogits(f"{rung.slug}: {logits_path} cannot be read: {error}.") from None
    expected = {"table_sha256": found, "weights": rung.weights.identity,
                "templates_sha256": study.templates_sha256,
                **{key: getattr(rung, key) for key in REGISTERED}}
    for key, value in expected.items():
        if entry.get(key) != value:
            raise InvalidLogits(_difference(rung.slug, key, entry.get(key), value, logits_path))
    return dict(entry)


def _difference(slug: str, key: str, recorded: Any, value: Any, logits_path: Path) -> str:
    if key == "table_sha256":
        return (f"{slug}: {logits_path} is not the table recorded in {NAME}: "
                f"its sha256 is {value}, expected {recorded}.")
    return (f"{slug}: the logits were scored with {key} = {_shown(recorded)}, "
            f"but the study registers {_shown(value)}.")


def _shown(value: Any) -> str:
    return json.dumps(value, sort_keys=True) if isinstance(value, Mapping) else str(value)
