"""Ways to the same logits: the scorer, the plain loops and from-scratch scoring."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from .judging import EncodedGroup, Session, load_judge
from .machine import has_flag
from .results import Skipped


@dataclass(frozen=True)
class Answers:
    """Option logits (a, b) of each prompt of a group; ``computed``: tokens, where known."""
    logits: list[tuple[float, float]]
    computed: int | None = None


Path = Callable[[EncodedGroup], Answers]


def scorer(session: Session) -> Path:
    """The registered scorer: each distinct prefix of a group once."""
    return _shared(session.judge, session.option_ids)


def bfloat16(session: Session) -> Path:
    """The same scorer with weights and arithmetic in bfloat16.

    Raises:
        Skipped: the processor has no instructions for it.
    """
    if not has_flag("avx512_bf16"):
        raise Skipped("the processor has no AVX-512 BF16.")
    judge, _ = load_judge(session.settings, session.settings.rung, dtype="bfloat16")
    return _shared(judge, session.option_ids)


def plain_loop(session: Session) -> Path:
    """What a first script does: one forward pass, every position projected onto the vocabulary."""
    def logits(ids: list[int]) -> torch.Tensor:
        return session.judge.model(torch.tensor([ids])).logits[0, -1]
    return _loop(session, logits)


def plain_loop_last(session: Session) -> Path:
    """The same with only the last position projected."""
    def logits(ids: list[int]) -> torch.Tensor:
        return session.judge.model(torch.tensor([ids]), logits_to_keep=1).logits[0, -1]
    return _loop(session, logits)


def from_scratch(session: Session) -> Path:
    """The from-scratch path of the judge, prompt by prompt."""
    def run(group: EncodedGroup) -> Answers:
        scores = [session.judge.score(ids, session.option_ids, "") for ids in group.prompts]
        return Answers([(score.logit_a, score.logit_b) for score in scores])
    return run


def _shared(judge, option_ids: tuple[int, int]) -> Path:
    def run(group: EncodedGroup) -> Answers:
        names = [""] * len(group.prompts)
        scores, computed = judge.score_shared(group.prompts, option_ids, names)
        return Answers([(score.logit_a, score.logit_b) for score in scores], computed)
    return run


def _loop(session: Session, logits: Callable[[list[int]], torch.Tensor]) -> Path:
    def run(group: EncodedGroup) -> Answers:
        with torch.no_grad():
            rows = [logits(ids)[list(session.option_ids)] for ids in group.prompts]
        return Answers([tuple(row.tolist()) for row in rows])
    return run
