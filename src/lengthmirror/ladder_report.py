"""The ladder report: rows as strict JSON bytes and as a table for the terminal."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .analysis import REFERENCES, Row
from .files import json_bytes
from .study import Study

SCHEMA = 1
DECIMALS = 10
COLUMNS = ("judge", "r_long (L)", "r_long (S)", "G [interval]", "class", "order-debiased", "flags")


def row_json(row: Row) -> str:
    """One row as one line of strict JSON, the form in which it travels through pytest.

    Floats are rounded to 10 decimals; a statistic that is not finite is null.
    """
    return json.dumps(_rounded(row), sort_keys=True, allow_nan=False, ensure_ascii=True)


def registration_section(study: Study, status: str) -> dict[str, Any]:
    """What the report, its header and the JUnit suite say about the registration."""
    rule = study.rule
    return {"digest": study.digest, "status": status, "tau": float(rule.units.tau),
            "alpha": rule.intervals.alpha, "delta_0": rule.decision.delta_0,
            "delta_h": rule.decision.delta_h, "delta_b": rule.decision.delta_b,
            "pc_min": rule.decision.pc_min,
            "seed": rule.bootstrap.seed, "n_resamples": rule.bootstrap.n_resamples}


def ladder_bytes(registration: dict[str, Any], dataset: dict[str, Any], rows: Sequence[Row],
                 missing: Sequence[str]) -> bytes:
    """ladder.json.

    Args:
        registration: from ``registration_section``.
        dataset: ``Inputs.dataset``.
        rows: in ladder order.
        missing: rungs and references without a row, because their test failed or was not run.
    """
    return json_bytes(_rounded({"schema": SCHEMA, "registration": registration,
                                "dataset": dataset, "rows": rows, "missing": missing}))


def in_ladder_order(rows: Iterable[Row], rungs: Sequence[str]) -> list[Row]:
    """Rungs as the configuration lists them, then gpt4-published, then humans."""
    place = {name: at for at, name in enumerate((*rungs, *REFERENCES))}
    return sorted(rows, key=lambda row: place[row["rung"]])


def table_lines(rows: Sequence[Row]) -> list[str]:
    """The terminal table, one line per row under a heading."""
    cells = [COLUMNS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(COLUMNS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
            for line in cells]


def gap_text(row: Row) -> str:
    """G with its interval, such as ``0.568 [0.498, 0.634]``."""
    gap = row["gap"]
    if gap is None:
        return "-"
    low, high = gap["ci95"]
    return f"{gap['estimate']:.3f} [{low:.3f}, {high:.3f}]"


def _cells(row: Row) -> tuple[str, ...]:
    debiased = row["order_debiased"] or {}
    r_long = row["r_long"] or {}
    shares = (f"{r_long[subset]['estimate']:.3f}" if subset in r_long else "-"
              for subset in ("longer", "shorter"))
    return (row["rung"], *shares, gap_text(row), _outcome(row), debiased.get("class") or "-",
            flags_text(row) or "-")


def _outcome(row: Row) -> str:
    return row["class"] or ("not run" if row["status"] == "not_run" else "-")


def flags_text(row: Row) -> str:
    """The names of the raised flags."""
    flags = row["flags"] or {}
    return ", ".join(sorted(name for name, value in flags.items() if value is True))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return round(float(value), DECIMALS) + 0.0 if math.isfinite(value) else None
    return value
