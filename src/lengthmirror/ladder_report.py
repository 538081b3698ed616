"""The ladder report: rows as strict JSON bytes and as a table for the terminal."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .analysis import Row
from .files import json_bytes
from .inputs import BESIDE_RUNGS, CONTROL
from .study import Study

SCHEMA = 1
DECIMALS = 10
COLUMNS = ("judge", "r_long (L)", "r_long (S)", "G [interval]", "class", "order-debiased", "flags")


def row_json(row: Row) -> str:
    """One row as one line of strict JSON, the form in which it travels through pytest.

    Floats are rounded to 10 decimals; a statistic that is not finite is null.
    """
    return json.dumps(rounded(row), sort_keys=True, allow_nan=False, ensure_ascii=True)


def registration_section(study: Study, status: str) -> dict[str, Any]:
    """What the report, its header and the JUnit suite say about the registration."""
    rule = study.rule
    return {"digest": study.digest, "status": status, "tau": float(rule.units.tau),
            "alpha": rule.intervals.alpha, "delta_0": rule.decision.delta_0,
            "delta_h": rule.decision.delta_h, "delta_b": rule.decision.delta_b,
            "pc_min": rule.decision.pc_min,
            "seed": rule.bootstrap.seed, "n_resamples": rule.bootstrap.n_resamples}


def ladder_bytes(registration: dict[str, Any], dataset: dict[str, Any], rows: Sequence[Row],
                 ladders: Sequence[Row], missing: Sequence[str],
                 missing_ladders: Sequence[str]) -> bytes:
    """ladder.json.

    Args:
        registration: from ``registration_section``.
        dataset: ``Inputs.dataset``.
        rows: of rungs, references and controls, in ladder order.
        ladders: rows of whole ladders, as the configuration lists them.
        missing: names without a row in ``rows``, because their test failed or was not run.
        missing_ladders: the same for ``ladders``.
    """
    return json_bytes(rounded({
        "schema": SCHEMA, "registration": registration, "dataset": dataset, "rows": rows,
        "ladders": ladders, "missing": missing, "missing_ladders": missing_ladders}))


def in_ladder_order(rows: Iterable[Row], rungs: Sequence[str]) -> list[Row]:
    """Rungs as the configuration lists them, then the references, then the controls."""
    place = {name: at for at, name in enumerate((*rungs, *BESIDE_RUNGS))}
    return sorted(rows, key=lambda row: place[row["rung"]])


def table_lines(rows: Sequence[Row]) -> list[str]:
    """The terminal table, one line per row under a heading."""
    return aligned([COLUMNS, *(_cells(row) for row in rows)])


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells as text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
            for line in lines]


def gap_text(row: Row) -> str:
    """G with its interval, such as ``0.568 [0.498, 0.634]``."""
    return estimate_text(row["gap"])


def estimate_text(found: Row | None) -> str:
    """An estimate with its interval at 1 - alpha, or a dash where there is none."""
    if found is None:
        return "-"
    low, high = found["ci95"]
    return f"{found['estimate']:.3f} [{low:.3f}, {high:.3f}]"


def _cells(row: Row) -> tuple[str, ...]:
    debiased = row["order_debiased"] or {}
    r_long = row["r_long"] or {}
    shares = (f"{r_long[subset]['estimate']:.3f}" if subset in r_long else "-"
              for subset in ("longer", "shorter"))
    name = f"{row['rung']} ({CONTROL})" if row["kind"] == CONTROL else row["rung"]
    return (name, *shares, gap_text(row), _outcome(row), debiased.get("class") or "-",
            flags_text(row) or "-")


def _outcome(row: Row) -> str:
    return row["class"] or ("not run" if row["status"] == "not_run" else "-")


def flags_text(row: Row) -> str:
    """The names of the raised flags."""
    flags = row["flags"] or {}
    return ", ".join(sorted(name for name, value in flags.items() if value is True))


def rounded(value: Any) -> Any:
    """A value for strict JSON: floats with 10 decimals, null for one that is not finite."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return round(float(value), DECIMALS) + 0.0 if math.isfinite(value) else None
    return value
