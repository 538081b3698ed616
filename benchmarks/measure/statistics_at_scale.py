"""The analysis of a million units: time and memory from the files to the class."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from lengthmirror.gap import gap
from lengthmirror.intervals import bootstrap_estimate
from lengthmirror.judge_statistics import judge_statistics
from lengthmirror.logit_alignment import align_logits
from lengthmirror.logit_table import read_logits
from lengthmirror.pairs import PairTable, Units, read_pairs, scored, select_units
from lengthmirror.resampling import resampled_totals
from lengthmirror.rule import Rule
from lengthmirror.subset_sums import SubsetSums, subset_sums
from lengthmirror.verdicts import primary_verdicts

from .machine import in_fresh_process, peak_bytes, pin
from .progress import say
from .results import Outcome
from .settings import Settings, study
from .synthetic import UNITS_PER_QUESTION, write_study

REPLICATES = 999
QUESTIONS = (10_000, 100_000)
REPEATS = 3
SEED = 1  # of the synthetic study
MASS_LEVEL = 0.05


def run(settings: Settings) -> Outcome:
    """Two synthetic studies, one ten times the other, each analysed in a fresh process."""
    sizes = [n // 100 if settings.quick else n for n in QUESTIONS]
    small, large = (_of_size(n) for n in sizes)
    growth = {name: large["seconds"][name] / (sizes[1] / sizes[0] * small["seconds"][name])
              for name in small["seconds"]}
    seconds = {f"{name}, {n * UNITS_PER_QUESTION} units": value
               for n, each in zip(sizes, (small, large)) for name, value in each["seconds"].items()}
    return Outcome({"bootstrap_growth": growth["bootstrap of G"],
                    "analysis_growth": growth["files to class"], "peak": large["peak"] / 1e9},
                   {"seconds": seconds, "replicates": REPLICATES, "growth": growth,
                    "peak_bytes": {n: each["peak"] for n, each in zip(sizes, (small, large))}})


def _of_size(n_questions: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        in_fresh_process(_written, Path(folder), n_questions)
        found = in_fresh_process(_analysed, Path(folder), n_questions * UNITS_PER_QUESTION)
    say(f"{n_questions * UNITS_PER_QUESTION} units: {found['seconds']}")
    return found


def _written(folder: Path, n_questions: int) -> None:
    write_study(folder, n_questions, _scored_units, SEED)


def _scored_units(pairs: PairTable) -> Units:
    return select_units(pairs, scored(study().rule.units))


def _analysed(folder: Path, n_units: int) -> dict[str, Any]:
    pin()
    rule, clock = _rule(), _Clock()
    pairs = clock("reading pairs", lambda: read_pairs(folder / "pairs.parquet"))
    units = clock("selecting units", lambda: select_units(pairs, rule.units))
    table = clock("reading logits", lambda: read_logits(folder / "logits.parquet", "synthetic"))
    aligned = clock("aligning", lambda: align_logits(units, pairs, table, "synthetic"))
    verdicts = clock("verdicts", lambda: primary_verdicts(aligned, units.judged, MASS_LEVEL))
    clock("statistics", lambda: judge_statistics(units, verdicts.score4,
                                                 verdicts.diagnostics.consistent, rule))
    if len(units) != n_units:
        raise RuntimeError(f"{len(units)} units were analysed, expected {n_units}.")
    whole = sum(clock.seconds.values())
    sums = subset_sums(units, verdicts.score4)
    return {"peak": peak_bytes(), "seconds": {**clock.seconds, "files to class": whole,
                                              "bootstrap of G": _bootstrap(sums, rule)}}


def _rule() -> Rule:
    """The registered rule with fewer resamples everywhere."""
    rule = study().rule
    return replace(rule, sign_flip=replace(rule.sign_flip, n_resamples=REPLICATES),
                   bootstrap=replace(rule.bootstrap, n_resamples=REPLICATES,
                                     borderline_n_resamples=REPLICATES))


def _bootstrap(sums: SubsetSums, rule: Rule) -> float:
    """Median seconds, each time with a seed of its own, so that the resamples are drawn."""
    columns, seconds = sums.columns(), []
    for seed in range(REPEATS):
        started = time.perf_counter()
        bootstrap_estimate(gap(columns.sum(axis=0)),
                           gap(resampled_totals(columns, seed, REPLICATES)), rule.intervals.alpha)
        seconds.append(time.perf_counter() - started)
    return median(seconds)


class _Clock:
    """Calls stages and keeps the seconds of each."""

    def __init__(self):
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, stage: Any) -> Any:
        started = time.perf_counter()
        result = stage()
        self.seconds[name] = time.perf_counter() - started
        return result
