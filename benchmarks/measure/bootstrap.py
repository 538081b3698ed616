"""The product's bootstrap of G against scipy's and against a loop, on the registered units."""

import time
from collections.abc import Callable
from statistics import median

import numpy as np
from scipy import stats

from lengthmirror.analysis import published_score4
from lengthmirror.gap import gap
from lengthmirror.intervals import Estimate, bootstrap_estimate
from lengthmirror.pairs import read_pairs, select_units
from lengthmirror.resampling import resampled_totals
from lengthmirror.subset_sums import subset_sums

from .machine import in_fresh_process, pin
from .results import Outcome
from .settings import ROOT, Settings, study

REPEATS = 15
SEED = 1  # of the generators of scipy and of the loop


def run(settings: Settings) -> Outcome:
    """All in one fresh process on one core."""
    return in_fresh_process(_measured, 1 if settings.quick else REPEATS)


def _measured(repeats: int) -> Outcome:
    pin()
    rule = study().rule
    pairs = read_pairs(ROOT / "artifacts" / "pairs.parquet")
    units = select_units(pairs, rule.units)
    columns = subset_sums(units, published_score4(pairs, units)).columns()
    n, alpha, seed = rule.bootstrap.n_resamples, rule.intervals.alpha, rule.bootstrap.seed
    fresh_seeds = iter(range(seed + 1, seed + 1 + repeats))  # a seed's resamples are kept
    ours(columns, seed, n, alpha)
    seconds = {
        "bootstrap of G, drawn before": _median(lambda: ours(columns, seed, n, alpha), repeats),
        "bootstrap of G": _median(lambda: ours(columns, next(fresh_seeds), n, alpha), repeats),
        "scipy.stats.bootstrap": _median(lambda: by_scipy(columns, n, alpha), repeats),
        "loop over replicates": _median(lambda: by_loop(columns, n, alpha), 1 + repeats // 5)}
    drawn, whole, scipy, loop = seconds.values()
    return Outcome({"drawn": drawn / scipy, "with_drawing": whole / scipy, "loop": whole / loop},
                   {"seconds": seconds, "replicates": n, "questions": len(columns),
                    "ci95": {"ours": ours(columns, seed, n, alpha).ci95,
                             "scipy": by_scipy(columns, n, alpha)}})


def ours(columns: np.ndarray, seed: int, n_resamples: int, alpha: float) -> Estimate:
    """What the product does for G: int64[Q, 4] per-question sums to the estimate's intervals."""
    replicates = gap(resampled_totals(columns, seed, n_resamples))
    return bootstrap_estimate(gap(columns.sum(axis=0)), replicates, alpha)


def by_scipy(columns: np.ndarray, n_resamples: int, alpha: float) -> tuple[float, float]:
    """The 1 - alpha percentile interval of scipy, questions resampled with their four sums."""
    def statistic(num_longer, den_longer, num_shorter, den_shorter, axis=-1):
        return (num_longer.sum(axis) / den_longer.sum(axis)
                - num_shorter.sum(axis) / den_shorter.sum(axis))
    found = stats.bootstrap(tuple(columns.T), statistic, paired=True, vectorized=True,
                            n_resamples=n_resamples, method="percentile",
                            confidence_level=1 - alpha, rng=np.random.default_rng(SEED))
    return tuple(float(end) for end in found.confidence_interval)


def by_loop(columns: np.ndarray, n_resamples: int, alpha: float) -> Estimate:
    """One replicate after the other: questions drawn, their sums added up, one ratio each."""
    generator, n_questions = np.random.default_rng(SEED), len(columns)
    replicates = np.array([
        gap(columns[generator.integers(0, n_questions, n_questions)].sum(axis=0))
        for _ in range(n_resamples)])
    return bootstrap_estimate(gap(columns.sum(axis=0)), replicates, alpha)


def _median(work: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return median(seconds)
