"""The answer in plain sentences, at the top of the page: one per judge and one per ladder."""

from dataclasses import dataclass

from .report_data import ReportData, Row
from .report_words import interval, number

WHAT_JUDGES_DO = {
    "NO_PREFERENCE": "decides by neither length nor quality",
    "LENGTH_PREFERENCE": "prefers the longer answer, whatever humans thought of it",
    "BREVITY_PREFERENCE": "prefers the shorter answer, whatever humans thought of it",
    "ZERO_GAP_LEAN_UNRESOLVED": "ignores quality; whether it leans to a length is open",
    "QUALITY_TRACKING": "follows the human labels as one annotator follows another",
    "PARTIAL_TRACKING": "follows the human labels, but less than another annotator does",
    "EXCEEDS_HUMAN": "follows the human labels more closely than another annotator does",
    "INVERSE": "runs against the human labels",
    "INCONCLUSIVE": "cannot be classified from these data",
    "UNRESOLVABLE_MARGINS": "cannot be classified: both hypotheses fit these data",
}
LEANING = ("LENGTH_PREFERENCE", "BREVITY_PREFERENCE")  # classes that rest on the lean
WHAT_LADDERS_DO = {
    "UNIFORM": "all judges have the same class",
    "LOCALISED": "the class changes at one place",
    "GRADED": "the class changes gradually",
    "NON_MONOTONE": "the class changes back and forth",
    "UNDETERMINED": "whether the class changes with size is open",
}


@dataclass(frozen=True)
class Answer:
    """A name and what is said of it, which continues the name to a sentence or two."""
    name: str
    text: str


def answers(data: ReportData) -> list[Answer]:
    """One answer per judge, smallest first, per reference with a class, and per fitted ladder."""
    references = [row for row in data.comparisons if row["class"] and row not in data.controls]
    return [*(Answer(row["rung"], _of_judge(row)) for row in (*data.judges, *references)),
            *(Answer(row["ladder"], _of_ladder(row)) for row in data.fitted_ladders)]


def _of_judge(row: Row) -> str:
    said = f"{_does(row)}."
    other, slot = row["order_debiased"], bool(row["flags"]["position_dominated"])
    if slot:
        said += " Most of its verdicts change when the answers change places."
    if not other or not slot and other["class"] == row["class"]:
        return said
    averaged = "With the answer order averaged out of its scores it"
    return f"{said} {averaged} {_does(other)}."


def _does(section: Row) -> str:
    gap, lean = section["gap"], section["lean"]
    said = f"{WHAT_JUDGES_DO[section['class']]}: G {number(gap['estimate'])} {interval(gap)}"
    if section["class"] in LEANING:
        said += f", lean {number(lean['estimate'])} {interval(lean)}"
    if section["flags"]["excess_length_lean"]:
        said += ", and leans to the longer answer more than humans do"
    return said


def _of_ladder(row: Row) -> str:
    slope = row["slope"]
    caveat = f" {row['caveat']}" if row["caveat"] else ""
    return (f"over its scored sizes: {WHAT_LADDERS_DO[row['outcome']]}"
            f"{_between(row['boundary'])}. G changes by {number(slope['estimate'])} "
            f"{interval(slope)} per tenfold size.{_debiased(row)}{caveat}")


def _debiased(row: Row) -> str:
    other = row["order_debiased"]
    if not other or not other["slope"] or (other["outcome"], other["boundary"]) == (
            row["outcome"], row["boundary"]):
        return ""
    return (f" With the answer order averaged out, {WHAT_LADDERS_DO[other['outcome']]}"
            f"{_between(other['boundary'])}.")


def _between(boundary: Row | None) -> str:
    return f", between {boundary['below']} and {boundary['above']}" if boundary else ""
