"""The sensitivity table as strict JSON, as CSV and as text; the bytes depend on nothing else."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from .analysis import Row
from .errors import InvalidConfig, InvalidLogits
from .files import json_bytes
from .inputs import GPT4, Inputs
from .ladder import find_rung
from .ladder_report import SCHEMA, aligned, estimate_text, rounded
from .sensitivity import sensitivity_rows

HEADING = ("specification", "n_L", "n_S", "G [interval]", "class", "left out")
COUNTS = ("n_longer", "n_shorter", "n_left_out")
CSV_COLUMNS = ("judge", "specification", *COUNTS, "gap", "gap_ci95_low", "gap_ci95_high", "class",
               "sentence")


def chosen_judges(inputs: Inputs, names: Sequence[str]) -> list[str]:
    """The judges asked for, or all that have verdicts, in ladder order with GPT-4 last.

    Raises:
        UnknownRung: a name is no rung.
        InvalidConfig: a name is given twice.
        InvalidLogits: a rung asked for has no logits.
    """
    known = [*inputs.study.rungs, GPT4]
    if not names:
        return [name for name in known if name == GPT4 or inputs.has_logits(name)]
    for at, name in enumerate(names):
        if name != GPT4:
            find_rung(inputs.study.rungs, name)
        if name in names[:at]:
            raise InvalidConfig(f"the rung {name!r} is listed twice.")
        if name != GPT4 and not inputs.has_logits(name):
            raise InvalidLogits(f"{name} is not run: it has no logits below {inputs.artifacts}.")
    return sorted(names, key=known.index)


def sensitivity_document(inputs: Inputs, registration: dict[str, Any],
                         judges: Sequence[str]) -> Row:
    """What sensitivity.json holds; ``not_run`` names the rungs without logits.

    Raises:
        InvalidLogits: the table of a judge is corrupt, incomplete, duplicated or another judge's.
    """
    return rounded({
        "schema": SCHEMA, "registration": registration, "dataset": inputs.dataset,
        "not_run": [slug for slug in inputs.study.rungs if not inputs.has_logits(slug)],
        "judges": [{"judge": name, "specifications": sensitivity_rows(inputs, name)}
                   for name in judges]})


def document_bytes(document: Row) -> bytes:
    """sensitivity.json."""
    return json_bytes(document)


def csv_bytes(document: Row) -> bytes:
    """sensitivity.csv: one line per judge and specification, what is absent is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows(_record(judge["judge"], row) for judge in document["judges"]
                     for row in judge["specifications"])
    return text.getvalue().encode("utf-8")


def sensitivity_lines(document: Row) -> list[str]:
    """The tables for the terminal, one per judge."""
    lines = []
    for judge in document["judges"]:
        rows = judge["specifications"]
        said = [f"{row['specification']}: {row['sentence']}" for row in rows if row["sentence"]]
        table = aligned([HEADING, *map(_cells, rows)])
        lines += [judge["judge"], *(f"  {line}" for line in (*table, *said)), ""]
    return lines[:-1]


def _record(judge: str, row: Row) -> tuple:
    gap = row["gap"] or {"estimate": None, "ci95": (None, None)}
    return (judge, row["specification"], *(row[name] for name in COUNTS), gap["estimate"],
            *gap["ci95"], row["class"], row["sentence"])


def _cells(row: Row) -> tuple[str, ...]:
    n_longer, n_shorter, left_out = ("-" if row[name] is None else str(row[name])
                                     for name in COUNTS)
    return (row["specification"], n_longer, n_shorter, estimate_text(row["gap"]),
            row["class"] or "-", left_out)
