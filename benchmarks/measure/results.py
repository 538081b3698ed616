"""What a benchmark reports, compared with its targets and merged with earlier reports."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .targets import MEASURES, Measure

SCHEMA = 1


class Skipped(Exception):
    """A benchmark that cannot run here; its text is the reason, one sentence."""


@dataclass(frozen=True)
class Outcome:
    """``values`` by the keys of ``targets.MEASURES``; ``details`` is whatever explains them.

    ``details["seconds"]``, where given, is a mapping from what was timed to its seconds.
    """
    values: Mapping[str, float]
    details: Mapping[str, Any] = field(default_factory=dict)


def entry(name: str, outcome: Outcome | Skipped, date: str, machine: Mapping[str, Any],
          quick: bool) -> dict[str, Any]:
    """The report of one benchmark as plain JSON values.

    Args:
        name: of the benchmark.
        outcome: what it measured, or why it did not.
        date: ISO date of the run.
        machine: from ``machine.facts``.
        quick: the run was a trial, whose values are compared with no target.
    """
    frame = {"date": date, "machine": dict(machine), "quick": quick}
    if isinstance(outcome, Skipped):
        return {**frame, "status": "skipped", "reason": str(outcome)}
    lines = [line(measure, outcome.values[measure.key], quick) for measure in MEASURES[name]
             if measure.key in outcome.values]
    return {**frame, "status": "measured", "lines": lines, "details": dict(outcome.details)}


def line(measure: Measure, value: float, quick: bool) -> dict[str, Any]:
    """One measured value beside its target.

    Raises:
        ValueError: the value is not finite.
    """
    if not math.isfinite(value):
        raise ValueError(f"{measure.what} must be finite, got {value}.")
    known = {"key": measure.key, "what": measure.what, "unit": measure.unit, "value": value}
    if measure.target is None:
        return known
    return {**known, "target": measure.target.words,
            "met": None if quick else measure.target.met(value)}


def merged(before: Mapping[str, Any], entries: Mapping[str, Any]) -> dict[str, Any]:
    """Earlier results with the entries just made in the place of their own."""
    benchmarks = {**before.get("benchmarks", {}), **entries}
    order = [*(name for name in MEASURES if name in benchmarks)]
    return {"schema": SCHEMA, "benchmarks": {name: benchmarks[name] for name in order}}


def read(path: Path) -> dict[str, Any]:
    """Earlier results, empty where there are none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(path: Path, results: Mapping[str, Any]) -> None:
    """Strict JSON, the benchmarks in their own order."""
    text = json.dumps(results, indent=1, allow_nan=False, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
