"""Refuses documents from which the page could not be made, by the published JSON Schemas.

``schemas/ladder.schema.json`` and ``schemas/sensitivity.schema.json`` (draft 2020-12) say what the
two documents hold; anyone who reads the documents can validate them in the same way.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match
from referencing import Registry, Resource

from .errors import InvalidReport

LADDER, SENSITIVITY = "ladder", "sensitivity"
NAMES = {"rows": "rung", "ladders": "ladder", "judges": "judge"}  # lists, and what names an entry
LONGEST = 120  # characters of a validator's message


def check_ladder(document: dict[str, Any], path: Path) -> None:
    """ladder.json is what its schema says.

    Raises:
        InvalidReport: a key is missing or not of its kind.
    """
    _check(document, LADDER, path)


def check_sensitivity(document: dict[str, Any], ladder: dict[str, Any], path: Path) -> None:
    """sensitivity.json is what its schema says, and is of the results in ladder.json.

    Raises:
        InvalidReport: a key is missing or not of its kind, or the two documents differ.
    """
    _check(document, SENSITIVITY, path)
    gaps = {row["rung"]: row["gap"] for row in ladder["rows"]}
    if document["registration"]["digest"] != ladder["registration"]["digest"]:
        raise InvalidReport(f"{path} is of another registration than the ladder; write it again: "
                            "lengthmirror sensitivity")
    for judge in document["judges"]:
        primary = judge["specifications"][0]["gap"] if judge["specifications"] else None
        if primary != gaps.get(judge["judge"], primary):
            raise InvalidReport(f"{path}: its primary G of {judge['judge']} is not that of the "
                                "ladder; write both again.")


def validator(name: str) -> Draft202012Validator:
    """The validator of one of the two documents, ``ladder`` or ``sensitivity``."""
    schemas = {each: json.loads(files(__package__).joinpath(f"schemas/{each}.schema.json")
                                .read_text(encoding="utf-8")) for each in (LADDER, SENSITIVITY)}
    registry = Registry().with_resources((schema["$id"], Resource.from_contents(schema))
                                         for schema in schemas.values())
    return Draft202012Validator(schemas[name], registry=registry)


def _check(document: dict[str, Any], name: str, path: Path) -> None:
    error = best_match(validator(name).iter_errors(document))
    while error and error.validator == "anyOf":  # null, or what the second schema says
        error = best_match(each for each in error.context if each.schema_path[0] == 1)
    if error:
        owner, key = _place(error, document)
        reason = " ".join(error.message.split())
        if error.validator == "required" or len(reason) > LONGEST:
            raise InvalidReport(f"{path}: {owner} has no valid {key!r}.")
        raise InvalidReport(f"{path}: {owner} has no valid {key!r} ({reason}).")


def _place(error: ValidationError, document: dict[str, Any]) -> tuple[str, str]:
    """Whose key is wrong, by name where it has one, and the key with dots."""
    keys = [*error.absolute_path]
    if error.validator == "required":
        keys.append(next(key for key in error.validator_value if key not in error.instance))
    if len(keys) < 2 or keys[0] not in NAMES:
        return "the document", ".".join(map(str, keys))
    entry = document[keys[0]][keys[1]]
    name = entry.get(NAMES[keys[0]]) if isinstance(entry, dict) else None
    owner = name if isinstance(name, str) else f"entry {keys[1] + 1} of its {keys[0]}"
    return owner, ".".join(map(str, keys[2:])) or NAMES[keys[0]]
