"""n_L, n_S and the units left out of every registered specification, against an independent count.

The count goes unit by unit and vote by vote, in fractions, with the settings of the TOML file as
they stand; nothing of the package is used in it.
"""

import copy
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthmirror.errors import EmptySubset
from lengthmirror.pairs import SCHEMA, VOTES, PairTable, scored, select_units
from lengthmirror.sensitivity import (
    NOT_SCORED,
    PRIMARY,
    scored_rows,
    specifications,
    specified_units,
)

from ..strategies import PROPERTIES


def registered_settings():
    """The settings of the primary specification and of each analysis, by name."""
    path = Path(__file__).parents[2] / "preregistration/decision_rule.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Fraction)
    result = {PRIMARY: data}
    for analysis in data["sensitivity"]:
        result[analysis["name"]] = changed = copy.deepcopy(data)
        for key, value in analysis["set"].items():
            section, name = key.split(".")
            changed[section][name] = value
    return result


SETTINGS = registered_settings()


def relative_difference(row, unit, scope):
    """|la - lb| / max(la, lb) as a fraction, 0 for equal answers."""
    suffix = "_conversation" if scope == "conversation" else ""
    lengths = [row[f"{unit}{suffix}_{side}"] for side in "ab"]
    longest = max(lengths)
    return Fraction(abs(lengths[0] - lengths[1]), longest) if longest else Fraction(0)


def votes_toward_longer(row, settings):
    """+1, 0 or -1 per registered annotator, toward the answer longer under these settings."""
    wanted = settings["label"]["annotators"]
    kinds = ["expert", "author"] if wanted == "all" else [wanted]
    suffix = "_conversation" if settings["length"]["scope"] == "conversation" else ""
    unit = settings["length"]["unit"]
    longer = "a" if row[f"{unit}{suffix}_a"] > row[f"{unit}{suffix}_b"] else "b"
    shorter = {"a": "b", "b": "a"}[longer]
    return [vote for kind in kinds for side, vote in ((longer, 1), ("tie", 0), (shorter, -1))
            for _ in range(row[f"votes_{side}_{kind}"])]


def label_of(votes, rule):
    """+1, -1 or 0, in the words of section 1."""
    for side in (1, -1):
        if rule == "net_sign" and sum(votes) * side > 0:
            return side
        if rule == "plurality" and all(votes.count(side) > votes.count(other)
                                       for other in (1, 0, -1) if other != side):
            return side
        if rule == "unanimous" and set(votes) == {side}:
            return side
    return 0


def has_logits(row):
    """Section 1: above scoring_tau with a decided vote, under the primary settings."""
    settings = SETTINGS[PRIMARY]
    difference = relative_difference(row, settings["length"]["unit"], settings["length"]["scope"])
    decided = any(votes_toward_longer(row, settings))
    return (row["turn"] in settings["units"]["turns"] and decided
            and difference > settings["units"]["scoring_tau"])


def counted(rows, settings, everything_scored=False):
    """(n_L, n_S, units left out) of one specification."""
    n, left_out = {1: 0, -1: 0}, 0
    for row in rows:
        votes = votes_toward_longer(row, settings)
        difference = relative_difference(row, settings["length"]["unit"],
                                         settings["length"]["scope"])
        if (row["turn"] not in settings["units"]["turns"] or not any(votes)
                or not difference > settings["units"]["tau"]):
            continue
        if not everything_scored and not has_logits(row):
            left_out += 1
        elif settings["units"]["unit"] == "vote":
            for vote in votes:
                n[vote] = n.get(vote, 0) + 1
        elif label := label_of(votes, settings["label"]["rule"]):
            n[label] += 1
    return n[1], n[-1], left_out


def computed(pairs, rule, mask):
    """The same from the package; None where a subset is empty."""
    try:
        units = specified_units(pairs, rule, mask)
    except EmptySubset:
        return None
    return (int(units.weight_longer.sum()), int(units.weight_shorter.sum()),
            units.excluded[NOT_SCORED])


@pytest.fixture(scope="module")
def rows(request):
    """The committed unit table, one dict per unit."""
    return pq.read_table(request.config.rootpath / "artifacts/pairs.parquet").to_pylist()


def test_the_settings_are_those_of_the_study(study):
    """The independent count knows every registered specification, in the same order."""
    assert list(SETTINGS) == [name for name, _ in specifications(study)]
    assert len(SETTINGS) == 16


@pytest.mark.parametrize("name", SETTINGS)
def test_counts_of_the_committed_table_against_definition(name, study, pairs, rows):
    """For a judge and for GPT-4, whose verdicts leave no unit out, on the real units."""
    rule = dict(specifications(study))[name]
    mask = scored_rows(pairs, select_units(pairs, scored(study.rule.units)))
    assert mask.tolist() == [has_logits(row) for row in rows]
    assert computed(pairs, rule, mask) == counted(rows, SETTINGS[name])
    everything = np.ones(len(pairs), dtype=bool)
    assert computed(pairs, rule, everything) == counted(rows, SETTINGS[name], True)


LENGTHS = [name for name in SCHEMA.names if name.startswith(("chars", "tokens"))]
UNITS = st.fixed_dictionaries(
    {"question_id": st.integers(1, 4), "turn": st.integers(1, 2)}
    | {name: st.integers(0, 2) for name in VOTES} | {name: st.integers(0, 30) for name in LENGTHS})


def table_row(at, unit):
    """A row of the unit table; the names of the models only keep the rows apart."""
    return {**unit, "model_a": f"m{at:03}", "model_b": "n", "gpt4_verdict": "tie",
            "prompt_sha256_ab": "", "prompt_sha256_ba": ""}


def anchor(votes_a, votes_b):
    """A unit that is in a subset under every specification of its turn."""
    return ({"question_id": 1, "turn": 1, **dict.fromkeys(VOTES, 0), "votes_a_expert": votes_a,
             "votes_b_expert": votes_b}
            | {name: 9 if name.endswith("_a") else 1 for name in LENGTHS})


@PROPERTIES
@given(units=st.lists(UNITS, max_size=14))
def test_counts_of_any_table_against_definition(study, units):
    """Every specification counts what the definitions say, on any votes and lengths."""
    rows = [table_row(at, unit) for at, unit in enumerate((anchor(1, 0), anchor(0, 1), *units))]
    pairs = PairTable(pa.Table.from_pylist(rows, schema=SCHEMA))
    mask = scored_rows(pairs, select_units(pairs, scored(study.rule.units)))
    for name, rule in specifications(study):
        expected = counted(rows, SETTINGS[name])
        found = computed(pairs, rule, mask)
        assert found == (expected if expected[0] and expected[1] else None), name
