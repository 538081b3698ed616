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
REGISTERED = ("prompt_mode", "bos", "dtype", "attention", "device", "threads", "path",
              "suffixes_per_forward")


def registered_settings(rung: Rung) -> dict[str, Any]:
    """What an entry must repeat of a rung's settings; each of them can change its logits."""
    return {**{name: getattr(rung, name) for name in REGISTERED},
            "template_date": rung.template_date.isoformat(),
            "parameters_loaded": rung.loaded_parameters}


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


def unit_table_entry(study: Study, path: Path, n_units: int, content_matches: Mapping[str, bool],
                     tokenizer_sha256: str) -> dict[str, Any]:
    """What the section "pairs" records of pairs.parquet under the key "unit_table".

    Args:
        study: whose data set, templates and tokenizer the table was made with.
        path: of the written table.
        n_units: its number of rows.
        content_matches: by split, whether the conversations are the registered ones.
        tokenizer_sha256: of the registered tokenizer.
    """
    return {"table_sha256": sha256_file(path), "n_units": n_units,
            "repository": study.dataset.repository, "revision": study.dataset.revision,
            "content_matches": dict(content_matches), "templates_sha256": study.templates_sha256,
            "tokenizer": {"rung": study.rule.units.tokenizer, "sha256": tokenizer_sha256},
            "registration_digest": study.digest}


def check_unit_table_entry(manifest: Mapping[str, Any], study: Study,
                           path: Path) -> dict[str, Any]:
    """The entry of pairs.parquet, when it shows that the file is the study's unit table.

    Raises:
        InvalidUnits: there is no entry, the file has other bytes than were recorded, or it was
            made of another data set, with other templates or another tokenizer.
    """
    entry = manifest["pairs"].get("unit_table")
    if not isinstance(entry, Mapping):
        raise InvalidUnits(f"{path} has no entry in {NAME}, so nothing shows what it was made of; "
                           "'lengthmirror pairs' makes both.")
    found, recorded = sha256_file(path), entry.get("table_sha256")
    if found != recorded:
        raise InvalidUnits(f"{path} is not the unit table recorded in {NAME}: its sha256 is "
                           f"{found}, expected {recorded}.")
    expected = {"repository": study.dataset.repository, "revision": study.dataset.revision,
                "templates_sha256": study.templates_sha256,
                "tokenizer": study.rule.units.tokenizer}
    tokenizer = entry.get("tokenizer")
    recorded = {**entry, "tokenizer": tokenizer.get("rung") if isinstance(tokenizer, Mapping)
                else tokenizer}
    for key, value in expected.items():
        if recorded.get(key) != value:
            raise InvalidUnits(f"{path} was made with {key} = {recorded.get(key)}, but the study "
                               f"registers {value}.")
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
                **registered_settings(rung)}
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
