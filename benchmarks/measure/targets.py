"""Every measured quantity by benchmark, with the target it is held to where there is one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A closed range of accepted values; None leaves a side open."""
    low: float | None = None
    high: float | None = None

    def met(self, value: float) -> bool:
        return ((self.low is None or value >= self.low)
                and (self.high is None or value <= self.high))

    @property
    def words(self) -> str:
        if self.low is None:
            return f"{self.high:g} or less"
        if self.high is None:
            return f"{self.low:g} or more"
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Measure:
    """``unit``: empty for a ratio or a count."""
    key: str
    what: str
    target: Target | None = None
    unit: str = ""


COMPARED = {  # what the scorer is timed beside, in one process
    "plain_loop": ("plain_loop", "plain_loop_last", "from_scratch"), "lm_eval": ("lm_eval",),
    "llama_cpp": ("llama_cpp_reuse", "llama_cpp"), "flops": (), "bfloat16": ("bfloat16",),
}
PART = "on (81, 1) and (118, 2) alone"
RUNGS = ("smollm2-135m", "gemma-3-270m", "qwen2.5-coder-0.5b")

MEASURES: dict[str, list[Measure]] = {
    "plain_loop": [
        Measure("plain_loop", "scorer / plain transformers loop, every position projected",
                Target(high=0.56)),
        Measure("plain_loop_last", "scorer / plain loop that projects the last position only"),
        Measure("from_scratch", f"scorer / from-scratch path, {PART}"),
        Measure("tokens_within", "tokens computed / distinct prefixes of each group",
                Target(1.0, 1.01)),
        Measure("tokens_over_all", "tokens computed / distinct prefixes of all groups together"),
        Measure("largest_difference", "largest difference of an option logit from the plain loop"),
        Measure("verdict_changes", "verdicts that differ from the plain loop's"),
    ],
    "lm_eval": [
        Measure("lm_eval", "scorer / lm-evaluation-harness, HF log-likelihoods, batch size 1",
                Target(high=0.48)),
        Measure("verdict_changes", "verdicts that differ from the harness's"),
    ],
    "llama_cpp": [
        Measure("llama_cpp_reuse", "scorer / llama.cpp with its own prefix reuse, same GGUF file",
                Target(high=0.62)),
        Measure("llama_cpp", f"scorer / llama.cpp without prefix reuse, {PART}"),
        Measure("verdict_changes", "verdicts that differ from llama.cpp's"),
    ],
    "flops": [
        Measure("share", "rate of the scorer / rate of a 2048-cubed float32 matrix product",
                Target(low=0.85)),
        Measure("scorer_rate", "rate of the scorer", unit="GFLOP/s"),
        Measure("product_rate", "rate of the matrix product", unit="GFLOP/s"),
    ],
    "bfloat16": [
        Measure("bfloat16", "bfloat16 scorer / float32 scorer (never a registered row)",
                Target(high=0.40)),
        Measure("product", "bfloat16 / float32 seconds of the 2048-cubed matrix product"),
        Measure("largest_difference", "largest difference of an option logit from float32"),
        Measure("verdict_changes", "verdicts that differ from float32"),
    ],
    "workers": [
        Measure("wall", "two workers / one worker, wall time", Target(high=0.55)),
        Measure("memory", "memory per extra worker / bytes of the weights", Target(high=0.15)),
        Measure("memory_without_cache", "the same less the key-value cache of the longest prompt"),
    ],
    "peak_memory": [
        Measure(slug, f"{slug}: peak beyond weights and one group's cache", Target(high=1500),
                "MB") for slug in RUNGS],
    "bootstrap": [
        Measure("drawn", "bootstrap of G / scipy.stats.bootstrap, resamples drawn before (once "
                "for all judges)", Target(high=0.05)),
        Measure("with_drawing", "the same with the drawing of the resamples", Target(high=0.05)),
        Measure("loop", "bootstrap of G with the drawing / a loop over replicates"),
    ],
    "statistics_at_scale": [
        Measure("bootstrap_growth", "bootstrap of G, B = 999: 1,000,000 units / 10 x 100,000",
                Target(high=1.3)),
        Measure("analysis_growth", "from the files to the class: 1,000,000 units / 10 x 100,000",
                Target(high=1.3)),
        Measure("peak", "peak memory of a fresh process at 1,000,000 units", Target(high=2.0),
                "GB"),
    ],
    "ladder_run": [
        Measure("ratio", "ladder run / pytest -n auto on one empty test"),
    ],
}
