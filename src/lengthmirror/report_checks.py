"""Refuses documents from which the page could not be made, naming the key that is wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import InvalidReport
from .rule import CLASSES

NUMBER = (int, float)
SUBSETS = ("longer", "shorter")
NUMBERS_OF_REGISTRATION = ("alpha", "delta_0", "delta_h", "delta_b", "pc_min", "tau", "seed",
                           "n_resamples")


def check_ladder(document: dict[str, Any], path: Path) -> None:
    """ladder.json has what every figure and table needs.

    Raises:
        InvalidReport: a key is missing or not of its kind.
    """
    registration = document.get("registration")
    lacking = [name for name in NUMBERS_OF_REGISTRATION if not _is_number(_at(registration, name))]
    lacking += [name for name in ("digest", "status")
                if not isinstance(_at(registration, name), str)]
    if lacking:
        raise InvalidReport(f"{path}: its registration has no valid {lacking[0]!r}.")
    _check_each(document, "rows", "rung", _wrong_in_row, path)
    if document.get("ladders") is not None:
        _check_each(document, "ladders", "ladder", _wrong_in_ladder, path)


def check_sensitivity(document: dict[str, Any], ladder: dict[str, Any], path: Path) -> None:
    """sensitivity.json has its tables, and they are of the results in ladder.json.

    Raises:
        InvalidReport: a key is missing or not of its kind, or the two documents differ.
    """
    _check_each(document, "judges", "judge", _wrong_in_specifications, path)
    gaps = {row["rung"]: row["gap"] for row in ladder["rows"]}
    if _at(document.get("registration"), "digest") != ladder["registration"]["digest"]:
        raise InvalidReport(f"{path} is of another registration than the ladder; write it again: "
                            "lengthmirror sensitivity")
    for judge in document["judges"]:
        primary = judge["specifications"][0]["gap"] if judge["specifications"] else None
        if primary != gaps.get(judge["judge"], primary):
            raise InvalidReport(f"{path}: its primary G of {judge['judge']} is not that of the "
                                "ladder; write both again.")


def _check_each(document: dict[str, Any], key: str, name: str, wrong, path: Path) -> None:
    if not isinstance(document.get(key), list):
        raise InvalidReport(f"{path}: it has no list of {key}.")
    for entry in document[key]:
        if not isinstance(_at(entry, name), str):
            raise InvalidReport(f"{path}: one of its {key} has no valid {name!r}.")
        found = wrong(entry)
        if found:
            raise InvalidReport(f"{path}: {entry[name]} has no valid {found!r}.")


def _wrong_in_row(row: dict[str, Any]) -> str | None:
    """The first key of a judge's row that is missing or not of its kind, or None."""
    lacking = [name for name in ("status", "gap", "class", "parameters") if name not in row]
    if lacking:
        return lacking[0]
    if not _is_class(row["class"]):
        return "class"
    if row["gap"] is None:
        return None
    for name in ("gap", "lean"):
        if not _is_estimate(row.get(name)):
            return name
    shares = [f"r_long.{subset}" for subset in SUBSETS
              if not _is_proportion(_at(row.get("r_long"), subset))]
    return shares[0] if shares else _wrong_beside(row)


def _wrong_beside(row: dict[str, Any]) -> str | None:
    """The same for what only some rows have: D, the order-debiased verdict, the two orders."""
    if not _none_or(_is_estimate, row, "shortfall"):
        return "shortfall"
    if not _none_or(_is_debiased, row, "order_debiased"):
        return "order_debiased"
    if not _none_or(_is_proportion, row, "position_consistency"):
        return "position_consistency"
    if row["position_consistency"] and not _is_number(row.get("slot_a_share")):
        return "slot_a_share"
    mass = row.get("option_mass")
    if row["position_consistency"] and not all(_is_number(_at(mass, name))
                                               for name in ("mean", "p05")):
        return "option_mass"
    return None


def _wrong_in_ladder(row: dict[str, Any]) -> str | None:
    if not isinstance(row.get("coverage"), str):
        return "coverage"
    if "slope" not in row:
        return "slope"
    if row["slope"] is None:
        return None
    if not _is_estimate(row["slope"]):
        return "slope"
    if not (isinstance(row.get("judges"), list) and row["judges"]
            and all(_is_estimate(_at(judge, "gap")) and _is_class(judge.get("class"))
                    and _is_number(judge.get("parameters")) for judge in row["judges"])):
        return "judges"
    fitted = isinstance(row.get("fit"), list) and row["fit"] and all(
        _is_number(_at(point, "log10_parameters")) and _is_number(point.get("estimate"))
        and _is_interval(point.get("ci95")) for point in row["fit"])
    return None if fitted else "fit"


def _wrong_in_specifications(judge: dict[str, Any]) -> str | None:
    rows = judge.get("specifications")
    if not isinstance(rows, list):
        return "specifications"
    for row in rows:
        if not isinstance(_at(row, "specification"), str):
            return "specification"
        if row.get("gap") is not None and not _is_estimate(row["gap"]):
            return "gap"
        if not _is_class(row.get("class")):
            return "class"
    return None


def _none_or(valid: Callable[[Any], bool], row: dict[str, Any], name: str) -> bool:
    return name in row and (row[name] is None or valid(row[name]))


def _is_debiased(value: Any) -> bool:
    return _is_estimate(_at(value, "gap")) and _is_class(_at(value, "class"))


def _is_class(value: Any) -> bool:
    return value is None or value in CLASSES


def _is_estimate(value: Any) -> bool:
    return (_is_number(_at(value, "estimate"))
            and all(_is_interval(_at(value, name)) for name in ("ci95", "ci90")))


def _is_proportion(value: Any) -> bool:
    return (all(_is_number(_at(value, name)) for name in ("estimate", "n"))
            and _is_interval(_at(value, "wilson_cluster")))


def _is_interval(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, NUMBER) and not isinstance(value, bool)


def _at(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
