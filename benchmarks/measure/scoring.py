"""The scorer beside other ways to the same logits, group by group in one process on one core."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from . import harness, llama, paths
from .flops import dimensions, distinct_prefixes, needed_flops, product_rate, trie_steps
from .judging import PART, EncodedGroup, Session, open_session
from .machine import pin
from .paths import Answers
from .progress import say
from .results import Outcome, Skipped
from .settings import Settings
from .targets import COMPARED

PATHS: dict[str, Callable[[Session], paths.Path]] = {
    "scorer": paths.scorer, "plain_loop": paths.plain_loop,
    "plain_loop_last": paths.plain_loop_last, "from_scratch": paths.from_scratch,
    "lm_eval": harness.lm_eval, "llama_cpp_reuse": llama.llama_cpp_reuse,
    "llama_cpp": llama.llama_cpp, "bfloat16": paths.bfloat16,
}
ON_PART = {"from_scratch", "llama_cpp"}  # timed on some groups only
WARM_UP = 64  # tokens of one prompt that every path scores before it is timed


@dataclass
class Timings:
    """Seconds and answers by path and group, and rates of the matrix product between groups."""
    seconds: dict[str, dict[tuple[int, int], float]] = field(default_factory=dict)
    answers: dict[str, dict[tuple[int, int], Answers]] = field(default_factory=dict)
    rates: dict[str, list[float]] = field(default_factory=dict)

    def ratio(self, path: str) -> float:
        """Seconds of the scorer over those of a path, on the groups that the path scored."""
        timed = self.seconds[path]
        return sum(self.seconds["scorer"][key] for key in timed) / sum(timed.values())

    def total(self, path: str) -> float:
        return sum(self.seconds[path].values())


def run(settings: Settings, names: Sequence[str]) -> dict[str, Outcome | Skipped]:
    """Times what the named benchmarks compare, everything in this process on one core."""
    core = pin()
    session = open_session(settings)
    working, skipped = _prepared(session, names)
    dtypes = [dtype for name, dtype in (("flops", "float32"), ("bfloat16", "bfloat16"))
              if name in names and name not in skipped]
    timings = _timed(session, working, {"float32", *dtypes} if dtypes else set())
    outcomes: dict[str, Outcome | Skipped] = dict(skipped)
    for name in names:
        if name not in skipped:
            values, details = REPORTS[name](session, timings)
            outcomes[name] = Outcome(values, {"core": core, **_described(session), **details})
    return outcomes


def _prepared(session: Session, names: Sequence[str]) -> tuple[dict[str, paths.Path],
                                                               dict[str, Skipped]]:
    """The paths to be timed, warmed up, and the benchmarks of which one cannot be."""
    working, skipped = {"scorer": PATHS["scorer"](session)}, {}
    for name in names:
        try:
            working |= {path: PATHS[path](session) for path in COMPARED[name]}
        except Skipped as reason:
            skipped[name] = reason
    short = EncodedGroup((0, 0), [session.groups[0].prompts[0][:WARM_UP]])
    for path in working.values():
        path(short)
    return working, skipped


def _timed(session: Session, working: dict[str, paths.Path], dtypes: set[str]) -> Timings:
    timings = Timings({name: {} for name in working}, {name: {} for name in working})
    _rate(timings, dtypes)
    for group in session.groups:
        for name, path in working.items():
            if name in ON_PART and group.key not in PART:
                continue
            started = time.perf_counter()
            timings.answers[name][group.key] = path(group)
            timings.seconds[name][group.key] = time.perf_counter() - started
            say(f"{name}, question {group.key[0]}, turn {group.key[1]}: "
                f"{timings.seconds[name][group.key]:.1f} s")
        _rate(timings, dtypes)
    return timings


def _rate(timings: Timings, dtypes: set[str]) -> None:
    for dtype in sorted(dtypes):
        timings.rates.setdefault(dtype, []).append(product_rate(dtype))


def _described(session: Session) -> dict:
    prompts = [ids for group in session.groups for ids in group.prompts]
    return {"rung": session.settings.rung, "groups": [list(group.key) for group in session.groups],
            "prompts": len(prompts), "tokens": sum(map(len, prompts))}


def agreement(timings: Timings, path: str) -> tuple[float, int]:
    """Largest difference of an option logit from the scorer's, and verdicts that differ."""
    pairs = [(ours, theirs) for key, answers in timings.answers[path].items()
             for ours, theirs in zip(timings.answers["scorer"][key].logits, answers.logits)]
    difference = max(abs(one - other) for ours, theirs in pairs for one, other in zip(ours, theirs))
    return difference, sum((ours[0] > ours[1]) != (theirs[0] > theirs[1]) for ours, theirs in pairs)


def _compared(name: str, timings: Timings) -> tuple[dict, dict]:
    ratios = {path: timings.ratio(path) for path in COMPARED[name]}
    difference, changes = agreement(timings, COMPARED[name][0])
    seconds = {path: timings.total(path) for path in ("scorer", *COMPARED[name])}
    return {**ratios, "largest_difference": difference, "verdict_changes": changes}, {
        "seconds": seconds, "seconds_by_group": {
            path: {f"{key[0]}-{key[1]}": value for key, value in timings.seconds[path].items()}
            for path in seconds}}


def _plain_loop(session: Session, timings: Timings) -> tuple[dict, dict]:
    values, details = _compared("plain_loop", timings)
    computed = sum(answers.computed for answers in timings.answers["scorer"].values())
    within = sum(distinct_prefixes(group.prompts) for group in session.groups)
    everywhere = distinct_prefixes([ids for group in session.groups for ids in group.prompts])
    return {**values, "tokens_within": computed / within,
            "tokens_over_all": computed / everywhere}, {
        **details, "tokens_computed": computed, "distinct_prefixes_within_groups": within,
        "distinct_prefixes_of_all_groups": everywhere}


def _flops(session: Session, timings: Timings) -> tuple[dict, dict]:
    model = dimensions(session.judge.model)
    needed = sum(needed_flops(model, trie_steps(group.prompts)) for group in session.groups)
    rate, product = needed / timings.total("scorer"), median(timings.rates["float32"])
    return {"share": rate / product, "scorer_rate": rate / 1e9, "product_rate": product / 1e9}, {
        "needed_flops": needed, "product_rates": timings.rates["float32"],
        "seconds": {"scorer": timings.total("scorer")}}


def _bfloat16(session: Session, timings: Timings) -> tuple[dict, dict]:
    values, details = _compared("bfloat16", timings)
    rates = {dtype: median(timings.rates[dtype]) for dtype in ("float32", "bfloat16")}
    own = {**values, "bfloat16": 1 / values["bfloat16"],
           "product": rates["float32"] / rates["bfloat16"]}
    return own, {**details, "product_rates": timings.rates}


REPORTS = {"plain_loop": _plain_loop, "flops": _flops, "bfloat16": _bfloat16,
           "lm_eval": lambda _, timings: _compared("lm_eval", timings),
           "llama_cpp": lambda _, timings: _compared("llama_cpp", timings)}
