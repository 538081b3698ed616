"""The results as markdown, and where README.md shows them."""

from collections.abc import Mapping
from typing import Any

BEGIN = "<!-- results: written by benchmarks/run.py -->"
END = "<!-- end of results -->"
VERDICTS = {True: "met", False: "missed", None: ""}


def render(results: Mapping[str, Any]) -> str:
    """The measured values with their targets, what was timed, what was skipped and where."""
    benchmarks = results.get("benchmarks", {})
    parts = [_machines(benchmarks), _lines(benchmarks), _seconds(benchmarks), _skips(benchmarks)]
    return "\n\n".join(part for part in parts if part) + "\n"


def pasted(document: str, table: str) -> str:
    """The document with the table between its markers.

    Raises:
        ValueError: the document has not one pair of markers.
    """
    if document.count(BEGIN) != 1 or document.count(END) != 1:
        raise ValueError(f"the document must have '{BEGIN}' and '{END}' once each.")
    before, rest = document.split(BEGIN)
    return f"{before}{BEGIN}\n{table}{END}{rest.split(END)[1]}"


def number(value: float, unit: str) -> str:
    """Three significant digits, or all digits before the point; whole numbers as they are."""
    text = f"{value:.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.3g}"
    return f"{text} {unit}" if unit else text


def _machines(benchmarks: Mapping[str, Any]) -> str:
    """One paragraph per machine: what it is, and which benchmarks it measured when."""
    by_machine: dict[str, list[str]] = {}
    for name, entry in benchmarks.items():
        machine = entry["machine"]
        versions = ", ".join(f"{package} {release}"
                             for package, release in machine["versions"].items())
        text = (f"{machine['processor']}, {machine['instruction_set']}, {machine['cores']} cores, "
                f"{machine['memory_gb']:.0f} GB; {versions}")
        trial = ", a trial" if entry["quick"] else ""
        by_machine.setdefault(text, []).append(f"{name} ({entry['date']}{trial})")
    return "\n\n".join(f"{text}: {', '.join(names)}." for text, names in by_machine.items())


def _lines(benchmarks: Mapping[str, Any]) -> str:
    rows = [f"| {name} | {line['what']} | {number(line['value'], line['unit'])} "
            f"| {line.get('target', '')} | {VERDICTS[line.get('met')]} |"
            for name, entry in benchmarks.items() for line in entry.get("lines", [])]
    return "\n".join(["| benchmark | what | measured | target | |", "|---|---|---|---|---|",
                      *rows]) if rows else ""


def _seconds(benchmarks: Mapping[str, Any]) -> str:
    rows = [f"| {name} | {what} | {seconds:.4g} |" for name, entry in benchmarks.items()
            for what, seconds in entry.get("details", {}).get("seconds", {}).items()]
    return "\n".join(["| benchmark | timed | seconds |", "|---|---|---|", *rows]) if rows else ""


def _skips(benchmarks: Mapping[str, Any]) -> str:
    return "\n".join(f"Skipped: {name} ({entry['date']}): {entry['reason']}"
                     for name, entry in benchmarks.items() if entry["status"] == "skipped")
