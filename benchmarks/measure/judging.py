"""A loaded judge and the prompts it is timed on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from lengthmirror.dataset import load_judgments
from lengthmirror.judge import Judge
from lengthmirror.ladder import SHARED_PREFIX
from lengthmirror.pairs import read_pairs
from lengthmirror.scoring_plan import Group, make_groups, scoring_units
from lengthmirror.weights import LocalWeights, locate_weights

from .settings import ROOT, Settings, study

TIMED = ((81, 1), (97, 1), (118, 2), (140, 1))  # the 68 prompts the targets speak of
PART = ((81, 1), (118, 2))                       # what the slow secondary paths are timed on
QUICK_PROMPTS = 2


@dataclass(frozen=True)
class EncodedGroup:
    """Token ids of the prompts of one (question_id, turn)."""
    key: tuple[int, int]
    prompts: list[list[int]]


@dataclass(frozen=True)
class Session:
    """A judge in this process with the groups it is timed on, and the tokens of its options."""
    settings: Settings
    weights: LocalWeights
    judge: Judge
    groups: list[EncodedGroup]
    option_ids: tuple[int, int]


def open_session(settings: Settings) -> Session:
    """The judge in float32 on one thread, and the prompts of TIMED at the registered tau."""
    judge, weights = load_judge(settings, settings.rung)
    groups = registered_groups(settings, lambda key: key in TIMED)
    encoded = [EncodedGroup((group.question_id, group.turn), encode(judge, group))
               for group in groups]
    if settings.quick:
        encoded = [replace(group, prompts=group.prompts[:QUICK_PROMPTS]) for group in encoded[:2]]
    return Session(settings, weights, judge, encoded,
                   judge.encoder.option_ids(groups[0].prompts[0].text))


def load_judge(settings: Settings, slug: str, **changes: Any) -> tuple[Judge, LocalWeights]:
    """A rung on the shared-prefix path, with what is changed of it for a comparison."""
    registered = study()
    rung = replace(registered.rungs[slug], path=SHARED_PREFIX, **changes)
    weights = locate_weights(rung, settings.weights, fetch=False)
    return Judge(rung, weights, registered.templates), weights


def registered_groups(settings: Settings, wanted: Callable[[tuple[int, int]], bool]) -> list[Group]:
    """Groups of the judged units above the registered tau, with both orders of each unit.

    Args:
        settings: where the judgments are.
        wanted: whether a (question_id, turn) is to be among them.
    """
    registered = study()
    rule = replace(registered.rule.units, scoring_tau=registered.rule.units.tau)
    pairs = read_pairs(ROOT / "artifacts" / "pairs.parquet")
    units = [unit for unit in scoring_units(pairs, rule) if wanted(unit[:2])]
    conversations = load_judgments(registered.dataset, settings.data).conversations()
    return make_groups(units, conversations, registered.templates, pairs)


def encode(judge: Judge, group: Group) -> list[list[int]]:
    """Token ids of each prompt of a group."""
    return [judge.encoder.encode(prompt.text, group.prompt_name(prompt))
            for prompt in group.prompts]


def weight_bytes(judge: Judge) -> int:
    """Bytes of the loaded weights, shared tensors once."""
    return sum(parameter.numel() * parameter.element_size()
               for parameter in judge.model.parameters())


def cache_bytes(judge: Judge, n_tokens: int) -> int:
    """Bytes of the keys and values of one prompt: what a group's cache holds at its largest."""
    config = judge.model.config.get_text_config()
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    per_token = 2 * config.num_hidden_layers * config.num_key_value_heads * size
    return per_token * n_tokens * judge.model.dtype.itemsize
