"""Peak memory of scoring the longest prompts with each rung that runs on a CPU."""

from typing import Any

from .judging import cache_bytes, encode, load_judge, registered_groups, weight_bytes
from .machine import forget_peak, in_fresh_process, peak_bytes, pin, resident_bytes
from .progress import say
from .results import Outcome
from .settings import Settings
from .targets import RUNGS

LONGEST = (151, 2)  # the group of the longest prompt
PROMPTS = 4         # its longest ones, which hold the largest cache


def run(settings: Settings) -> Outcome:
    """Each rung in a process of its own; memory beyond weights and one cache, in MB."""
    found = {}
    for slug in RUNGS:
        found[slug] = in_fresh_process(_measured, settings, slug)
        say(f"{slug}: {found[slug]['beyond'] / 1e6:.0f} MB beyond weights and cache")
    return Outcome({slug: each["beyond"] / 1e6 for slug, each in found.items()},
                   {"seconds": {slug: each["seconds"] for slug, each in found.items()},
                    "rungs": found})


def _measured(settings: Settings, slug: str) -> dict[str, Any]:
    import time
    pin()
    libraries = resident_bytes()
    judge, _ = load_judge(settings, slug)
    loading = peak_bytes()
    group, = registered_groups(settings, lambda key: key == LONGEST)
    prompts = sorted(encode(judge, group), key=len)[-PROMPTS:]
    prompts = [ids[:200] for ids in prompts] if settings.quick else prompts
    option_ids = judge.encoder.option_ids(group.prompts[0].text)
    forget_peak()
    started = time.perf_counter()
    judge.score_shared(prompts, option_ids, [""] * len(prompts))
    scoring, longest = peak_bytes(), max(map(len, prompts))
    weights, cache = weight_bytes(judge), cache_bytes(judge, longest)
    return {"beyond": scoring - weights - cache, "peak_scoring": scoring, "peak_loading": loading,
            "weights": weights, "cache": cache, "libraries": libraries, "longest_prompt": longest,
            "prompts": len(prompts), "seconds": time.perf_counter() - started}
