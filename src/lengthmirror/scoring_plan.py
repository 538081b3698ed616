"""Which prompts a judge is run on: both orderings of every registered unit, grouped."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .errors import InvalidUnits
from .pairs import PairTable, scored, select_units
from .prompts import prompt_sha256, prompt_text
from .rule import UnitRule

Unit = tuple[int, int, str, str]


@dataclass(frozen=True)
class Prompt:
    """One ordering of a unit and its text."""
    slot_a: str
    slot_b: str
    text: str
    sha256: str


@dataclass(frozen=True)
class Group:
    """All prompts of one (question_id, turn), sorted by slot A and slot B."""
    question_id: int
    turn: int
    prompts: tuple[Prompt, ...]

    @property
    def name(self) -> str:
        return f"question {self.question_id}, turn {self.turn}"

    def prompt_name(self, prompt: Prompt) -> str:
        return f"{self.name}, {prompt.slot_a} in slot A and {prompt.slot_b} in slot B"


@dataclass(frozen=True)
class PromptScore:
    """Float32 values of one prompt; ``argmax_token`` is over the whole vocabulary."""
    n_tokens: int
    logit_a: float
    logit_b: float
    logprob_a: float
    logprob_b: float
    argmax_token: int


def scoring_units(pairs: PairTable, rule: UnitRule) -> list[Unit]:
    """The units a judge is run on: above ``scoring_tau``, with a vote that is not a tie.

    Returns:
        (question_id, turn, model_a, model_b), in the order of the unit table.
    """
    units = select_units(pairs, scored(rule))
    return [(int(pairs.question_id[row]), int(pairs.turn[row]), pairs.model_a[row],
             pairs.model_b[row]) for row in units.row[units.judged]]


def make_groups(units: Iterable[Unit], conversations: Mapping[tuple[int, str], list[str]],
                templates: Mapping, pairs: PairTable) -> list[Group]:
    """Both orderings of each unit, with their texts, checked against the unit table.

    Args:
        units: (question_id, turn, model_a, model_b).
        conversations: four message texts by (question_id, model).
        templates: the registered prompt templates.
        pairs: the unit table, whose prompt digests the texts must have.

    Raises:
        InvalidUnits: a prompt's text is not the one the unit table was made from, or is absent.
    """
    known = _digests(pairs)
    groups: dict[tuple[int, int], list[Prompt]] = {}
    for question_id, turn, *models in units:
        for slot_a, slot_b in (models, reversed(models)):
            texts = [conversations.get((question_id, slot)) for slot in (slot_a, slot_b)]
            text = prompt_text(templates, turn, *texts) if all(texts) else ""
            prompt = Prompt(slot_a, slot_b, text, prompt_sha256(text))
            if prompt.sha256 != known[question_id, turn, slot_a, slot_b]:
                raise InvalidUnits(f"question {question_id}, turn {turn}, {slot_a} in slot A and "
                                   f"{slot_b} in slot B: the prompt is not the one of the unit "
                                   "table; 'lengthmirror pairs' makes the table anew.")
            groups.setdefault((question_id, turn), []).append(prompt)
    return [Group(*key, tuple(sorted(groups[key], key=lambda p: (p.slot_a, p.slot_b))))
            for key in sorted(groups)]


def _digests(pairs: PairTable) -> dict[tuple[int, int, str, str], str]:
    columns = (pairs.question_id.tolist(), pairs.turn.tolist(), pairs.model_a, pairs.model_b,
               pairs.prompt_sha256_ab, pairs.prompt_sha256_ba)
    digests = {}
    for question_id, turn, model_a, model_b, ab, ba in zip(*columns):
        digests[question_id, turn, model_a, model_b] = ab
        digests[question_id, turn, model_b, model_a] = ba
    return digests
