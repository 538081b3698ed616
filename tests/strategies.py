"""Hypothesis strategies: small random unit tables with scores, and the settings they run under."""

from dataclasses import fields, replace

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lengthmirror.pairs import Units, labels

settings.register_profile(
    "lengthmirror", deadline=None, derandomize=True, max_examples=60,
    suppress_health_check=[HealthCheck.too_slow])  # a loaded machine is not a fault of the code
PROPERTIES = settings.get_profile("lengthmirror")

VOTES = st.tuples(*[st.integers(0, 4)] * 3).filter(any)
LENGTHS = st.tuples(st.integers(0, 400), st.integers(1, 400))


def replicates_of(sizes):
    """Bootstrap replicates in exact binary fractions, so that ties and zeros occur."""
    return hnp.arrays(float, sizes, elements=st.integers(-20, 20).map(lambda value: value / 32))


REPLICATES = replicates_of(st.integers(1, 120))


def units_of(question_id, longer, tie, shorter, length_shorter, excess, label_rule="net_sign"):
    """Units from columns: votes for the longer answer, ties, votes for the shorter one, lengths."""
    question_id, longer, tie, shorter, length_shorter, excess = (
        np.asarray(column, dtype=np.int64)
        for column in (question_id, longer, tie, shorter, length_shorter, excess))
    n, label = len(question_id), labels(longer, tie, shorter, label_rule)
    frame, question_index = np.unique(question_id, return_inverse=True)
    return Units(
        row=np.arange(n), question_id=question_id, turn=np.ones(n, dtype=np.int64),
        model_a=np.full(n, "m", dtype=object), model_b=np.full(n, "n", dtype=object),
        longer_is_a=np.arange(n) % 2 == 0, length_longer=length_shorter + excess,
        length_shorter=length_shorter, votes_longer=longer, votes_tie=tie, votes_shorter=shorter,
        label=label, weight_longer=(label > 0).astype(np.int64),
        weight_shorter=(label < 0).astype(np.int64), judged=longer + shorter > 0, frame=frame,
        question_index=question_index, excluded={})


def reordered(units, order):
    """The same units in another order of rows."""
    columns = {field.name: getattr(units, field.name)[order] for field in fields(units)
               if field.name not in ("frame", "excluded")}
    return Units(**columns, frame=units.frame, excluded=units.excluded)


def mirrored(units):
    """The same units with the two subsets exchanged: every vote and label is reversed."""
    return replace(units, votes_longer=units.votes_shorter, votes_shorter=units.votes_longer,
                   label=-units.label, weight_longer=units.weight_shorter,
                   weight_shorter=units.weight_longer)


@st.composite
def judged_tables(draw, max_units=30):
    """(units, score4): at least two units with several votes in each subset, in two questions."""
    rows = [(question, *votes, *lengths) for question, votes, lengths in draw(st.lists(
        st.tuples(st.integers(1, 6), VOTES, LENGTHS), max_size=max_units))]
    for question in (1, 2):
        for votes in ((2, 0, 1), (1, 1, 2)):
            rows.append((question, *votes, *draw(LENGTHS)))
    units = units_of(*zip(*rows))
    scores = draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows)))
    return units, np.where(units.judged, scores, 0).astype(np.int64)
