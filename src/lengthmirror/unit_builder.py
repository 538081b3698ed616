"""From the judgments to the rows of the unit table: votes, lengths and prompt digests."""

from collections.abc import Callable, Mapping

from .dataset import Judgments
from .errors import InvalidDataset
from .prompts import prompt_sha256, prompt_text

Unit = tuple[int, int, str, str]


def unit_rows(judgments: Judgments, templates: Mapping,
              count_tokens: Callable[[str], int]) -> list[dict]:
    """One row per unit of the human split, with the columns of ``pairs.SCHEMA``.

    Args:
        judgments: both splits.
        templates: the registered prompt templates.
        count_tokens: tokens of a text with the one registered tokenizer.
    """
    texts = judgments.conversations()
    published = _published(judgments.gpt4_pair)
    rows = []
    for unit, votes in sorted(_votes(judgments.human).items()):
        question_id, turn, model_a, model_b = unit
        if unit not in published:
            raise InvalidDataset(f"the gpt4_pair split has no verdict for question {question_id}, "
                                 f"turn {turn}, {model_a} against {model_b}.")
        slot = {"a": texts[question_id, model_a], "b": texts[question_id, model_b]}
        rows.append({
            "question_id": question_id, "turn": turn, "model_a": model_a, "model_b": model_b,
            **_counts(votes), **_lengths(slot, turn, count_tokens),
            "gpt4_verdict": published[unit],
            "prompt_sha256_ab": prompt_sha256(prompt_text(templates, turn, slot["a"], slot["b"])),
            "prompt_sha256_ba": prompt_sha256(prompt_text(templates, turn, slot["b"], slot["a"])),
        })
    return rows


def _canonical(row: Mapping) -> tuple[Unit, str]:
    """The unit of a judgment and its winner, with the two models in sorted order."""
    winner, swapped = row["winner"], row["model_a"] > row["model_b"]
    if swapped and winner in ("model_a", "model_b"):
        winner = "model_b" if winner == "model_a" else "model_a"
    models = sorted((row["model_a"], row["model_b"]))
    return (row["question_id"], row["turn"], *models), winner


def _published(gpt4_pair: list[dict]) -> dict[Unit, str]:
    """GPT-4's verdict by unit.

    Raises:
        InvalidDataset: a unit has two different verdicts.
    """
    verdicts: dict[Unit, str] = {}
    for row in gpt4_pair:
        unit, winner = _canonical(row)
        if verdicts.setdefault(unit, winner) != winner:
            raise InvalidDataset(f"the gpt4_pair split has two different verdicts on question "
                                 f"{unit[0]}, turn {unit[1]}, {unit[2]} against {unit[3]}.")
    return verdicts


def _votes(human: list[dict]) -> dict[Unit, dict[str, str]]:
    """Winners by unit and annotator: an annotator counts once.

    Raises:
        InvalidDataset: one annotator contradicts himself on one unit.
    """
    votes: dict[Unit, dict[str, str]] = {}
    for row in human:
        unit, winner = _canonical(row)
        if votes.setdefault(unit, {}).setdefault(row["judge"], winner) != winner:
            raise InvalidDataset(f"the annotator {row['judge']} gave two different votes on "
                                 f"question {unit[0]}, turn {unit[1]}, {unit[2]} against "
                                 f"{unit[3]}.")
    return votes


def _counts(votes: Mapping[str, str]) -> dict[str, int]:
    sides = {"model_a": "a", "tie": "tie", "model_b": "b"}
    counts = {f"votes_{side}_{kind}": 0 for kind in ("expert", "author")
              for side in sides.values()}
    for annotator, winner in votes.items():
        kind = annotator.split("_")[0]
        if kind not in ("expert", "author") or winner not in sides:
            raise InvalidDataset(f"the human vote {winner!r} of {annotator!r} is not a vote of an "
                                 "expert or author for model_a, model_b or tie.")
        counts[f"votes_{sides[winner]}_{kind}"] += 1
    return counts


def _lengths(slot: Mapping[str, list[str]], turn: int,
             count_tokens: Callable[[str], int]) -> dict[str, int]:
    lengths = {}
    for side, (_, answer_1, _, answer_2) in slot.items():
        judged = answer_1 if turn == 1 else answer_2
        for measure, count in (("chars", len), ("tokens", count_tokens)):
            lengths[f"{measure}_{side}"] = count(judged)
            lengths[f"{measure}_conversation_{side}"] = count(answer_1) + count(answer_2)
    return lengths
