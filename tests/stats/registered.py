"""The registered rule, the committed unit table and GPT-4's published verdicts, read once."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from lengthmirror.pairs import read_pairs, select_units
from lengthmirror.rule import load_rule

ROOT = Path(__file__).resolve().parents[2]


@cache
def rule():
    """The registered rule of the primary specification."""
    return load_rule(ROOT / "preregistration" / "decision_rule.toml")[0]


def small_rule(n_resamples=199, **decision):
    """The registered rule with fewer resamples and, where given, other margins."""
    base = rule()
    return replace(
        base, decision=replace(base.decision, **decision),
        bootstrap=replace(base.bootstrap, n_resamples=n_resamples, max_dropped_share=1.0,
                          borderline_n_resamples=2 * n_resamples + 1),
        sign_flip=replace(base.sign_flip, n_resamples=n_resamples))


@cache
def pairs():
    """The committed unit table."""
    return read_pairs(ROOT / "artifacts" / "pairs.parquet")


@cache
def units():
    """The units of the primary specification."""
    return select_units(pairs(), rule().units)


@cache
def gpt4_score4():
    """GPT-4's published verdicts in quarter points, straight from the definition."""
    scores = []
    for row, longer_is_a, judged in zip(units().row, units().longer_is_a, units().judged):
        verdict = pairs().gpt4_verdict[row]
        longer = "model_a" if longer_is_a else "model_b"
        points = 2 if verdict.startswith("tie") else 4 if verdict == longer else 0
        scores.append(points if judged else 0)
    return np.array(scores, dtype=np.int64)
