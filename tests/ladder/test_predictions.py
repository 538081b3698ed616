"""One test per rung and ladder: its registered prediction held (pass) or was falsified (xfail)."""

import pytest

from lengthmirror.scale_report import coverage


def test_prediction(ladder_rung, ladder_inputs, ladder_row):
    """The class of the rung is the one that was registered before any judge was run."""
    if not ladder_inputs.has_logits(ladder_rung):
        pytest.skip(f"{ladder_rung} is not run, so its registered prediction stays open.")
    row = ladder_row(ladder_rung)
    registered = ladder_inputs.study.predictions[ladder_rung].outcome
    if row["class"] != registered:
        low, high = row["gap"]["ci95"]
        pytest.xfail(f"registered {registered}, observed {row['class']} "
                     f"(G = {row['gap']['estimate']:.4f}, CI = [{low:.4f}, {high:.4f}])")


def test_scale_prediction(scale_ladder, ladder_inputs, scale_row):
    """The scale outcome of the ladder is the one that was registered before any judge was run."""
    covered = coverage(ladder_inputs, scale_ladder)
    if not covered.enough:
        pytest.skip(f"The registered prediction stays open: {covered.sentence}")
    row = scale_row(scale_ladder)
    registered = ladder_inputs.study.scale_predictions[scale_ladder].outcome
    if row["outcome"] != registered:
        slope = row["slope"]
        low, high = slope["ci95"]
        pytest.xfail(f"registered {registered}, observed {row['outcome']} (slope = "
                     f"{slope['estimate']:.4f}, CI = [{low:.4f}, {high:.4f}]); "
                     f"{covered.sentence}")
