"""Small ladder documents with made-up numbers, for tests of the page alone."""

import json
from math import log10

from lengthmirror.ladder_report import SCHEMA

# Keys of a row that no part of the page shows.
DESCRIPTIVE = ("gap_within", "gap_consistent", "gap_matched", "human_lean", "excess_lean",
               "bootstrap_p", "equivalence_p_0", "equivalence_p_H", "facts", "d_prime",
               "criterion", "n_resamples", "n_dropped")
FLAGS = ("borderline_mc", "composition_driven", "excess_length_lean", "length_gradient",
         "position_dominated")
CLASS_OF = {"tiny": "NO_PREFERENCE", "small": "LENGTH_PREFERENCE", "large": "QUALITY_TRACKING"}
REGISTRATION = {"digest": "0f" * 32, "status": "verified", "tau": 0.2, "alpha": 0.05,
                "delta_0": 0.125, "delta_h": 0.125, "delta_b": 0.05, "pc_min": 0.5,
                "seed": 20261129, "n_resamples": 9999}
REGISTERED = {"registration_digest": REGISTRATION["digest"], "registration_status": "verified"}
DATASET = {"repository": "someone/judgments", "revision": "abc123",
           "content_matches": {"human": True, "gpt4_pair": True},
           "table_sha256": "ab" * 32}


def estimate(value, half):
    """An estimate with intervals of that half width."""
    return {"estimate": value, "ci95": [value - half, value + half],
            "ci90": [value - 0.8 * half, value + 0.8 * half]}


def proportion(value, n):
    """A share with its intervals."""
    low, high = max(value - 0.0437, 0), min(value + 0.0391, 1)
    return {"estimate": value, "n": n, "wilson": [low, high], "wilson_cluster": [low, high],
            "design_effect": 1.25}


def curve(longer, shorter):
    """A length curve of three bins, the last without pairs for the shorter answer."""
    return [{"relative_difference": {"low": middle - 0.11, "median": middle, "high": middle + 0.12},
             "r_long": {"longer": proportion(longer, 211 + at),
                        "shorter": proportion(shorter, 77 + at) if at < 2 else None}}
            for at, middle in enumerate((0.34, 0.61, 0.87))]


def results(outcome, longer, shorter):
    """What a judge's row has beside its name."""
    gap = longer - shorter
    return {**dict.fromkeys(DESCRIPTIVE), "class": outcome, "gap": estimate(gap, 0.0613),
            "lean": estimate(0.0217, 0.0333), "gap_adjusted": estimate(gap - 0.0107, 0.0672),
            "shortfall": estimate(0.571 - gap, 0.08), "human_gap": estimate(0.571, 0.0791),
            "r_long": {"longer": proportion(longer, 873), "shorter": proportion(shorter, 308)},
            "flags": {**dict.fromkeys(FLAGS, False),
                      "position_dominated": outcome == "NO_PREFERENCE",
                      "margin_min_0": 0.0417, "margin_min_H": 0.6431},
            "sign_flip_p": 0.0173, "length_curve": curve(longer, shorter),
            "position_consistency": proportion(0.5717, 1242), "slot_a_share": 0.4431,
            "option_mass": {"mean": 0.9137, "p05": 0.7219}, "exact_ties": 3}


def judge(name, parameters, longer, shorter, outcome=None):
    """The row of a rung with results."""
    outcome = outcome or CLASS_OF.get(name, "PARTIAL_TRACKING")
    row = {"rung": name, "kind": "judge", "status": "scored", "model": f"{name} model",
           "family": "made up", "parameters": parameters, "unscored_reason": None, **REGISTERED}
    return {**row, **results(outcome, longer, shorter),
            "order_debiased": results(outcome, longer - 0.0313, shorter)}


def reference(name, longer, shorter, outcome=None, kind="reference"):
    """The row of a reference or a control: no size and no orders."""
    row = {**judge(name, None, longer, shorter, outcome), "kind": kind, "status": kind,
           "class": outcome,
           "order_debiased": None, "position_consistency": None, "slot_a_share": None,
           "option_mass": None, "exact_ties": None, "model": None, "family": None}
    return {**row, "shortfall": None, "flags": None} if outcome is None else row


def not_run(name, parameters, reason=None):
    """The row of a rung without logits."""
    row = dict.fromkeys(judge(name, parameters, 0.5, 0.5))
    return {**row, "rung": name, "kind": "judge", "status": "not_run", "parameters": parameters,
            "unscored_reason": reason, "model": f"{name} model", "family": "made up",
            **REGISTERED}


REFERENCES = [reference("gpt4-published", 0.8877, 0.3198, "QUALITY_TRACKING"),
              reference("humans", 0.8531, 0.2883)]


def ladder(name, rows, missing=(), outcome="GRADED", **changes):
    """The row of a ladder whose line rises by 0.2718 per tenfold size."""
    judges = [{"rung": row["rung"], "parameters": row["parameters"], "class": row["class"],
               "gap": row["gap"], "lean": row["lean"], "sign_flip_p": 0.0173,
               "sign_flip_p_holm": 0.0213, "equivalence_p_0_holm": 0.00003,
               "equivalence_p_H_holm": 1.0} for row in rows]
    sizes = [log10(row["parameters"]) for row in rows]
    found = {"slope": estimate(0.2718, 0.0911), "slope_p": 0.0037, "kendall_tau": 1.0,
             "monotone": "increasing", "outcome": outcome, "boundary": None,
             "fit": [{"log10_parameters": at, "estimate": 0.2718 * (at - sizes[0]),
                      "ci95": [0.2718 * (at - sizes[0]) - 0.05, 0.2718 * (at - sizes[0]) + 0.06]}
                     for at in sizes],
             "steps": [{"below": below["rung"], "above": above["rung"], "difference": 0.1234,
                        "p_holm": 0.0457} for below, above in zip(rows, rows[1:])],
             "runs": [], "boundaries": []}
    return {"ladder": name, "kind": "one_family", "caveat": None, "status": "scored",
            "rungs": [*(row["rung"] for row in rows), *missing], **REGISTERED,
            "coverage": f"{name} has {len(rows)} rungs scored.", "scored":
            [row["rung"] for row in rows], "not_scored": list(missing), "judges": judges,
            **found, "order_debiased": {**found, "judges": judges}, **changes}


def empty_ladder(name):
    """The row of a ladder with too few scored rungs."""
    return {"ladder": name, "kind": "mixed_families", "caveat": "Scale is confounded.",
            "status": "not_run", "rungs": ["it", "this", "that"], **REGISTERED,
            "coverage": f"{name} has 1 of 3 rungs scored and needs at least 2 "
            "(not scored: this, that).", "scored": [], "not_scored": ["this", "that"],
            "outcome": "UNDETERMINED", "order_debiased": None,
            **dict.fromkeys(("slope", "slope_p", "kendall_tau", "monotone", "fit", "judges",
                             "boundary", "steps", "runs", "boundaries"))}


def specification(name, row, outcome=None, **changes):
    """One line of a sensitivity table."""
    return {"specification": name, "n_longer": 811, "n_shorter": 297, "n_left_out": 5,
            "gap": row["gap"], "class": outcome or row["class"], "sentence": None, **changes}


def sensitivity(*rows):
    """sensitivity.json: one analysis with another class and one without any."""
    refused = {"gap": None, "class": None, "sentence": "no unit is left <here>."}
    return {"schema": SCHEMA, "registration": REGISTRATION, "dataset": DATASET, "not_run": [],
            "judges": [{"judge": row["rung"], "specifications": [
                specification("primary", row), specification("tau 0.3", row, "INVERSE"),
                {**specification("turn 1 only", row), **refused}]} for row in rows]}


def document(*rows, references=REFERENCES, **changes):
    """ladder.json with these judges."""
    return {"schema": SCHEMA, "registration": REGISTRATION, "dataset": DATASET,
            "rows": [*rows, *references], "missing": [], "ladders": [], "missing_ladders": [],
            **changes}


ONE = document(judge("tiny", 134515008, 0.4991, 0.5017),
               not_run("large", 7615616512, "its weights come from the model hub"),
               ladders=[empty_ladder("a ladder")])
JUDGES = [judge("small", 494032768, 0.7913, 0.7727), judge("tiny", 134515008, 0.4991, 0.5017),
          judge("large", 7615616512, 0.8713, 0.3119), judge("middle", 1711376384, 0.6871, 0.4673)]
BOUNDARY = {"below": "tiny", "above": "large"}
MANY = document(
    *JUDGES, not_run("huge", 70553706496),
    references=[*REFERENCES,
                reference("always-longer", 1.0, 1.0, "LENGTH_PREFERENCE", "control")],
    ladders=[ladder("one family", [JUDGES[at] for at in (1, 0, 3, 2)], ["huge"]),
             ladder("two sizes", [JUDGES[1], JUDGES[2]], outcome="LOCALISED", boundary=BOUNDARY,
                    caveat="Scale is confounded with family.")])


def known_numbers(value):
    """Every number of a document, and sizes in millions and billions."""
    if isinstance(value, dict):
        return {number for each in value.values() for number in known_numbers(each)}
    if isinstance(value, list):
        return {number for each in value for number in known_numbers(each)}
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return set()
    return {value, value / 1e6, value / 1e9} if value >= 1e6 else {value}


def texts_of(known, decimals):
    """What numbers look like with so many decimals."""
    return {f"{round(value, decimals) + 0.0:.{decimals}f}" for value in known}


def written(folder, content, name="ladder.json"):
    """A file in a folder: a document as JSON, or a text as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path
