"""Times both scoring paths against a plain transformers loop, and compares their logits.

All run in this process, one after the other, on the same prompts with the same loaded model:
``python benchmarks/scoring_paths.py --data DIR --weights DIR [--json PATH]``. Prompts are those of
four groups of the registered units at the registered tau.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import torch

from lengthmirror.dataset import load_judgments
from lengthmirror.environment import package_versions, processor
from lengthmirror.judge import Judge
from lengthmirror.pairs import read_pairs
from lengthmirror.scoring_plan import make_groups, scoring_units
from lengthmirror.study import load_study
from lengthmirror.weights import locate_weights

GROUPS = {(81, 1), (97, 1), (118, 2), (140, 1)}
ROOT = Path(__file__).parents[1]


def main() -> None:
    options = arguments()
    judge, groups = prepare(options)
    ids = [[judge.encoder.encode(prompt.text, group.prompt_name(prompt))
            for prompt in group.prompts] for group in groups]
    options_of = judge.encoder.option_ids(groups[0].prompts[0].text)
    results = {
        "plain_loop": timed(lambda: [[plain(judge, one) for one in group] for group in ids]),
        "from_scratch": timed(lambda: [[judge.score(one, options_of, "") for one in group]
                                       for group in ids]),
        "shared_prefix": timed(lambda: [judge.score_shared(group, options_of, [""] * len(group))
                                        for group in ids]),
    }
    report = summary(results, ids, options_of)
    report["rung"], report["cpu"], report["versions"] = (
        options.rung, processor(), package_versions())
    print(json.dumps(report, indent=1))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rung", default="smollm2-135m")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def prepare(options: argparse.Namespace):
    """The loaded judge and its groups of prompts."""
    study = load_study(ROOT / "preregistration", ROOT / "config")
    pairs = read_pairs(ROOT / "artifacts" / "pairs.parquet")
    at_tau = replace(study.rule.units, scoring_tau=study.rule.units.tau)
    units = [unit for unit in scoring_units(pairs, at_tau) if unit[:2] in GROUPS]
    conversations = load_judgments(study.dataset, options.data).conversations()
    rung = study.rungs[options.rung]
    judge = Judge(rung, locate_weights(rung, options.weights, fetch=False), study.templates)
    return judge, make_groups(units, conversations, study.templates, pairs)


def plain(judge: Judge, ids: list[int]) -> torch.Tensor:
    """The last position's logits as a first script would get them."""
    with torch.no_grad():
        return judge.model(torch.tensor([ids])).logits[0, -1]


def timed(work) -> tuple[float, list]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def summary(results: dict, ids: list, option_ids: tuple[int, int]) -> dict:
    seconds = {name: elapsed for name, (elapsed, _) in results.items()}
    scratch = [score for group in results["from_scratch"][1] for score in group]
    shared = [score for group, _ in results["shared_prefix"][1] for score in group]
    loop = [logits for group in results["plain_loop"][1] for logits in group]
    total, computed = sum(len(one) for group in ids for one in group), sum(
        computed for _, computed in results["shared_prefix"][1])
    return {
        "prompts": len(scratch), "tokens": total, "tokens_computed_shared": computed,
        "distinct_prefix_share": round(computed / total, 4),
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "ratio_to_plain_loop": {name: round(value / seconds["plain_loop"], 3)
                                for name, value in seconds.items()},
        "largest_difference_shared_from_scratch": largest(scratch, shared),
        "largest_difference_plain_from_scratch": max(
            abs(float(logits[token]) - value) for logits, score in zip(loop, scratch)
            for token, value in zip(option_ids, (score.logit_a, score.logit_b))),
        "verdict_changes_shared_from_scratch": sum(
            (one.logit_a > one.logit_b) != (other.logit_a > other.logit_b)
            for one, other in zip(scratch, shared)),
    }


def largest(first: list, second: list) -> float:
    """Largest absolute difference of an option logit."""
    return max(max(abs(one.logit_a - other.logit_a), abs(one.logit_b - other.logit_b))
               for one, other in zip(first, second))


if __name__ == "__main__":
    main()
