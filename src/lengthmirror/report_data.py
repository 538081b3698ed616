"""What the report is made of: ladder.json and, where it exists, sensitivity.json, both checked.

The page and its figures show numbers of these two files and no others.
"""

import json
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from .errors import InvalidReport
from .ladder_report import SCHEMA
from .report_checks import check_ladder, check_sensitivity

LADDER_COMMAND = "python -m pytest -n auto tests/ladder --ladder-json {path}"
SENSITIVITY_NAME = "sensitivity.json"
SUBSETS = ("longer", "shorter")

Row = dict[str, Any]


@dataclass(frozen=True)
class ReportData:
    """The two documents.

    Attributes:
        ladder: ladder.json.
        sensitivity: sensitivity.json, or None where there is none.
    """
    ladder: dict[str, Any]
    sensitivity: dict[str, Any] | None

    @property
    def registration(self) -> dict[str, Any]:
        return self.ladder["registration"]

    @property
    def judges(self) -> list[Row]:
        """Rungs with results, smallest first; of one size in ladder order."""
        rows = [row for row in self.ladder["rows"] if row["gap"] and row["kind"] == "judge"]
        return sorted(rows, key=lambda row: row["parameters"])

    @property
    def comparisons(self) -> list[Row]:
        """References and controls, in the order of ladder.json."""
        return [row for row in self.ladder["rows"] if row["gap"] and row["kind"] != "judge"]

    @property
    def controls(self) -> list[Row]:
        """Judges with a known answer."""
        return [row for row in self.comparisons if row["kind"] == "control"]

    @property
    def ladders(self) -> list[Row]:
        """What ladder.json says across sizes, one entry per ladder."""
        return self.ladder["ladders"]

    @property
    def fitted_ladders(self) -> list[Row]:
        """Those with enough scored rungs for a slope."""
        return [each for each in self.ladders if each["slope"]]

    @property
    def missing(self) -> list[str]:
        """Rungs, references, controls and ladders whose test gave no row."""
        return [*self.ladder["missing"], *self.ladder["missing_ladders"]]

    @property
    def not_run(self) -> list[Row]:
        return [row for row in self.ladder["rows"] if not row["gap"]]

    @property
    def human(self) -> Row | None:
        """The row with the leave-one-out human gap; None where its test gave no row."""
        return next((row for row in self.comparisons if row["rung"] == "humans"), None)

    @property
    def level(self) -> str:
        """The coverage of ``ci95`` as text, such as ``95 %``."""
        return _percent(1 - self.registration["alpha"])

    @property
    def equivalence_level(self) -> str:
        """The coverage of ``ci90`` as text."""
        return _percent(1 - 2 * self.registration["alpha"])


def read_report_data(ladder: Path) -> ReportData:
    """Reads ladder.json and the sensitivity.json beside it.

    Raises:
        InvalidReport: ladder.json is missing, or one of the two is malformed or of another schema,
            or they belong to different registrations.
    """
    document = _read(ladder, LADDER_COMMAND.format(path=ladder))
    check_ladder(document, ladder)
    beside = Path(ladder).with_name(SENSITIVITY_NAME)
    return ReportData(document, _read_sensitivity(beside, document) if beside.exists() else None)


def _read_sensitivity(path: Path, ladder: dict[str, Any]) -> dict[str, Any]:
    document = _read(path, "lengthmirror sensitivity")
    check_sensitivity(document, ladder, path)
    return document


def _read(path: Path, command: str) -> dict[str, Any]:
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_not_strict,
                              parse_float=_finite)
    except FileNotFoundError:
        raise InvalidReport(f"{path} is missing; first run: {command}") from None
    except OSError as error:
        raise InvalidReport(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError):  # UnicodeDecodeError and JSONDecodeError too
        raise InvalidReport(f"{path} is not strict JSON; write it again: {command}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InvalidReport(f"{path} is not of schema {SCHEMA}; write it again: {command}")
    return document


def _not_strict(name: str) -> NoReturn:
    raise ValueError(f"{name} is not strict JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _not_strict(text)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
